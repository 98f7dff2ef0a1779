/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Guesses containers of libstdc++ where debug information tells nothing: by the words of the
 * container itself, which lies in a variable or in a block, and of all its nodes. Their links and
 * their number must agree, so that little else looks like them. The values are not known.
 */
#include <stdio.h>
#include <string.h>

#include "hawk/graph/roots.h"
#include "flow.h"

enum {
	SHORT_TEXT_BYTES = 15,
	TREE_NODE_BYTES = 40, /**< least; a list's are 24, a hash table's 16 */
	WORDS_MAX = 10,
	STEPS_PER_BLOCK = 32,
};

/** _M_max_load_factor, which hardly anybody changes: 1.0f. */
static const uint32_t LOAD_FACTOR = 0x3f800000;

static bool read_words(struct hawk_flow *flow, uint64_t address, uint64_t *words, size_t count)
{
	return hawk_near_read(&flow->near, address, words, 8 * count) == 8 * count;
}

static uint64_t bytes_at(const struct hawk_flow *flow, uint64_t address)
{
	uint32_t block = hawk_flow_block(flow, address);

	return block == HAWK_BLOCK_NOWHERE ? 0 : hawk_block_size(&flow->types->heap->index, block);
}

/* Returns true if the block at `address` was asked for `bytes`. */
static bool has_bytes(const struct hawk_flow *flow, uint64_t address, uint64_t bytes)
{
	uint32_t block = hawk_flow_block(flow, address);

	return block != HAWK_BLOCK_NOWHERE && hawk_flow_may_hold(flow, block, bytes);
}

static bool take_step(struct hawk_flow *flow)
{
	return flow->left && flow->left--;
}

/* Adds a type; `node` is the address of a node, 0 = it has none. Returns 0 if memory ran out. */
static uint32_t add_type(struct hawk_flow *flow, const char *name, uint64_t node)
{
	struct hawk_type type = {.name = name, .origin = HAWK_TYPE_CONTAINER, .is_guess = true};
	uint32_t number = 0;
	char text[96];

	if (node) {
		snprintf(text, sizeof(text), "%s, %llu-byte nodes", name,
			 (unsigned long long)bytes_at(flow, node));
		type.name = hawk_symbols_intern(flow->symbols, text);
	}
	if (type.name)
		type.id = hawk_type_id(type.name);
	if (!type.name || hawk_error_swallow(hawk_types_add(flow->types, &type, &number)))
		flow->failed = true;
	return number;
}

/* Types the block at `address`, if nothing better is known of it; true = it has the type now. */
static bool settle(struct hawk_flow *flow, uint64_t address, uint32_t type)
{
	uint32_t block = hawk_flow_block(flow, address);
	uint32_t before = hawk_types_of(flow->types, block);

	hawk_types_set(flow->types, block, type);
	return hawk_types_of(flow->types, block) != before;
}

static void count_container(struct hawk_flow *flow, uint32_t type, uint64_t entries, uint64_t room)
{
	struct hawk_type_containers *sums = &flow->types->items[type].containers;

	if (!flow->wish->folds)
		return;
	sums->count++;
	sums->empty += room && !entries;
	sums->entries += entries;
	sums->room += room;
}

/* Pointer, length, capacity. */
static bool match_string(struct hawk_flow *flow, const uint64_t *words)
{
	uint8_t end;
	uint32_t type;

	if (words[2] <= SHORT_TEXT_BYTES || words[1] > words[2] ||
	    !has_bytes(flow, words[0], words[2] + 1) ||
	    hawk_near_read(&flow->words, words[0] + words[1], &end, 1) != 1 || end)
		return false;
	type = add_type(flow, "std::string", 0);
	if (settle(flow, words[0], type))
		count_container(flow, type, words[1], words[2]);
	return true;
}

/* Start, end, end of the buffer. */
static bool match_vector(struct hawk_flow *flow, const uint64_t *words)
{
	uint32_t type;

	if (words[1] < words[0] || words[2] < words[1] || words[2] == words[0] ||
	    (words[1] - words[0]) % 4 || (words[2] - words[0]) % 4 ||
	    !has_bytes(flow, words[0], words[2] - words[0]))
		return false;
	type = add_type(flow, "std::vector", 0);
	if (settle(flow, words[0], type))
		count_container(flow, type, 0, 0);
	return true;
}

