/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Look-ups made by counting sort when a query first needs them: 4 bytes per entry and key.
 */
#ifndef HAWK_SQL_POSTINGS_H
#define HAWK_SQL_POSTINGS_H

#include "sql_state.h"

/** Blocks in ascending order by site. */
struct hawk_error *hawk_sql_blocks_by_site(struct hawk_sql *sql);

/** Blocks by the block that they point to, once for every pointer. */
struct hawk_error *hawk_sql_sources_by_block(struct hawk_sql *sql);

/** Roots by the block that they point to. */
struct hawk_error *hawk_sql_roots_by_block(struct hawk_sql *sql);

/** Lets the cursor go through the entries of `key`. */
void hawk_sql_seek_posting(struct sql_cursor *cursor, const struct sql_postings *postings,
			   uint32_t key);

#endif
