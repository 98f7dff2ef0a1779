/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Type words to and from a snapshot. Written are those that have a name and no others: the address
 * of a virtual table says nothing of its object but the class.
 */
#include "hawk/names/block_type.h"

#include <stdlib.h>

#include "hawk/base/array.h"
#include "hawk/base/cleanup.h"
#include "hawk/snapshot/reader.h"
#include "hawk/snapshot/writer.h"

enum { FRAME_BLOCKS = 1 << 16 };

struct saver {
	struct hawk_block_types *types;
	const struct hawk_heap *heap;
};

/** The words of one frame; each is written as a distance from the one before. */
struct latest {
	uint64_t granule;
	uint64_t word;
};

static void put(struct hawk_column *to, uint64_t start, uint64_t word, bool of_array,
		struct latest *latest)
{
	uint64_t granule = start / HAWK_GRANULE_BYTES;

	hawk_column_put(to, granule - latest->granule);
	hawk_column_put_signed(to, (int64_t)(word - latest->word));
	hawk_column_put(to, of_array);
	*latest = (struct latest){granule, word};
}

static struct hawk_error *fill(void *context, size_t number, struct hawk_snapshot_piece *piece)
{
	const struct saver *saver = context;
	const struct hawk_block_index *index = &saver->heap->index;
	const struct hawk_module_words *modules = hawk_block_types_modules(saver->types);
	struct hawk_near near = {.target = saver->heap->target};
	uint32_t first = (uint32_t)(number * FRAME_BLOCKS);
	uint32_t end = index->count - first > FRAME_BLOCKS ? first + FRAME_BLOCKS : index->count;
	struct latest latest = {0};

	piece->first = first;
	piece->items = end - first;
	for (uint32_t i = first; i < end; i++) {
		struct hawk_type_words words;
		struct hawk_block block;

		hawk_heap_next_block(saver->heap, &near, i, &block);
		words = hawk_type_words_at(modules, &near, block.start, block.size);
		if (words.first && hawk_block_type_of_vtable(saver->types, words.first))
			put(&piece->column, block.start, words.first, false, &latest);
		else if (block.kind == HAWK_KIND_NEW_ARRAY && words.second &&
			 hawk_block_type_of_vtable(saver->types, words.second))
			put(&piece->column, block.start, words.second, true, &latest);
	}
	return NULL;
}

struct hawk_error *hawk_block_types_save(struct hawk_block_types *types,
					 const struct hawk_heap *heap,
					 struct hawk_snapshot_writer *writer)
{
	struct saver saver = {types, heap};
	size_t frames = ((size_t)heap->index.count + FRAME_BLOCKS - 1) / FRAME_BLOCKS;

	return hawk_snapshot_put_all(writer, HAWK_SNAPSHOT_TYPES, frames, fill, &saver);
}

struct kept {
	uint64_t start;
	uint64_t word; /**< with bit 0 set: of an array */
};

struct hawk_snapshot_types {
	struct kept *items; /**< ascending */
	size_t count;
	size_t capacity;
};

void hawk_snapshot_types_destroy(struct hawk_snapshot_types *kept)
{
	if (kept)
		free(kept->items);
	free(kept);
}

static void hawk_cleanup_kept(struct hawk_snapshot_types **kept)
{
	hawk_snapshot_types_destroy(*kept);
}

static struct hawk_error *add_frame(struct hawk_snapshot_contents *contents,
				    struct hawk_snapshot_types *kept)
{
	struct hawk_cursor *from = &contents->cursor;
	struct latest latest = {0};

	while (hawk_cursor_left(from)) {
		uint64_t start;

		latest.granule += hawk_column_get(from);
		latest.word += (uint64_t)hawk_column_get_signed(from);
		start = latest.granule * HAWK_GRANULE_BYTES;
		if (kept->count && start <= kept->items[kept->count - 1].start)
			return hawk_snapshot_nonsense(HAWK_SNAPSHOT_TYPES);
		if (!hawk_array_reserve(&kept->items, kept->count, &kept->capacity,
					sizeof(*kept->items)))
			return &hawk_enomem;
		kept->items[kept->count++] =
			(struct kept){start, latest.word | hawk_column_get_below(from, 1)};
	}
	return from->failed ? hawk_snapshot_nonsense(HAWK_SNAPSHOT_TYPES) : NULL;
}

struct hawk_error *hawk_snapshot_types_read(const struct hawk_snapshot *snapshot,
					    struct hawk_snapshot_types **ret)
{
	CLEANUP(kept) struct hawk_snapshot_types *kept = calloc(1, sizeof(*kept));
	size_t count = hawk_snapshot_frame_count(snapshot, HAWK_SNAPSHOT_TYPES);
	struct hawk_error *err = kept ? NULL : &hawk_enomem;

	for (size_t i = 0; i < count && !err; i++) {
		CLEANUP(contents) struct hawk_snapshot_contents contents = {0};

		err = hawk_snapshot_read(snapshot, HAWK_SNAPSHOT_TYPES, i, &contents);
		if (!err)
			err = add_frame(&contents, kept);
	}
	if (!err)
		*ret = take_ptr(&kept);
	return err;
}

struct hawk_type_words hawk_snapshot_types_at(const struct hawk_snapshot_types *kept,
					      uint64_t start)
{
	size_t above = hawk_array_first_above(kept->items, kept->count, sizeof(*kept->items),
					      offsetof(struct kept, start), start);
	const struct kept *item = above ? &kept->items[above - 1] : NULL;
	struct hawk_type_words words = {0};

	if (!item || item->start != start)
		return words;
	if (item->word & 1)
		words.second = item->word - 1;
	else
		words.first = item->word;
	return words;
}
