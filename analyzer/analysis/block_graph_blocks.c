/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What there is to know of one block: from the index, from its header where that is not kept, and
 * from dominators.
 */
#include "hawk_block_graph.h"

enum { HEADERS_AHEAD = 32 };

/** The first word of the header in front of the block at `start`; 0 if it is not there. */
static uint64_t read_word0(const struct hawk_block_graph *graph, struct hawk_near *near,
			   uint64_t start)
{
	uint64_t word;
	size_t got;

	if (start < HAWK_HEADER_BYTES)
		return 0;
	got = near ? hawk_near_read(near, start - HAWK_HEADER_BYTES, &word, sizeof(word))
		   : hawk_target_read_some(graph->target, start - HAWK_HEADER_BYTES, &word,
					   sizeof(word));
	return got == sizeof(word) ? word : 0;
}

/** `near`: NULL, or of the graph's target. `whole` stands for a block. */
static uint64_t word_of(const struct hawk_block_graph *graph, struct hawk_near *near,
			uint32_t whole)
{
	if (graph->index.heads)
		return (uint64_t)graph->index.heads[whole] << 48;
	return read_word0(graph, near, hawk_block_start(&graph->index, whole));
}

static bool take_block(const struct hawk_block_graph *graph, struct hawk_near *near, uint32_t block,
		       struct hawk_block *ret)
{
	uint32_t whole = hawk_block_index_whole(&graph->index, block);
	uint64_t word = word_of(graph, near, whole);

	*ret = (struct hawk_block){
		.start = hawk_block_start(&graph->index, whole),
		.size = hawk_block_index_asked_bytes(&graph->index, whole),
		.trace = graph->index.traces[whole],
		.kind = (uint8_t)hawk_header_kind(word),
		.birth = hawk_header_birth(word),
		.offset_code = (uint8_t)hawk_header_offset_code(word),
	};
	return word != 0;
}

static void prefetch_next(const struct hawk_block_graph *graph, struct hawk_near *near,
			  uint32_t block)
{
	if (!graph->index.heads && graph->index.count - block > HEADERS_AHEAD)
		hawk_near_prefetch(near, hawk_block_start(&graph->index, block + HEADERS_AHEAD) -
						 HAWK_HEADER_BYTES);
}

uint16_t hawk_block_graph_head(const struct hawk_block_graph *graph, struct hawk_near *near,
			       uint32_t block)
{
	prefetch_next(graph, near, block);
	if (hawk_block_index_whole(&graph->index, block) != block)
		return 0;
	return (uint16_t)(word_of(graph, near, block) >> 48);
}

bool hawk_block_graph_block(const struct hawk_block_graph *graph, uint32_t block,
			    struct hawk_block *ret)
{
	return take_block(graph, NULL, block, ret);
}

bool hawk_block_graph_next_block(const struct hawk_block_graph *graph, struct hawk_near *near,
				 uint32_t block, struct hawk_block *ret)
{
	prefetch_next(graph, near, block);
	return take_block(graph, near, block, ret);
}

uint64_t hawk_block_graph_retained(const struct hawk_block_graph *graph,
				   const struct hawk_dominators *dominators, uint32_t block)
{
	uint64_t bytes = 0;

	for (uint32_t part = block; part != HAWK_BLOCK_NOWHERE;
	     part = hawk_block_index_next_part(&graph->index, part)) {
		uint32_t number = dominators->numbers[part];
		uint32_t above = dominators->dominators[number];

		/* Parts below others are in their sums. */
		if (above && hawk_block_index_same(&graph->index, dominators->blocks[above], block))
			continue;
		bytes += dominators->retained[number];
	}
	return bytes;
}
