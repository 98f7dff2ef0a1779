/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Checks that this system keeps the core and the heap in it (see core(5)), that the program gets
 * enough address space for the tracer, and that children of another user can load it.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hawk/base/cleanup.h"
#include "hawk/base/quantity.h"
#include "checks.h"
#include "hawk_trace_table.h"

enum {
	FILTER_ANONYMOUS_PRIVATE = 1 << 0,
	FILTER_ANONYMOUS_SHARED = 1 << 1,
	FILTER_ELF_HEADERS = 1 << 4,
	MODE_BITS = 07777,
};

/** Settings that core(5) depends on. */
struct core_settings {
	uint64_t hard_limit; /**< of the core size, bytes; UINT64_MAX = unlimited */
	const char *pattern; /**< without newline; NULL = unknown */
	bool uses_pid;
	bool has_filter;
	uint64_t filter;
};

static void check_limit(uint64_t hard_limit, struct hawk_text *warnings)
{
	if (hard_limit == 0)
		hawk_text_puts(warnings,
			       "no core will be written: the hard limit of the core size is 0; "
			       "raise it with \"ulimit -Hc unlimited\" as root, LimitCORE=infinity "
			       "in a systemd unit, or --ulimit core=-1 for a container\n");
	else if (hard_limit != UINT64_MAX)
		hawk_text_printf(warnings,
				 "cores will be cut off at %s, the hard limit of the core size "
				 "(ulimit -Hc)\n",
				 hawk_quantity_bytes(hard_limit).text);
}

static void check_handler(const char *pattern, struct hawk_text *warnings)
{
	size_t length = strcspn(pattern, " ");

	if (memmem(pattern, length, "systemd-coredump", 16))
		hawk_text_puts(
			warnings,
			"cores go to systemd-coredump, which compresses them and drops large "
			"ones (coredump.conf: ProcessSizeMax, ExternalSizeMax); get yours "
			"with \"coredumpctl dump -o core PID\"\n");
	else
		hawk_text_printf(warnings,
				 "cores go to the handler %.*s and not to a file; look there, or "
				 "set a file name with \"sysctl kernel.core_pattern=core.%%p\"\n",
				 (int)length, pattern);
}

/** Checks that a file can be made in the pattern's directory. `%` makes the name unknown, not the
 * directory. */
static void check_directory(const char *pattern, struct hawk_text *warnings)
{
	const char *slash = strrchr(pattern, '/');
	CLEANUP(free_ptr) char *directory = NULL;

	if (!slash)
		directory = strdup(".");
	else if (slash == pattern)
		directory = strdup("/");
	else
		directory = strndup(pattern, (size_t)(slash - pattern));
	if (!directory || strchr(directory, '%') || access(directory, W_OK | X_OK) == 0)
		return;
	if (slash)
		hawk_text_printf(warnings,
				 "no core will be written: kernel.core_pattern puts cores into %s, "
				 "which is not there or not writable\n",
				 directory);
	else
		hawk_text_puts(warnings, "no core will be written: cores go into the working "
					 "directory, which is not writable\n");
}

static void check_pattern(const struct core_settings *settings, struct hawk_text *warnings)
{
	const char *pattern = settings->pattern;

	if (!pattern)
		return;
	if (pattern[0] == '|' || pattern[0] == '@')
		check_handler(pattern + 1 + strspn(pattern + 1, " @"), warnings);
	else if (!pattern[0] && !settings->uses_pid)
		hawk_text_puts(warnings, "no core will be written: kernel.core_pattern is empty; "
					 "set it with \"sysctl kernel.core_pattern=core.%p\"\n");
	else
		check_directory(pattern, warnings);
}

static void check_filter(const struct core_settings *settings, struct hawk_text *warnings)
{
	unsigned long long wanted = settings->filter | FILTER_ANONYMOUS_PRIVATE |
				    FILTER_ANONYMOUS_SHARED | FILTER_ELF_HEADERS;

	if (!settings->has_filter)
		return;
	if (!(settings->filter & FILTER_ANONYMOUS_PRIVATE))
		hawk_text_printf(
			warnings,
			"the core will not hold the heap: bit 0 (anonymous private memory) "
			"of the coredump filter is off; set it with \"echo 0x%llx > "
			"/proc/self/coredump_filter\"\n",
			wanted);
	else if (!(settings->filter & FILTER_ANONYMOUS_SHARED))
		hawk_text_printf(warnings,
				 "the core will not hold shared anonymous memory: bit 1 of the "
				 "coredump filter is off; set it with \"echo 0x%llx > "
				 "/proc/self/coredump_filter\"\n",
				 wanted);
}

