/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Allocators that are in the process but whose memory was not read. Internal to heap/.
 */
#ifndef HAWK_ANALYZER_HEAP_UNREAD_H
#define HAWK_ANALYZER_HEAP_UNREAD_H

#include "hawk/heap/heap.h"

/** Adds a finding for each of them, and notes in the heap that there are some. The process was not
 * traced, and all sources were asked. */
struct hawk_error *hawk_heap_report_unread(struct hawk_heap *heap, struct hawk_findings *findings);

#endif
