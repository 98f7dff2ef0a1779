/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The table of options drives parsing, complaints and help.
 */
#include "options.h"

#include <errno.h>
#include <regex.h>
#include <stddef.h>
#include <sys/auxv.h>

#include "hawk_sampling.h"
#include "say.h"
#include "table/syscall.h"
#include "unwind/unwind.h"

enum {
	STDERR = 2,
	VALUE_BYTES = HAWK_PROGNAME_BYTES,
	ENVIRONMENT_BYTES = 1 << 20,
	TABLE_BYTES_MIN = 8 << 20, /**< the fixed part and the first segments */
	SAMPLE_GIGABYTES_MAX = 1 << (HAWK_SAMPLE_MEAN_LOG2_MAX - 30),
};

struct hawk_options hawk_options = {
	.stacks = true,
	.unwind = HAWK_UNWIND_CFI,
	.depth = HAWK_STACK_FRAMES,
};

enum option_type {
	TYPE_BOOL,
	TYPE_NUMBER,
	TYPE_SIZE,
	TYPE_UNWIND,
	TYPE_ONLY,
	TYPE_TEXT,
};

static const struct option {
	const char *name;
	enum option_type type;
	size_t offset;
	uint32_t least, most;
	const char *default_value;
	const char *help;
} options[] = {
	{"help", TYPE_BOOL, offsetof(struct hawk_options, help), 0, 1, "0",
	 "print this list to stderr"},
	{"progname", TYPE_TEXT, offsetof(struct hawk_options, progname), 0, 0, "",
	 "trace only programs whose name matches this extended regular expression"},
	{"stacks", TYPE_BOOL, offsetof(struct hawk_options, stacks), 0, 1, "1",
	 "record stacks; 0 = sizes and ages only"},
	{"sample", TYPE_SIZE, offsetof(struct hawk_options, sample), 1, SAMPLE_GIGABYTES_MAX, "0",
	 "record stacks of a random sample only, one about every SIZE bytes (512k, 4M); 0 = all; "
	 "totals stay exact, figures of sites become estimates"},
	{"only", TYPE_ONLY, offsetof(struct hawk_options, only_scopes), 0, 0, "",
	 "scopes = record stacks only inside a HAWK_SCOPE (hawk_annotate.h)"},
	{"unwind", TYPE_UNWIND, offsetof(struct hawk_options, unwind), 0, 0, "cfi",
	 "cfi = own unwinder, exact; fp = frame pointers; libunwind = that library"},
	{"depth", TYPE_NUMBER, offsetof(struct hawk_options, depth), 1, HAWK_STACK_FRAMES, "512",
	 "innermost frames to keep per stack, 1 to 512"},
	{"collapse", TYPE_NUMBER, offsetof(struct hawk_options, collapse), 0, 32, "0",
	 "collapse recursion: longest repeated cycle in frames, 0 = off, at most 32"},
	{"max_table", TYPE_SIZE, offsetof(struct hawk_options, max_table), TABLE_BYTES_MIN, 0, "0",
	 "most memory for the tracer's tables (64M, 1G); 0 = a sixteenth of physical memory or of "
	 "the cgroup's limit, 64M or more, but at most a quarter of that limit, of ulimit -v, "
	 "and of ulimit -d; blocks beyond it are counted as dropped"},
	{"live", TYPE_BOOL, offsetof(struct hawk_options, live), 0, 1, "0",
	 "count frees by stack too, so that the table alone shows who owns the memory"},
	{"table", TYPE_TEXT, offsetof(struct hawk_options, table), 0, 0, "",
	 "keep the table in this new file (on tmpfs, ext4 or xfs), which outlives SIGKILL and "
	 "the OOM killer; %p = process id, %t = time; implies live=1"},
	{"stats", TYPE_BOOL, offsetof(struct hawk_options, stats), 0, 1, "0",
	 "print the tracer's own counters to stderr at exit"},
};

static const char *const unwind_names[] = {
	[HAWK_UNWIND_CFI] = "cfi",
	[HAWK_UNWIND_LIBUNWIND] = "libunwind",
	[HAWK_UNWIND_FP] = "fp",
};

static size_t length_of(const char *text)
{
	size_t length = 0;

	while (text[length])
		length++;
	return length;
}

static bool equal(const char *a, size_t a_length, const char *b)
{
	for (size_t i = 0; i < a_length; i++)
		if (a[i] != b[i])
			return false;
	return !b[a_length];
}

static void complain(const char *what, const char *text, size_t length)
{
	hawk_say("libhawk_tracer: ");
	hawk_say(what);
	hawk_say(" '");
	hawk_say_bytes(text, length);
	hawk_say("' in HAWK_OPTS is ignored; HAWK_OPTS=help=1 lists the options\n");
}

static void print_help(void)
{
	hawk_say("HAWK_OPTS: name=value pairs separated by ':'\n");
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		hawk_say("  ");
		hawk_say(options[i].name);
		hawk_say("=");
		hawk_say(options[i].default_value);
		hawk_say("\n      ");
		hawk_say(options[i].help);
		hawk_say("\n");
	}
}

/** Copies a value without its escapes. Returns false if it is too long. */
static bool unescape(const char *from, size_t length, char *to)
{
	size_t used = 0;

	for (size_t i = 0; i < length; i++) {
		if (from[i] == '\\' && i + 1 < length && from[i + 1] == ':')
			i++;
		if (used == VALUE_BYTES - 1)
			return false;
		to[used++] = from[i];
	}
	to[used] = '\0';
	return true;
}

static bool parse_number(const char *text, uint32_t *ret)
{
	uint64_t value = 0;

	if (!*text)
		return false;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return false;
		value = value * 10 + (uint64_t)(*text - '0');
		if (value > UINT32_MAX)
			return false;
	}
	*ret = (uint32_t)value;
	return true;
}

