/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Would this system keep the core, and the heap in it? See core(5).
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "hawk_cleanup.h"
#include "hawk_quantity.h"
#include "hawk_run_checks.h"

enum {
	FILTER_ANONYMOUS_PRIVATE = 1 << 0,
	FILTER_ANONYMOUS_SHARED = 1 << 1,
	FILTER_ELF_HEADERS = 1 << 4,
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

/** A file name: can it be made in its directory? `%` makes the name unknown, not the directory. */
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

static void check_pattern(const struct hawk_core_settings *settings, struct hawk_text *warnings)
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

static void check_filter(const struct hawk_core_settings *settings, struct hawk_text *warnings)
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

void hawk_run_check_core(const struct hawk_core_settings *settings, struct hawk_text *warnings)
{
	bool pipe = settings->pattern && settings->pattern[0] == '|';

	if (!pipe) // handlers get cores whatever the limit
		check_limit(settings->hard_limit, warnings);
	check_pattern(settings, warnings);
	check_filter(settings, warnings);
}

/** The first line of a small file, without its newline; false if it cannot be read. */
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

void hawk_run_check_system(uint64_t hard_limit, struct hawk_text *warnings)
{
	struct hawk_core_settings settings = {.hard_limit = hard_limit};
	char pattern[512], text[64];

	if (read_line("/proc/sys/kernel/core_pattern", pattern, sizeof(pattern)))
		settings.pattern = pattern;
	if (read_line("/proc/sys/kernel/core_uses_pid", text, sizeof(text)))
		settings.uses_pid = strcmp(text, "0") != 0;
	if (read_line("/proc/self/coredump_filter", text, sizeof(text)))
		settings.has_filter = hawk_quantity_parse_hex(text, &settings.filter);
	hawk_run_check_core(&settings, warnings);
}
