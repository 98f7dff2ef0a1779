/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The heuristics: blocks with interior pointers are read again, because the graph does not keep
 * where inside a block a pointer points.
 *
 * The rules are those of Valgrind's memcheck (mc_leakcheck.c), so that both agree on a program; and
 * behind them our own: length_prefix.c, and words that lead back.
 */
#include "hawk_heuristics.h"

#include "graph_words.h"
#include "hawk_length_prefix.h"

enum {
	WORD = HAWK_WORD_BYTES,
	VTABLE_WORDS_MAX = 20, /* looked at for two functions */
	PAGE_BYTES = 4096,
	VERDICTS = 64,
	LIST_FLAGS = 3, /* low bits of a list's pointers: Python's collector keeps flags there */
	LIST_NODE_BYTES = 2 * WORD,
};

const char *const hawk_heuristic_names[HAWK_HEURISTIC_COUNT] = {
	"stdstring",    "length64", "newarray",    "multipleinheritance",
	"lengthprefix", "listnode", "backpointer",
};

struct finder {
	const struct hawk_target *target;
	const struct hawk_block_index *index;
	const struct hawk_graph *graph;
	const struct hawk_roots *roots;
	unsigned heuristics;
	const struct hawk_vtable_oracle *oracle;
	struct hawk_explained *explained;
	const uint8_t *view; /**< memory at view_start, kept because neighbours come next */
	uint64_t view_start;
	uint64_t view_end;
	/** The last verdicts on words; 0 is in no slot but its own, where it is right. */
	struct verdict {
		uint64_t word;
		bool vtable;
	} verdicts[VERDICTS];
};

/* False: they are not there. */
static bool read_bytes(struct finder *finder, uint64_t at, void *ret, uint64_t bytes)
{
	if (at < finder->view_start || finder->view_end < bytes || finder->view_end - bytes < at) {
		const struct hawk_mapping *mapping = hawk_target_mapping_at(finder->target, at);

		finder->view_start = finder->view_end = 0;
		if (mapping && mapping->present_bytes) {
			finder->view = hawk_target_view(finder->target, mapping->start,
							(size_t)mapping->present_bytes);
			if (finder->view) {
				finder->view_start = mapping->start;
				finder->view_end = mapping->start + mapping->present_bytes;
			}
		}
	}
	if (at < finder->view_start || finder->view_end < bytes || finder->view_end - bytes < at)
		return hawk_target_read_some(finder->target, at, ret, bytes) == bytes;
	memcpy(ret, finder->view + (at - finder->view_start), bytes);
	return true;
}

static bool read_word(struct finder *finder, uint64_t at, uint64_t *ret)
{
	return read_bytes(finder, at, ret, WORD);
}

static bool is_string(struct finder *finder, uint64_t start, uint64_t size)
{
	uint64_t length;
	uint64_t capacity;

	return size > 3 * WORD && read_word(finder, start + WORD, &capacity) &&
	       capacity == size - 3 * WORD - 1 && read_word(finder, start, &length) &&
	       length <= capacity;
}

static const struct hawk_mapping *file_mapping(const struct finder *finder, uint64_t address,
					       unsigned right)
{
	const struct hawk_mapping *mapping = hawk_target_mapping_at(finder->target, address);

	return mapping && mapping->path && mapping->path[0] && (mapping->flags & right) ? mapping
											: NULL;
}

/* A table begins with at least two functions; words of zero may lie between. Not in the target:
 * false, and `*absent`. */
static bool looks_like_vtable(struct finder *finder, uint64_t word, bool *absent)
{
	unsigned functions = 0;

	*absent = false;
	for (unsigned i = 0; i < VTABLE_WORDS_MAX; i++) {
		uint64_t function;

		if (hawk_target_read_some(finder->target, word + (uint64_t)i * WORD, &function,
					  WORD) != WORD) {
			*absent = i == 0;
			return false;
		}
		if (!function)
			continue;
		if (!file_mapping(finder, function, HAWK_MAPPING_EXEC))
			return false;
		if (++functions == 2)
			return true;
	}
	return false;
}

