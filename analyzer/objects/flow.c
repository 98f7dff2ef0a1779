/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Types flow along pointers: from variables, and from blocks whose class is known, into blocks
 * without a type, and on from those. Each block gets its type once. Facts flow to their end first;
 * what follows from a guess is a guess.
 *
 * A fact is a typed pointer to the start of a block of that size, or what a container's own members
 * tell. A pointer to several objects, to bytes, or to a block of another size is a guess.
 */
#include <string.h>

#include "hawk/base/array.h"
#include "hawk/base/cleanup.h"
#include "flow.h"

enum {
	NESTING_MAX = 16,          /**< arrays within arrays of one object */
	MAP_ENTRIES_MAX = 1 << 24, /**< of a deque */
	ROUNDING_BYTES = 16,       /**< that malloc() adds to a block at most, mostly */
	SMALLEST_BYTES = 24,       /**< of its blocks */
	REMAINDER_BYTES = 40,      /**< malloc() never splits less off a block */
	DEQUE_BYTES = 512,
	BATCH = 16,            /**< memory of so many blocks is fetched at once */
	SHORT_TEXT_BYTES = 15, /**< in a std::string itself, without the zero */
};

uint64_t hawk_flow_word(struct hawk_flow *flow, uint64_t address)
{
	uint64_t word;

	return hawk_near_read(&flow->words, address, &word, sizeof(word)) == sizeof(word) ? word
											  : 0;
}

uint32_t hawk_flow_block(const struct hawk_flow *flow, uint64_t address)
{
	bool interior;
	uint32_t block = hawk_block_index_find(&flow->types->heap->index, address, &interior);

	return interior ? HAWK_BLOCK_NOWHERE : block;
}

static uint64_t bytes_of(const struct hawk_flow *flow, uint32_t block)
{
	return hawk_block_size(&flow->types->heap->index, block);
}

/* Returns true if a block of that size was asked for `bytes`. */
static bool is_size(const struct hawk_flow *flow, uint64_t block_bytes, uint64_t bytes)
{
	if (bytes > block_bytes || flow->exact)
		return bytes == block_bytes;
	return block_bytes - bytes < ROUNDING_BYTES || block_bytes <= SMALLEST_BYTES;
}

bool hawk_flow_may_hold(const struct hawk_flow *flow, uint32_t block, uint64_t bytes)
{
	uint64_t most = bytes / 4 > REMAINDER_BYTES ? bytes / 4 : REMAINDER_BYTES;

	return bytes <= bytes_of(flow, block) && bytes_of(flow, block) - bytes <= most;
}

/* Returns the number of a container's type in the table; 0 = out of memory. */
static uint32_t container_type(struct hawk_flow *flow, uint32_t number, bool guess)
{
	struct hawk_container *container = &flow->layouts->containers[number];
	struct hawk_type type = {.name = container->name,
				 .id = hawk_type_id(container->name),
				 .origin = HAWK_TYPE_CONTAINER,
				 .is_guess = guess};

	if (!container->numbers[guess] &&
	    hawk_error_swallow(hawk_types_add(flow->types, &type, &container->numbers[guess])))
		flow->failed = true;
	return container->numbers[guess];
}

/* Returns the number of the type of what the link leads to. */
static uint32_t type_of(struct hawk_flow *flow, const struct hawk_link *link, bool several,
			bool guess)
{
	uint32_t number = link->target;
	struct hawk_layout *layout = &flow->layouts->items[number];
	uint32_t *ret = &layout->numbers[several + 2 * guess];
	struct hawk_type type = {.name = layout->name,
				 .bytes = several ? 0 : layout->bytes,
				 .origin = layout->is_node ? HAWK_TYPE_CONTAINER : HAWK_TYPE_DWARF,
				 .is_guess = guess};
	CLEANUP(text) struct hawk_text text = {0};

	if (link->container && flow->wish->folds)
		return container_type(flow, link->container, guess);
	if (*ret)
		return *ret;
	if (several) {
		hawk_text_printf(&text, "%s[]", layout->name);
		type.name = text.failed ? NULL : hawk_symbols_intern(flow->symbols, text.bytes);
	}
	if (type.name)
		type.id = hawk_type_id(type.name);
	if (!type.name || hawk_error_swallow(hawk_types_add(flow->types, &type, ret)))
		flow->failed = true;
	else if (!flow->types->items[*ret].layout) {
		flow->types->items[*ret].layout = number;
		flow->types->items[*ret].several = several;
	}
	return *ret;
}

