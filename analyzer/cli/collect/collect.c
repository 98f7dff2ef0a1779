/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core collect: waits for processes that die and leave a table file, and analyzes it.
 *
 * A table file outlives SIGKILL and the OOM killer, after which there is no core.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/wait.h>
#include <unistd.h>

#include "death.h"
#include "hawk/base/array.h"
#include "hawk/base/cleanup.h"

enum {
	/** A table is complete a moment after its file was made: how often to look again. */
	ROUNDS = 5,
	ROUND_MS = 500,
	EVENT_BYTES = 4096,
};

static const char default_tables[] = "/dev/shm";

/** A table file whose process lives, or one that must not be touched again. */
struct table {
	char name[NAME_MAX + 1];
	struct stat file;
	pid_t pid;
	int pidfd; /**< -1 = not to be touched */
	char *notes;
	bool seen; /**< in this round */
};

struct collector {
	const struct hawk_settings *settings;
	int directory;
	struct table *tables;
	size_t count, capacity;
};

static struct table *find(struct collector *collector, const struct stat *file)
{
	for (size_t i = 0; i < collector->count; i++)
		if (collector->tables[i].file.st_ino == file->st_ino &&
		    collector->tables[i].file.st_dev == file->st_dev)
			return &collector->tables[i];
	return NULL;
}

static void forget(struct collector *collector, struct table *table)
{
	if (table->pidfd >= 0)
		close(table->pidfd);
	free(table->notes);
	*table = collector->tables[--collector->count];
}