static struct hawk_error *is_vtable(struct finder *finder, uint64_t word, bool *ret)
{
	struct verdict *verdict = &finder->verdicts[word / WORD % VERDICTS];
	struct hawk_error *err = NULL;
	bool absent;

	*ret = false;
	if (word % WORD || word < PAGE_BYTES)
		return NULL;
	if (verdict->word == word) {
		*ret = verdict->vtable;
		return NULL;
	}
	if (file_mapping(finder, word, HAWK_MAPPING_READ)) {
		*ret = looks_like_vtable(finder, word, &absent);
		if (absent && finder->oracle)
			err = finder->oracle->is_vtable(finder->oracle->context, word, ret);
	}
	*verdict = (struct verdict){word, *ret};
	return err;
}

static struct hawk_error *is_base_class(struct finder *finder, uint64_t start, uint64_t pointer,
					bool *ret)
{
	struct hawk_error *err;
	uint64_t inner;
	uint64_t first;

	*ret = false;
	if (pointer % WORD || !read_word(finder, pointer, &inner) ||
	    !read_word(finder, start, &first))
		return NULL;
	err = is_vtable(finder, inner, ret);
	if (!err && *ret)
		err = is_vtable(finder, first, ret);
	return err;
}

/* `offset` bytes of a header, and behind the contents what its layout wants. */
static bool has_length_prefix(struct finder *finder, uint64_t start, uint64_t size, uint64_t offset)
{
	uint8_t header[HAWK_LENGTH_PREFIX_MAX];
	struct hawk_length_prefix prefix;
	uint32_t behind = 0;

	return hawk_length_prefix_possible(offset) && read_bytes(finder, start, header, offset) &&
	       hawk_length_prefix_fits(header, offset, size, &prefix) &&
	       read_bytes(finder, start + prefix.end, &behind, prefix.zeros) && !behind;
}

/* Both neighbours lead back. Whether it is {next, previous} or the other way round makes no
 * difference. The head of an empty list leads to itself, and is no node. */
static bool is_list_node(struct finder *finder, uint64_t node)
{
	const uint64_t mask = ~(uint64_t)LIST_FLAGS;
	uint64_t words[2];
	uint64_t back;

	if (node % WORD || !read_bytes(finder, node, words, sizeof(words)))
		return false;
	words[0] &= mask;
	words[1] &= mask;
	if (words[0] < PAGE_BYTES || words[1] < PAGE_BYTES || words[0] == node)
		return false;
	return read_word(finder, words[0] + WORD, &back) && (back & mask) == node &&
	       read_word(finder, words[1], &back) && (back & mask) == node;
}

static bool has_list_node(struct finder *finder, uint64_t start, uint64_t size, uint64_t pointer)
{
	uint64_t offset = pointer - start;

	return (size - offset >= LIST_NODE_BYTES && is_list_node(finder, pointer)) ||
	       (offset >= LIST_NODE_BYTES && is_list_node(finder, pointer - LIST_NODE_BYTES));
}

/* To the start, or to what is behind a length (SQLite's allocator). */
static bool leads_back(struct finder *finder, uint64_t start, uint64_t size, uint64_t pointer)
{
	uint64_t word;
	uint64_t first;

	if (pointer % WORD || size - (pointer - start) < WORD || !read_word(finder, pointer, &word))
		return false;
	return word == start ||
	       (word == start + WORD && read_word(finder, start, &first) && first == size - WORD);
}

/* The heuristics that are not Valgrind's. */
static unsigned explain_more(struct finder *finder, uint64_t start, uint64_t size, uint64_t pointer)
{
	if ((finder->heuristics & HAWK_HEURISTIC_LENGTHPREFIX) &&
	    has_length_prefix(finder, start, size, pointer - start))
		return HAWK_HEURISTIC_LENGTHPREFIX;
	if ((finder->heuristics & HAWK_HEURISTIC_BACKPOINTER) &&
	    leads_back(finder, start, size, pointer))
		return HAWK_HEURISTIC_BACKPOINTER;
	if ((finder->heuristics & HAWK_HEURISTIC_LISTNODE) &&
	    has_list_node(finder, start, size, pointer))
		return HAWK_HEURISTIC_LISTNODE;
	return 0;
}

