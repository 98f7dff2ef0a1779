/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What a stress program knows of its blocks, in a file that survives it: an array of 48-byte
 * entries, little-endian, read by support/stress.py.
 *
 * Invariant: `state` is written last, so an entry that says LIVE is true at every instant, and
 * whatever the program is doing at the moment is marked as in flight.
 */
#ifndef STRESS_SHADOW_H
#define STRESS_SHADOW_H

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

enum stress_state {
	STRESS_EMPTY = 0,
	STRESS_LIVE = 1,       /**< `size` bytes at `address` */
	STRESS_ALLOCATING = 2, /**< perhaps `size` bytes somewhere; `address` says nothing */
	STRESS_FREEING = 3,    /**< perhaps still `size` bytes at `address` */
	STRESS_RESIZING = 4,   /**< as FREEING, or `new_size` bytes somewhere */
};

struct stress_entry {
	uint64_t state;
	uint64_t address;
	uint64_t size;
	uint64_t new_size;
	uint64_t label; /**< which plug-in made it, 0 = none */
	uint64_t salt;  /**< of the content */
};

static inline void stress_set(struct stress_entry *entry, enum stress_state state)
{
	__atomic_store_n(&entry->state, (uint64_t)state, __ATOMIC_SEQ_CST);
}

/** A new file of `count` empty entries; NULL on failure. */
static inline struct stress_entry *stress_map(const char *path, size_t count)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	void *memory = MAP_FAILED;

	if (fd >= 0 && !ftruncate(fd, (off_t)(count * sizeof(struct stress_entry))))
		memory = mmap(NULL, count * sizeof(struct stress_entry), PROT_READ | PROT_WRITE,
			      MAP_SHARED, fd, 0);
	if (fd >= 0)
		close(fd);
	return memory == MAP_FAILED ? NULL : memory;
}

#endif
