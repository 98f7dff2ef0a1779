/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The SIGBUS handler and its table of guarded ranges. The handler runs in whichever thread touched
 * the page: it reads atomics and calls fstat() and mmap(), nothing else.
 */
#include "core_guard.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct guard {
	_Atomic uintptr_t start; /* 0 = free */
	_Atomic uintptr_t end;   /* written before start, read after it */
	_Atomic uint64_t pages;
	_Atomic int fd;
};

enum { PAGE_BYTES = 4096 };

static struct guard guards[HAWK_CORE_GUARDS_MAX];
static pthread_mutex_t guards_lock = PTHREAD_MUTEX_INITIALIZER;
static struct sigaction previous;

static struct guard *find_guard(uintptr_t address)
{
	for (int i = 0; i < HAWK_CORE_GUARDS_MAX; i++) {
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
		/* Returning repeats the access, which then dies as it would have without us. */
		struct sigaction standard = {.sa_handler = SIG_DFL};

		sigaction(signal, &standard, NULL);
		if (info->si_code <= 0)
			raise(signal);
	}
}

/**
 * How much to replace from `page` on: all up to the end where the file no longer reaches, so that a
 * file that lost gigabytes costs one mapping and not one per page; else the page (a disk error).
 */
static size_t lost_bytes(struct guard *guard, uintptr_t page)
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
	struct guard *guard = info->si_code > 0 ? find_guard(address) : NULL;
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

/** Puts our handler in place, also if somebody has replaced it since the last guard. */
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

int hawk_core_guard_add(const void *start, size_t bytes, int fd)
{
	int slot = -1;

	pthread_mutex_lock(&guards_lock);
	for (int i = 0; i < HAWK_CORE_GUARDS_MAX && slot < 0 && install(); i++) {
		if (atomic_load(&guards[i].start))
			continue;
		atomic_store(&guards[i].pages, 0);
		atomic_store(&guards[i].fd, fd);
		atomic_store(&guards[i].end, (uintptr_t)start + bytes);
		atomic_store_explicit(&guards[i].start, (uintptr_t)start, memory_order_release);
		slot = i;
	}
	pthread_mutex_unlock(&guards_lock);
	return slot;
}

void hawk_core_guard_remove(int slot)
{
	if (slot >= 0)
		atomic_store(&guards[slot].start, 0);
}

uint64_t hawk_core_guard_pages(int slot)
{
	return slot >= 0 ? atomic_load(&guards[slot].pages) : 0;
}
