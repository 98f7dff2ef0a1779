/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Types of blocks: one look at the first words of a block, one symbol look-up for each virtual
 * table.
 */
#include "hawk_block_type.h"

#include <pthread.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "hawk_cleanup.h"
#include "hawk_text.h"

enum {
	/** Itanium C++ ABI: the address point lies behind the offset to top and the type_info. */
	VTABLE_PREFIX_BYTES = 16,
	/** Words of hostile cores could be told apart without end; beyond this each is looked up
	 * whenever it is met. */
	TABLES_MAX = 1 << 20,
};

/** What a word that lies in a module says. */
struct vtable {
	uint64_t word;
	const char *name; /**< NULL = no virtual table */
};

/** "name[]", made when it is first wanted. */
struct array {
	const char *name; /**< the symbols' */
	char *text;       /**< owned */
};

struct hawk_block_types {
	const struct hawk_target *target;
	const struct hawk_table *table;
	struct hawk_symbols *symbols;
	struct hawk_module_words modules;
	struct hawk_near near; /**< of who asks about blocks */
	pthread_mutex_t lock;  /**< of what follows, and the symbols */
	void *vtables;         /**< tree of struct vtable by word */
	size_t count;
	struct vtable *latest;
	struct vtable beyond; /**< the latest one that is not kept */
	void *arrays;         /**< tree of struct array by name */
};

static int compare(const void *left, const void *right)
{
	const struct vtable *a = left;
	const struct vtable *b = right;

	return a->word < b->word ? -1 : a->word > b->word;
}

static int compare_arrays(const void *left, const void *right)
{
	const struct array *a = left;
	const struct array *b = right;

	return strcmp(a->name, b->name);
}

static void free_array(void *node)
{
	struct array *array = node;

	free(array->text);
	free(array);
}

struct hawk_error *hawk_block_types_create(const struct hawk_target *target,
					   const struct hawk_table *table,
					   struct hawk_symbols *symbols,
					   struct hawk_block_types **ret)
{
	struct hawk_block_types *types = calloc(1, sizeof(*types));

	if (!types)
		return &hawk_enomem;
	types->target = target;
	types->table = table;
	types->symbols = symbols;
	types->near.target = target;
	hawk_module_words_init(&types->modules, target);
	(void)pthread_mutex_init(&types->lock, NULL);
	*ret = types;
	return NULL;
}

void hawk_block_types_destroy(struct hawk_block_types *types)
{
	if (!types)
		return;
	tdestroy(types->vtables, free);
	tdestroy(types->arrays, free_array);
	(void)pthread_mutex_destroy(&types->lock);
	free(types);
}

/** "vtable for X" -> X */
static struct hawk_error *name_vtable(struct hawk_block_types *types,
				      const struct hawk_module *module, struct vtable *vtable)
{
	static const char prefix[] = "vtable for ";
	struct hawk_symbol_module of = hawk_symbol_module_of(module);
	const char *symbol;
	uint64_t offset;
	struct hawk_error *err =
		hawk_symbols_name(types->symbols, &of, vtable->word, &symbol, &offset);

	if (!err && symbol && offset >= VTABLE_PREFIX_BYTES &&
	    !strncmp(symbol, prefix, sizeof(prefix) - 1))
		vtable->name = symbol + sizeof(prefix) - 1;
	return err;
}

/** `*ret` is NULL for words that do not point into a module. */
static struct hawk_error *find_vtable(struct hawk_block_types *types, uint64_t word,
				      struct vtable **ret)
{
	const struct hawk_module *module;
	struct vtable key = {.word = word};
	struct vtable **found;

	*ret = NULL;
	if (types->latest && types->latest->word == word) {
		*ret = types->latest;
		return NULL;
	}
	if (!hawk_module_words_have(&types->modules, word))
		return NULL;
	module = hawk_target_module_at(types->target, word);
	found = tfind(&key, &types->vtables, compare);
	if (found) {
		*ret = types->latest = *found;
		return NULL;
	}
	if (types->count == TABLES_MAX) {
		types->beyond = (struct vtable){.word = word};
		*ret = &types->beyond;
		return name_vtable(types, module, &types->beyond);
	}
	CLEANUP(free_ptr) struct vtable *made = calloc(1, sizeof(*made));
	if (!made)
		return &hawk_enomem;
	made->word = word;
	struct hawk_error *err = name_vtable(types, module, made);
	if (err)
		return err;
	if (!tsearch(made, &types->vtables, compare))
		return &hawk_enomem;
	types->count++;
	*ret = types->latest = made;
	take_ptr(&made);
	return NULL;
}

struct hawk_error *hawk_block_type_of_vtable(struct hawk_block_types *types, uint64_t word,
					     const char **ret)
{
	struct hawk_error *err;
	struct vtable *vtable;

	(void)pthread_mutex_lock(&types->lock);
	err = find_vtable(types, word, &vtable);
	*ret = !err && vtable ? vtable->name : NULL;
	(void)pthread_mutex_unlock(&types->lock);
	return err;
}

static struct hawk_error *make_array(struct hawk_block_types *types, const char *name,
				     struct array **ret)
{
	CLEANUP(free_ptr) struct array *made = calloc(1, sizeof(*made));
	struct hawk_text text = {0};

	hawk_text_puts(&text, name);
	hawk_text_puts(&text, "[]");
	if (made)
		*made = (struct array){name, text.bytes};
	if (!made || text.failed || !tsearch(made, &types->arrays, compare_arrays)) {
		hawk_text_deinit(&text);
		return &hawk_enomem;
	}
	*ret = take_ptr(&made);
	return NULL;
}

static struct hawk_error *find_array(struct hawk_block_types *types, const char *name,
				     const char **ret)
{
	struct array key = {.name = name}, *array;
	struct array **found = tfind(&key, &types->arrays, compare_arrays);
	struct hawk_error *err = NULL;

	if (found)
		array = *found;
	else
		err = make_array(types, name, &array);
	*ret = err ? NULL : array->text;
	return err;
}

struct hawk_error *hawk_block_type_of_array(struct hawk_block_types *types, uint64_t word,
					    const char **ret)
{
	struct hawk_error *err = hawk_block_type_of_vtable(types, word, ret);

	if (err || !*ret)
		return err;
	(void)pthread_mutex_lock(&types->lock);
	err = find_array(types, *ret, ret);
	(void)pthread_mutex_unlock(&types->lock);
	return err;
}

const struct hawk_module_words *hawk_block_types_modules(const struct hawk_block_types *types)
{
	return &types->modules;
}

const char *hawk_block_type_name(const struct hawk_block_types *types, uint32_t trace)
{
	return types->table ? hawk_table_type(types->table, trace) : NULL;
}

struct hawk_error *hawk_block_type_of_words(struct hawk_block_types *types,
					    const struct hawk_block *block,
					    const struct hawk_type_words *words, const char **ret)
{
	struct hawk_error *err = NULL;

	*ret = hawk_block_type_name(types, block->trace);
	if (*ret)
		return NULL;
	if (words->first)
		err = hawk_block_type_of_vtable(types, words->first, ret);
	if (err || *ret || !words->second || block->kind != HAWK_KIND_NEW_ARRAY)
		return err;
	return hawk_block_type_of_array(types, words->second, ret);
}

struct hawk_error *hawk_block_type(struct hawk_block_types *types, const struct hawk_block *block,
				   const char **ret)
{
	struct hawk_type_words words = {0};

	if (!hawk_block_type_name(types, block->trace))
		words = hawk_type_words_at(&types->modules, &types->near, block->start,
					   block->size);
	return hawk_block_type_of_words(types, block, &words, ret);
}
