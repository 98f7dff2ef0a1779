/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Opens and maps a core file. The kind of file is checked before reading: a FIFO or a device would
 * block or do worse.
 */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "hawk/base/cleanup.h"

enum {
	EXTENTS = sizeof(((struct hawk_core_file *)0)->extents) / sizeof(struct hawk_core_extent),
	GUARDS_MAX = 16,
	PAGE_BYTES = 4096,
	SECONDS_DIGITS = 10, /**< of seconds since 1970, until the year 2286 */
	MILLISECONDS_DIGITS = 13,
	MICROSECONDS_DIGITS = 16,
	NS_PER_S = 1000000000,
};

/**
 * One mapped file. The handler runs in whichever thread touched the page: it reads atomics and
 * calls fstat() and mmap(), nothing else.
 */
struct hawk_core_guard {
	_Atomic uintptr_t start; /* 0 = free */
	_Atomic uintptr_t end;   /* written before start, read after it */
	_Atomic uint64_t pages;
	_Atomic int fd;
};

static struct hawk_core_guard guards[GUARDS_MAX];
static pthread_mutex_t guards_lock = PTHREAD_MUTEX_INITIALIZER;
static struct sigaction previous;

static struct hawk_core_guard *find_guard(uintptr_t address)
{
	for (int i = 0; i < GUARDS_MAX; i++) {
		uintptr_t start = atomic_load_explicit(&guards[i].start, memory_order_acquire);

		if (start && address >= start &&
		    address < atomic_load_explicit(&guards[i].end, memory_order_relaxed))
			return &guards[i];
	}
	return NULL;
}

static void pass_on(int signal, siginfo_t *info, void *context)
{
	if (previous.sa_flags & SA_SIGINFO) {
		previous.sa_sigaction(signal, info, context);
	} else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
		previous.sa_handler(signal);
	} else {
		/* Returning repeats the access, which then fails as it would without this handler.
		 */
		struct sigaction standard = {.sa_handler = SIG_DFL};

		sigaction(signal, &standard, NULL);
		if (info->si_code <= 0)
			raise(signal);
	}
}

/**
 * Returns the bytes to replace from `page` on. Behind the file's new end that is all the rest, so
 * that a file that lost gigabytes costs one mapping and not one per page. Otherwise (a disk error)
 * it is the page.
 */
static size_t lost_bytes(struct hawk_core_guard *guard, uintptr_t page)
{
	uintptr_t start = atomic_load(&guard->start);
	uintptr_t end = atomic_load(&guard->end);
	struct stat status;

	if (fstat(atomic_load(&guard->fd), &status) || page < start || page >= end ||
	    (uint64_t)status.st_size > page - start)
		return PAGE_BYTES;
	return (end - page + PAGE_BYTES - 1) & ~(size_t)(PAGE_BYTES - 1);
}

