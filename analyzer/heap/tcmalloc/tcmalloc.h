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

#include "native.h"
#include "slabs.h"

enum { HAWK_TCMALLOC_CLASSES = 128 };

struct hawk_tcmalloc {
	struct hawk_slab_heap heap; /**< incomplete: the map of pages, and so large blocks, was not
				       found */
	uint64_t central;           /**< address of the first class's list */
	uint32_t classes;           /**< with class 0, for large blocks */
	uint64_t class_bytes[HAWK_TCMALLOC_CLASSES];
	uint64_t sizes;  /**< address of the classes' sizes */
	bool wide_sizes; /**< sizes of classes are 64-bit numbers (2.0 to 2.5) */
	uint64_t *spans; /**< addresses of spans of small objects */
	size_t span_count, span_capacity;
	uint64_t caches; /**< of threads */
	bool in_flux;    /**< a thread may be at work: lists may differ from their lengths */
	struct hawk_sample *samples; /**< ascending, as the map of pages is */
	size_t sample_count, sample_capacity;
};

/** Stages, in this order; slabs are finished before the last two. */
bool hawk_tcmalloc_find_central(struct hawk_tcmalloc *tcmalloc);
struct hawk_error *hawk_tcmalloc_read_spans(struct hawk_tcmalloc *tcmalloc);
struct hawk_error *hawk_tcmalloc_read_large(struct hawk_tcmalloc *tcmalloc);
void hawk_tcmalloc_mark_free(struct hawk_tcmalloc *tcmalloc);
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

/** Claims the pages of the span at `address`, and its description. */
struct hawk_error *hawk_tcmalloc_claim(struct hawk_tcmalloc *tcmalloc, uint64_t address,
				       const struct hawk_tcmalloc_span *span);

#endif
