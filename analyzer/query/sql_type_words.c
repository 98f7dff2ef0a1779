/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The same steps as those of hawk_block_type(), up to where symbols would be read.
 */
#include "sql_type_words.h"

enum { WORD_BYTES = 8 };

static const char *given_type(struct sql_type_reader *reader, uint32_t trace)
{
	const struct hawk_table *table = reader->graph->heap->table;
	size_t i = trace % SQL_TRACES_KEPT;

	if (!table)
		return NULL;
	if (!reader->traces[i].is_filled || reader->traces[i].trace != trace) {
		reader->traces[i].is_filled = true;
		reader->traces[i].trace = trace;
		reader->traces[i].type = hawk_table_type(table, trace);
	}
	return reader->traces[i].type;
}

static uint64_t word_in_module(const struct sql_type_reader *reader, uint64_t word)
{
	bool may_be = !(word % WORD_BYTES) && hawk_target_module_at(reader->graph->target, word);

	return may_be ? word : 0;
}

struct sql_type_words hawk_sql_type_words(struct sql_type_reader *reader, uint32_t number,
					  unsigned kind)
{
	const struct hawk_block_index *index = &reader->graph->index;
	uint64_t size = hawk_block_index_asked_bytes(index, number);
	uint64_t words[2] = {0};
	size_t wanted = size < sizeof(words) ? WORD_BYTES : sizeof(words);
	struct sql_type_words ret = {.given = given_type(reader, index->traces[number])};

	if (ret.given || size < WORD_BYTES ||
	    hawk_near_read(&reader->near, hawk_block_start(index, number), words, wanted) < wanted)
		return ret;
	ret.first = word_in_module(reader, words[0]);
	if (wanted == sizeof(words) && kind == HAWK_KIND_NEW_ARRAY && words[0] &&
	    words[0] <= (size - WORD_BYTES) / WORD_BYTES)
		ret.second = word_in_module(reader, words[1]);
	return ret;
}
