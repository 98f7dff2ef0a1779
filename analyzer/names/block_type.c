/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Types of blocks: reads the first words of a block, and looks up each virtual table's symbol once.
 */
#include "hawk/names/block_type.h"

#include <pthread.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "hawk/base/cleanup.h"
#include "hawk/base/text.h"
#include "hawk/names/class_name.h"
#include "name_tree.h"

enum {
	/** A hostile core could hold endless distinct words; beyond this many, each is looked up
	 * whenever it is met. */
	TABLES_MAX = 1 << 20,
	PAIRS = 256,
};

/** Meaning of a word that points into a module. */
struct vtable {
	uint64_t word;
	const char *name; /**< NULL = no virtual table */
	bool is_place;    /**< the class has no name, and this is where its table lies */
};

struct hawk_block_types {
	const struct hawk_heap *heap;
	const struct hawk_vtables *tables; /**< NULL = none are known */
	struct hawk_symbols *symbols;
	struct hawk_module_words modules;
	struct hawk_snapshot_types *kept; /**< of a snapshot; NULL = blocks can be read */
	struct hawk_near near;            /**< of who asks about blocks */
	pthread_mutex_t lock;             /**< of what follows, and the symbols */
	void *vtables;                    /**< tree of struct vtable by word */
	size_t count;
	const struct vtable *latest;
	struct vtable beyond; /**< the latest one that is not kept */
	void *arrays;         /**< names of arrays' types */
	/** Direct-mapped, by a coroutine's functions. An empty slot is correct: 0 is no function.
	 */
	struct {
		uint64_t resume, destroy;
		const struct hawk_coroutine *coroutine; /**< NULL = none's */
	} pairs[PAIRS];
};

static int compare(const void *left, const void *right)
{
	const struct vtable *a = left;
	const struct vtable *b = right;

	return a->word < b->word ? -1 : a->word > b->word;
}

struct hawk_error *hawk_block_types_create(const struct hawk_heap *heap,
					   const struct hawk_vtables *tables,
					   struct hawk_symbols *symbols,
					   struct hawk_block_types **ret)
{
	struct hawk_block_types *types = calloc(1, sizeof(*types));
	struct hawk_error *err = NULL;

	if (!types)
		return &hawk_enomem;
	if (hawk_target_snapshot(heap->target))
		err = hawk_snapshot_types_read(hawk_target_snapshot(heap->target), &types->kept);
	if (err) {
		free(types);
		return err;
	}
	types->heap = heap;
	types->tables = tables;
	types->symbols = symbols;
	types->near.target = heap->target;
	hawk_module_words_init(&types->modules, heap->target);
	types->modules.kept = types->kept;
	(void)pthread_mutex_init(&types->lock, NULL);
	*ret = types;
	return NULL;
}

void hawk_block_types_destroy(struct hawk_block_types *types)
{
	if (!types)
		return;
	tdestroy(types->vtables, free);
	hawk_snapshot_types_destroy(types->kept);
	hawk_name_tree_clear(&types->arrays);
	(void)pthread_mutex_destroy(&types->lock);
	free(types);
}

/* A snapshot holds words only of tables. */
static void name_vtable(struct hawk_block_types *types, struct vtable *vtable)
{
	uint64_t word = vtable->word;
	const struct hawk_module *module = hawk_target_module_at(types->heap->target, word);

	vtable->name = hawk_vtable_class(types->symbols, module, word);
	vtable->is_place = !vtable->name &&
			   (types->kept || (types->tables && hawk_vtables_at(types->tables, word)));
	if (vtable->is_place)
		vtable->name = hawk_vtable_place(types->symbols, module, word);
}

static const struct vtable *find_vtable(struct hawk_block_types *types, uint64_t word)
{
	const struct vtable key = {.word = word};
	struct vtable **found = tfind(&key, &types->vtables, compare);
	struct vtable *made;

	if (found)
		return *found;
	types->beyond = key;
	name_vtable(types, &types->beyond);
	made = types->count < TABLES_MAX ? malloc(sizeof(*made)) : NULL;
	if (!made)
		return &types->beyond;
	*made = types->beyond;
	if (!tsearch(made, &types->vtables, compare)) {
		free(made);
		return &types->beyond;
	}
	types->count++;
	return made;
}

/* Returns the meaning of `word`. */
static struct vtable ask(struct hawk_block_types *types, uint64_t word)
{
	struct vtable found = {0};

	(void)pthread_mutex_lock(&types->lock);
	if (types->latest && types->latest->word == word) {
		found = *types->latest;
	} else if (hawk_module_words_have(&types->modules, word)) {
		types->latest = find_vtable(types, word);
		found = *types->latest;
	}
	(void)pthread_mutex_unlock(&types->lock);
	return found;
}

