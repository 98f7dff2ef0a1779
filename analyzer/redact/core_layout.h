/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Layout of a core file, and the block in front of the redacted one: ELF header, program headers,
 * and a note that identifies the file. Internal to redact/.
 *
 *     original:  | ELF header | program headers | notes | memory ... |
 *     redacted:  | ELF header | program headers + 1 | our note | 0 ... 0 | notes | memory ... |
 *                |<-------------------- shift ------------------->|<- the original's size ->|
 *
 * Nothing can be added to a truncated list of program headers: the file then has no block in front
 * and no note, and headers stay in place.
 */
#ifndef HAWK_ANALYZER_REDACT_CORE_LAYOUT_H
#define HAWK_ANALYZER_REDACT_CORE_LAYOUT_H

#include <elf.h>

#include "hawk/base/span.h"
#include "hawk/target/target.h"

/** Kinds of regions. A range that damaged headers claim several times gets the first of these. */
enum hawk_region_kind {
	HAWK_REGION_HEADERS, /**< kept as they are */
	HAWK_REGION_NOTES,
	HAWK_REGION_MEMORY,
	HAWK_REGION_KINDS,
};

/** A range of the original file; bytes in no region are left out. */
struct hawk_region {
	uint64_t start, end;
	enum hawk_region_kind kind;
	const struct hawk_mapping *mapping; /**< of memory; `start` may lie inside it */
	struct hawk_span notes;             /**< of notes: the whole list, in the file */
	size_t alignment;                   /**< of notes */
};

struct hawk_core_layout {
	const uint8_t *bytes;
	size_t size;
	uint8_t *front; /**< the block in front; NULL if none */
	size_t front_bytes;
	struct hawk_region *regions; /**< sorted, disjoint */
	size_t count;
};

/** Makes the layout. `ret` starts as zeros; deinitialize it even after an error. */
struct hawk_error *hawk_core_layout_make(const struct hawk_target *target,
					 struct hawk_core_layout *ret);

void hawk_core_layout_deinit(struct hawk_core_layout *layout);

#endif