/* The heuristic that explains the interior `pointer` to `block`, 0 = none. */
static struct hawk_error *explain(struct finder *finder, uint32_t block, uint64_t pointer,
				  unsigned *ret)
{
	uint64_t start = hawk_block_start(finder->index, block);
	uint64_t size = hawk_block_size(finder->index, block);
	uint64_t first;
	struct hawk_error *err;
	bool base;

	*ret = 0;
	if (pointer <= start || pointer - start >= size)
		return NULL;
	if ((finder->heuristics & HAWK_HEURISTIC_STDSTRING) && pointer == start + 3 * WORD &&
	    is_string(finder, start, size))
		*ret = HAWK_HEURISTIC_STDSTRING;
	if (!*ret && pointer == start + WORD && read_word(finder, start, &first) && first) {
		if ((finder->heuristics & HAWK_HEURISTIC_LENGTH64) && first == size - WORD)
			*ret = HAWK_HEURISTIC_LENGTH64;
		else if ((finder->heuristics & HAWK_HEURISTIC_NEWARRAY) &&
			 (size - WORD) % first == 0)
			*ret = HAWK_HEURISTIC_NEWARRAY;
	}
	if (!*ret && finder->heuristics & ~(unsigned)HAWK_HEURISTICS_VALGRIND)
		*ret = explain_more(finder, start, size, pointer);
	if (*ret || !(finder->heuristics & HAWK_HEURISTIC_MULTIPLEINHERITANCE))
		return NULL;
	err = is_base_class(finder, start, pointer, &base);
	if (!err && base)
		*ret = HAWK_HEURISTIC_MULTIPLEINHERITANCE;
	return err;
}

static struct hawk_error *set_bit(struct hawk_area *area, uint8_t **bits, uint64_t count,
				  uint64_t bit)
{
	if (!*bits) {
		struct hawk_error *err = hawk_area_create_sparse(area, count / 8 + 1);

		if (err)
			return err;
		*bits = area->bytes;
	}
	(*bits)[bit >> 3] = (uint8_t)((*bits)[bit >> 3] | 1u << (bit & 7));
	return NULL;
}

static void count_explained(struct finder *finder, unsigned heuristic)
{
	finder->explained->counts[__builtin_ctz(heuristic)]++;
}

static bool read_register(const struct finder *finder, const struct hawk_root *root, uint64_t *ret)
{
	size_t count;
	const struct hawk_thread *threads = hawk_target_threads(finder->target, &count);
	const struct hawk_thread *thread;
	uint64_t at = root->address - HAWK_ROOT_VECTORS;

	if (root->owner >= count)
		return false;
	thread = &threads[root->owner];
	if (root->address < HAWK_REGISTER_COUNT) {
		*ret = thread->registers[root->address];
		return true;
	}
	if (root->address < HAWK_ROOT_VECTORS || !thread->vectors || thread->vectors_bytes < WORD ||
	    at > thread->vectors_bytes - WORD)
		return false;
	memcpy(ret, thread->vectors + at, WORD);
	return true;
}

static struct hawk_error *find_in_roots(struct finder *finder)
{
	struct hawk_explained *explained = finder->explained;

	for (size_t i = 0; i < finder->roots->count; i++) {
		const struct hawk_root *root = &finder->roots->items[i];
		struct hawk_error *err;
		uint64_t value;
		unsigned heuristic;

		if (!(root->edge & HAWK_EDGE_INTERIOR))
			continue;
		if (root->kind == HAWK_ROOT_REGISTER ? !read_register(finder, root, &value)
						     : !read_word(finder, root->address, &value))
			continue;
		err = explain(finder, root->edge >> 1, value, &heuristic);
		if (!err && heuristic) {
			count_explained(finder, heuristic);
			err = set_bit(&explained->roots_area, &explained->roots,
				      finder->roots->count, i);
		}
		if (err)
			return err;
	}
	return NULL;
}

