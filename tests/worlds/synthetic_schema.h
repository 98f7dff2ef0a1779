/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A heap of records and arrays for schemas: of each record three words have too many of something,
 * four are sometimes wrong. Test code.
 */
#ifndef SYNTHETIC_SCHEMA_H
#define SYNTHETIC_SCHEMA_H

#include "hawk/analysis/schema.h"
#include "synthetic_heap.h"

enum {
	TARGETS = 100, /**< blocks of a site each, 0 .. TARGETS - 1 */
	RECORDS = 3000,
	ARRAYS = 300,
	RECORD_SITE = TARGETS,
	ARRAY_SITE,
	SITES,
	TARGET_BYTES = 24,
	RECORD_BYTES = 64,
	ELEMENT_WORDS = 3,
	HEAP_BYTES = 1 << 20,
	ODD_EACH = 125, /**< one record of so many has a wrong word at an offset */
	ODD_OFFSETS = 4,
};

/** Three offsets have too many of something, four have wrong words. */
enum { KEYS_AT = 0, FEW_AT = 8, MANY_AT = 16, ODD_AT = 24, TEXT_AT = 56 };

struct schema_world {
	struct synthetic_heap *heap;
	uint64_t targets[TARGETS];
	uint64_t records[RECORDS];
	unsigned keys[RECORDS]; /**< the target that record i points to */
	uint64_t next;
	uint64_t seed;

	uint8_t *core_bytes;
	struct hawk_findings findings;
	struct hawk_target *target;
	struct hawk_site sites[SITES];
	uint32_t site_of_trace[SITES];
	struct hawk_heap of_sites;
};

/** Creates the world with a core cut to `cut_bytes`; makes the index. */
struct schema_world *schema_world_create(size_t cut_bytes);
void schema_world_destroy(struct schema_world *world);

/** In place of the word at ODD_AT + 8 * k: text, or a pointer that is close to a block, in the
 * granule of its end. */
uint64_t schema_world_wrong_word(const struct schema_world *world, unsigned k);

#endif
