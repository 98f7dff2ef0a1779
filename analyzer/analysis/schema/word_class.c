/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Classes of words: pointers by what is mapped there, everything else by its bits.
 */
#include "hawk/analysis/word_class.h"

#include <stdlib.h>
#include <string.h>

#include "hawk/target/memory_map.h"

enum {
	MEMO = 4096, /**< words into modules that are remembered; a power of two */
	TEXT_MIN = 4,
	TEXT_PROBE_BYTES = 32,
	PAIR_MAX = 1 << 24,
	DOUBLE_BIAS = 1023,
	DOUBLE_MIN = -40, /**< exponents that are plausible */
	DOUBLE_MAX = 60,
	FLOAT_BIAS = 127,
	FLOAT_MIN = -20,
	FLOAT_MAX = 30,
};

struct memo {
	uint64_t word; /**< 0 = empty */
	struct hawk_word class;
};

struct hawk_word_classes {
	const struct hawk_heap *heap;
	struct hawk_block_types *types;
	const struct hawk_mapping *mappings;
	uint64_t lowest;                   /**< address of the first of them */
	uint64_t address_end;              /**< one above the highest address */
	const struct hawk_thread **stacks; /**< by mapping: a thread whose stack it is, or NULL */
	struct memo memo[MEMO];
};

enum hawk_word_family hawk_word_family_of(enum hawk_word_class class)
{
	switch (class) {
	case HAWK_WORD_NULL:
		return HAWK_FAMILY_NULL;
	case HAWK_WORD_BLOCK:
	case HAWK_WORD_INTERIOR:
	case HAWK_WORD_END:
	case HAWK_WORD_DATA:
	case HAWK_WORD_TEXT_POINTER:
	case HAWK_WORD_STACK:
	case HAWK_WORD_MAPPED:
		return HAWK_FAMILY_POINTER;
	case HAWK_WORD_VTABLE:
	case HAWK_WORD_CODE:
		return HAWK_FAMILY_FIXED;
	case HAWK_WORD_INTEGER:
	case HAWK_WORD_PAIR:
		return HAWK_FAMILY_NUMBER;
	case HAWK_WORD_FREE:
		return HAWK_FAMILY_STALE;
	case HAWK_WORD_TEXT:
		return HAWK_FAMILY_TEXT;
	case HAWK_WORD_REAL:
	case HAWK_WORD_FLOATS:
		return HAWK_FAMILY_REAL;
	default:
		return HAWK_FAMILY_OTHER;
	}
}

const char *hawk_word_class_name(enum hawk_word_class class)
{
	static const char *const names[HAWK_WORD_CLASSES] = {
		"null",    "block",    "interior", "end",    "vtable",  "code",
		"data",    "string",   "stack",    "free",   "mapping", "text",
		"integer", "integers", "double",   "floats", "other",
	};

	return class < HAWK_WORD_CLASSES ? names[class] : "other";
}

struct hawk_error *hawk_word_classes_create(const struct hawk_heap *heap,
					    struct hawk_block_types *types,
					    struct hawk_word_classes **ret)
{
	struct hawk_word_classes *words = calloc(1, sizeof(*words));
	size_t mappings;

	if (!words)
		return &hawk_enomem;
	words->heap = heap;
	words->types = types;
	words->mappings = hawk_target_mappings(heap->target, &mappings);
	words->lowest = mappings ? words->mappings[0].start : UINT64_MAX;
	words->address_end = hawk_arch_address_end(hawk_target_arch(heap->target));
	words->stacks = hawk_target_stacks(heap->target);
	if (!words->stacks) {
		free(words);
		return &hawk_enomem;
	}
	*ret = words;
	return NULL;
}

void hawk_word_classes_destroy(struct hawk_word_classes *words)
{
	if (words)
		free(words->stacks);
	free(words);
}

static bool is_printable(uint8_t byte)
{
	return (byte >= ' ' && byte <= '~') || (byte >= '\t' && byte <= '\r');
}

size_t hawk_text_length(const uint8_t *bytes, size_t size)
{
	size_t length = 0;

	while (length < size && is_printable(bytes[length]))
		length++;
	return length == size || !bytes[length] ? length : 0;
}

static bool points_to_text(const struct hawk_word_classes *words, uint64_t word)
{
	uint8_t bytes[TEXT_PROBE_BYTES];
	size_t size = hawk_target_read_some(words->heap->target, word, bytes, sizeof(bytes));

	return hawk_text_length(bytes, size) >= TEXT_MIN;
}

static struct memo *memo_of(struct hawk_word_classes *words, uint64_t word)
{
	return &words->memo[word / 8 % MEMO];
}

