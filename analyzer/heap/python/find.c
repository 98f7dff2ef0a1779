/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds CPython's interpreters by their lists of tracked objects, and all objects: in its own
 * allocator's blocks, in these lists, and, while blocks are numbered, in the other blocks.
 */
#include "python.h"

#include "../native.h"

#include <stdlib.h>

enum { GENERATION_BYTES = 24, GENERATIONS = 3, PERMANENT = 104, COLLECTING = 200 };

static const struct python_version versions[] = {
	{"CPython 3.9", 309, 880, 8, 616, 856, 48, 72},
	{"CPython 3.10", 310, 888, 8, 616, 864, 48, 72},
	{"CPython 3.11", 311, 904, 16, 648, 864, 48, 72},
	{"CPython 3.12", 312, 920, 72, 112, 872, 40, 56},
	{"CPython 3.13", 313, 928, 7344, 7400, 872, 40, 56},
};

const struct python_version *python_version_of(const struct hawk_target *target,
					       const struct hawk_python_home *home)
{
	struct hawk_near near = {.target = target};
	uint64_t bytes;

	if (hawk_word(&near, home->type + PYTHON_TYPE_BASIC_BYTES, &bytes))
		for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++)
			if (versions[i].type_bytes == bytes)
				return &versions[i];
	return NULL;
}

const struct python_version *python_version_named(const char *guest)
{
	for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++)
		if (strcmp(versions[i].name, guest) == 0)
			return &versions[i];
	return NULL;
}

/* Returns true if the head of a list is linked with its neighbours. */
static bool is_list(struct python_reader *reader, uint64_t head)
{
	uint64_t next, last;

	return hawk_word(&reader->blocks, head, &next) && next &&
	       python_is_linked(reader, head, next) &&
	       hawk_word(&reader->blocks, head + 8, &last) &&
	       hawk_word(&reader->links, last & ~(uint64_t)PYTHON_LINK_BITS, &next) &&
	       (next & ~(uint64_t)PYTHON_LINK_BITS) == head;
}

static uint64_t first_list(const struct python_reader *reader, uint64_t interpreter)
{
	return interpreter + reader->version->collector + GENERATION_BYTES;
}

static bool is_interpreter(struct python_reader *reader, uint64_t address)
{
	enum { THREAD_INTERPRETER = 16 };
	uint64_t thread, back;

	if (address % 8 ||
	    !hawk_word(&reader->blocks, address + reader->version->first_thread, &thread) ||
	    !thread || !hawk_word(&reader->links, thread + THREAD_INTERPRETER, &back) ||
	    back != address)
		return false;
	for (unsigned i = 0; i < GENERATIONS; i++)
		if (!is_list(reader, first_list(reader, address) + i * GENERATION_BYTES))
			return false;
	return true;
}

static void take_interpreter(struct python_reader *reader, uint64_t address)
{
	uint32_t collecting;

	for (unsigned i = 0; i < reader->interpreter_count; i++)
		if (reader->interpreters[i] == address)
			return;
	if (reader->interpreter_count == PYTHON_INTERPRETERS_MAX ||
	    !is_interpreter(reader, address))
		return;
	reader->interpreters[reader->interpreter_count++] = address;
	if (hawk_half(&reader->blocks, address + reader->version->collector + COLLECTING,
		      &collecting) &&
	    collecting)
		reader->is_collecting = true;
}

/* Reads the module's data: pointers to interpreters, and types. */
static void search_data(struct python_reader *reader)
{
	struct hawk_near near = {.target = reader->finder->target};
	struct hawk_data_words words = {0};
	uint64_t word;

	while (hawk_data_words_next(&words, &near, &word)) {
		if (word == reader->home.type)
			(void)python_type_at(reader, words.at - PYTHON_TYPE);
		else if (words.at >= reader->home.module->start &&
			 words.at < reader->home.module->end)
			take_interpreter(reader, word);
	}
}

static void add_pool_objects(struct python_reader *reader, const struct hawk_heap_found *found)
{
	const void *state;
	const struct hawk_walker *walker = hawk_native_walker(found, &state);
	void *cursor = walker->begin(state);
	struct python_object object;
	struct hawk_piece piece;

	if (!cursor)
		reader->finder->failed = true;
	while (cursor && walker->next(cursor, &piece))
		if (piece.state == HAWK_PIECE_LIVE &&
		    python_object_in(reader, piece.start, true, &object))
			python_add(reader, &object);
	free(cursor);
}

static const struct hawk_heap_found *find_pools(const struct hawk_heap *heap)
{
	for (unsigned i = 0; i < heap->found_count; i++)
		if (heap->found[i].source == &hawk_heap_pymalloc)
			return &heap->found[i];
	return NULL;
}

