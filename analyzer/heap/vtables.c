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
	BASE_OFFSET = 16,   /* base's offset in a type_info with one base */
	SYMBOL_OFFSET = 16, /* from a table's symbol to the table */
	TO_TOP_MIN = -(1 << 20),
	KINDS_MAX = 64, /* kinds of type_infos: three for each C++ library */
	CACHE = 1024,
	MISSES_MAX = 1 << 14, /* words in pages of which the file holds a part, of all segments */
};

/** Recognizes pointers to tables of type_infos. */
struct finder {
	const struct hawk_target *target;
	struct hawk_symbols *symbols;
	const struct hawk_module *fixed; /**< program whose tables lie in its file; NULL = none */
	/** What its file holds, around the latest address. */
	const uint8_t *bytes;
	uint64_t bytes_start, bytes_end;
	unsigned misses;
	struct hawk_near tables, infos; /**< two, since reads alternate */
	uint64_t bases[KINDS_MAX];      /**< type_infos of the __class_type_info of each library */
	size_t base_count;
	/** Direct-mapped cache of verdicts. An empty slot (word 0) is correct: 0 is no table. */
	struct {
		uint64_t word;
		bool yes;
	} cache[CACHE];
};

/* Returns true for constants of a program at a fixed address. */
static bool is_fixed(const struct finder *finder, const struct hawk_mapping *mapping)
{
	return finder->fixed && !(mapping->flags & HAWK_MAPPING_WRITE) &&
	       mapping->start >= finder->fixed->start && mapping->start < finder->fixed->end;
}

static bool is_data(const struct finder *finder, const struct hawk_mapping *mapping)
{
	return mapping && (mapping->data || is_fixed(finder, mapping));
}

/* Reads a word of a program at a fixed address from its file. */
static bool read_file(struct finder *finder, uint64_t address, uint64_t *ret)
{
	uint64_t available;

	if (!finder->fixed || address < finder->fixed->start || address >= finder->fixed->end)
		return false;
	if (address < finder->bytes_start || address >= finder->bytes_end) {
		finder->bytes = hawk_symbols_bytes(finder->symbols, address, &available);
		finder->bytes_start = address;
		finder->bytes_end = address + (finder->bytes ? available : 0);
	}
	if (!finder->bytes || finder->bytes_end - address < sizeof(*ret))
		return false;
	memcpy(ret, finder->bytes + (address - finder->bytes_start), sizeof(*ret));
	return true;
}

static bool read_word(struct finder *finder, struct hawk_near *near, uint64_t address,
		      uint64_t *ret)
{
	return hawk_word(near, address, ret) || read_file(finder, address, ret);
}

static bool is_in_data(const struct finder *finder, uint64_t address)
{
	return address % 8 == 0 && is_data(finder, hawk_target_mapping_at(finder->target, address));
}

/* Reads the type_info of the table's class. */
static bool info_of(struct finder *finder, uint64_t table, uint64_t *ret)
{
	return read_word(finder, &finder->tables, table - 8, ret) && is_in_data(finder, *ret);
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
		(read_word(finder, &finder->infos, info + BASE_OFFSET, &base) &&
		 is_base(finder, base)));
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

/* Takes the words that the target does not hold, from the file. A segment may begin and end within
 * a page. */
static struct hawk_error *each_file_word(struct finder *finder, uint64_t at, uint64_t end,
					 word_function *take, struct hawk_vtables *ret)
{
	struct hawk_error *err = NULL;
	uint64_t word;

	for (; !err && at + sizeof(word) <= end && finder->misses < MISSES_MAX; at += sizeof(word))
		if (!read_file(finder, at, &word))
			finder->misses++;
		else if (word)
			err = take(finder, at, word, ret);
	return err;
}

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

		if (!is_data(finder, &mappings[i]))
			continue;
		for (; !err && hawk_next_word(&near, &at, end, &word); at += 8)
			err = take(finder, at, word, ret);
		if (!err && is_fixed(finder, &mappings[i]))
			err = each_file_word(finder, (end + 7) & -UINT64_C(8), mappings[i].end,
					     take, ret);
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
	    read_word(finder, &finder->infos, info, &table) && table == word &&
	    read_word(finder, &finder->infos, info + BASE_OFFSET, &base) &&
	    is_in_data(finder, base) && !is_base(finder, base) && finder->base_count < KINDS_MAX)
		finder->bases[finder->base_count++] = base;
	return NULL;
}

