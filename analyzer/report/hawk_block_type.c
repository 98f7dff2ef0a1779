/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Types of blocks: one look at the first words of a block, one symbol look-up for each virtual
 * table.
 */
#include "hawk_block_type.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "hawk_cleanup.h"
#include "hawk_text.h"

enum {
	WORD_BYTES = 8,
	/** Itanium C++ ABI: the address point lies behind the offset to top and the type_info. */
	VTABLE_PREFIX_BYTES = 16,
	/** Words of hostile cores could be told apart without end; beyond this they have no type.
	 */
	TABLES_MAX = 1 << 20,
};

/** What a word that lies in a module says. */
struct vtable {
	uint64_t word;
	const char *name; /**< NULL = no virtual table */
	char *array_name; /**< "name[]", made when it is first wanted; owned */
};

struct hawk_block_types {
	const struct hawk_target *target;
	const struct hawk_table *table;
	struct hawk_symbols *symbols;
	void *vtables; /**< tree of struct vtable by word */
	size_t count;
	struct vtable *latest;
};

static int compare(const void *left, const void *right)
{
	const struct vtable *a = left;
	const struct vtable *b = right;

	return a->word < b->word ? -1 : a->word > b->word;
}

static void free_vtable(void *node)
{
	struct vtable *vtable = node;

	free(vtable->array_name);
	free(vtable);
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
	*ret = types;
	return NULL;
}

void hawk_block_types_destroy(struct hawk_block_types *types)
{
	if (!types)
		return;
	tdestroy(types->vtables, free_vtable);
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
	if (word % WORD_BYTES)
		return NULL;
	module = hawk_target_module_at(types->target, word);
	if (!module)
		return NULL;
	found = tfind(&key, &types->vtables, compare);
	if (found) {
		*ret = types->latest = *found;
		return NULL;
	}
	if (types->count == TABLES_MAX)
		return NULL;
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
	struct vtable *vtable;
	struct hawk_error *err = find_vtable(types, word, &vtable);

	*ret = !err && vtable ? vtable->name : NULL;
	return err;
}

static struct hawk_error *array_name(struct vtable *vtable, const char **ret)
{
	struct hawk_text text = {0};

	if (!vtable->array_name) {
		hawk_text_puts(&text, vtable->name);
		hawk_text_puts(&text, "[]");
		if (text.failed) {
			hawk_text_deinit(&text);
			return &hawk_enomem;
		}
		vtable->array_name = text.bytes;
	}
	*ret = vtable->array_name;
	return NULL;
}

/** new[] of a class with a destructor: a count, then the elements. */
static bool may_have_cookie(const struct hawk_block *block, uint64_t count)
{
	return block->kind == HAWK_KIND_NEW_ARRAY && count &&
	       count <= (block->size - WORD_BYTES) / WORD_BYTES;
}

struct hawk_error *hawk_block_type(struct hawk_block_types *types, const struct hawk_block *block,
				   const char **ret)
{
	uint64_t words[2] = {0};
	size_t wanted = block->size < sizeof(words) ? WORD_BYTES : sizeof(words);
	struct vtable *vtable;
	struct hawk_error *err;

	*ret = types->table ? hawk_table_type(types->table, block->trace) : NULL;
	if (*ret || block->size < WORD_BYTES ||
	    hawk_target_read_some(types->target, block->start, words, wanted) < wanted)
		return NULL;
	err = find_vtable(types, words[0], &vtable);
	if (err)
		return err;
	if (vtable && vtable->name) {
		*ret = vtable->name;
		return NULL;
	}
	if (wanted < sizeof(words) || !may_have_cookie(block, words[0]))
		return NULL;
	err = find_vtable(types, words[1], &vtable);
	if (err || !vtable || !vtable->name)
		return err;
	return array_name(vtable, ret);
}