/* Adds the objects of a list that lie outside of pools. */
static void add_list(struct python_reader *reader, const struct hawk_heap_found *pools,
		     uint64_t head)
{
	const struct hawk_pymalloc *pymalloc = NULL;
	struct hawk_guest *guest = &reader->finder->guests->items[reader->guest];
	uint64_t at = head, next;

	if (pools)
		(void)hawk_native_walker(pools, (const void **)&pymalloc);
	for (uint64_t i = 0; i < reader->finder->objects_max; i++) {
		struct python_object object;

		if (!hawk_word(&reader->blocks, at, &next) || !python_is_linked(reader, at, next)) {
			guest->incomplete = true;
			return;
		}
		at = next & ~(uint64_t)PYTHON_LINK_BITS;
		if (at == head)
			return;
		if (pymalloc && hawk_slabs_at(&pymalloc->heap.slabs, at))
			continue;
		if (python_object_in(reader, at, true, &object) ||
		    python_object_in(reader, at - PYTHON_HEAD_BYTES, true, &object))
			python_add(reader, &object);
	}
}

static void add_lists(struct python_reader *reader, const struct hawk_heap_found *pools,
		      uint64_t interpreter)
{
	for (unsigned i = 0; i < GENERATIONS; i++)
		add_list(reader, pools, first_list(reader, interpreter) + i * GENERATION_BYTES);
	add_list(reader, pools, interpreter + reader->version->collector + PERMANENT);
}

/* Makes a number of each type: later only numbers that exist can be given to blocks. */
static void number_types(struct python_reader *reader)
{
	for (size_t i = 0; i < reader->slot_count; i++)
		for (unsigned state = 0; state < PYTHON_STATES && reader->slots[i].address; state++)
			if (state == PYTHON_UNTRACKED || reader->slots[i].flags & PYTHON_COLLECTED)
				(void)python_number(reader, &reader->slots[i],
						    (enum python_state)state);
}

void python_search(struct python_reader *reader, const struct hawk_heap *heap)
{
	const struct hawk_heap_found *pools = find_pools(heap);

	search_data(reader);
	if (!reader->interpreter_count)
		return;
	if (pools)
		add_pool_objects(reader, pools);
	for (unsigned i = 0; i < reader->interpreter_count; i++) {
		add_lists(reader, pools, reader->interpreters[i]);
		if (!python_add_threads(reader, reader->interpreters[i]))
			reader->finder->failed = true;
	}
	number_types(reader);
}

void python_forget(struct python_reader *reader)
{
	free(reader->slots);
	free(reader);
}

static uint32_t type_of_block(void *context, uint64_t start)
{
	struct python_reader *reader = context;
	struct python_object object;

	return python_object_in(reader, start, false, &object) ? object.type->numbers[object.state]
							       : 0;
}

static void forget(void *context)
{
	python_forget(context);
}

/* Returns true if only the type "type" is there: a redacted core keeps it, for the allocator. */
static bool is_redacted(const struct hawk_target *target, const struct hawk_python_home *home)
{
	struct hawk_near near = {.target = target};
	uint64_t base, flags;

	return !hawk_word(&near, home->type + PYTHON_TYPE_BASE, &base) ||
	       !hawk_word(&near, base + PYTHON_TYPE_FLAGS, &flags) || !flags;
}

void hawk_python_find(struct hawk_guest_finder *finder, struct hawk_symbols *symbols,
		      const struct hawk_heap *heap)
{
	const struct hawk_target *target = finder->target;
	struct hawk_python_home home;
	struct python_reader *reader;
	struct hawk_guest *guest;

	if (!hawk_python_find_home(target, &home) || is_redacted(target, &home))
		return;
	reader = calloc(1, sizeof(*reader));
	if (!reader) {
		finder->failed = true;
		return;
	}
	*reader = (struct python_reader){
		.finder = finder,
		.symbols = symbols,
		.home = home,
		.version = python_version_of(target, &home),
		.blocks.target = target,
		.links.target = target,
		.types.target = target,
	};
	guest = hawk_guest_named(finder->guests,
				 reader->version ? reader->version->name : "CPython");
	if (guest && reader->version) {
		finder->guests->probe = (struct hawk_guest_probe){type_of_block, forget, reader};
		reader->guest = (uint8_t)(guest - finder->guests->items);
		python_search(reader, heap);
		guest->states = reader->interpreter_count;
	}
	if (guest)
		guest->is_unknown = !guest->states;
	if (!finder->guests->probe.context)
		python_forget(reader);
}
