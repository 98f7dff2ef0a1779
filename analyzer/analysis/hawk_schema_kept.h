/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Schemas that are kept with the graph and in the index cache: those of all blocks of the largest
 * sites, which take longest, and which `analyze --full` shows. Whoever asks for one of them gets
 * what would be made, without a look at blocks.
 *
 * They are made by who has the time for it: hawk_schema_keep() looks at all blocks of these sites.
 */
#ifndef HAWK_SCHEMA_KEPT_H
#define HAWK_SCHEMA_KEPT_H

#include <stdbool.h>
#include <stdint.h>

struct hawk_block_graph;
struct hawk_error;
struct hawk_schema;

enum hawk_kept_sort {
	HAWK_KEPT_SCHEMAS, /**< struct kept_schema (schema_kept.h), and so on */
	HAWK_KEPT_GROUPS,
	HAWK_KEPT_WORDS,
	HAWK_KEPT_VALUES,
	HAWK_KEPT_OUTLIERS,
	HAWK_KEPT_SORTS
};

/** Things of one sort, those of the first schema first. */
struct hawk_kept_array {
	const void *items;
	uint64_t count;
	void *owned; /**< NULL = `items` lie in memory of somebody else */
};

struct hawk_kept_schemas {
	struct hawk_kept_array arrays[HAWK_KEPT_SORTS];
};

/** Makes those of the largest sites, if none were made: HAWK_PART_SCHEMAS. Needs HAWK_PART_INDEX
 * and readable contents; takes a bit for each block, and a few MiB. */
struct hawk_error *hawk_schema_keep(struct hawk_block_graph *graph);

/** The schema of all blocks of `site`. False: it is not kept, or there was an error. `ret` is to be
 * deinitialized if it is true. */
bool hawk_schema_find_kept(const struct hawk_block_graph *graph, uint32_t site,
			   struct hawk_schema *ret, struct hawk_error **err);

/** Accepts zeros. */
void hawk_kept_schemas_deinit(struct hawk_kept_schemas *kept);

#endif
