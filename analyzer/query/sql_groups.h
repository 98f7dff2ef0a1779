/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The table of groups of blocks; see sql_groups.c. Internal to query/.
 */
#ifndef HAWK_SQL_GROUPS_H
#define HAWK_SQL_GROUPS_H

#include "sql_state.h"

extern const struct sql_table hawk_sql_groups;

/** The table, and functions over it. False: no memory. */
bool hawk_sql_register_groups(struct hawk_sql *sql);

/** Gives back what a statement has had added up. */
void hawk_sql_drop_groups(struct hawk_sql *sql);

#endif
