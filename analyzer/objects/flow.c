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
#include <stdlib.h>
#include <string.h>

#include "hawk/base/array.h"
#include "hawk/base/cleanup.h"
#include "layouts.h"
#include "stages.h"

enum {
	NESTING_MAX = 16,          /**< arrays within arrays of one object */
	MAP_ENTRIES_MAX = 1 << 24, /**< of a deque */
	ROUNDING_BYTES = 16,       /**< that malloc() adds to a block at most, mostly */
	SMALLEST_BYTES = 24,       /**< of its blocks */
	REMAINDER_BYTES = 40,      /**< malloc() never splits less off a block */
	DEQUE_BYTES = 512,
};

/** Upper limit on links followed: 10 s. Foreign types may overlap in themselves. */
static const uint64_t STEPS_MAX = UINT64_C(1) << 30;

/** Objects in a block whose own links are to be followed. */
struct work {
	uint32_t block;
	uint32_t layout;
	uint64_t offset, count;
};

struct queue {
	struct work *items;
	size_t count, capacity;
};

struct flow {
	struct hawk_types *types;
	struct hawk_symbols *symbols;
	const struct hawk_types_wish *wish;
	struct hawk_layouts *layouts; /**< of `types` */
	struct queue queues[2];       /**< facts, guesses */
	uint64_t *seen;               /**< a bit for each block that was queued */
	uint32_t *classes; /**< layout of each type of the heap stage; 0 = not asked, or none */
	size_t class_count;
	struct hawk_near near, words;
	uint64_t left; /**< of STEPS_MAX */
	bool exact;
	bool guessing;
	bool failed; /**< memory ran out */
};

static uint64_t read_word(struct flow *flow, uint64_t address)
{
	uint64_t word;

	return hawk_near_read(&flow->words, address, &word, sizeof(word)) == sizeof(word) ? word
											  : 0;
}

/* Returns the block that begins at `address`; HAWK_BLOCK_NOWHERE = none. */
static uint32_t block_at(const struct flow *flow, uint64_t address)
{
	bool interior;
	uint32_t block = hawk_block_index_find(&flow->types->heap->index, address, &interior);

	return interior ? HAWK_BLOCK_NOWHERE : block;
}

static uint64_t bytes_of(const struct flow *flow, uint32_t block)
{
	return hawk_block_size(&flow->types->heap->index, block);
}

/* Returns true if a block of that size was asked for `bytes`. */
static bool is_size(const struct flow *flow, uint64_t block_bytes, uint64_t bytes)
{
	if (bytes > block_bytes || flow->exact)
		return bytes == block_bytes;
	return block_bytes - bytes < ROUNDING_BYTES || block_bytes <= SMALLEST_BYTES;
}

/* Returns true if a container's block may have that size. What its members tell needs no further
 * evidence, so that size classes of all allocators are let pass. */
static bool may_hold(const struct flow *flow, uint32_t block, uint64_t bytes)
{
	uint64_t most = bytes / 4 > REMAINDER_BYTES ? bytes / 4 : REMAINDER_BYTES;

	return bytes <= bytes_of(flow, block) && bytes_of(flow, block) - bytes <= most;
}

