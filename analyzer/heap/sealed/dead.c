/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Searches backwards for the header of a block that was freed.
 */
#include "sweep.h"

#include "scan.h"

/* Returns the last granule of `granules` at or below `limit`, or UINT64_MAX. */
static uint64_t last_below(const uint16_t *granules, unsigned count, uint64_t base, uint64_t limit)
{
	while (count) {
		uint64_t address = base + (uint64_t)granules[--count] * HAWK_GRANULE_BYTES;

		if (address <= limit)
			return address;
	}
	return UINT64_MAX;
}

bool hawk_sweep_find_dead(const struct hawk_target *target, const struct hawk_sweep_plan *plan,
			  uint64_t start, uint64_t address, struct hawk_block *ret)
{
	uint8_t bytes[HAWK_SCAN_PAGE_BYTES];
	struct hawk_scan_page scan;

	start = (start + HAWK_GRANULE_BYTES - 1) & -(uint64_t)HAWK_GRANULE_BYTES;
	for (uint64_t page = address & -(uint64_t)HAWK_SCAN_PAGE_BYTES;
	     page + sizeof(bytes) > start; page -= HAWK_SCAN_PAGE_BYTES) {
		uint64_t from = page > start ? page : start;
		size_t got =
			hawk_target_read_some(target, from, bytes, page + sizeof(bytes) - from);
		uint64_t live, dead;

		hawk_scan_page(plan, bytes, got / HAWK_GRANULE_BYTES, from, &scan);
		live = last_below(scan.live, scan.live_count, from, address);
		dead = last_below(scan.dead, scan.dead_count, from, address);
		if (live != UINT64_MAX && (dead == UINT64_MAX || dead < live))
			return false;
		if (dead != UINT64_MAX) {
			struct hawk_block_header header =
				hawk_scan_header(bytes, (dead - from) / HAWK_GRANULE_BYTES);

			*ret = (struct hawk_block){.start = dead + HAWK_HEADER_BYTES,
						   .trace = hawk_header_trace(header.word1)};
			return true;
		}
		if (page < HAWK_SCAN_PAGE_BYTES)
			break;
	}
	return false;
}
