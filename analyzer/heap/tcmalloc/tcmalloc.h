/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The structures of gperftools' tcmalloc 2.0 to 2.18 in memory. All are found by their shape; no
 * symbol and no file is needed. Private to heap/tcmalloc/.
 *
 *     central list:  | lock | class | empty spans | other spans | ... | lists handed back |
 *     span:          | page | pages | next, previous | free objects | used | class | bits |
 *     thread cache:  a list of free objects for each class
 *     page map:      a page's number -> its span
 */
#ifndef HAWK_ANALYZER_HEAP_TCMALLOC_TCMALLOC_H
#define HAWK_ANALYZER_HEAP_TCMALLOC_TCMALLOC_H

#include "slabs.h"

enum { HAWK_TCMALLOC_CLASSES = 128 };

/** A span of one block whose stack was taken: its requested size and the calls. */
struct hawk_tcmalloc_sample {
	uint64_t start;
	uint64_t requested;
	uint64_t stack; /**< address of the record: requested bytes, depth, program counters */
};

struct hawk_tcmalloc {
	const struct hawk_target *target;
	uint64_t central; /**< address of the first class's list */
	uint32_t classes; /**< with class 0, for large blocks */
	uint64_t class_bytes[HAWK_TCMALLOC_CLASSES];
	bool wide_sizes; /**< sizes of classes are 64-bit numbers (2.0 to 2.5) */
	struct hawk_slabs slabs;
	uint64_t *spans; /**< addresses of spans of small objects, until slabs are finished */
	size_t span_count, span_capacity;
	struct hawk_tcmalloc_sample *samples; /**< ascending */
	size_t sample_count, sample_capacity;
	struct hawk_claims metadata;
	struct hawk_claims pages; /**< memory of spans: the allocator's, not for other walkers */
	uint64_t caches;          /**< of threads */
	uint64_t differing;       /**< spans whose count of used objects differs from their lists */
	bool large_missing;       /**< the map of pages was not found: large blocks are unknown */
};

/** Finds spans and caches. Sets `*is_there` to false if none exist; then nothing needs freeing. */
struct hawk_error *hawk_tcmalloc_find(const struct hawk_target *target, struct hawk_tcmalloc *ret,
				      bool *is_there);
void hawk_tcmalloc_deinit(struct hawk_tcmalloc *tcmalloc);

/** Stages of hawk_tcmalloc_find(), in this order. */
bool hawk_tcmalloc_find_central(struct hawk_tcmalloc *tcmalloc);
struct hawk_error *hawk_tcmalloc_read_spans(struct hawk_tcmalloc *tcmalloc);
struct hawk_error *hawk_tcmalloc_read_large(struct hawk_tcmalloc *tcmalloc);
struct hawk_error *hawk_tcmalloc_mark_free(struct hawk_tcmalloc *tcmalloc);
struct hawk_error *hawk_tcmalloc_mark_cached(struct hawk_tcmalloc *tcmalloc);

enum {
	HAWK_TCMALLOC_PAGE_LOG2 = 13,
	HAWK_SPAN_BYTES = 0x30,
};

/** A span, as read. */
struct hawk_tcmalloc_span {
	uint64_t page, pages;
	uint64_t next;
	uint64_t objects; /**< first free one, or a sampled block's stack */
	uint16_t used;
	uint8_t size_class;
	uint8_t location; /**< 0 = in use */
	bool sampled;
};

bool hawk_tcmalloc_span(struct hawk_near *near, uint64_t address, struct hawk_tcmalloc_span *ret);

#endif