/** Parses a number with an optional suffix k, M or G. */
static bool parse_size(const char *text, uint32_t least, uint64_t *ret)
{
	static const char units[] = "kmg";
	char digits[16];
	uint32_t number;
	size_t length = 0;
	unsigned shift = 0;

	while (text[length] >= '0' && text[length] <= '9' && length < sizeof(digits) - 1) {
		digits[length] = text[length];
		length++;
	}
	digits[length] = '\0';
	for (unsigned i = 0; text[length] && units[i]; i++)
		if ((text[length] | 0x20) == units[i])
			shift = 10 * (i + 1);
	if (!parse_number(digits, &number) || (shift ? text[length + 1] : text[length]))
		return false;
	*ret = (uint64_t)number << shift;
	return !*ret || *ret >= least;
}

static bool set_option(const struct option *option, const char *value)
{
	char *field = (char *)&hawk_options + option->offset;
	uint32_t number = 0;
	uint64_t size;

	switch (option->type) {
	case TYPE_TEXT:
		__builtin_memcpy(field, value, length_of(value) + 1);
		return true;
	case TYPE_UNWIND:
		for (uint32_t i = 0; i < sizeof(unwind_names) / sizeof(unwind_names[0]); i++) {
			if (!equal(value, length_of(value), unwind_names[i]))
				continue;
			*(uint32_t *)field = i;
			return true;
		}
		return false;
	case TYPE_ONLY:
		*(bool *)field = *value;
		return !*value || equal(value, length_of(value), "scopes");
	case TYPE_SIZE:
		if (!parse_size(value, option->least, &size) ||
		    (option->most && size > (uint64_t)option->most << 30))
			return false;
		*(uint64_t *)field = size;
		return true;
	case TYPE_BOOL:
	case TYPE_NUMBER:
		break;
	}
	if (!parse_number(value, &number) || number < option->least || number > option->most)
		return false;
	if (option->type == TYPE_BOOL)
		*(bool *)field = number;
	else
		*(uint32_t *)field = number;
	return true;
}

static void parse_pair(const char *text, size_t length)
{
	char value[VALUE_BYTES];
	size_t name_length = 0;

	while (name_length < length && text[name_length] != '=')
		name_length++;
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		if (!equal(text, name_length, options[i].name))
			continue;
		if (name_length == length ||
		    !unescape(text + name_length + 1, length - name_length - 1, value) ||
		    !set_option(&options[i], value))
			complain("bad value", text, length);
		return;
	}
	complain("unknown option", text, name_length);
}

void hawk_options_parse(const char *text)
{
	while (text && *text) {
		size_t length = 0;

		while (text[length] &&
		       (text[length] != ':' || (length && text[length - 1] == '\\')))
			length++;
		if (length)
			parse_pair(text, length);
		text += length;
		if (*text)
			text++;
	}
	hawk_options.selective =
		!hawk_options.stacks || hawk_options.sample || hawk_options.only_scopes;
	if (hawk_options.help)
		print_help();
}

static const char *find_variable(const char *text, const char *end)
{
	static const char name[] = "HAWK_OPTS=";
	const size_t length = sizeof(name) - 1;

	while (text < end && *text) {
		size_t i = 0;

		while (i < length && text[i] == name[i])
			i++;
		if (i == length)
			return text + length;
		text += length_of(text) + 1;
	}
	return NULL;
}

/** Reads the kernel's copy of the environment, because the C library's constructor has not run yet.
 * Keeps the buffer if the variable is in it. */
static const char *read_proc_environment(void)
{
	long fd = hawk_syscall3(SYS_open, (long)"/proc/self/environ", 0 /* O_RDONLY */, 0);
	char *buffer = fd < 0 ? NULL : hawk_map(0, ENVIRONMENT_BYTES, false);
	const char *found = NULL;
	size_t used = 0;
	long got;

	while (buffer && used < ENVIRONMENT_BYTES - 1) {
		got = hawk_syscall3(SYS_read, fd, (long)buffer + (long)used,
				    ENVIRONMENT_BYTES - 1 - (long)used);
		if (got <= 0)
			break;
		used += (size_t)got;
	}
	if (buffer)
		found = find_variable(buffer, buffer + used);
	if (buffer && !found)
		hawk_unmap(buffer, ENVIRONMENT_BYTES);
	if (fd >= 0)
		hawk_syscall3(SYS_close, fd, 0, 0);
	return found;
}

const char *hawk_options_environment(void)
{
	extern char **environ;

	if (getauxval(AT_SECURE))
		return NULL;
	if (!environ)
		return read_proc_environment();
	for (char **entry = environ; *entry; entry++) {
		const char *value = find_variable(*entry, *entry + 1);

		if (value)
			return value;
	}
	return NULL;
}

static const char *base_name(const char *path)
{
	const char *base = path;

	for (; *path; path++)
		if (*path == '/')
			base = path + 1;
	return base;
}

bool hawk_options_match_program(void)
{
	char path[512];
	regex_t expression;
	bool match;
	long length;

	if (!hawk_options.progname[0])
		return true;
	if (regcomp(&expression, hawk_options.progname, REG_EXTENDED | REG_NOSUB)) {
		complain("bad regular expression", hawk_options.progname,
			 length_of(hawk_options.progname));
		return true;
	}
	length = hawk_syscall3(SYS_readlink, (long)"/proc/self/exe", (long)path, sizeof(path) - 1);
	path[length > 0 ? length : 0] = '\0';
	match = !regexec(&expression, base_name(path), 0, NULL, 0) ||
		!regexec(&expression, program_invocation_short_name, 0, NULL, 0);
	regfree(&expression);
	return match;
}
