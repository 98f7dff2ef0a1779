/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The name of a table file: made absolute at the start, since the host may go elsewhere; %p, %t and
 * %% are replaced whenever a file is made.
 */
#include <time.h>

#include "hawk_file_state.h"

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
	struct timespec now = {0};

	hawk_syscall3(SYS_clock_gettime, CLOCK_REALTIME, (long)&now, 0);
	for (const char *at = hawk_file.name; *at; at++) {
		if (*at == '%' && at[1] == 'p') {
			put_number(&writer, (uint64_t)hawk_syscall3(SYS_getpid, 0, 0, 0));
			at++;
		} else if (*at == '%' && at[1] == 't') {
			put_number(&writer, (uint64_t)now.tv_sec);
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
