/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The rules are those of Valgrind's memcheck (mc_leakcheck.c), so that both agree on a program. Our
 * own rules come after them: length_prefix.c, hash tables of Rust, and words that lead back.
 */
#include "hawk/graph/heuristics_explain.h"

#include <assert.h>

#include "hawk/heap/heap.h"
#include "hawk/target/words.h"
#include "length_prefix.h"

enum {
	WORD = HAWK_WORD_BYTES,
	VTABLE_WORDS_MAX = 20, /* searched for two functions */
	LOWEST_ADDRESS = 4096, /* nothing is mapped below */
	LIST_FLAGS = 3, /* low bits of a list's pointers: Python's collector keeps flags there */
	LIST_NODE_BYTES = 2 * WORD,
	TYPES_MAX = 5, /* from an object to `type`: its type, a metaclass ... */
	GROUP = 16,    /* control bytes that hashbrown compares at once */
	GROUPS_MAX = HAWK_EXPLAINER_READ_MAX / GROUP,
	BUCKETS_MIN = 4,
	DELETED = 0x80, /* a control byte; smaller ones are of entries */
	EMPTY = 0xff,
};

static void show_filter(const struct hawk_explainer *explainer, uint64_t at, void *bytes,
			size_t size)
{
	if (explainer->filter)
		explainer->filter->see(explainer->filter->context, at, bytes, size);
}

/* Returns false if the target does not hold the bytes. */
static bool read_bytes(struct hawk_explainer *explainer, uint64_t at, void *ret, size_t bytes)
{
	assert(bytes <= HAWK_EXPLAINER_READ_MAX);
	if (hawk_near_read(&explainer->near, at, ret, bytes) != bytes)
		return false;
	show_filter(explainer, at, ret, bytes);
	return true;
}

bool hawk_explainer_read_word(struct hawk_explainer *explainer, uint64_t at, uint64_t *ret)
{
	return read_bytes(explainer, at, ret, WORD);
}

/* The empty string is static: none in a block has capacity 0. */
static bool is_string(struct hawk_explainer *explainer, uint64_t start, struct hawk_requested size)
{
	uint64_t length;
	uint64_t capacity;

	return hawk_explainer_read_word(explainer, start + WORD, &capacity) && capacity &&
	       capacity <= size.most && hawk_requested_has(size, 3 * WORD + capacity + 1) &&
	       hawk_explainer_read_word(explainer, start, &length) && length <= capacity;
}

static const struct hawk_mapping *file_mapping(const struct hawk_explainer *explainer,
					       uint64_t address, unsigned right)
{
	const struct hawk_mapping *mapping =
		hawk_target_mapping_at(explainer->near.target, address);

	return mapping && mapping->path && mapping->path[0] && (mapping->flags & right) ? mapping
											: NULL;
}

/* Returns true if the word points to a table that begins with two functions at least; zeros may lie
 * between. Sets `*absent` and returns false if the target does not hold it. */
static bool looks_like_vtable(struct hawk_explainer *explainer, uint64_t word, bool *absent)
{
	unsigned functions = 0;

	*absent = false;
	for (unsigned i = 0; i < VTABLE_WORDS_MAX; i++) {
		uint64_t at = word + (uint64_t)i * WORD;
		uint64_t function;

		if (hawk_target_read_some(explainer->near.target, at, &function, WORD) != WORD) {
			*absent = i == 0;
			return false;
		}
		show_filter(explainer, at, &function, WORD);
		if (!function)
			continue;
		if (!file_mapping(explainer, function, HAWK_MAPPING_EXEC))
			return false;
		if (++functions == 2)
			return true;
	}
	return false;
}

static bool is_vtable(struct hawk_explainer *explainer, uint64_t word)
{
	struct hawk_vtable_verdict *verdict = &explainer->verdicts[word / WORD % HAWK_VERDICTS];
	bool vtable = false, absent;

	if (word % WORD || word < LOWEST_ADDRESS)
		return false;
	if (verdict->word == word)
		return verdict->vtable;
	if (file_mapping(explainer, word, HAWK_MAPPING_READ)) {
		vtable = looks_like_vtable(explainer, word, &absent);
		if (absent && explainer->vtables)
			vtable = hawk_vtables_at(explainer->vtables, word);
	}
	*verdict = (struct hawk_vtable_verdict){word, vtable};
	return vtable;
}

static bool is_base_class(struct hawk_explainer *explainer, uint64_t start, uint64_t pointer)
{
	uint64_t inner;
	uint64_t first;

	return pointer % WORD == 0 && hawk_explainer_read_word(explainer, pointer, &inner) &&
	       hawk_explainer_read_word(explainer, start, &first) && is_vtable(explainer, inner) &&
	       is_vtable(explainer, first);
}

/* Returns true if a known header lies at `start` and the bytes behind the contents fit its layout.
 */