/* Map and its size; two iterators: current, first, last, entry of the map. */
static bool match_deque(struct hawk_flow *flow, const uint64_t *words)
{
	const uint64_t *first = &words[2], *last = &words[6];
	uint64_t map = words[0], map_bytes = 8 * words[1];
	uint32_t type;

	if (words[1] < 8 || words[1] > UINT32_MAX || !has_bytes(flow, map, map_bytes) ||
	    first[3] < map || last[3] < first[3] || last[3] - map >= map_bytes || first[3] % 8 ||
	    last[3] % 8 || first[0] < first[1] || first[0] > first[2] || last[0] < last[1] ||
	    last[0] > last[2] || hawk_flow_word(flow, first[3]) != first[1] ||
	    hawk_flow_word(flow, last[3]) != last[1] || !bytes_at(flow, first[1]) ||
	    !bytes_at(flow, last[1]))
		return false;
	type = add_type(flow, "std::deque", 0);
	if (settle(flow, map, type))
		count_container(flow, type, 0, 0);
	for (uint64_t at = first[3]; at <= last[3] && take_step(flow); at += 8)
		if (bytes_at(flow, hawk_flow_word(flow, at)))
			settle(flow, hawk_flow_word(flow, at), type);
	return true;
}

/* Returns the node behind `node` in order; `header` = none; 0 = the tree is none. */
static uint64_t next_in_tree(struct hawk_flow *flow, uint64_t header, uint64_t node)
{
	uint64_t next = hawk_flow_word(flow, node + 24);

	if (next) {
		for (uint64_t parent = node; next && take_step(flow);
		     parent = next, next = hawk_flow_word(flow, next + 16)) {
			if (hawk_flow_word(flow, next + 8) != parent)
				return 0;
			node = next;
		}
		return next ? 0 : node;
	}
	for (next = hawk_flow_word(flow, node + 8); next != header && take_step(flow);
	     next = hawk_flow_word(flow, next + 8)) {
		if (hawk_flow_word(flow, next + 24) != node)
			return hawk_flow_word(flow, next + 16) == node ? next : 0;
		node = next;
	}
	return next == header ? header : 0;
}

static uint64_t next_in_list(struct hawk_flow *flow, uint64_t header, uint64_t node)
{
	uint64_t next = hawk_flow_word(flow, node);

	(void)header;
	return hawk_flow_word(flow, next + 8) == node ? next : 0;
}

static uint64_t next_in_table(struct hawk_flow *flow, uint64_t header, uint64_t node)
{
	uint64_t next = hawk_flow_word(flow, node);

	return next ? next : header;
}

struct chain {
	const char *name;
	uint64_t node_bytes; /**< least */
	uint64_t (*next)(struct hawk_flow *flow, uint64_t header, uint64_t node);
};

/* Types `count` nodes from the first one on, which must end at `header`, and counts a container.
 * `room` is that of the hash table, or 0. Returns their type; 0 = they are none. */
static uint32_t match_chain(struct hawk_flow *flow, const struct chain *chain, uint64_t header,
			    uint64_t first, uint64_t count, uint64_t room)
{
	uint64_t node = first;
	uint32_t type;

	if (!count || count > flow->types->heap->index.count)
		return 0;
	for (uint64_t i = 0; i < count; i++, node = chain->next(flow, header, node))
		if (node == header || bytes_at(flow, node) < chain->node_bytes || !take_step(flow))
			return 0;
	if (node != header)
		return 0;
	type = add_type(flow, chain->name, first);
	if (settle(flow, first, type))
		count_container(flow, type, count, room);
	for (node = first; node && node != header; node = chain->next(flow, header, node))
		settle(flow, node, type);
	return type;
}