static void check_core(const struct core_settings *settings, struct hawk_text *warnings)
{
	char first = settings->pattern ? settings->pattern[0] : '\0';

	if (first != '|' && first != '@') // programs and sockets get cores despite the limit
		check_limit(settings->hard_limit, warnings);
	check_pattern(settings, warnings);
	check_filter(settings, warnings);
}

/** Reads the first line of a small file, without its newline; returns false if it cannot be read.
 */
static bool read_line(const char *path, char *to, size_t size)
{
	CLEANUP(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? -1 : read(fd, to, size - 1);

	if (length < 0)
		return false;
	to[length] = '\0';
	to[strcspn(to, "\n")] = '\0';
	return true;
}

/** Checks the settings of this system and process. */
static void check_system_core(uint64_t hard_limit, struct hawk_text *warnings)
{
	struct core_settings settings = {.hard_limit = hard_limit};
	char pattern[512], text[64];

	if (read_line("/proc/sys/kernel/core_pattern", pattern, sizeof(pattern)))
		settings.pattern = pattern;
	if (read_line("/proc/sys/kernel/core_uses_pid", text, sizeof(text)))
		settings.uses_pid = strcmp(text, "0") != 0;
	if (read_line("/proc/self/coredump_filter", text, sizeof(text)))
		settings.has_filter = hawk_quantity_parse_hex(text, &settings.filter);
	check_core(&settings, warnings);
}

/** Checks a limit of address space, below which the tracer stands aside: tracer/hawk_cap.h. */
static void check_space(const char *option, int resource, struct hawk_text *warnings)
{
	struct rlimit limit;

	if (getrlimit(resource, &limit) != 0 || limit.rlim_cur >= HAWK_TABLE_ADDRESS_SPACE_MIN)
		return;
	hawk_text_printf(
		warnings,
		"the program is not traced: ulimit %s is %s, and below %s the tracer stands "
		"aside; raise it, or set max_table=8M\n",
		option, hawk_quantity_bytes(limit.rlim_cur).text,
		hawk_quantity_bytes(HAWK_TABLE_ADDRESS_SPACE_MIN).text);
}

static bool sets_table_size(const char *tracer_options)
{
	return tracer_options && strstr(tracer_options, "max_table=");
}

static void check_memory(const char *tracer_options, struct hawk_text *warnings)
{
	if (sets_table_size(tracer_options) || sets_table_size(getenv("HAWK_OPTS")))
		return;
	check_space("-v", RLIMIT_AS, warnings);
	check_space("-d", RLIMIT_DATA, warnings);
}

/** Appends a warning unless others have the right `needed` to `path`. Returns true if they do. */
static bool check_mode(const char *path, mode_t needed, const char *change,
		       struct hawk_text *warnings)
{
	struct stat info;

	if (stat(path, &info) != 0 || info.st_mode & needed)
		return true;
	hawk_text_printf(
		warnings,
		"children that change to another user (su, setpriv, a daemon that gives up "
		"root) cannot load the tracer and run untraced, with a message of their "
		"loader: %s has mode %04o; chmod %s %s, or install the tracer elsewhere\n",
		path, (unsigned)info.st_mode & MODE_BITS, change, path);
	return false;
}

static void check_tracer(const char *tracer, struct hawk_text *warnings)
{
	CLEANUP(free_ptr) char *path = strdup(tracer);

	/* Other users' children come from su or sudo, which are set-user-id: LD_PRELOAD ends there.
	 */
	if (!path || geteuid() != 0)
		return;
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		bool searchable;

		*slash = '\0';
		searchable = check_mode(path, S_IXOTH, "o+x", warnings);
		*slash = '/';
		if (!searchable)
			return;
	}
	check_mode(path, S_IROTH, "o+r", warnings);
}

void hawk_run_check_system(uint64_t hard_limit, const char *tracer, const char *tracer_options,
			   struct hawk_text *warnings)
{
	check_system_core(hard_limit, warnings);
	check_tracer(tracer, warnings);
	check_memory(tracer_options, warnings);
}
