/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Blocks that agree in some of site, size, kind, birth, type and reach, counted and added up: on
 * all threads, each over a stretch of blocks. Internal to query/.
 */
#ifndef HAWK_SQL_GROUP_FOLD_H
#define HAWK_SQL_GROUP_FOLD_H

#include "sql_type_words.h"

enum {
	/** More groups than that are refused: 112 bytes each, on every thread. */
	SQL_GROUPS_MAX = 1 << 17,
};

/** What tells groups apart, or is added up. */
enum sql_group_part {
	SQL_GROUP_BY_SITE = 1u << 0,
	SQL_GROUP_BY_SIZE = 1u << 1,
	SQL_GROUP_BY_KIND = 1u << 2,
	SQL_GROUP_BY_BIRTH = 1u << 3,
	SQL_GROUP_BY_REACH = 1u << 4, /**< needs HAWK_PART_REACH */
	SQL_GROUP_BY_TYPE = 1u << 7,
	SQL_GROUP_SIZES = 1u << 5,
	SQL_GROUP_RETAINED = 1u << 6, /**< needs HAWK_PART_RETAINED */
};

struct sql_range {
	uint64_t sum, low, high;
};

struct sql_group {
	/* The same for all blocks of the group; 0 if it does not tell groups apart. */
	uint64_t size;
	struct sql_type_words type;
	uint32_t site; /**< UINT32_MAX = none */
	uint8_t kind;  /**< enum hawk_block_kind */
	uint8_t birth;
	uint8_t reach;
	bool is_known; /**< kind and birth are */

	uint32_t first, last; /**< blocks */
	uint64_t count;
	struct sql_range sizes, retained;
};

struct sql_group_list {
	struct sql_group *items; /**< by `first`, ascending */
	size_t count;
	bool is_too_much; /**< SQL_GROUPS_MAX, or a sum of 64 bits and more: then there are none */
};

/** Caller frees `ret->items`. Rows are those of the table of blocks: a carved block is one. */
struct hawk_error *hawk_sql_fold_groups(const struct hawk_block_graph *graph, unsigned parts,
					struct sql_group_list *ret);

#endif
