/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Writes to stderr by system call.
 */
#include "say.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "table/syscall.h"

enum { STDERR = 2, DIGITS_MAX = 20 };

/**
 * Returns true if stderr may take text. A daemon may have closed stderr and opened a data file as
 * descriptor 2, so never write to a disk or to a file open for more than writing.
 */
static bool stderr_is_for_text(void)
{
	struct stat status;
	long flags = hawk_syscall3(SYS_fcntl, STDERR, F_GETFL, 0);

	if (flags < 0 || hawk_syscall3(SYS_fstat, STDERR, (long)&status, 0))
		return false;
	return !S_ISBLK(status.st_mode) &&
	       !(S_ISREG(status.st_mode) && (flags & O_ACCMODE) != O_WRONLY);
}

void hawk_say_bytes(const char *text, size_t length)
{
	if (stderr_is_for_text())
		hawk_syscall3(SYS_write, STDERR, (long)text, (long)length);
}

void hawk_say(const char *text)
{
	size_t length = 0;

	while (text[length])
		length++;
	hawk_say_bytes(text, length);
}

void hawk_say_number(uint64_t number)
{
	char digits[DIGITS_MAX];
	size_t at = DIGITS_MAX;

	do {
		digits[--at] = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	hawk_say_bytes(digits + at, DIGITS_MAX - at);
}