const char *hawk_block_type_of_vtable(struct hawk_block_types *types, uint64_t word)
{
	return ask(types, word).name;
}

bool hawk_block_type_is_place(struct hawk_block_types *types, uint64_t word)
{
	return ask(types, word).is_place;
}

const char *hawk_block_type_of_array(struct hawk_block_types *types, uint64_t word)
{
	const char *name = hawk_block_type_of_vtable(types, word);
	CLEANUP(text) struct hawk_text text = {0};
	const struct hawk_name_node *node;

	if (!name)
		return NULL;
	hawk_text_printf(&text, "%s[]", name);
	(void)pthread_mutex_lock(&types->lock);
	node = hawk_name_tree_node(&types->arrays, hawk_text_string(&text));
	(void)pthread_mutex_unlock(&types->lock);
	return node ? node->text : NULL;
}

/* Both words must point into the same module, the second one to code: other pairs open no file. */
static const struct hawk_coroutine *find_coroutine(struct hawk_block_types *types,
						   const struct hawk_type_words *words)
{
	const struct hawk_target *target = types->heap->target;
	const struct hawk_module *module = hawk_target_module_at(target, words->destroy);
	const struct hawk_mapping *mapping = hawk_target_mapping_at(target, words->destroy);
	struct hawk_symbol_module file;

	if (!module || !mapping || !(mapping->flags & HAWK_MAPPING_EXEC) ||
	    (words->resume && hawk_target_module_at(target, words->resume) != module))
		return NULL;
	file = hawk_symbol_module_of(module);
	return hawk_symbols_coroutine(types->symbols, &file, words->resume, words->destroy);
}

const struct hawk_coroutine *hawk_block_coroutine(struct hawk_block_types *types,
						  const struct hawk_type_words *words)
{
	size_t slot = (words->destroy / 8 ^ words->resume / 64 ^ words->destroy / 4096) % PAIRS;
	const struct hawk_coroutine *ret;

	if (!words->destroy)
		return NULL;
	(void)pthread_mutex_lock(&types->lock);
	if (types->pairs[slot].destroy != words->destroy ||
	    types->pairs[slot].resume != words->resume) {
		types->pairs[slot].resume = words->resume;
		types->pairs[slot].destroy = words->destroy;
		types->pairs[slot].coroutine = find_coroutine(types, words);
	}
	ret = types->pairs[slot].coroutine;
	(void)pthread_mutex_unlock(&types->lock);
	return ret;
}

const struct hawk_module_words *hawk_block_types_modules(const struct hawk_block_types *types)
{
	return &types->modules;
}

const char *hawk_block_type_name(const struct hawk_block_types *types, uint32_t trace)
{
	const struct hawk_heap *heap = types->heap;
	const struct hawk_class *class = hawk_heap_class(heap, trace);

	if (class)
		return class->kind == HAWK_CLASS_TYPE || class->kind == HAWK_CLASS_FLOW
			       ? class->name
			       : NULL;
	return heap->table ? hawk_table_type(heap->table, trace) : NULL;
}

/* Returns the type of the guest's object in a block that has a stack, or NULL. */
static const char *guest_type(const struct hawk_block_types *types, const struct hawk_block *block)
{
	const struct hawk_heap *heap = types->heap;
	const struct hawk_guest_type *type;
	bool interior;

	if (!heap->guests.of_block)
		return NULL;
	type = hawk_guests_type(&heap->guests,
				hawk_block_index_find(&heap->index, block->start, &interior));
	return type ? type->name : NULL;
}

/* A guess needs a mark, which only the table of types has. */
static const char *type_of_frame(struct hawk_block_types *types,
				 const struct hawk_type_words *words)
{
	const struct hawk_coroutine *coroutine = hawk_block_coroutine(types, words);

	return coroutine && !coroutine->is_guess ? coroutine->type : NULL;
}

const char *hawk_block_type_of_words(struct hawk_block_types *types, const struct hawk_block *block,
				     const struct hawk_type_words *words)
{
	const char *name = hawk_block_type_name(types, block->trace);

	if (!name)
		name = guest_type(types, block);
	if (!name && words->first)
		name = hawk_block_type_of_vtable(types, words->first);
	if (!name && words->second && block->kind == HAWK_KIND_NEW_ARRAY)
		name = hawk_block_type_of_array(types, words->second);
	if (!name)
		name = type_of_frame(types, words);
	return name;
}

const char *hawk_block_type(struct hawk_block_types *types, const struct hawk_block *block)
{
	struct hawk_type_words words = {0};

	if (!hawk_block_type_name(types, block->trace))
		words = hawk_type_words_at(&types->modules, &types->near, block->start,
					   block->size);
	return hawk_block_type_of_words(types, block, &words);
}
