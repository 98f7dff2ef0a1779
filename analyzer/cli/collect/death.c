/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Keeps the table, what the system knows of the end, and the reports.
 */
#include "death.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "handler/place.h"
#include "handler/report.h"
#include "hawk/base/cleanup.h"
#include "hawk/base/numbers.h"

enum {
	NAME_BYTES = 64,
	PATH_BYTES = 4096,
	RECORD_BYTES = 8192, /**< the longest record of /dev/kmsg */
	LINES_MAX = 100,
	DEFAULT_KEEP = 100,
	REPORT_SECONDS = 300,
	ROUNDS = 10, /**< while the parent has not taken the status */
	ROUND_MS = 100,
};

static const uint64_t NS_PER_S = 1000000000;
static const char table_name[] = "table.hawk";

char *hawk_death_notes(pid_t pid)
{
	static const char *const names[] = {"comm", "cmdline", "cgroup", "limits", NULL};
	char text[NAME_BYTES];
	char *ret = NULL;
	size_t bytes;
	FILE *notes = open_memstream(&ret, &bytes);

	snprintf(text, sizeof(text), "%d", (int)pid);
	for (const char *const *name = names; notes && *name; name++)
		hawk_crash_note(notes, text, *name);
	return notes && fclose(notes) == 0 ? ret : NULL;
}

static struct hawk_owner_end end_of(const struct hawk_death *death)
{
	struct hawk_owner_end end = hawk_owner_end(death->pidfd);

	for (unsigned i = 0; death->pidfd >= 0 && !end.known && i < ROUNDS; i++) {
		poll(NULL, 0, ROUND_MS);
		end = hawk_owner_end(death->pidfd);
	}
	return end;
}

static void note_end(FILE *notes, struct hawk_owner_end end)
{
	if (!end.known)
		fputs("how it ended is not known\n", notes);
	else if (WIFSIGNALED(end.status))
		fprintf(notes, "ended by signal %d (%s)\n", WTERMSIG(end.status),
			strsignal(WTERMSIG(end.status)));
	else
		fprintf(notes, "ended with exit code %d\n", WEXITSTATUS(end.status));
}

/** Copies the lines of the kernel's log that tell of an OOM kill of the process. */
static void note_kernel(FILE *notes, pid_t pid)
{
	CLEANUP(close_fd) int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	char record[RECORD_BYTES + 1], killed[NAME_BYTES], chosen[NAME_BYTES];
	unsigned lines = 0;
	ssize_t got;

	snprintf(killed, sizeof(killed), "Killed process %d ", (int)pid);
	snprintf(chosen, sizeof(chosen), ",pid=%d,", (int)pid);
	/* EPIPE: records were overwritten meanwhile. */
	while (fd >= 0 && lines < LINES_MAX &&
	       ((got = read(fd, record, RECORD_BYTES)) > 0 || (got < 0 && errno == EPIPE))) {
		const char *text;

		record[got > 0 ? got : 0] = 0;
		record[strcspn(record, "\n")] = 0;
		text = strchr(record, ';');
		if (!text ||
		    (!strstr(text, killed) && !(strstr(text, "oom-kill:") && strstr(text, chosen))))
			continue;
		fprintf(notes, "%s%s\n", lines++ ? "" : "== kernel ==\n", text + 1);
	}
}

/** Copies what the control group counts, if it is still there. */
static void note_group(FILE *notes, const char *process)
{
	static const char *const names[] = {"memory.events", "memory.peak", "memory.max", NULL};
	const char *line = process ? strstr(process, "\n0::/") : NULL;
	int length = line ? (int)strcspn(line + 4, "\n") : 0;

	if (!line || memmem(line + 4, (size_t)length, "..", 2))
		return;
	for (const char *const *name = names; *name; name++) {
		char path[PATH_BYTES], text[PATH_BYTES];

		snprintf(path, sizeof(path), "/sys/fs/cgroup%.*s/%s", length, line + 4, *name);
		CLEANUP(close_file) FILE *file = fopen(path, "re");
		size_t got = file ? fread(text, 1, sizeof(text) - 1, file) : 0;

		text[got] = 0;
		if (got)
			fprintf(notes, "== %s ==\n%s\n", *name, text);
	}
}

static char *all_notes(const struct hawk_death *death, struct hawk_owner_end end)
{
	char *ret = NULL;
	size_t bytes;
	FILE *notes = open_memstream(&ret, &bytes);

	if (!notes)
		return NULL;
	note_end(notes, end);
	if (death->pid)
		note_kernel(notes, death->pid);
	note_group(notes, death->notes);
	if (death->notes)
		fputs(death->notes, notes);
	return fclose(notes) == 0 ? ret : NULL;
}

/** Copies the table, without its holes. */
static struct hawk_error *copy_table(const struct hawk_death *death)
{
	CLEANUP(close_fd)
	int to = open(table_name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
	off_t at = 0, data;

	if (to < 0 || ftruncate(to, death->file.st_size) != 0)
		return hawk_error_os(errno, "cannot write", table_name);
	while ((data = lseek(death->table, at, SEEK_DATA)) >= 0) {
		off_t end = lseek(death->table, data, SEEK_HOLE);
		off_t from = data, there = data;

		while (from < end) {
			ssize_t got = copy_file_range(death->table, &from, to, &there,
						      (size_t)(end - from), 0);

			if (got <= 0)
				return hawk_error_os(got < 0 ? errno : EIO, "cannot copy",
						     "the table");
		}
		at = end;
	}
	return errno == ENXIO ? NULL : hawk_error_os(errno, "cannot copy", "the table");
}

/** The name in "== comm ==\nNAME\n"; if there is none, that of the table. */
static void find_name(const struct hawk_death *death, char *ret, size_t size)
{
	const char *line = death->notes ? strstr(death->notes, "== comm ==\n") : NULL;
	const char *name = line ? strchr(line, '\n') + 1 : death->name;

	snprintf(ret, size, "%.*s", (int)strcspn(name, "\n"), name);
}

static int report(const struct hawk_settings *settings, const struct hawk_death *death,
		  const char *notes)
{
	uint64_t end_ns = hawk_now_ns(CLOCK_MONOTONIC) + REPORT_SECONDS * NS_PER_S;
	uint64_t keep = settings->handler.keep ? settings->handler.keep : DEFAULT_KEEP;
	char pid[NAME_BYTES], seconds[NAME_BYTES], name[NAME_BYTES];
	const struct hawk_crash crash = {
		.pid = pid,
		.time = seconds,
		.name = name,
		.owner = &death->file,
		.notes = notes,
	};
	struct hawk_error *err;
	int place;

	snprintf(pid, sizeof(pid), "%d", (int)death->pid);
	snprintf(seconds, sizeof(seconds), "%" PRIu64, hawk_now_ns(CLOCK_REALTIME) / NS_PER_S);
	find_name(death, name, sizeof(name));
	err = hawk_place_open(settings->handler.to, end_ns, &place);
	if (!err) {
		hawk_place_prune(place, keep - 1);
		err = hawk_place_enter(place, &crash);
	}
	if (!err)
		err = copy_table(death);
	return err ? hawk_fail(err) : hawk_crash_report(table_name, NULL, end_ns);
}

int hawk_death_report(const struct hawk_settings *settings, const struct hawk_death *death)
{
	struct hawk_owner_end end = end_of(death);
	CLEANUP(free_ptr) char *notes = NULL;

	if (end.known && end.status == 0)
		return HAWK_EXIT_OK;
	notes = all_notes(death, end);
	return notes ? report(settings, death, notes) : hawk_fail(&hawk_enomem);
}
