/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What hawk_block_type() goes by, without names: blocks for which it is the same are of the same
 * type. Of one thread; names are looked up later, once for each. Internal to query/.
 */
#ifndef HAWK_SQL_TYPE_WORDS_H
#define HAWK_SQL_TYPE_WORDS_H

#include "hawk_block_graph.h"

enum { SQL_TRACES_KEPT = 256 };

/** Zeros but for the graph. */
struct sql_type_reader {
	const struct hawk_block_graph *graph;
	struct hawk_near near;
	struct {
		bool is_filled;
		uint32_t trace;
		const char *type; /**< that the program gave it */
	} traces[SQL_TRACES_KEPT];
};

struct sql_type_words {
	const char *given; /**< with hawk_annotate_type() */
	uint64_t first;    /**< the first word, if it points into a module */
	uint64_t second;   /**< likewise, behind the count of a new[] */
};

/** Of block `number`, which stands for a block, and is of that kind. */
struct sql_type_words hawk_sql_type_words(struct sql_type_reader *reader, uint32_t number,
					  unsigned kind);

#endif
