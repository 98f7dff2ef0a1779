/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A heap from a list: a text file of blocks, for memory without headers. The second source of
 * heaps, to show that no layer above needs the first.
 */
#ifndef LIST_SOURCE_H
#define LIST_SOURCE_H

#include "hawk/heap/heap.h"

enum { LIST_CLASSES_MAX = 16 };

struct list_file {
	/** Its lines are "address size class": numbers in decimal or, with 0x, hexadecimal; class
	 * 0 = not known. Addresses are multiples of 16, or of 8 with `small_granules`, in any
	 * order. */
	const char *path;
	const char *names[LIST_CLASSES_MAX]; /**< of classes; NULL = "unnamed" */
	bool small_granules;
	bool exact; /**< sizes are those asked for */
	const struct hawk_heap_span *spans;
	size_t span_count;
};

/** The source over `file`, which must outlive it. */
struct hawk_heap_source list_source(const struct list_file *file);

#endif
