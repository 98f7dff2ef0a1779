/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds the arena that each thread uses. A variable of the C library leads to it, near the one of
 * caches.
 */
#include "glibc.h"
#include "thread_words.h"

enum { NEAR_BYTES = 0x100, TLS_BYTES = 0x2000 };

static uint32_t arena_at(const void *context, uint64_t address)
{
	const struct hawk_glibc *glibc = context;

	for (uint32_t i = 0; i < glibc->arena_count; i++)
		if (glibc->arenas[i].start == address)
			return i;
	return UINT32_MAX;
}

void hawk_glibc_thread_arenas(const void *state, uint32_t *ret)
{
	const struct hawk_glibc *glibc = state;
	uint64_t middle = glibc->cache_below;

	hawk_thread_words_find(
		&(struct hawk_thread_words){
			.target = glibc->target,
			.first = middle > NEAR_BYTES ? middle - NEAR_BYTES : 8,
			.last = middle ? middle + NEAR_BYTES : TLS_BYTES,
			.arena_at = arena_at,
			.context = glibc,
		},
		ret);
}
