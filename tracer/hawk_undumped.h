/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Which memory the program keeps out of cores, noted in the table: without that, the analyzer
 * cannot tell it from memory that was never written, which a core lacks as well.
 */
#ifndef HAWK_UNDUMPED_H
#define HAWK_UNDUMPED_H

#include "hawk_trace_table.h"

/** Notes [start, end). No lock, no memory, no system call. */
void hawk_undumped_add(struct hawk_table_header *header, uint64_t start, uint64_t end);

/** Takes back notes that lie in [start, end) as a whole. */
void hawk_undumped_remove(struct hawk_table_header *header, uint64_t start, uint64_t end);

#endif
