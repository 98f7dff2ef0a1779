/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Serves the kernel's coredump socket.
 */
#include "socket.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hawk/base/cleanup.h"

enum {
	/** Further processes that die meanwhile wait in the queue; those beyond it lose their
	 * cores.
	 */
	QUEUE = 4096,
	HANDSHAKE_SECONDS = 10,
	PID_BYTES = 16,
};

/* <linux/coredump.h>, which is younger than many systems. */
struct request {
	uint32_t bytes;        /**< of this structure, which may grow */
	uint32_t answer_bytes; /**< the largest answer that the kernel takes */
	uint64_t features;
};

struct answer {
	uint32_t bytes;
	uint32_t spare;
	uint64_t features;
};

enum {
	KERNEL_WRITES = 1 << 0,
	KERNEL_WAITS = 1 << 3,
	WANTED = KERNEL_WRITES | KERNEL_WAITS,
	REQUEST_BYTES_MAX = 4096,
	AGREED = 0, /**< the kernel's last word, 32 bits, before the core */
};

/** Asks for the core. A kernel without requests sends it at once. */
static struct hawk_error *agree(int fd)
{
	const struct answer answer = {sizeof(answer), 0, WANTED};
	uint8_t bytes[REQUEST_BYTES_MAX];
	struct request request;
	uint32_t word = 0;

	if (recv(fd, &word, sizeof(word), MSG_PEEK | MSG_WAITALL) != sizeof(word))
		return hawk_error_create(HAWK_ERROR_FORMAT, "the socket: nothing was sent");
	if (memcmp(&word, ELFMAG, SELFMAG) == 0)
		return NULL;
	if (word < sizeof(request) || word > sizeof(bytes) ||
	    recv(fd, bytes, word, MSG_WAITALL) != (ssize_t)word)
		return hawk_error_create(HAWK_ERROR_FORMAT,
					 "the socket: is no request of a kernel");
	memcpy(&request, bytes, sizeof(request));
	if (request.answer_bytes < sizeof(answer) || (request.features & WANTED) != WANTED)
		return hawk_error_create(HAWK_ERROR_UNSUPPORTED,
					 "the socket: this kernel does not send cores");
	if (send(fd, &answer, sizeof(answer), MSG_NOSIGNAL) != sizeof(answer) ||
	    recv(fd, &word, sizeof(word), MSG_WAITALL) != sizeof(word) || word != AGREED)
		return hawk_error_create(HAWK_ERROR_UNSUPPORTED,
					 "the socket: the kernel did not agree");
	return NULL;
}

/** Takes the core that one connection brings; ends with it as standard input. */
static int take_one(const struct hawk_settings *settings, int fd, hawk_take_core *take)
{
	const struct timeval patience = {.tv_sec = HANDSHAKE_SECONDS};
	struct ucred peer = {0};
	socklen_t bytes = sizeof(peer);
	struct hawk_error *err = NULL;
	char pid[PID_BYTES];

	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) != 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0 ||
	    dup2(fd, STDIN_FILENO) < 0)
		err = hawk_error_os(errno, "cannot use", "the socket");
	if (!err)
		err = agree(STDIN_FILENO);
	if (err)
		return hawk_fail(err);
	snprintf(pid, sizeof(pid), "%d", (int)peer.pid);
	return take(settings, pid);
}

/** Binds the socket, for root alone: the kernel connects with its own rights. */
static struct hawk_error *listen_at(const char *path, int *ret)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	CLEANUP(close_fd) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct stat old;

	if (strlen(path) >= sizeof(name.sun_path))
		return hawk_error_create(HAWK_ERROR_LIMIT,
					 "%s: a socket's path has at most %zu bytes", path,
					 sizeof(name.sun_path) - 1);
	memcpy(name.sun_path, path, strlen(path));
	if (lstat(path, &old) == 0 && S_ISSOCK(old.st_mode))
		unlink(path);
	umask(0177);
	if (fd < 0 || bind(fd, (const struct sockaddr *)&name, sizeof(name)) != 0 ||
	    listen(fd, QUEUE) != 0)
		return hawk_error_os(errno, "cannot listen at", path);
	*ret = take_fd(&fd);
	return NULL;
}

int hawk_handler_serve(const struct hawk_settings *settings, hawk_take_core *take)
{
	int listener, fd;
	struct hawk_error *err = listen_at(settings->handler.socket, &listener);

	if (err)
		return hawk_fail(err);
	while ((fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0 || errno == EINTR ||
	       errno == ECONNABORTED) {
		pid_t child = fd < 0 ? -1 : fork();

		if (child == 0) {
			close(listener);
			return take_one(settings, fd, take);
		}
		if (fd >= 0)
			close(fd);
		while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
			;
	}
	return hawk_fail(hawk_error_os(errno, "cannot accept at", settings->handler.socket));
}