void hawk_flow_queue(struct hawk_flow *flow, const struct hawk_flow_work *work, bool guess)
{
	struct hawk_flow_queue *to = &flow->queues[guess];

	flow->seen[work->block / 64] |= UINT64_C(1) << work->block % 64;
	if (!hawk_array_reserve(&to->items, to->count, &to->capacity, sizeof(*to->items)))
		flow->failed = true;
	else
		to->items[to->count++] = *work;
}

/* Returns true if the flow may give the block a type: it has none, or a size class. */
static bool is_free(const struct hawk_flow *flow, uint32_t block)
{
	const struct hawk_type *type =
		hawk_types_at(flow->types, hawk_types_of(flow->types, block));

	return !(flow->seen[block / 64] >> block % 64 & 1) && type->origin >= HAWK_TYPE_SHAPE &&
	       hawk_types_bit(flow->wish->only, block);
}

/* Counts a container, or entries of one that was counted. */
static void count_container(struct hawk_flow *flow, const struct hawk_link *link,
			    const struct hawk_type_containers *more)
{
	struct hawk_type_containers *sums;
	uint32_t number;

	if (!link->container || !flow->wish->folds || (more->empty && flow->in_frame))
		return;
	number = container_type(flow, link->container, flow->guessing);
	sums = &flow->types->items[number].containers;
	sums->count += more->count;
	sums->empty += more->empty;
	sums->entries += more->entries;
	sums->room += more->room;
}

static void count_full(struct hawk_flow *flow, const struct hawk_link *link, uint64_t entries,
		       uint64_t room)
{
	count_container(flow, link,
			&(struct hawk_type_containers){
				.count = 1, .empty = !entries, .entries = entries, .room = room});
}

/* Gives a block `count` objects of the link's layout. */
static void settle(struct hawk_flow *flow, uint32_t block, const struct hawk_link *link,
		   uint64_t count, bool several, bool guess)
{
	struct hawk_flow_work work = {.block = block, .layout = link->target, .count = count};

	if (!is_free(flow, block))
		return;
	guess |= flow->guessing;
	hawk_types_set(flow->types, block, type_of(flow, link, several, guess));
	hawk_flow_queue(flow, &work, guess);
	if (flow->layouts->items[link->target].is_node && !several)
		count_container(flow, link, &(struct hawk_type_containers){.entries = 1});
}

void hawk_flow_pointer(struct hawk_flow *flow, uint64_t address, const struct hawk_link *link)
{
	const struct hawk_layout *layout = &flow->layouts->items[link->target];
	uint32_t block = hawk_flow_block(flow, address);
	uint64_t bytes = block == HAWK_BLOCK_NOWHERE ? 0 : bytes_of(flow, block);
	uint64_t each = layout->bytes;

	if (!bytes || !each || each > bytes || !is_free(flow, block))
		return;
	if (layout->is_table)
		settle(flow, block, link, flow->wish->only ? bytes / each : 0, true, false);
	else if (layout->is_node ? hawk_flow_may_hold(flow, block, each)
				 : is_size(flow, bytes, each))
		settle(flow, block, link, 1, false, link->is_guess || layout->is_bare);
	else if (is_size(flow, bytes, bytes / each * each))
		settle(flow, block, link, bytes / each, true, true);
	else
		settle(flow, block, link, 1, false, true);
}

static void scan(struct hawk_flow *flow, uint64_t address, uint32_t layout, int depth);

/* Follows the links of `count` objects side by side. */
static void scan_array(struct hawk_flow *flow, uint64_t address, uint32_t layout, uint64_t count,
		       int depth)
{
	const struct hawk_layout *linked = hawk_layouts_linked(flow->layouts, layout);
	uint64_t bytes = linked->bytes;
	uint8_t last;

	if (!linked->link_count || depth > NESTING_MAX || !bytes ||
	    hawk_near_read(&flow->near, address + bytes * count - 1, &last, 1) != 1)
		return;
	for (uint64_t i = 0; i < count && flow->left && !flow->failed; i++)
		scan(flow, address + i * bytes, layout, depth + 1);
}