/* The words of `block` in order; `*edge` is its next edge. Words that are no edges (they belong to
 * blocks carved out of this one) are passed over. */
static struct hawk_error *find_in_words(struct finder *finder, const struct hawk_stretch *stretch,
					uint32_t *edge, uint32_t end)
{
	const uint32_t *edges = finder->graph->edges;
	struct hawk_explained *explained = finder->explained;

	for (size_t i = 0; i < stretch->words && *edge < end; i++) {
		struct hawk_error *err;
		uint64_t value;
		uint32_t block;
		unsigned heuristic;
		bool interior;

		memcpy(&value, stretch->bytes + i * WORD, WORD);
		block = hawk_block_index_find(finder->index, value, &interior);
		if (block == HAWK_BLOCK_NOWHERE || edges[*edge] != (block << 1 | interior))
			continue;
		++*edge;
		if (!interior)
			continue;
		err = explain(finder, block, value, &heuristic);
		if (!err && heuristic) {
			count_explained(finder, heuristic);
			err = set_bit(&explained->edges_area, &explained->edges,
				      finder->graph->edge_count, *edge - 1);
		}
		if (err)
			return err;
	}
	return NULL;
}

static struct hawk_error *find_in_block(struct finder *finder, struct hawk_words *words,
					uint32_t block)
{
	uint32_t edge = finder->graph->offsets[block];
	uint32_t edges_end = finder->graph->offsets[block + 1];
	uint64_t at = hawk_block_start(finder->index, block);
	uint64_t end = (at + hawk_block_size(finder->index, block)) & -(uint64_t)WORD;
	struct hawk_stretch stretch;
	struct hawk_error *err = NULL;

	while (at < end && !err && hawk_words_next(words, at, end, &stretch)) {
		err = find_in_words(finder, &stretch, &edge, edges_end);
		at = stretch.start + stretch.words * WORD;
	}
	return !err && words->failed ? &hawk_enomem : err;
}

static struct hawk_error *find_in_blocks(struct finder *finder)
{
	const struct hawk_graph *graph = finder->graph;
	struct hawk_error *err = NULL;
	struct hawk_words words;
	uint32_t block = 0;

	hawk_words_init(&words, finder->target);
	for (uint32_t edge = hawk_graph_next_interior(graph, 0); edge < graph->edge_count && !err;
	     edge = hawk_graph_next_interior(graph, graph->offsets[block + 1])) {
		block = hawk_graph_source(graph, edge, block);
		err = find_in_block(finder, &words, block);
	}
	hawk_words_deinit(&words);
	return err;
}

struct hawk_error *hawk_heuristics_find(const struct hawk_target *target,
					const struct hawk_block_index *index,
					const struct hawk_graph *graph,
					const struct hawk_roots *roots, unsigned heuristics,
					const struct hawk_vtable_oracle *oracle,
					struct hawk_explained *ret)
{
	struct hawk_explained explained = {0};
	struct finder finder = {
		.target = target,
		.index = index,
		.graph = graph,
		.roots = roots,
		.heuristics = heuristics,
		.oracle = oracle,
		.explained = &explained,
	};
	struct hawk_error *err = NULL;

	if (heuristics)
		err = find_in_roots(&finder);
	if (!err && heuristics)
		err = find_in_blocks(&finder);
	if (err) {
		hawk_explained_deinit(&explained);
		return err;
	}
	*ret = explained;
	return NULL;
}

void hawk_explained_deinit(struct hawk_explained *explained)
{
	hawk_area_destroy(&explained->edges_area);
	hawk_area_destroy(&explained->roots_area);
	*explained = (struct hawk_explained){0};
}
