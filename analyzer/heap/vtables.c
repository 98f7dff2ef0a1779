/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds virtual tables by their type_infos.
 *
 *     table:      | offset to top | type_info | functions ...    an object points to functions
 *     type_info:  | table of its own class | name | bases ...
 *
 * A type_info is an object as well, of one of three classes: __class_type_info (no base), and
 * __si_ and __vmi_class_type_info, which are derived from it. Let f(X) be the table that the
 * type_info before X points to. The class __si_class_type_info has one base, and so is described by
 * an object of itself: its table S is the one with f(S) = S. From there the others follow.
 */
#include "hawk/heap/vtables.h"

#include "walker.h"

enum {
	BASE_OFFSET = 16, /* base's offset in a type_info with one base */
	TO_TOP_MIN = -(1 << 20),
	KINDS_MAX = 64, /* kinds of type_infos: three for each C++ library */
	CACHE = 1024,
};

/** Recognizes pointers to tables of type_infos. */
struct finder {
	const struct hawk_target *target;
	struct hawk_near tables, infos; /**< two, since reads alternate */
	uint64_t bases[KINDS_MAX];      /**< type_infos of the __class_type_info of each library */
	size_t base_count;
	/** Direct-mapped cache of verdicts. An empty slot (word 0) is correct: 0 is no table. */
	struct {
		uint64_t word;
		bool yes;
	} cache[CACHE];
};

static bool is_data(const struct hawk_mapping *mapping)
{
	return mapping && mapping->data;
}

static bool is_in_data(const struct finder *finder, uint64_t address)
{
	return address % 8 == 0 && is_data(hawk_target_mapping_at(finder->target, address));
}

/* Reads the type_info of the table's class. */
static bool info_of(struct finder *finder, uint64_t table, uint64_t *ret)
{
	return hawk_word(&finder->tables, table - 8, ret) && is_in_data(finder, *ret);
}

static bool is_base(const struct finder *finder, uint64_t info)
{
	for (size_t i = 0; i < finder->base_count; i++)
		if (finder->bases[i] == info)
			return true;
	return false;
}

/* Returns true for the table of __class_type_info or of a class derived from it. */
static bool tell_info_table(struct finder *finder, uint64_t table)
{
	uint64_t info, base;

	return is_in_data(finder, table) && info_of(finder, table, &info) &&
	       (is_base(finder, info) ||
		(hawk_word(&finder->infos, info + BASE_OFFSET, &base) && is_base(finder, base)));
}

static bool is_info_table(struct finder *finder, uint64_t table)
{
	size_t slot = (table >> 3) % CACHE;

	if (finder->cache[slot].word != table) {
		finder->cache[slot].yes = tell_info_table(finder, table);
		finder->cache[slot].word = table;
	}
	return finder->cache[slot].yes;
}

/** Called for each word of modules' data; an error ends the walk. */
typedef struct hawk_error *word_function(struct finder *finder, uint64_t at, uint64_t word,
					 struct hawk_vtables *ret);

static struct hawk_error *each_word(struct finder *finder, word_function *take,
				    struct hawk_vtables *ret)
{
	size_t count;
	const struct hawk_mapping *mappings = hawk_target_mappings(finder->target, &count);
	struct hawk_near near = {.target = finder->target};
	struct hawk_error *err = NULL;

	for (size_t i = 0; i < count && !err; i++) {
		uint64_t at = (mappings[i].start + 7) & -UINT64_C(8), word;
		uint64_t end = mappings[i].start + mappings[i].present_bytes;

		if (!is_data(&mappings[i]))
			continue;
		for (; !err && hawk_next_word(&near, &at, end, &word); at += 8)
			err = take(finder, at, word, ret);
	}
	return err;
}

/* Takes the base of a class that describes itself. */
static struct hawk_error *take_base(struct finder *finder, uint64_t at, uint64_t word,
				    struct hawk_vtables *ret)
{
	uint64_t info, table, base;

	(void)at;
	(void)ret;
	if (is_in_data(finder, word) && info_of(finder, word, &info) &&
	    hawk_word(&finder->infos, info, &table) && table == word &&
	    hawk_word(&finder->infos, info + BASE_OFFSET, &base) && is_in_data(finder, base) &&
	    !is_base(finder, base) && finder->base_count < KINDS_MAX)
		finder->bases[finder->base_count++] = base;
	return NULL;
}

/* Takes a table if `word` is the type_info before its functions. */
static struct hawk_error *take_table(struct finder *finder, uint64_t at, uint64_t word,
				     struct hawk_vtables *ret)
{
	uint64_t table;
	int64_t to_top;

	if (!is_in_data(finder, word) || !hawk_word(&finder->infos, word, &table) ||
	    !is_info_table(finder, table) ||
	    hawk_near_read(&finder->tables, at - 8, &to_top, sizeof(to_top)) != sizeof(to_top) ||
	    to_top > 0 || to_top < TO_TOP_MIN)
		return NULL;
	if (!hawk_array_reserve(&ret->items, ret->count, &ret->capacity, sizeof(*ret->items)))
		return &hawk_enomem;
	ret->items[ret->count++] = (struct hawk_vtable){at + 8, word, to_top};
	return NULL;
}

struct hawk_error *hawk_vtables_find(const struct hawk_target *target, struct hawk_vtables *ret)
{
	struct finder finder = {
		.target = target, .tables = {.target = target}, .infos = {.target = target}};
	struct hawk_vtables vtables = {0};
	struct hawk_error *err = each_word(&finder, take_base, NULL);

	if (!err && finder.base_count)
		err = each_word(&finder, take_table, &vtables);
	if (err)
		hawk_vtables_deinit(&vtables);
	else
		*ret = vtables;
	return err;
}

void hawk_vtables_deinit(struct hawk_vtables *vtables)
{
	free(vtables->items);
	*vtables = (struct hawk_vtables){0};
}

const struct hawk_vtable *hawk_vtables_at(const struct hawk_vtables *vtables, uint64_t word)
{
	size_t i = hawk_array_first_above(vtables->items, vtables->count, sizeof(*vtables->items),
					  offsetof(struct hawk_vtable, address), word);

	return i && vtables->items[i - 1].address == word ? &vtables->items[i - 1] : NULL;
}