/** Classifies a word that points to memory of a file. */
static void classify_module(struct hawk_word_classes *words, const struct hawk_mapping *mapping,
			    uint64_t word, struct hawk_word *ret)
{
	ret->key = word;
	if (mapping->flags & HAWK_MAPPING_EXEC)
		ret->class = HAWK_WORD_CODE;
	else if (words->types && word % sizeof(word) == 0 &&
		 hawk_block_type_of_vtable(words->types, word))
		ret->class = HAWK_WORD_VTABLE;
	else
		ret->class = points_to_text(words, word) ? HAWK_WORD_TEXT_POINTER : HAWK_WORD_DATA;
	*memo_of(words, word) = (struct memo){word, *ret};
}

/** Classifies a word that is a known address; returns false for other words. */
static bool classify_pointer(struct hawk_word_classes *words, uint64_t word, struct hawk_word *ret)
{
	const struct hawk_heap *heap = words->heap;
	const struct hawk_mapping *mapping;
	bool interior, behind;
	uint32_t block = hawk_block_index_find(&heap->index, word, &interior);
	uint32_t before = HAWK_BLOCK_NOWHERE;

	if (block == HAWK_BLOCK_NOWHERE)
		before = hawk_block_index_find(&heap->index, word - 1, &behind);
	if (block != HAWK_BLOCK_NOWHERE || before != HAWK_BLOCK_NOWHERE) {
		ret->class = block == HAWK_BLOCK_NOWHERE ? HAWK_WORD_END
			     : interior                  ? HAWK_WORD_INTERIOR
							 : HAWK_WORD_BLOCK;
		ret->key = hawk_heap_site_at(heap, block == HAWK_BLOCK_NOWHERE ? before : block);
		return true;
	}
	mapping = hawk_target_mapping_at(heap->target, word);
	if (!mapping || !mapping->flags)
		return false;
	if (words->stacks[mapping - words->mappings])
		ret->class = HAWK_WORD_STACK;
	else if (hawk_target_module_at(heap->target, word))
		classify_module(words, mapping, word, ret);
	else if (mapping->flags & HAWK_MAPPING_EXEC)
		*ret = (struct hawk_word){HAWK_WORD_CODE, word};
	else if (hawk_block_index_chunk(&heap->index, word) && !mapping->path)
		ret->class = HAWK_WORD_FREE;
	else
		ret->class = HAWK_WORD_MAPPED;
	return true;
}

static bool is_plausible(unsigned exponent, unsigned bias, int least, int most)
{
	int value = (int)exponent - (int)bias;

	return value >= least && value <= most;
}

static bool is_pair(uint64_t word)
{
	int32_t low = (int32_t)(uint32_t)word, high = (int32_t)(uint32_t)(word >> 32);

	return low > -PAIR_MAX && low < PAIR_MAX && high > -PAIR_MAX && high < PAIR_MAX;
}

static bool is_float(uint32_t half)
{
	return !half || is_plausible(half >> 23 & 0xff, FLOAT_BIAS, FLOAT_MIN, FLOAT_MAX);
}

/** 101.6 is "ffffffY@" in memory: periodic fractions can look like text. */
static bool is_printable_fraction(const uint8_t *bytes)
{
	return (bytes[7] == 0x3f || bytes[7] == 0x40) && bytes[2] == bytes[3] &&
	       bytes[3] == bytes[4];
}

static struct hawk_word classify_value(uint64_t word)
{
	int64_t value = (int64_t)word;
	uint8_t bytes[sizeof(word)];

	memcpy(bytes, &word, sizeof(word));
	if (hawk_text_length(bytes, sizeof(bytes)) >= TEXT_MIN && !is_printable_fraction(bytes))
		return (struct hawk_word){HAWK_WORD_TEXT, 0};
	if (value >= INT32_MIN && value <= UINT32_MAX)
		return (struct hawk_word){HAWK_WORD_INTEGER, word};
	if (is_pair(word))
		return (struct hawk_word){HAWK_WORD_PAIR, 0};
	if (is_plausible(word >> 52 & 0x7ff, DOUBLE_BIAS, DOUBLE_MIN, DOUBLE_MAX))
		return (struct hawk_word){HAWK_WORD_REAL, 0};
	if (is_float((uint32_t)word) && is_float((uint32_t)(word >> 32)))
		return (struct hawk_word){HAWK_WORD_FLOATS, 0};
	return (struct hawk_word){HAWK_WORD_OTHER, 0};
}

struct hawk_word hawk_word_classify(struct hawk_word_classes *words, uint64_t word)
{
	struct hawk_word class = {HAWK_WORD_NULL, 0};

	if (!word)
		return class;
	if (word < words->address_end && word >= words->lowest) {
		const struct memo *memo = memo_of(words, word);

		if (memo->word == word)
			return memo->class;
		if (classify_pointer(words, word, &class))
			return class;
	}
	return classify_value(word);
}

uint64_t hawk_word_classes_lowest(const struct hawk_word_classes *words)
{
	return words->lowest;
}
