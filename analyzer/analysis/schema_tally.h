/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What becomes of a group of blocks: tallies of words by offset, a period, outliers. Internal to
 * analysis/.
 */
#ifndef SCHEMA_TALLY_H
#define SCHEMA_TALLY_H

#include "schema_blocks.h"

/** Fills words, `examined` and `unreadable`; with a period if group->period is set. */
struct hawk_error *hawk_schema_tally(const struct hawk_schema_blocks *blocks,
				     struct hawk_schema_group *group);

/** The period that the tallies show, in words; 0 = none. */
uint32_t hawk_schema_period(const struct hawk_schema_group *group);

/** Fills outliers from tallies. */
struct hawk_error *hawk_schema_find_outliers(const struct hawk_schema_blocks *blocks,
					     struct hawk_schema_group *group);

#endif
