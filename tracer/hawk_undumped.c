/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Ranges in a fixed array, each taken by one exchange of its start. An entry whose end is 0 is
 * being written, or taken back: the analyzer then takes nothing for granted.
 */
#include "hawk_undumped.h"

#include <stdbool.h>

void hawk_undumped_add(struct hawk_table_header *header, uint64_t start, uint64_t end)
{
	for (unsigned i = 0; i < HAWK_TABLE_UNDUMPED; i++) {
		struct hawk_table_undumped *entry = &header->undumped[i];
		uint64_t taken = 0;

		if (__atomic_compare_exchange_n(&entry->start, &taken, start, false,
						__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
			__atomic_store_n(&entry->end, end, __ATOMIC_RELEASE);
			return;
		}
		if (taken <= start && end <= __atomic_load_n(&entry->end, __ATOMIC_ACQUIRE))
			return;
	}
	__atomic_fetch_add(&header->undumped_lost, 1, __ATOMIC_RELAXED);
}

void hawk_undumped_remove(struct hawk_table_header *header, uint64_t start, uint64_t end)
{
	for (unsigned i = 0; i < HAWK_TABLE_UNDUMPED; i++) {
		struct hawk_table_undumped *entry = &header->undumped[i];
		uint64_t from = __atomic_load_n(&entry->start, __ATOMIC_ACQUIRE);
		uint64_t to = __atomic_load_n(&entry->end, __ATOMIC_ACQUIRE);

		if (!from || !to || from < start || to > end)
			continue;
		__atomic_store_n(&entry->end, 0, __ATOMIC_RELEASE);
		__atomic_store_n(&entry->start, 0, __ATOMIC_RELEASE);
	}
}
