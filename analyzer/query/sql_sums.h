/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Statements that only count and add up blocks, turned into the same question to groups of blocks
 * (sql_groups.c): all blocks that agree in what the statement tells apart are one row there. What
 * is answered is the same, to the byte; which statements are recognised matters for time alone.
 *
 *     SELECT kind, count(*), sum(size) FROM blocks GROUP BY kind
 *     SELECT kind, hawk_count(blocks."#n"), sum(blocks."#size_sum")
 *             FROM block_groups AS blocks GROUP BY kind
 *
 * Recognised is one SELECT from blocks, perhaps joined with other tables behind it, with
 * count(), sum(), total(), avg(), min(), max(): in which each block's own columns (address,
 * retained) occur in no other way than as sum(retained), max(address) ..., and outside of such sums
 * nothing but what it groups by. Or SELECT DISTINCT of the columns that blocks share.
 */
#ifndef HAWK_SQL_SUMS_H
#define HAWK_SQL_SUMS_H

#include <stdbool.h>

struct hawk_text;

/** Appends the other form of the statement from `text` to `end`, which SQLite has accepted. False:
 * it has none, and `ret` is of no use. Check for memory. */
bool hawk_sql_sums_rewrite(const char *text, const char *end, struct hawk_text *ret);

#endif
