/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The name of a table file: made absolute at the start, since the host may change its directory;
 * %p, %t and %% are replaced whenever a file is made.
 *
 * Also the owner of a table file. A process that executes another program stays the same process,
 * and nobody needs the previous program's table: only that file may be replaced.
 */
#include "clock.h"
#include "file_state.h"

enum {
	/** Fields of /proc/PID/stat between the name's ")" and the start time. */
	START_TIME_FIELD = 20,
	SECOND_NS = 1000000000,
};

struct writer {
	char *to;
	size_t used;
	bool fits;
};

static void put(struct writer *writer, char character)
{
	if (writer->used < HAWK_FILE_PATH_BYTES - 1)
		writer->to[writer->used++] = character;
	else
		writer->fits = false;
	writer->to[writer->used] = '\0';
}

static void put_text(struct writer *writer, const char *text)
{
	while (*text)
		put(writer, *text++);
}

static void put_number(struct writer *writer, uint64_t number)
{
	uint64_t unit = 1;

	while (number / unit >= 10)
		unit *= 10;
	for (; unit; unit /= 10)
		put(writer, (char)('0' + number / unit % 10));
}

bool hawk_file_set_name(const char *name)
{
	struct writer writer = {.to = hawk_file.name, .fits = true};

	if (*name != '/') {
		static char folder[HAWK_FILE_PATH_BYTES];

		if (hawk_syscall3(SYS_getcwd, (long)folder, sizeof(folder), 0) < 0)
			return false;
		put_text(&writer, folder);
		put(&writer, '/');
	}
	put_text(&writer, name);
	hawk_file.renames = false;
	for (const char *at = name; *at; at++) {
		if (*at != '%' || !at[1])
			continue;
		if (*++at == 'p')
			hawk_file.renames = true;
	}
	return writer.fits;
}

bool hawk_file_expand_name(void)
{
	struct writer writer = {.to = hawk_file.path, .fits = true};

	for (const char *at = hawk_file.name; *at; at++) {
		if (*at == '%' && at[1] == 'p') {
			put_number(&writer, (uint64_t)hawk_syscall3(SYS_getpid, 0, 0, 0));
			at++;
		} else if (*at == '%' && at[1] == 't') {
			put_number(&writer, hawk_clock_now_ns(CLOCK_REALTIME) / SECOND_NS);
			at++;
		} else if (*at == '%' && at[1] == '%') {
			put(&writer, '%');
			at++;
		} else {
			put(&writer, *at);
		}
	}
	return writer.fits;
}

static uint64_t parse_number(const char *text)
{
	uint64_t number = 0;

	for (; *text >= '0' && *text <= '9'; text++)
		number = number * 10 + (uint64_t)(*text - '0');
	return number;
}

static uint64_t start_ticks(void)
{
	static char text[1024]; /* used by one thread, at start-up or in a forked child */
	const char *after = text;
	unsigned field = 0;

	hawk_read_text("/proc/self/stat", text, sizeof(text));
	for (const char *at = text; *at; at++)
		if (*at == ')')
			after = at + 1;
	for (; *after && field < START_TIME_FIELD; after++)
		field += *after == ' ';
	return parse_number(after);
}

/** Returns the number in the link text "pid:[4026531836]". */
static uint64_t pid_namespace(void)
{
	char text[64] = {0};
	long got = hawk_syscall3(SYS_readlink, (long)"/proc/self/ns/pid", (long)text,
				 sizeof(text) - 1);

	return got > 5 ? parse_number(text + 5) : 0;
}

void hawk_file_owner_self(struct hawk_file_owner *ret)
{
	ret->pid = (uint32_t)hawk_syscall3(SYS_getpid, 0, 0, 0);
	ret->start_ticks = start_ticks();
	ret->pid_namespace = pid_namespace();
}

/** Returns true if the table is of this boot, since pids and start times repeat after one. Does not
 * compare with this process's start: a forked child's table keeps the start of its parent's. */
static bool is_of_this_boot(const struct hawk_table_header *header)
{
	uint64_t boot = hawk_clock_now_ns(CLOCK_REALTIME) - hawk_clock_now_ns(CLOCK_BOOTTIME);

	return header->start_realtime_ns + 2 * (uint64_t)SECOND_NS >= boot;
}

bool hawk_file_owner_is_self(int fd)
{
	static struct hawk_table_header header; /* only the part up to the directories is read */
	const size_t bytes = offsetof(struct hawk_table_header, trace_segments);
	struct hawk_file_owner self;

	if (hawk_syscall3(SYS_read, fd, (long)&header, (long)bytes) != (long)bytes ||
	    header.magic != hawk_table_magic() || header.version != HAWK_TABLE_VERSION ||
	    header.check != hawk_table_check(&header))
		return false;
	hawk_file_owner_self(&self);
	return self.start_ticks && header.pid == self.pid &&
	       header.process_start_ticks == self.start_ticks &&
	       header.pid_namespace == self.pid_namespace && is_of_this_boot(&header);
}
