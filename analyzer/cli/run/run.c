/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core run: becomes the program, with the tracer preloaded and cores switched on.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "hawk/base/cleanup.h"
#include "cli.h"
#include "hawk_option_names.h"
#include "checks.h"
#include "watched.h"

static const char library[] = "libhawk_tracer.so";

/** Finds the tracer next to this command: installed, or in the build tree. Caller frees. */
static struct hawk_error *find_tracer(char **ret)
{
	static const char *const places[] = {HAWK_TRACER_INSTALL_DIR, "../tracer"};
	char self[4096];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (length < 0)
		return hawk_error_os(errno, "readlink", "/proc/self/exe");
	self[length] = '\0';
	*strrchr(self, '/') = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		CLEANUP(free_ptr) char *path = NULL;

		if (asprintf(&path, "%s/%s/%s", self, places[i], library) < 0) {
			path = NULL;
			return &hawk_enomem;
		}
		*ret = realpath(path, NULL); // without "..", for the loader and messages
		if (*ret)
			return NULL;
	}
	return hawk_error_create(HAWK_ERROR_NOT_FOUND,
				 "%s is neither in %s/%s nor in %s/%s; name it with --tracer",
				 library, self, places[0], self, places[1]);
}

static struct hawk_error *resolve_tracer(const char *given, char **ret)
{
	CLEANUP(free_ptr) char *path = NULL;
	struct hawk_error *err = NULL;

	if (!given)
		err = find_tracer(&path);
	else if (!(path = realpath(given, NULL)))
		err = hawk_error_os(errno, "cannot open", given);
	if (err)
		return err;
	if (strpbrk(path, " :")) // the loader splits LD_PRELOAD there
		return hawk_error_create(HAWK_ERROR_UNSUPPORTED,
					 "'%s' cannot be preloaded: a space or colon in its path",
					 path);
	*ret = take_ptr(&path);
	return NULL;
}

/** Puts `text` before or behind the variable's present value. */
static struct hawk_error *extend_environment(const char *name, const char *text, bool in_front)
{
	const char *old = getenv(name);
	CLEANUP(free_ptr) char *value = NULL;
	int size;

	if (!old || !*old)
		size = asprintf(&value, "%s", text);
	else
		size = asprintf(&value, "%s:%s", in_front ? text : old, in_front ? old : text);
	if (size < 0) {
		value = NULL;
		return &hawk_enomem;
	}
	if (setenv(name, value, 1) != 0)
		return hawk_error_os(errno, "setenv", name);
	return NULL;
}

/** Raises the soft limit of the core size to the hard one, and returns that. */
static uint64_t raise_core_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_CORE, &limit) != 0)
		return UINT64_MAX;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_CORE, &limit) != 0)
		hawk_complain("cannot raise the core size limit: %s", strerror(errno));
	return limit.rlim_max == RLIM_INFINITY ? UINT64_MAX : limit.rlim_max;
}

/** Prints each line of `warnings` as a message of its own. */
static void print_warnings(struct hawk_text *warnings)
{
	char *line = warnings->bytes;

	while (line && *line) {
		char *end = strchr(line, '\n');

		if (end)
			*end = '\0';
		hawk_complain("warning: %s", line);
		line = end ? end + 1 : NULL;
	}
}

/** Returns true if `name` is an option of the tracer. Else fills `all` with "progname, stacks, ..."
 * and `*nearest` with a similar option, NULL = none. */
static bool knows_option(const char *name, struct hawk_text *all, const char **nearest)
{
	static const char *const names[] = {HAWK_OPTION_NAMES};
	unsigned best = UINT_MAX;

	*nearest = NULL;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(name, names[i]))
			return true;
		if (hawk_is_nearer(name, names[i], &best))
			*nearest = names[i];
		hawk_text_printf(all, "%s%s", i ? ", " : "", names[i]);
	}
	return false;
}

/** Refuses unknown options here: the tracer would only ignore them, with a message that few would
 * see. */
static struct hawk_error *check_options(const char *options)
{
	while (options && *options) {
		CLEANUP(text) struct hawk_text name = {0}, all = {0};
		const char *nearest;

		hawk_text_append(&name, options, strcspn(options, "=:"));
		if (name.failed)
			return &hawk_enomem;
		if (name.size && !knows_option(name.bytes, &all, &nearest))
			return hawk_error_create(
				HAWK_ERROR_USAGE,
				"unknown option %s of the tracer%s%s%s; it knows %s", name.bytes,
				nearest ? " (did you mean " : "", nearest ? nearest : "",
				nearest ? "?)" : "", all.bytes ? all.bytes : "");
		/* A colon in a value is "\\:". */
		for (; *options && *options != ':'; options++)
			options += options[0] == '\\' && options[1];
		options += *options == ':';
	}
	return NULL;
}

int hawk_run_become(char *const *arguments)
{
	int errnum;

	execvp(arguments[0], arguments);
	errnum = errno;
	hawk_complain("cannot run %s: %s", arguments[0], strerror(errnum));
	return errnum == ENOENT || errnum == ENOTDIR ? HAWK_EXIT_NOT_FOUND : HAWK_EXIT_CANNOT_RUN;
}