/* Returns the number of the layout's type in the table; 0 = out of memory. */
static uint32_t type_of(struct flow *flow, uint32_t number, bool several, bool guess)
{
	struct hawk_layout *layout = &flow->layouts->items[number];
	uint32_t *ret = &layout->numbers[several + 2 * guess];
	struct hawk_type type = {.name = layout->name,
				 .bytes = several ? 0 : layout->bytes,
				 .origin = layout->is_node ? HAWK_TYPE_CONTAINER : HAWK_TYPE_DWARF,
				 .is_guess = guess};
	CLEANUP(text) struct hawk_text text = {0};

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

static void queue(struct flow *flow, const struct work *work, bool guess)
{
	struct queue *to = &flow->queues[guess];

	flow->seen[work->block / 64] |= UINT64_C(1) << work->block % 64;
	if (!hawk_array_reserve(&to->items, to->count, &to->capacity, sizeof(*to->items)))
		flow->failed = true;
	else
		to->items[to->count++] = *work;
}

/* Returns true if the flow may give the block a type: it has none, or a size class. */
static bool is_free(const struct flow *flow, uint32_t block)
{
	const struct hawk_type *type =
		hawk_types_at(flow->types, hawk_types_of(flow->types, block));

	return !(flow->seen[block / 64] >> block % 64 & 1) && type->origin >= HAWK_TYPE_SHAPE &&
	       hawk_types_bit(flow->wish->only, block);
}

/* Gives a block `count` objects of the layout. */
static void settle(struct flow *flow, uint32_t block, uint32_t layout, uint64_t count, bool several,
		   bool guess)
{
	struct work work = {.block = block, .layout = layout, .count = count};

	if (!is_free(flow, block))
		return;
	guess |= flow->guessing;
	hawk_types_set(flow->types, block, type_of(flow, layout, several, guess));
	queue(flow, &work, guess);
}

static void follow_pointer(struct flow *flow, uint64_t address, uint32_t layout, bool guess)
{
	uint32_t block = block_at(flow, address);
	uint64_t bytes = block == HAWK_BLOCK_NOWHERE ? 0 : bytes_of(flow, block);
	uint64_t each = flow->layouts->items[layout].bytes;

	if (!bytes || !each || each > bytes || !is_free(flow, block))
		return;
	if (flow->layouts->items[layout].is_table)
		settle(flow, block, layout, flow->wish->only ? bytes / each : 0, true, false);
	else if (flow->layouts->items[layout].is_node ? may_hold(flow, block, each)
						      : is_size(flow, bytes, each))
		settle(flow, block, layout, 1, false,
		       guess || flow->layouts->items[layout].is_bare);
	else if (is_size(flow, bytes, bytes / each * each))
		settle(flow, block, layout, bytes / each, true, true);
	else
		settle(flow, block, layout, 1, false, true);
}

static void scan(struct flow *flow, uint64_t address, uint32_t layout, int depth);

/* Follows the links of `count` objects side by side. */
static void scan_array(struct flow *flow, uint64_t address, uint32_t layout, uint64_t count,
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
static void follow_span(struct flow *flow, uint64_t address, const struct hawk_link *link)
{
	uint64_t start = read_word(flow, address + link->at[0]);
	uint64_t end = read_word(flow, address + link->at[1]);
	uint64_t limit = read_word(flow, address + link->at[2]);
	uint64_t each = flow->layouts->items[link->target].bytes;
	uint32_t block = block_at(flow, start);

	if (block == HAWK_BLOCK_NOWHERE || end < start || limit < end || (end - start) % each ||
	    (limit - start) % each || !may_hold(flow, block, limit - start))
		return;
	settle(flow, block, link->target, (end - start) / each, true, false);
}

static void follow_text(struct flow *flow, uint64_t address, const struct hawk_link *link)
{
	uint32_t block = block_at(flow, read_word(flow, address + link->at[0]));
	uint64_t each = flow->layouts->items[link->target].bytes;
	uint64_t length = read_word(flow, address + link->at[1]);

	if (block != HAWK_BLOCK_NOWHERE && length < bytes_of(flow, block) / each)
		settle(flow, block, link->target, 0, true, false);
}

/* Nodes have their size exactly; a table that says it is empty has none. */
static void follow_nodes(struct flow *flow, uint64_t address, const struct hawk_link *link)
{
	uint32_t block = block_at(flow, read_word(flow, address + link->at[0]));

	if (block == HAWK_BLOCK_NOWHERE ||
	    (link->count && !read_word(flow, address + link->at[1])) ||
	    !may_hold(flow, block, flow->layouts->items[link->target].bytes))
		return;
	settle(flow, block, link->target, 1, false, false);
}

/* Types the buffers between the first and the last used entry of a deque's map. */
static void follow_buffers(struct flow *flow, uint32_t layout, const uint64_t words[5])
{
	uint64_t each = flow->layouts->items[layout].bytes;
	uint64_t in_buffer = each < DEQUE_BYTES ? DEQUE_BYTES / each : 1;

	for (uint64_t node = words[1]; node <= words[2] && !flow->failed; node += 8) {
		uint64_t buffer = read_word(flow, node);
		uint64_t start = node == words[1] ? words[3] : buffer;
		uint64_t end = node == words[2] ? words[4] : buffer + in_buffer * each;
		uint32_t block = block_at(flow, buffer);
		struct work work = {.block = block, .layout = layout};

		if (block == HAWK_BLOCK_NOWHERE || start < buffer || end < start ||
		    end - buffer > in_buffer * each || !may_hold(flow, block, in_buffer * each) ||
		    !is_free(flow, block))
			continue;
		work.offset = start - buffer;
		work.count = (end - start) / each;
		hawk_types_set(flow->types, block, type_of(flow, layout, true, flow->guessing));
		queue(flow, &work, flow->guessing);
	}
}

static uint32_t map_of(struct flow *flow, uint32_t layout)
{
	CLEANUP(text) struct hawk_text text = {0};
	struct hawk_layout map = {.bytes = 8, .is_node = true};

	hawk_text_printf(&text, "%s*", flow->layouts->items[layout].name);
	map.name = text.failed ? NULL : hawk_symbols_intern(flow->symbols, text.bytes);
	return map.name ? hawk_layouts_add(flow->layouts, &map) : 0;
}

static void follow_deque(struct flow *flow, uint64_t address, const struct hawk_link *link)
{
	uint64_t words[5], map_bytes;
	uint32_t block, map;

	for (size_t i = 0; i < 5; i++)
		words[i] = read_word(flow, address + link->at[i]);
	block = block_at(flow, words[0]);
	map_bytes = block == HAWK_BLOCK_NOWHERE ? 0 : bytes_of(flow, block);
	if (words[1] < words[0] || words[2] < words[1] || words[2] - words[0] >= map_bytes ||
	    (words[1] - words[0]) % 8 || words[2] - words[1] > 8 * (uint64_t)MAP_ENTRIES_MAX)
		return;
	map = is_free(flow, block) ? map_of(flow, link->target) : 0;
	if (map)
		settle(flow, block, map, 0, true, false);
	follow_buffers(flow, link->target, words);
}

static void follow(struct flow *flow, uint64_t address, const struct hawk_link *link, int depth)
{
	uint8_t flag;

	switch (link->kind) {
	case HAWK_LINK_POINTER:
		follow_pointer(flow, read_word(flow, address + link->at[0]), link->target,
			       link->is_guess);
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

static void scan(struct flow *flow, uint64_t address, uint32_t layout, int depth)
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

/* Follows all that is queued, and what comes to it. */
static void drain(struct flow *flow, bool guesses)
{
	struct queue *from = &flow->queues[guesses];

	flow->guessing = guesses;
	while (from->count && !flow->failed) {
		struct work work = from->items[--from->count];
		uint64_t start = hawk_block_start(&flow->types->heap->index, work.block);

		scan_array(flow, start + work.offset, work.layout, work.count, 0);
	}
}

static void follow_variables(struct flow *flow, const struct hawk_dwarf_variables *variables)
{
	for (size_t i = 0; i < variables->count && !flow->failed; i++) {
		const struct hawk_dwarf_variable *variable = &variables->items[i];
		const struct hawk_dwarf_type *type = variable->type;
		uint32_t layout = hawk_layouts_of(flow->layouts, type);

		if (layout && variable->address)
			scan_array(flow, variable->address, layout, 1, 0);
		else if (layout && type->kind == HAWK_DWARF_POINTER)
			follow_pointer(flow, variable->value,
				       hawk_layouts_of(flow->layouts,
						       hawk_dwarf_target(flow->symbols, type)),
				       false);
		drain(flow, false);
	}
}

/* Returns true if a word in the range is a pointer to a block of interest. */
static bool has_pointer(void *context, uint64_t start, uint64_t end)
{
	struct flow *flow = context;

	for (uint64_t at = start / 8 * 8; at < end; at += 8) {
		uint32_t block = block_at(flow, read_word(flow, at));

		if (block != HAWK_BLOCK_NOWHERE && hawk_types_bit(flow->wish->only, block))
			return true;
	}
	return false;
}

static void flow_from_modules(struct flow *flow)
{
	const struct hawk_target *target = flow->types->heap->target;
	struct hawk_dwarf_variables variables = {0};
	size_t count, thread_count;
	const struct hawk_module *modules = hawk_target_modules(target, &count);
	const struct hawk_thread *threads = hawk_target_threads(target, &thread_count);

	for (size_t i = 0; i < count; i++) {
		struct hawk_symbol_module module = hawk_symbol_module_of(&modules[i]);

		if (hawk_dwarf_is_c_library(&module))
			continue;
		hawk_dwarf_statics(flow->symbols, &module, NULL, has_pointer, flow, &variables);
		for (size_t j = 0; module.main && j < thread_count; j++)
			hawk_dwarf_statics(flow->symbols, &module, &threads[j], has_pointer, flow,
					   &variables);
	}
	follow_variables(flow, &variables);
	hawk_dwarf_variables_deinit(&variables);
}

static void flow_from_threads(struct flow *flow)
{
	size_t count;
	const struct hawk_thread *threads = hawk_target_threads(flow->types->heap->target, &count);

	for (size_t i = 0; i < count && !flow->failed; i++) {
		struct hawk_dwarf_variables locals = {0};

		if (!hawk_types_bit(flow->wish->threads, i))
			continue;
		hawk_dwarf_locals(flow->symbols, &threads[i], &locals);
		follow_variables(flow, &locals);
		hawk_dwarf_variables_deinit(&locals);
	}
}

/* Queues the blocks whose class is known, with its members: the virtual table lies in the module
 * that has the class. */
static void flow_from_classes(struct flow *flow)
{
	const struct hawk_block_index *index = &flow->types->heap->index;

	for (uint32_t i = 0; i < index->count && !flow->failed; i++) {
		uint32_t number = hawk_types_of(flow->types, i);
		const struct hawk_type *type = hawk_types_at(flow->types, number);
		struct work work = {.block = i, .count = 1};

		if (type->origin != HAWK_TYPE_VTABLE || number >= flow->class_count)
			continue;
		if (!flow->classes[number])
			flow->classes[number] =
				1 +
				hawk_layouts_of(flow->layouts,
						hawk_dwarf_class(
							flow->symbols,
							read_word(flow, hawk_block_start(index, i)),
							type->name));
		work.layout = flow->classes[number] - 1;
		if (!work.layout || flow->layouts->items[work.layout].bytes > bytes_of(flow, i))
			continue;
		flow->types->items[number].layout = work.layout;
		queue(flow, &work, type->is_guess);
	}
	drain(flow, false);
}

struct hawk_error *hawk_types_from_dwarf(struct hawk_types *types, struct hawk_symbols *symbols,
					 const struct hawk_types_wish *wish)
{
	size_t count = types->heap->index.count;

	types->layouts = calloc(1, sizeof(*types->layouts));
	CLEANUP(free_ptr) uint64_t *seen = calloc(count / 64 + 1, sizeof(*seen));
	CLEANUP(free_ptr) uint32_t *classes = calloc(types->count, sizeof(*classes));
	struct flow flow = {.types = types,
			    .symbols = symbols,
			    .wish = wish,
			    .layouts = types->layouts,
			    .seen = seen,
			    .classes = classes,
			    .class_count = types->count,
			    .left = STEPS_MAX,
			    .near = {.target = types->heap->target},
			    .words = {.target = types->heap->target},
			    .exact = hawk_heap_all_know(types->heap, HAWK_HEAP_EXACT)};

	if (!seen || !classes || !types->layouts)
		return &hawk_enomem;
	types->layouts->symbols = symbols;
	flow_from_classes(&flow);
	flow_from_modules(&flow);
	flow_from_threads(&flow);
	drain(&flow, true);
	free(flow.queues[0].items);
	free(flow.queues[1].items);
	return flow.failed || flow.layouts->failed ? &hawk_enomem : NULL;
}
