/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The tracer's table file (table=FILE) as a target: a process of which nothing but the extents of
 * its trace table is left, each at its address. No blocks, no threads, no modules.
 */
#ifndef HAWK_TABLE_FILE_H
#define HAWK_TABLE_FILE_H

#include "core_file.h"

/** Whether these are the first bytes of a table file, also of one that is damaged or cut off. */
bool hawk_table_file_is(const uint8_t *bytes, size_t size);

/** Fills process and mappings of `target` from its file. HAWK_ERROR_FORMAT: not even the header is
 * there. */
struct hawk_error *hawk_table_file_read(struct hawk_target *target, struct hawk_findings *findings);

#endif
