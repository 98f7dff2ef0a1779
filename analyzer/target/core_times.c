/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What a core file's name, attributes and time say of when its process died. ELF notes know CPU
 * time only, and the kernel's clock pages are not in a core.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>

#include "core_file.h"

enum {
	SECONDS_DIGITS = 10, /**< of the time since 1970, until the year 2286 */
	MILLISECONDS_DIGITS = 13,
	MICROSECONDS_DIGITS = 16,
	NS_PER_S = 1000000000,
};

/* `digits` digits at `text` as a time, in nanoseconds; 0 = they are none. */
static uint64_t time_of_digits(const char *text, size_t digits)
{
	uint64_t value = 0;
	uint64_t unit;

	if (digits == SECONDS_DIGITS)
		unit = NS_PER_S;
	else if (digits == MILLISECONDS_DIGITS)
		unit = NS_PER_S / 1000;
	else if (digits == MICROSECONDS_DIGITS)
		unit = NS_PER_S / 1000000;
	else
		return 0;
	for (size_t i = 0; i < digits; i++)
		value = 10 * value + (uint64_t)(text[i] - '0');
	return text[0] == '0' ? 0 : value * unit;
}

void hawk_core_times_of_name(const char *path, struct hawk_end_times *ret)
{
	const char *slash = strrchr(path, '/');
	const char *at = slash ? slash + 1 : path;
	size_t count = 0;

	while (*at && count < HAWK_END_NAMES) {
		size_t digits = strspn(at, "0123456789");
		uint64_t time_ns = time_of_digits(at, digits);

		if (time_ns)
			ret->name_ns[count++] = time_ns;
		at += digits ? digits : 1;
	}
}

/* systemd-coredump's; seconds, or microseconds in newer versions. */
static uint64_t read_attribute(int fd)
{
	char text[MICROSECONDS_DIGITS + 1];
	ssize_t bytes = fgetxattr(fd, "user.coredump.timestamp", text, sizeof(text) - 1);

	if (bytes <= 0)
		return 0;
	text[bytes] = 0;
	return strspn(text, "0123456789") == (size_t)bytes ? time_of_digits(text, (size_t)bytes)
							   : 0;
}

void hawk_core_times(int fd, const char *path, struct hawk_end_times *ret)
{
	struct stat status;
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	*ret = (struct hawk_end_times){
		.present_ns = (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec,
	};
	hawk_core_times_of_name(path, ret);
	ret->attribute_ns = read_attribute(fd);
	if (!fstat(fd, &status) && status.st_mtim.tv_sec > 0)
		ret->file_ns = (uint64_t)status.st_mtim.tv_sec * NS_PER_S +
			       (uint64_t)status.st_mtim.tv_nsec;
}