static struct hawk_error *add(struct hawk_vtables *ret, struct hawk_vtable vtable)
{
	if (!hawk_array_reserve(&ret->items, ret->count, &ret->capacity, sizeof(*ret->items)))
		return &hawk_enomem;
	ret->items[ret->count++] = vtable;
	return NULL;
}

/* Takes a table if `word` is the type_info before its functions. */
static struct hawk_error *take_table(struct finder *finder, uint64_t at, uint64_t word,
				     struct hawk_vtables *ret)
{
	uint64_t table, to_top;

	if (!is_in_data(finder, word) || !read_word(finder, &finder->infos, word, &table) ||
	    !is_info_table(finder, table) || !read_word(finder, &finder->tables, at - 8, &to_top) ||
	    (int64_t)to_top > 0 || (int64_t)to_top < TO_TOP_MIN)
		return NULL;
	return add(ret, (struct hawk_vtable){.address = at + 8,
					     .type_info = word,
					     .to_top = (int64_t)to_top,
					     .bytes = sizeof(word)});
}

static struct hawk_error *take_symbol(void *context, uint64_t address, uint64_t bytes)
{
	if (bytes <= SYMBOL_OFFSET)
		return NULL;
	return add(context, (struct hawk_vtable){.address = address + SYMBOL_OFFSET,
						 .bytes = bytes - SYMBOL_OFFSET});
}

static const struct hawk_module *find_fixed(const struct hawk_vtables *vtables)
{
	size_t count;
	const struct hawk_module *modules = hawk_target_modules(vtables->target, &count);

	for (size_t i = 0; i < count && vtables->symbols; i++)
		if (hawk_module_is_fixed(&modules[i]))
			return &modules[i];
	return NULL;
}

static int compare(const void *left, const void *right)
{
	const struct hawk_vtable *a = left, *b = right;

	return a->address < b->address ? -1 : a->address > b->address;
}

/* Adds classes of the program that have a symbol and no type_info. */
static struct hawk_error *add_symbols(const struct finder *finder, struct hawk_vtables *ret)
{
	struct hawk_symbol_module module = hawk_symbol_module_of(finder->fixed);
	struct hawk_vtables named = {0};
	size_t found = ret->count;
	struct hawk_error *err =
		hawk_symbols_each_object(finder->symbols, &module, "_ZTV", take_symbol, &named);

	for (size_t i = 0; !err && i < named.count; i++) {
		struct hawk_vtables first = {.items = ret->items, .count = found};

		if (!hawk_vtables_at(&first, named.items[i].address))
			err = add(ret, named.items[i]);
	}
	free(named.items);
	if (ret->count > found)
		qsort(ret->items, ret->count, sizeof(*ret->items), compare);
	return err;
}

struct hawk_error *hawk_vtables_find(struct hawk_vtables *vtables)
{
	struct finder finder = {
		.target = vtables->target,
		.symbols = vtables->symbols,
		.fixed = find_fixed(vtables),
		.tables = {.target = vtables->target},
		.infos = {.target = vtables->target},
	};
	struct hawk_error *err = NULL;

	if (vtables->found || hawk_target_snapshot(vtables->target))
		return NULL;
	err = each_word(&finder, take_base, NULL);
	if (!err && finder.base_count)
		err = each_word(&finder, take_table, vtables);
	if (!err && finder.fixed)
		err = add_symbols(&finder, vtables);
	if (err)
		hawk_vtables_deinit(vtables);
	else
		vtables->found = true;
	return err;
}

void hawk_vtables_deinit(struct hawk_vtables *vtables)
{
	free(vtables->items);
	*vtables = (struct hawk_vtables){.target = vtables->target, .symbols = vtables->symbols};
}

const struct hawk_vtable *hawk_vtables_at(const struct hawk_vtables *vtables, uint64_t word)
{
	size_t i = hawk_array_first_above(vtables->items, vtables->count, sizeof(*vtables->items),
					  offsetof(struct hawk_vtable, address), word);
	const struct hawk_vtable *table = i ? &vtables->items[i - 1] : NULL;

	return table && word % 8 == 0 && word - table->address < table->bytes ? table : NULL;
}
