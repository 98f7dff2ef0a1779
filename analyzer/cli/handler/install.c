/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Prints how to install the handler, and checks that it would work.
 */
#include "install.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "hawk/base/cleanup.h"

enum {
	PATTERN_BYTES_MAX = 127, /**< CORENAME_MAX_SIZE of the kernel, without the NUL */
	SOCKET_BYTES_MAX = 107,  /**< of struct sockaddr_un, without the NUL */
	PATH_BYTES = 4096,
};

/** Prints `pattern`, with each % as `percent`. */
static void put_pattern(const char *pattern, const char *percent)
{
	for (; *pattern; pattern++)
		if (*pattern == '%')
			fputs(percent, stdout);
		else
			putchar(*pattern);
}

static void append_options(const struct hawk_settings *settings, struct hawk_text *text)
{
	const struct {
		const char *name;
		uint64_t value;
	} numbers[] = {
		{"keep", settings->handler.keep},
		{"max-size", settings->handler.max_size},
		{"max-time", settings->handler.max_time},
		{"min-free", settings->handler.min_free},
	};

	hawk_text_printf(text, " --to=%s", settings->handler.to);
	if (settings->handler.socket)
		hawk_text_printf(text, " --socket=%s", settings->handler.socket);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (numbers[i].value)
			hawk_text_printf(text, " --%s=%llu", numbers[i].name,
					 (unsigned long long)numbers[i].value);
	if (settings->handler.no_core)
		hawk_text_puts(text, " --no-core");
}

static int trouble(const char *text)
{
	printf("# trouble: %s\n", text);
	return HAWK_EXIT_CONDITION;
}

/** The kernel runs the handler as root: nobody else may be able to replace it. */
static int check_program(const char *self)
{
	struct stat status;

	if (stat(self, &status) != 0)
		return trouble("this program cannot be found under its name");
	if (status.st_uid != 0 || status.st_mode & (S_IWGRP | S_IWOTH))
		return trouble("this program does not belong to root alone, who would run it: "
			       "install it");
	return HAWK_EXIT_OK;
}

static int check_place(const char *path)
{
	struct stat status;

	if (path[0] != '/')
		return trouble("--to is not an absolute path");
	if (strpbrk(path, " %"))
		return trouble("--to has a blank or a %, which the kernel would take apart");
	if (stat(path, &status) != 0 || !S_ISDIR(status.st_mode))
		return trouble("--to is no directory yet: make it with \"install -d -m 711\"");
	if (status.st_uid != 0 || status.st_mode & (S_IWGRP | S_IWOTH))
		return trouble("--to does not belong to root alone");
	return HAWK_EXIT_OK;
}

/** `path`: the socket; NULL = the kernel starts a program. */
static int check_kernel(const char *path)
{
	CLEANUP(close_fd) int fd = open("/proc/sys/kernel/core_pattern", O_RDONLY | O_CLOEXEC);
	char pattern[PATH_BYTES];
	ssize_t bytes = fd < 0 ? -1 : read(fd, pattern, sizeof(pattern) - 1);

	if (bytes <= 0 || !strchr("|@", pattern[0]))
		return HAWK_EXIT_OK;
	pattern[bytes] = 0;
	pattern[strcspn(pattern, "\n")] = 0;
	if (strstr(pattern, "hawk-core handler") ||
	    (path && strcmp(pattern + strspn(pattern, "@"), path) == 0))
		return HAWK_EXIT_OK;
	printf("# trouble: cores go to another handler now, which would get none: %s\n", pattern);
	return HAWK_EXIT_CONDITION;
}

/** Prints a systemd unit that runs the commands. */
static void put_unit(const char *type, const char *const *starts)
{
	printf("[Unit]\nDescription=Cores go to hawk-core\n\n[Service]\n%s\n", type);
	for (; *starts; starts++) {
		printf("ExecStart=");
		put_pattern(*starts, "%%");
		putchar('\n');
	}
	printf("\n[Install]\nWantedBy=sysinit.target\n\n");
}

/** The kernel starts the handler for each core. */
static int install_program(const char *command)
{
	CLEANUP(text) struct hawk_text pattern = {0};
	CLEANUP(text) struct hawk_text start = {0};
	const char *starts[] = {"/sbin/sysctl -w kernel.core_pipe_limit=4", NULL, NULL};

	hawk_text_printf(&pattern, "|%s %%P %%s %%t %%e", command);
	hawk_text_printf(&start, "/sbin/sysctl -w \"kernel.core_pattern=%s\"",
			 hawk_text_string(&pattern));
	starts[1] = hawk_text_string(&start);
	printf("# /etc/sysctl.d/60-hawk-core.conf\nkernel.core_pattern=%s\n"
	       "kernel.core_pipe_limit=4\n\n# or /etc/systemd/system/hawk-core-handler.service\n",
	       hawk_text_string(&pattern));
	put_unit("Type=oneshot", starts);
	if (pattern.size > PATTERN_BYTES_MAX)
		return trouble("the pattern has more than the 127 bytes that the kernel takes");
	return HAWK_EXIT_OK;
}

/** The handler runs all the time, and the kernel sends it each core. */
static int install_server(const char *command, const char *path)
{
	const char *starts[] = {command, NULL};
	struct utsname kernel;
	unsigned major = 0, minor = 0;

	if (uname(&kernel) == 0)
		(void)sscanf(kernel.release, "%u.%u", &major, &minor);

	const bool requests = major > 6 || (major == 6 && minor >= 17);

	printf("# /etc/sysctl.d/60-hawk-core.conf\nkernel.core_pattern=%s%s\n\n"
	       "# and /etc/systemd/system/hawk-core-handler.service\n",
	       requests ? "@@" : "@", path);
	put_unit("Restart=always", starts);
	if (path[0] != '/' || strlen(path) > SOCKET_BYTES_MAX)
		return trouble("--socket is not an absolute path of at most 107 bytes");
	if (major < 6 || (major == 6 && minor < 16))
		return trouble("this kernel has no coredump socket (Linux 6.16)");
	return HAWK_EXIT_OK;
}

int hawk_handler_install(const struct hawk_settings *settings)
{
	char self[PATH_BYTES];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	CLEANUP(text) struct hawk_text text = {0};
	int code;

	self[length > 0 ? length : 0] = 0;
	hawk_text_printf(&text, "%s handler", self);
	append_options(settings, &text);
	code = settings->handler.socket
		       ? install_server(hawk_text_string(&text), settings->handler.socket)
		       : install_program(hawk_text_string(&text));
	code |= check_program(self) | check_place(settings->handler.to) |
		check_kernel(settings->handler.socket);
	if (!code)
		printf("# no trouble was found\n");
	hawk_help_finish();
	return code;
}