/** Removes the file, unless another one has its name by now. */
static void remove_file(const struct collector *collector, const struct table *table)
{
	struct stat now;

	if (fstatat(collector->directory, table->name, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
	    now.st_ino == table->file.st_ino && unlinkat(collector->directory, table->name, 0) != 0)
		hawk_complain("cannot remove %s: %s", table->name, strerror(errno));
}

/** Has a process of its own write the reports. Returns true if the table may go. */
static bool report(const struct collector *collector, const struct hawk_death *death)
{
	pid_t child = fork();
	int status = -1;

	if (child == 0)
		_exit(hawk_death_report(collector->settings, death));
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return child > 0 && WIFEXITED(status) &&
	       (WEXITSTATUS(status) == HAWK_EXIT_OK || WEXITSTATUS(status) == HAWK_EXIT_PARTIAL);
}

/** Handles the end of a process. Returns true if its table is gone. */
static bool take(const struct collector *collector, const struct table *table)
{
	CLEANUP(close_fd)
	int fd = openat(collector->directory, table->name,
			O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct hawk_death death = {
		.name = table->name,
		.table = fd,
		.file = table->file,
		.pid = table->pid,
		.pidfd = table->pidfd,
		.notes = table->notes,
	};
	struct stat now;

	if (fd < 0 || fstat(fd, &now) != 0 || now.st_ino != table->file.st_ino)
		return true;
	if (!report(collector, &death)) {
		hawk_complain("%s stays: there is no report of it", table->name);
		return false;
	}
	remove_file(collector, table);
	return true;
}

/** Opens a regular file that holds a table. Returns -1 if it is something else. */
static int open_table(const struct collector *collector, const char *name, struct stat *file,
		      struct hawk_owner *owner)
{
	CLEANUP(close_fd)
	int fd = openat(collector->directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0 || fstat(fd, file) != 0 || !S_ISREG(file->st_mode) ||
	    !hawk_owner_read(fd, owner))
		return -1;
	return take_fd(&fd);
}

static void look_at(struct collector *collector, const char *name)
{
	struct table table = {.pidfd = -1, .seen = true}, *known;
	struct hawk_owner owner;
	enum hawk_owner_state state;
	CLEANUP(close_fd) int fd = open_table(collector, name, &table.file, &owner);

	if (fd < 0)
		return;
	known = find(collector, &table.file);
	if (known) {
		known->seen = true;
		return;
	}
	if (!hawk_array_reserve(&collector->tables, collector->count, &collector->capacity,
				sizeof(table)))
		return;
	strncpy(table.name, name, sizeof(table.name) - 1);
	state = hawk_owner_find(&owner, &table.pid, &table.pidfd);
	if (state == HAWK_OWNER_GONE && take(collector, &table))
		return;
	if (state == HAWK_OWNER_LIVES)
		table.notes = hawk_death_notes(table.pid);
	else
		table.pidfd = -1;
	if (state == HAWK_OWNER_HIDDEN)
		hawk_complain("%s: its process is in a PID namespace that cannot be seen from here",
			      name);
	collector->tables[collector->count++] = table;
}

/** Looks at all files, and forgets those that are gone. */
static void scan(struct collector *collector)
{
	int fd = openat(collector->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!directory)
		return;
	for (size_t i = 0; i < collector->count; i++)
		collector->tables[i].seen = false;
	while ((entry = readdir(directory)))
		look_at(collector, entry->d_name);
	closedir(directory);
	for (size_t i = collector->count; i-- > 0;)
		if (!collector->tables[i].seen)
			forget(collector, &collector->tables[i]);
}

/** Waits until a process ends or a file appears, and takes what ended. `*is_new`: a file appeared.
 */
static struct hawk_error *wait_for_events(struct collector *collector, int news, int timeout_ms,
					  bool *is_new)
{
	CLEANUP(free_ptr) struct pollfd *fds = calloc(collector->count + 1, sizeof(*fds));
	char events[EVENT_BYTES];
	int ready;

	if (!fds)
		return &hawk_enomem;
	fds[0] = (struct pollfd){.fd = news, .events = POLLIN};
	for (size_t i = 0; i < collector->count; i++)
		fds[i + 1] = (struct pollfd){.fd = collector->tables[i].pidfd, .events = POLLIN};
	ready = poll(fds, collector->count + 1, timeout_ms);
	if (ready < 0 && errno != EINTR)
		return hawk_error_os(errno, "cannot wait for", "processes");
	*is_new = ready > 0 && fds[0].revents;
	while (*is_new && read(news, events, sizeof(events)) > 0)
		;
	for (size_t i = collector->count; ready > 0 && i-- > 0;) {
		struct table *table = &collector->tables[i];

		if (!fds[i + 1].revents)
			continue;
		if (take(collector, table)) {
			forget(collector, table);
			continue;
		}
		close(table->pidfd);
		table->pidfd = -1;
	}
	return NULL;
}

static struct hawk_error *collect(struct collector *collector)
{
	CLEANUP(close_fd) int news = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	struct hawk_error *err = NULL;
	unsigned rounds = 0;
	bool is_new;

	if (!collector->settings->collect.once &&
	    (news < 0 || inotify_add_watch(news, collector->settings->collect.tables,
					   IN_CREATE | IN_MOVED_TO | IN_ONLYDIR) < 0))
		return hawk_error_os(errno, "cannot watch", collector->settings->collect.tables);
	do {
		scan(collector);
		err = wait_for_events(collector, news,
				      collector->settings->collect.once ? 0
				      : rounds                          ? ROUND_MS
									: -1,
				      &is_new);
		rounds = is_new ? ROUNDS : rounds ? rounds - 1 : 0;
	} while (!err && !collector->settings->collect.once);
	while (collector->count)
		forget(collector, collector->tables);
	free(collector->tables);
	return err;
}

static int run(struct hawk_settings *settings)
{
	struct collector collector = {.settings = settings};
	struct hawk_error *err;

	if (!settings->handler.to || settings->count) {
		hawk_complain("collect needs --to=DIR; see hawk-core help collect");
		return HAWK_EXIT_USAGE;
	}
	if (!settings->collect.tables)
		settings->collect.tables = default_tables;
	collector.directory = open(settings->collect.tables, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	err = collector.directory < 0
		      ? hawk_error_os(errno, "cannot open", settings->collect.tables)
		      : collect(&collector);
	if (collector.directory >= 0)
		close(collector.directory);
	return err ? hawk_fail(err) : HAWK_EXIT_OK;
}

static const struct hawk_option options[] = {
	{"to", '\0', HAWK_OPTION_STRING, HAWK_AT(handler.to), "DIR",
	 "keep tables and reports below DIR"},
	{"table-dir", '\0', HAWK_OPTION_STRING, HAWK_AT(collect.tables), "DIR",
	 "where the tracer's table files are (/dev/shm if not given)"},
	{"keep", '\0', HAWK_OPTION_COUNT, HAWK_AT(handler.keep), "N",
	 "keep the newest N reports (100 if not given)"},
	{"once", '\0', HAWK_OPTION_FLAG, HAWK_AT(collect.once), NULL,
	 "take the tables of processes that are gone already, and end"},
	{0},
};

const struct hawk_verb hawk_verb_collect = {
	.name = "collect",
	.arguments = "--to=DIR [options]",
	.summary = "report on processes that were killed without a core",
	.details = "Waits for processes that end and leave a table file (table=FILE of the "
		   "tracer), as after the OOM killer. Below DIR, in NAME.PID.TIME, it keeps the "
		   "table (table.hawk), the answer of analyze (report.txt, report.json), a "
		   "snapshot (report.hawk) and what the system knows of the end (process.txt: "
		   "signal, the kernel's OOM message, counts of the control group), and removes "
		   "the file. Files of processes that end with exit code 0 are removed.",
	.options = options,
	.exit_codes = "Exit codes: 0 ok, 2 usage, 3 not readable.",
	.run = run,
};