/* The header: colour, root, first and last node; then their number. */
static bool match_tree(struct hawk_flow *flow, uint64_t at, const uint64_t *words)
{
	static const struct chain chain = {"std::map or set", TREE_NODE_BYTES, next_in_tree};

	if ((uint32_t)hawk_flow_word(flow, at - 8) ||
	    hawk_flow_word(flow, words[0] + 8) != at - 8 || hawk_flow_word(flow, words[1] + 16) ||
	    hawk_flow_word(flow, words[2] + 24))
		return false;
	return match_chain(flow, &chain, at - 8, words[1], words[3], 0);
}

/* Next and previous node, and their number. */
static bool match_list(struct hawk_flow *flow, uint64_t at, const uint64_t *words)
{
	static const struct chain chain = {"std::list", 24, next_in_list};

	if (hawk_flow_word(flow, words[0] + 8) != at || hawk_flow_word(flow, words[1]) != at)
		return false;
	return match_chain(flow, &chain, at, words[0], words[2], 0);
}

/* Buckets and their number, first node, number of nodes, load factor. */
static bool match_table(struct hawk_flow *flow, const uint64_t *words)
{
	static const struct chain chain = {"std::unordered_map or set", 16, next_in_table};
	uint32_t type;

	if ((uint32_t)words[4] != LOAD_FACTOR || !words[1] || words[1] > UINT32_MAX ||
	    !has_bytes(flow, words[0], 8 * words[1]))
		return false;
	type = match_chain(flow, &chain, 0, words[2], words[3], words[1]);
	if (type)
		settle(flow, words[0], type);
	return type;
}

/* Returns true if nothing tells what the block at `address` is. */
static bool is_unknown(struct hawk_flow *flow, uint64_t address)
{
	uint32_t block = hawk_flow_block(flow, address);

	return block != HAWK_BLOCK_NOWHERE &&
	       hawk_types_at(flow->types, hawk_types_of(flow->types, block))->origin >=
		       HAWK_TYPE_SHAPE;
}

/* Looks for a container whose pointer to a block of no known type lies at `at`. A list's nodes look
 * like lists themselves: `type` is that of the block around. */
static void match(struct hawk_flow *flow, uint64_t at, uint32_t type)
{
	const char *around = hawk_types_at(flow->types, type)->name;
	uint64_t words[WORDS_MAX];
	bool is_long, is_node;

	if (!is_unknown(flow, hawk_flow_word(flow, at)))
		return;
	is_node = around && !strncmp(around, "std::list", strlen("std::list"));
	is_long = read_words(flow, at, words, WORDS_MAX);
	if ((!is_long && !read_words(flow, at, words, 5)) ||
	    (is_long && match_deque(flow, words)) || match_table(flow, words) ||
	    match_tree(flow, at, words) || (!is_node && match_list(flow, at, words)) ||
	    match_vector(flow, words))
		return;
	match_string(flow, words);
}

static void match_block(struct hawk_flow *flow, uint32_t block)
{
	uint64_t start = hawk_block_start(&flow->types->heap->index, block);
	uint64_t end = start + hawk_block_size(&flow->types->heap->index, block);

	for (uint64_t at = start; at + 24 <= end && flow->left && !flow->failed; at += 8)
		match(flow, at, hawk_types_of(flow->types, block));
}

struct hawk_error *hawk_flow_shapes(struct hawk_flow *flow)
{
	const struct hawk_heap *heap = flow->types->heap;
	struct hawk_roots roots;
	struct hawk_error *err;

	if (flow->wish->only || !(heap->knows & HAWK_HEAP_CONTENTS) ||
	    !hawk_heap_has_libstdcxx(flow->symbols, heap->target))
		return NULL;
	err = hawk_roots_find(heap, NULL, &roots);
	if (err)
		return err;
	flow->left = STEPS_PER_BLOCK * (uint64_t)heap->index.count;
	for (size_t i = 0; i < roots.count; i++)
		if (roots.items[i].kind != HAWK_ROOT_REGISTER && !(roots.items[i].edge & 1))
			match(flow, roots.items[i].address, 0);
	for (uint32_t i = 0; i < heap->index.count; i++)
		match_block(flow, i);
	hawk_roots_deinit(&roots);
	return NULL;
}