static void handle_bus_error(int signal, siginfo_t *info, void *context)
{
	uintptr_t address = (uintptr_t)info->si_addr;
	struct hawk_core_guard *guard = info->si_code > 0 ? find_guard(address) : NULL;
	uintptr_t page = address & ~(uintptr_t)(PAGE_BYTES - 1);
	size_t bytes;

	if (!guard) {
		pass_on(signal, info, context);
		return;
	}
	bytes = lost_bytes(guard, page);
	if (mmap((void *)page, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
	    MAP_FAILED)
		_exit(70); /* out of maps: repeating the access would loop for ever */
	atomic_fetch_add_explicit(&guard->pages, bytes / PAGE_BYTES, memory_order_relaxed);
}

/** Installs our handler, again if it was replaced since the last guard. */
static bool install(void)
{
	struct sigaction action = {
		.sa_sigaction = handle_bus_error,
		.sa_flags = SA_SIGINFO | SA_ONSTACK,
	};
	struct sigaction current;

	if (sigaction(SIGBUS, NULL, &current))
		return false;
	if (current.sa_flags & SA_SIGINFO && current.sa_sigaction == handle_bus_error)
		return true;
	previous = current;
	return sigaction(SIGBUS, &action, NULL) == 0;
}

/** Takes a free guard for [start, start + bytes), a mapping of `fd` from its beginning; NULL = none
 * is free. */
static struct hawk_core_guard *add_guard(const void *start, size_t bytes, int fd)
{
	struct hawk_core_guard *guard = NULL;

	pthread_mutex_lock(&guards_lock);
	for (int i = 0; i < GUARDS_MAX && !guard && install(); i++)
		if (!atomic_load(&guards[i].start))
			guard = &guards[i];
	if (guard) {
		atomic_store(&guard->pages, 0);
		atomic_store(&guard->fd, fd);
		atomic_store(&guard->end, (uintptr_t)start + bytes);
		atomic_store_explicit(&guard->start, (uintptr_t)start, memory_order_release);
	}
	pthread_mutex_unlock(&guards_lock);
	return guard;
}

/* Returns a run of `digits` digits at `text` as a time in nanoseconds, 0 = no such run. */
static uint64_t time_of_digits(const char *text, size_t digits)
{
	uint64_t unit = digits == SECONDS_DIGITS        ? NS_PER_S
			: digits == MILLISECONDS_DIGITS ? NS_PER_S / 1000
			: digits == MICROSECONDS_DIGITS ? NS_PER_S / 1000000
							: 0;

	return unit && text[0] != '0' ? unit * strtoull(text, NULL, 10) : 0;
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

/* Reads systemd-coredump's attribute: seconds, or microseconds in newer versions. */
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

static const char *kind_of_file(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFDIR:
		return "a directory";
	case S_IFIFO:
		return "a FIFO (pipe)";
	case S_IFCHR:
		return "a character device";
	case S_IFBLK:
		return "a block device";
	case S_IFSOCK:
		return "a socket";
	default:
		return "no regular file";
	}
}

/** Opens without waiting for the other end of a FIFO and without becoming a terminal's process. */
static struct hawk_error *open_regular(const char *path, int *fd, uint64_t *size)
{
	CLEANUP(close_fd)
	int opened = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	struct stat status;

	if (opened < 0 && errno == ENXIO && !stat(path, &status))
		return hawk_error_create(HAWK_ERROR_FORMAT, "%s: is %s, not a core file", path,
					 kind_of_file(status.st_mode));
	if (opened < 0)
		return hawk_error_os(errno, "cannot open", path);
	if (fstat(opened, &status))
		return hawk_error_os(errno, "cannot stat", path);
	if (!S_ISREG(status.st_mode))
		return hawk_error_create(HAWK_ERROR_FORMAT, "%s: is %s, not a core file", path,
					 kind_of_file(status.st_mode));
	if (status.st_size == 0)
		return hawk_error_create(HAWK_ERROR_FORMAT, "%s: is empty (0 bytes)", path);
	*size = (uint64_t)status.st_size;
	*fd = take_fd(&opened);
	return NULL;
}

struct hawk_error *hawk_core_file_map(int opened, uint64_t size, const char *path,
				      struct hawk_core_file **ret)
{
	CLEANUP(free_ptr) struct hawk_core_file *file = calloc(1, sizeof(*file));
	CLEANUP(close_fd) int fd = opened;
	void *bytes;

	if (!file)
		return &hawk_enomem;
	bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return hawk_error_os(errno, "cannot map", path);
	file->guard = add_guard(bytes, size, fd);
	if (!file->guard) {
		munmap(bytes, size);
		return hawk_error_create(HAWK_ERROR_UNSUPPORTED,
					 "%s: more than %d core files are open", path, GUARDS_MAX);
	}
	pthread_mutex_init(&file->lock, NULL);
	hawk_core_times(fd, path, &file->times);
	file->bytes = bytes;
	file->size = size;
	file->fd = take_fd(&fd);
	*ret = take_ptr(&file);
	return NULL;
}

struct hawk_error *hawk_core_file_open(const char *path, struct hawk_core_file **ret)
{
	uint64_t size = 0;
	int fd = -1;
	struct hawk_error *error = open_regular(path, &fd, &size);

	return error ? error : hawk_core_file_map(fd, size, path, ret);
}

struct hawk_error *hawk_core_file_over(const void *bytes, size_t size, struct hawk_core_file **ret)
{
	struct hawk_core_file *file = calloc(1, sizeof(*file));

	if (!file)
		return &hawk_enomem;
	*file = (struct hawk_core_file){.bytes = bytes, .size = size, .fd = -1};
	*ret = file;
	return NULL;
}

void hawk_core_file_close(struct hawk_core_file *file)
{
	if (!file)
		return;
	if (file->fd >= 0) {
		atomic_store(&file->guard->start, 0);
		munmap((void *)file->bytes, file->size);
		close(file->fd);
		pthread_mutex_destroy(&file->lock);
	}
	free(file);
}

/* Returns the known range that holds `at`, or NULL. */
static const struct hawk_core_extent *known_extent(const struct hawk_core_file *file, off_t at)
{
	for (unsigned i = 0; i < EXTENTS; i++)
		if (at >= file->extents[i].start && at < file->extents[i].hole)
			return &file->extents[i];
	return NULL;
}

/* Returns the first range of data at or behind `from`, less than 0 if none. `*hole` is its end. */
static off_t find_data(struct hawk_core_file *file, off_t from, off_t *hole)
{
	const struct hawk_core_extent *known;
	off_t data;

	pthread_mutex_lock(&file->lock);
	known = known_extent(file, from);
	data = known ? known->data : lseek(file->fd, from, SEEK_DATA);
	if (!known && data >= 0) {
		struct hawk_core_extent *extent = &file->extents[file->next_extent++ % EXTENTS];

		*extent = (struct hawk_core_extent){from, data, lseek(file->fd, data, SEEK_HOLE)};
		known = extent;
	}
	*hole = known ? known->hole : -1;
	pthread_mutex_unlock(&file->lock);
	return data > from || data < 0 ? data : from;
}

bool hawk_core_file_data(struct hawk_core_file *file, const struct hawk_mapping *mapping,
			 uint64_t *start, uint64_t *end)
{
	uint64_t from = mapping->core_offset + (*start - mapping->start);
	uint64_t to = mapping->core_offset + (*end - mapping->start);
	off_t data, hole;

	if (file->fd < 0)
		return true;
	data = find_data(file, (off_t)from, &hole);
	if (data < 0)
		return errno != ENXIO; /* ENXIO: only a hole up to the end */
	if ((uint64_t)data >= to)
		return false;
	if (hole > data && (uint64_t)hole < to)
		*end -= to - (uint64_t)hole;
	*start += (uint64_t)data - from;
	return true;
}

void hawk_core_file_check(const struct hawk_core_file *file, struct hawk_findings *findings)
{
	uint64_t pages = file->guard ? atomic_load(&file->guard->pages) : 0;

	if (pages)
		hawk_findings_add(findings, HAWK_FINDING_MISSING, true, "core-changed",
				  "the core file shrank or could not be read while it was "
				  "analyzed: at least %" PRIu64 " bytes were taken as zeros",
				  pages * PAGE_BYTES);
}
