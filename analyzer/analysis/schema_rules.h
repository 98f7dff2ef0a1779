/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What belongs where in the blocks of a group. Internal to analysis/.
 */
#ifndef SCHEMA_RULES_H
#define SCHEMA_RULES_H

#include "hawk_schema.h"

/** A word that has a rule. */
struct hawk_schema_rule {
	uint32_t at;                  /**< bytes, in the block or element */
	enum hawk_word_family family; /**< that belongs there */
	bool null_fits;
	float bits[HAWK_FAMILIES]; /**< of each family that does not belong there */
};

struct hawk_schema_rules {
	struct hawk_schema_rule *items; /**< owned; in the order of `at` */
	uint32_t count;
	size_t element_bytes; /**< of what is no array: as much as is looked at */
};

/** From the tallies. `ret` is to be deinitialized after success only. */
struct hawk_error *hawk_schema_rules_make(const struct hawk_schema_group *group,
					  struct hawk_schema_rules *ret);
void hawk_schema_rules_deinit(struct hawk_schema_rules *rules);

#endif