static bool has_length_prefix(struct hawk_explainer *explainer, uint64_t start,
			      struct hawk_requested size, uint64_t offset)
{
	uint8_t header[HAWK_LENGTH_PREFIX_MAX];
	struct hawk_length_prefix prefix;
	uint64_t known = offset < sizeof(header) ? offset : sizeof(header);
	uint32_t behind = 0;

	return read_bytes(explainer, start, header, known) &&
	       hawk_length_prefix_fits(header, offset, size, &prefix) &&
	       read_bytes(explainer, start + prefix.end, &behind, prefix.zeros) && !behind;
}

/* Returns true if a free bucket is among the first ones, no byte is no control byte, and the group
 * of a small table is filled up with EMPTY. An eighth of all buckets is always free. Those of
 * entries are parts of hashes: in other memory most bytes are 0. */
static bool are_controls(struct hawk_explainer *explainer, uint64_t controls, uint64_t buckets)
{
	uint8_t bytes[GROUPS_MAX * GROUP];
	uint64_t count = buckets < GROUP           ? GROUP
			 : buckets < sizeof(bytes) ? buckets
						   : sizeof(bytes);
	uint64_t free_count = 0, zeros = 0;

	if (!read_bytes(explainer, controls, bytes, count))
		return false;
	for (uint64_t i = 0; i < count; i++) {
		if (i < buckets ? bytes[i] > DELETED && bytes[i] < EMPTY : bytes[i] != EMPTY)
			return false;
		free_count += i < buckets && bytes[i] >= DELETED;
		zeros += !bytes[i];
	}
	return free_count && zeros <= 2 + count / 16;
}

/* Returns true for the control bytes of a hash table of Rust (hashbrown 0.1 to 0.15, raw/mod.rs): a
 * byte for each of 2^n buckets behind these, then GROUP bytes that end with the first ones. */
static bool is_rust_table(struct hawk_explainer *explainer, uint64_t start,
			  struct hawk_requested size, uint64_t controls)
{
	uint64_t offset = controls - start, rest = size.most - offset;
	uint64_t buckets = rest < GROUP + BUCKETS_MIN
				   ? 0
				   : UINT64_C(1) << (63 - __builtin_clzll(rest - GROUP));
	uint8_t first[GROUP], again[GROUP];

	for (; controls % GROUP == 0 && buckets >= BUCKETS_MIN; buckets /= 2) {
		uint64_t copied = buckets < GROUP ? buckets : GROUP;

		if (buckets <= offset && hawk_requested_has(size, offset + buckets + GROUP) &&
		    read_bytes(explainer, controls, first, copied) &&
		    read_bytes(explainer, controls + buckets + GROUP - copied, again, copied) &&
		    !memcmp(first, again, copied) && are_controls(explainer, controls, buckets))
			return true;
	}
	return false;
}

/* Returns true if both neighbours lead back, with `next` and `previous` in either order. The head
 * of an empty list leads to itself, and is no node. */
static bool is_list_node(struct hawk_explainer *explainer, uint64_t node)
{
	const uint64_t mask = ~(uint64_t)LIST_FLAGS;
	uint64_t words[2];
	uint64_t back;

	if (node % WORD || !read_bytes(explainer, node, words, sizeof(words)))
		return false;
	words[0] &= mask;
	words[1] &= mask;
	if (words[0] < LOWEST_ADDRESS || words[1] < LOWEST_ADDRESS || words[0] == node)
		return false;
	return hawk_explainer_read_word(explainer, words[0] + WORD, &back) &&
	       (back & mask) == node && hawk_explainer_read_word(explainer, words[1], &back) &&
	       (back & mask) == node;
}

/* Returns true for a Python object that the collector does not track (an atomic tuple, a dictionary
 * of texts). Its collector links hold only flags, {references, type} follow, and the types of types
 * lead to `type`, which is its own type. */
static bool is_untracked(struct hawk_explainer *explainer, uint64_t object)
{
	uint64_t links[2], at = object, type;

	if (object % LIST_NODE_BYTES ||
	    !read_bytes(explainer, object - LIST_NODE_BYTES, links, sizeof(links)) || links[0] ||
	    links[1] > LIST_FLAGS)
		return false;
	for (unsigned i = 0; i < TYPES_MAX; i++, at = type) {
		if (!hawk_explainer_read_word(explainer, at + WORD, &type) || type % WORD ||
		    type < LOWEST_ADDRESS)
			return false;
		if (type == at)
			return i > 0;
	}
	return false;
}

static bool has_list_node(struct hawk_explainer *explainer, uint64_t start, uint64_t size,
			  uint64_t pointer)
{
	uint64_t offset = pointer - start;

	if (size - offset >= LIST_NODE_BYTES && is_list_node(explainer, pointer))
		return true;
	return offset >= LIST_NODE_BYTES &&
	       (is_list_node(explainer, pointer - LIST_NODE_BYTES) ||
		(size - offset >= LIST_NODE_BYTES && is_untracked(explainer, pointer)));
}

