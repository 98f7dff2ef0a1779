/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds the arena that each thread uses. A variable of the C library in thread-local storage leads
 * to it, at the same distance below the thread pointer in all threads, near the one of caches.
 */
#include "glibc.h"

enum { NEAR_BYTES = 0x100, TLS_BYTES = 0x2000, THREADS_TRIED = 64 };

/* Returns the index of the arena at `address`, UINT32_MAX = none. */
static uint32_t arena_at(const struct hawk_glibc *glibc, uint64_t address)
{
	for (uint32_t i = 0; i < glibc->arena_count; i++)
		if (glibc->arenas[i].start == address)
			return i;
	return UINT32_MAX;
}

/* Returns the number of threads whose word at that distance leads to an arena; 0 if it is neither
 * that nor 0 in some thread. */
static size_t count_leading(const struct hawk_glibc *glibc, struct hawk_near *near,
			    const struct hawk_thread *threads, size_t count, uint64_t below)
{
	size_t leading = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t word;

		if (!hawk_word(near, hawk_thread_pointer(&threads[i]) - below, &word) || !word)
			continue;
		if (arena_at(glibc, word) == UINT32_MAX)
			return 0;
		leading++;
	}
	return leading;
}

void hawk_glibc_thread_arenas(const struct hawk_glibc *glibc, uint32_t *ret)
{
	struct hawk_near near = {.target = glibc->target};
	size_t count, best = 0;
	const struct hawk_thread *threads = hawk_target_threads(glibc->target, &count);
	uint64_t middle = glibc->cache_below, best_below = 0, word;
	uint64_t first = middle > NEAR_BYTES ? middle - NEAR_BYTES : 8;
	uint64_t last = middle ? middle + NEAR_BYTES : TLS_BYTES;

	for (uint64_t below = first; below <= last; below += 8) {
		size_t tried = count < THREADS_TRIED ? count : THREADS_TRIED;
		size_t leading = count_leading(glibc, &near, threads, tried, below);

		if (leading > best) {
			best = leading;
			best_below = below;
		}
	}
	for (size_t i = 0; i < count; i++)
		ret[i] = best && hawk_word(&near, hawk_thread_pointer(&threads[i]) - best_below,
					   &word)
				 ? arena_at(glibc, word)
				 : UINT32_MAX;
}