/* A vector: the buffer holds as many objects as its pointers tell. */
static void follow_span(struct hawk_flow *flow, uint64_t address, const struct hawk_link *link)
{
	uint64_t start = hawk_flow_word(flow, address + link->at[0]);
	uint64_t end = hawk_flow_word(flow, address + link->at[1]);
	uint64_t limit = hawk_flow_word(flow, address + link->at[2]);
	uint64_t each = flow->layouts->items[link->target].bytes;
	uint32_t block = hawk_flow_block(flow, start);

	if (!start && !end && !limit)
		count_full(flow, link, 0, 0);
	if (block == HAWK_BLOCK_NOWHERE || end < start || limit < end || (end - start) % each ||
	    (limit - start) % each || !hawk_flow_may_hold(flow, block, limit - start))
		return;
	count_full(flow, link, (end - start) / each, (limit - start) / each);
	settle(flow, block, link, (end - start) / each, true, false);
}

/* Short text lies in the string itself, behind the length. */

static void follow_text(struct hawk_flow *flow, uint64_t address, const struct hawk_link *link)
{
	uint64_t start = hawk_flow_word(flow, address + link->at[0]);
	uint64_t length = hawk_flow_word(flow, address + link->at[1]);
	uint64_t each = flow->layouts->items[link->target].bytes;
	uint32_t block = hawk_flow_block(flow, start);

	if (start == address + link->at[1] + 8 && length <= SHORT_TEXT_BYTES / each)
		count_full(flow, link, length, SHORT_TEXT_BYTES / each);
	if (block == HAWK_BLOCK_NOWHERE || length >= bytes_of(flow, block) / each)
		return;
	count_full(flow, link, length, bytes_of(flow, block) / each - 1);
	settle(flow, block, link, 0, true, false);
}

/* Returns the entries of a hash table's array: of a block, or a single one. */
static uint64_t buckets_of(const struct hawk_flow *flow, uint64_t address)
{
	uint32_t block = hawk_flow_block(flow, address);

	return block == HAWK_BLOCK_NOWHERE ? 1 : bytes_of(flow, block) / 8;
}

/* Nodes have their size exactly; a table that says it is empty has none. Entries are counted where
 * they are found. */
static void follow_nodes(struct hawk_flow *flow, uint64_t address, const struct hawk_link *link)
{
	uint64_t first = hawk_flow_word(flow, address + link->at[0]);
	uint32_t block = hawk_flow_block(flow, first);
	bool is_empty = link->count > 1 ? !hawk_flow_word(flow, address + link->at[1]) : !first;
	struct hawk_type_containers one = {.count = 1, .empty = is_empty};

	if (!is_empty &&
	    (block == HAWK_BLOCK_NOWHERE ||
	     !hawk_flow_may_hold(flow, block, flow->layouts->items[link->target].bytes)))
		return;
	if (link->count > 2)
		one.room = buckets_of(flow, hawk_flow_word(flow, address + link->at[2]));
	if (!link->is_shortcut)
		count_container(flow, link, &one);
	if (!is_empty)
		settle(flow, block, link, 1, false, false);
}

/* Types the buffers between the first and the last used entry of a deque's map. */
static void follow_buffers(struct hawk_flow *flow, const struct hawk_link *link,
			   const uint64_t words[5])
{
	uint64_t each = flow->layouts->items[link->target].bytes;
	uint64_t in_buffer = each < DEQUE_BYTES ? DEQUE_BYTES / each : 1;

	for (uint64_t node = words[1]; node <= words[2] && !flow->failed; node += 8) {
		uint64_t buffer = hawk_flow_word(flow, node);
		uint64_t start = node == words[1] ? words[3] : buffer;
		uint64_t end = node == words[2] ? words[4] : buffer + in_buffer * each;
		uint32_t block = hawk_flow_block(flow, buffer);
		struct hawk_flow_work work = {.block = block, .layout = link->target};

		if (block == HAWK_BLOCK_NOWHERE || start < buffer || end < start ||
		    end - buffer > in_buffer * each ||
		    !hawk_flow_may_hold(flow, block, in_buffer * each) || !is_free(flow, block))
			continue;
		work.offset = start - buffer;
		work.count = (end - start) / each;
		hawk_types_set(flow->types, block, type_of(flow, link, true, flow->guessing));
		hawk_flow_queue(flow, &work, flow->guessing);
		count_container(
			flow, link,
			&(struct hawk_type_containers){.entries = work.count, .room = in_buffer});
	}
}