static struct hawk_error *check_watched(const struct hawk_settings *settings,
					const struct hawk_run_program *program)
{
	if (!program->unwatched)
		return NULL;
	return hawk_error_create(HAWK_ERROR_UNSUPPORTED, "%s cannot be watched: %s",
				 settings->operands[0], program->unwatched);
}

static struct hawk_error *prepare_environment(const struct hawk_settings *settings,
					      const char *tracer,
					      const struct hawk_run_program *program)
{
	struct hawk_error *err = NULL;

	if (!program->refuses)
		err = extend_environment("LD_PRELOAD", tracer, true);
	if (!err && program->first)
		err = extend_environment("LD_PRELOAD", program->first, true);
	if (!err && settings->tracer_options.size)
		err = extend_environment("HAWK_OPTS", settings->tracer_options.bytes, false);
	return err;
}

static int run(struct hawk_settings *settings)
{
	CLEANUP(text) struct hawk_text warnings = {0};
	CLEANUP(free_ptr) char *tracer = NULL;
	struct hawk_run_program program;
	struct hawk_error *err;
	uint64_t hard_limit;
	bool watched = settings->leaks || settings->exit_snapshot;

	if (settings->count == 0) {
		hawk_complain("run needs a program; see hawk-core help run");
		return HAWK_EXIT_USAGE;
	}
	/* Another tracer may have other options. */
	err = settings->tracer ? NULL : check_options(settings->tracer_options.bytes);
	if (!err)
		err = hawk_run_check_watch(settings);
	if (!err)
		err = resolve_tracer(settings->tracer, &tracer);
	if (err)
		return hawk_fail(err);
	hard_limit = raise_core_limit();
	hawk_run_check_system(hard_limit, tracer, settings->tracer_options.bytes, &warnings);
	hawk_run_check_program(settings->operands, &warnings, &program);
	if (!settings->quiet)
		print_warnings(&warnings);
	err = watched ? check_watched(settings, &program) : NULL;
	if (!err)
		err = prepare_environment(settings, tracer, &program);
	free(program.first);
	if (err)
		return hawk_fail(err);
	return watched ? hawk_run_watched(settings) : hawk_run_become(settings->operands);
}

static const struct hawk_option options[] = {
	{"option", 'o', HAWK_OPTION_TRACER, HAWK_AT(tracer_options), "KEY=VALUE",
	 "set an option of the tracer; -o help=1 lists them"},
	{"opts", '\0', HAWK_OPTION_TRACERS, HAWK_AT(tracer_options), "KEY=VALUE:...",
	 "set several, in the form of HAWK_OPTS"},
	{"depth", '\0', HAWK_OPTION_DEPTH, HAWK_AT(tracer_options), "N",
	 "keep the innermost N frames of each stack (-o depth=N)"},
	{"tracer", '\0', HAWK_OPTION_STRING, HAWK_AT(tracer), "FILE",
	 "use this libhawk_tracer.so instead of the one next to hawk-core"},
	{"leaks", '\0', HAWK_OPTION_PERHAPS, HAWK_AT(leaks), "[=KIND,...]",
	 "when the program exits, print its leaks on stderr, as \"hawk-core leaks\" does; if "
	 "something is definitely lost, exit with 23"},
	{"suppressions", 's', HAWK_OPTION_STRINGS, HAWK_AT(suppressions), "FILE",
	 "leave out known leaks, as \"hawk-core leaks\" does; may be repeated"},
	{"exit-code", '\0', HAWK_OPTION_NUMBER, HAWK_AT(exit_code), "N",
	 "exit with N instead of 23; 0: with the program's code in any case"},
	{"full", 'f', HAWK_OPTION_FLAG, HAWK_AT(full), NULL, "all leaks, and nothing shortened"},
	{"output", '\0', HAWK_OPTION_STRING, HAWK_AT(output), "FILE",
	 "write the leaks to FILE instead of stderr"},
	{"snapshot-at-exit", '\0', HAWK_OPTION_STRING, HAWK_AT(exit_snapshot), "FILE",
	 "when the program exits, write a snapshot for every other verb"},
	{"follow", '\0', HAWK_OPTION_FLAG, HAWK_AT(follow), NULL,
	 "look also at the processes that the program starts; their files are FILE.PID"},
	{"quiet", 'q', HAWK_OPTION_FLAG, HAWK_AT(quiet), NULL,
	 "no warnings, and no report unless something is lost"},
	{0},
};

const struct hawk_verb hawk_verb_run = {
	.name = "run",
	.arguments = "[options] [--] PROGRAM [ARGUMENTS...]",
	.summary = "run a program under the tracer",
	.details = "Runs PROGRAM with libhawk_tracer.so preloaded and core dumps switched on. "
		   "When it dies, or when gcore takes a snapshot, the core holds a stack for "
		   "every block of the heap; \"hawk-core analyze\" shows them. Warns on "
		   "stderr if this system would lose the core or the heap in it, and if the "
		   "tracer cannot reach the program or its children.",
	.options = options,
	.shared = HAWK_TAKES_JSON | HAWK_TAKES_DEBUG_DIRECTORY | HAWK_TAKES_FORCE,
	.stops_at_operand = true,
	.exit_codes = "Exit code: the program's; 127 if it is not found, 126 if it cannot "
		      "be run. With --leaks 23 if something is lost; where the program's is 0, 3 "
		      "if it could not be read, 4 if the answer is incomplete.",
	.run = run,
};
