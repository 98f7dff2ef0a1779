/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Testing the granules of a page, for all processors. Internal to heap/.
 */
#ifndef HAWK_SCAN_PAGE_H
#define HAWK_SCAN_PAGE_H

#include "hawk_ahead.h"
#include "hawk_scan.h"

enum {
	HAWK_SCAN_LINE_GRANULES = 4, /* of a cache line */
	HAWK_SCAN_MASK_WORDS = HAWK_SCAN_PAGE_GRANULES / 64,
};

static_assert(HAWK_SCAN_PAGE_GRANULES <= UINT16_MAX, "granules of a page are stored in 16 bits");

/** One bit for each granule of a page. */
struct hawk_scan_marks {
	uint64_t live[HAWK_SCAN_MASK_WORDS]; /**< the top bit of word 0 is set */
	uint64_t dead[HAWK_SCAN_MASK_WORDS]; /**< a trace id below the plan's, and a seal not 0 */
	bool zero;
};

/** hawk_scan_page(), twice; see hawk_cpu.h. */
void hawk_scan_page_plain(const struct hawk_sweep_plan *plan, const uint8_t *bytes, size_t granules,
			  uint64_t address, struct hawk_scan_page *ret);
void hawk_scan_page_avx512(const struct hawk_sweep_plan *plan, const uint8_t *bytes,
			   size_t granules, uint64_t address, struct hawk_scan_page *ret);

/** The dead headers among the granules that are marked so and not live. */
static inline void hawk_scan_test_dead(const struct hawk_sweep_plan *plan, const uint8_t *bytes,
				       uint64_t address, const struct hawk_scan_marks *marks,
				       struct hawk_scan_page *ret)
{
	const struct hawk_seal_key key = plan->key;

	ret->dead_count = 0;
	for (size_t word = 0; word < HAWK_SCAN_MASK_WORDS; word++)
		for (uint64_t left = marks->dead[word] & ~marks->live[word]; left;
		     left &= left - 1) {
			size_t granule = word * 64 + (unsigned)__builtin_ctzll(left);
			struct hawk_block_header header = hawk_scan_header(bytes, granule);

			if (hawk_header_is_dead(&key, header.word1,
						address + (uint64_t)granule * HAWK_GRANULE_BYTES))
				ret->dead[ret->dead_count++] = (uint16_t)granule;
		}
}

#endif