static uint32_t map_of(struct hawk_flow *flow, uint32_t layout)
{
	CLEANUP(text) struct hawk_text text = {0};
	struct hawk_layout map = {.bytes = 8, .is_node = true};

	hawk_text_printf(&text, "%s*", flow->layouts->items[layout].name);
	map.name = text.failed ? NULL : hawk_symbols_intern(flow->symbols, text.bytes);
	return map.name ? hawk_layouts_add(flow->layouts, &map) : 0;
}

static void follow_deque(struct hawk_flow *flow, uint64_t address, const struct hawk_link *link)
{
	struct hawk_link map = *link;
	uint64_t words[5], map_bytes;
	uint32_t block;

	for (size_t i = 0; i < 5; i++)
		words[i] = hawk_flow_word(flow, address + link->at[i]);
	block = hawk_flow_block(flow, words[0]);
	map_bytes = block == HAWK_BLOCK_NOWHERE ? 0 : bytes_of(flow, block);
	if (words[1] < words[0] || words[2] < words[1] || words[2] - words[0] >= map_bytes ||
	    (words[1] - words[0]) % 8 || words[2] - words[1] > 8 * (uint64_t)MAP_ENTRIES_MAX)
		return;
	map.target = is_free(flow, block) ? map_of(flow, link->target) : 0;
	if (map.target)
		settle(flow, block, &map, 0, true, false);
	count_container(flow, link,
			&(struct hawk_type_containers){.count = 1, .empty = words[3] == words[4]});
	follow_buffers(flow, link, words);
}

static void follow(struct hawk_flow *flow, uint64_t address, const struct hawk_link *link,
		   int depth)
{
	uint8_t flag;

	switch (link->kind) {
	case HAWK_LINK_POINTER:
		hawk_flow_pointer(flow, hawk_flow_word(flow, address + link->at[0]), link);
		break;
	case HAWK_LINK_INLINE:
		scan_array(flow, address + link->at[0], link->target, link->count, depth);
		break;
	case HAWK_LINK_IF:
		if (hawk_near_read(&flow->words, address + link->at[1], &flag, 1) == 1 && flag)
			scan_array(flow, address + link->at[0], link->target, 1, depth);
		break;
	case HAWK_LINK_SPAN:
		follow_span(flow, address, link);
		break;
	case HAWK_LINK_TEXT:
		follow_text(flow, address, link);
		break;
	case HAWK_LINK_NODES:
		follow_nodes(flow, address, link);
		break;
	case HAWK_LINK_DEQUE:
		follow_deque(flow, address, link);
		break;
	}
}

static void scan(struct hawk_flow *flow, uint64_t address, uint32_t layout, int depth)
{
	size_t count = hawk_layouts_linked(flow->layouts, layout)->link_count;

	flow->left -= flow->left > 0;
	for (size_t i = 0; i < count && flow->left && !flow->failed; i++) {
		struct hawk_link link = flow->layouts->items[layout].links[i];

		if (!link.is_shortcut || flow->wish->only)
			follow(flow, address, &link, depth);
		flow->left -= flow->left > 0;
	}
}

static uint64_t start_of(const struct hawk_flow *flow, const struct hawk_flow_work *work)
{
	return hawk_block_start(&flow->types->heap->index, work->block) + work->offset;
}

void hawk_flow_drain(struct hawk_flow *flow, bool guesses)
{
	struct hawk_flow_queue *from = &flow->queues[guesses];
	bool in_frame = flow->in_frame;

	flow->guessing = guesses;
	flow->in_frame = false;
	while (from->count && !flow->failed) {
		struct hawk_flow_work batch[BATCH];
		size_t count = from->count < BATCH ? from->count : BATCH;

		from->count -= count;
		memcpy(batch, &from->items[from->count], count * sizeof(*batch));
		for (size_t i = 0; i < count; i++)
			hawk_near_prefetch(&flow->near, start_of(flow, &batch[i]));
		for (size_t i = 0; i < count && !flow->failed; i++)
			scan_array(flow, start_of(flow, &batch[i]), batch[i].layout, batch[i].count,
				   0);
	}
	flow->in_frame = in_frame;
}

void hawk_flow_object(struct hawk_flow *flow, uint64_t address, uint32_t layout)
{
	scan_array(flow, address, layout, 1, 0);
}