/* Returns true for the length of all that is behind it. */
static bool is_rest(struct hawk_requested size, uint64_t length)
{
	return length <= size.most && hawk_requested_has(size, WORD + length);
}

/* Returns true for a number of elements that fill the block. */
static bool is_array(struct hawk_requested size, uint64_t count)
{
	uint64_t bytes = (size.most - WORD) / count * count;

	return bytes && hawk_requested_has(size, WORD + bytes);
}

/* Returns true if the word at `address` in the block leads to the block's start, or behind a length
 * there (SQLite's allocator). */
static bool is_back_pointer(struct hawk_explainer *explainer, uint64_t start,
			    struct hawk_requested size, uint64_t address)
{
	uint64_t word;
	uint64_t first;

	if (size.most - (address - start) < WORD ||
	    !hawk_explainer_read_word(explainer, address, &word))
		return false;
	return word == start ||
	       (word == start + WORD && hawk_explainer_read_word(explainer, start, &first) &&
		is_rest(size, first));
}

/* Returns true if the pointer leads to a back pointer, or one lies beside: before memory that was
 * aligned by hand, or behind a first link (struct dlfo_mappings_segment of ld.so). */
static bool leads_back(struct hawk_explainer *explainer, uint64_t start, struct hawk_requested size,
		       uint64_t pointer)
{
	if (pointer % WORD)
		return false;
	return is_back_pointer(explainer, start, size, pointer) ||
	       (pointer - start >= WORD &&
		is_back_pointer(explainer, start, size, pointer - WORD)) ||
	       (size.most - (pointer - start) >= 2 * WORD &&
		is_back_pointer(explainer, start, size, pointer + WORD));
}

/* Tries the heuristics that Valgrind does not have. */
static unsigned explain_more(struct hawk_explainer *explainer, uint32_t block,
			     struct hawk_requested size, uint64_t pointer)
{
	uint64_t start = hawk_block_start(&explainer->heap->index, block);

	if ((explainer->heuristics & HAWK_HEURISTIC_LENGTHPREFIX) &&
	    (has_length_prefix(explainer, start, size, pointer - start) ||
	     is_rust_table(explainer, start, size, pointer)))
		return HAWK_HEURISTIC_LENGTHPREFIX;
	if ((explainer->heuristics & HAWK_HEURISTIC_BACKPOINTER) &&
	    leads_back(explainer, start, size, pointer))
		return HAWK_HEURISTIC_BACKPOINTER;
	if ((explainer->heuristics & HAWK_HEURISTIC_LISTNODE) &&
	    has_list_node(explainer, start, size.most, pointer))
		return HAWK_HEURISTIC_LISTNODE;
	if ((explainer->heuristics & HAWK_HEURISTIC_PREFIX) &&
	    hawk_heap_is_aligned_within(explainer->heap, block, pointer))
		return HAWK_HEURISTIC_PREFIX;
	return 0;
}

/* By the numbers at the block's start. */
static unsigned explain_by_start(struct hawk_explainer *explainer, uint64_t start,
				 struct hawk_requested size, uint64_t pointer)
{
	uint64_t first;

	if ((explainer->heuristics & HAWK_HEURISTIC_STDSTRING) && pointer == start + 3 * WORD &&
	    is_string(explainer, start, size))
		return HAWK_HEURISTIC_STDSTRING;
	if (pointer != start + WORD || !hawk_explainer_read_word(explainer, start, &first) ||
	    !first)
		return 0;
	if ((explainer->heuristics & HAWK_HEURISTIC_LENGTH64) && is_rest(size, first))
		return HAWK_HEURISTIC_LENGTH64;
	if ((explainer->heuristics & HAWK_HEURISTIC_NEWARRAY) && is_array(size, first))
		return HAWK_HEURISTIC_NEWARRAY;
	return 0;
}

unsigned hawk_explainer_explain(struct hawk_explainer *explainer, uint32_t block, uint64_t pointer)
{
	uint64_t start = hawk_block_start(&explainer->heap->index, block);
	struct hawk_requested size = hawk_heap_requested(explainer->heap, block);
	unsigned heuristic;

	if (pointer <= start || pointer - start > size.most)
		return 0;
	if (pointer - start == size.most)
		return explainer->heuristics & HAWK_HEURISTIC_ENDPOINTER;
	heuristic = explain_by_start(explainer, start, size, pointer);
	if (!heuristic && explainer->heuristics & ~(unsigned)HAWK_HEURISTICS_VALGRIND)
		heuristic = explain_more(explainer, block, size, pointer);
	if (!heuristic && explainer->heuristics & HAWK_HEURISTIC_MULTIPLEINHERITANCE &&
	    is_base_class(explainer, start, pointer))
		heuristic = HAWK_HEURISTIC_MULTIPLEINHERITANCE;
	return heuristic;
}
