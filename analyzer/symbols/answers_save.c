/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Writes the answers of symbols to a snapshot: for each file all frames in the cache, the other
 * names of their functions, and the places asked for; then the frames of all threads.
 */
#include "answers.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "hawk/base/array.h"
#include "hawk/base/cleanup.h"
#include "hawk/snapshot/writer.h"

enum { ALIASES_MAX = 16, FIRST_SLOTS = 1024 };

/** A place asked for. */
struct asked {
	const struct hawk_symbol_file *file;
	uint64_t start, end;
	uint64_t symbol_start; /**< 0 without a name */
	const char *name;
	const char *section;
};

struct asked_list {
	struct asked *items;
	size_t count;
	size_t capacity;
};

struct hawk_questions {
	struct asked_list places; /**< addresses at link time */
	struct asked_list tls;    /**< addresses in the process */
};

static void note_for_graph(const void *node, VISIT visit, void *context)
{
	(void)context;
	if (visit == postorder || visit == leaf)
		(*(struct hawk_symbol_file *const *)node)->for_graph = true;
}

struct hawk_error *hawk_symbols_keep_questions(struct hawk_symbols *symbols)
{
	if (symbols->questions)
		return NULL;
	symbols->questions = calloc(1, sizeof(*symbols->questions));
	if (!symbols->questions)
		return &hawk_enomem;
	twalk_r(symbols->files, note_for_graph, NULL);
	return NULL;
}

void hawk_questions_destroy(struct hawk_questions *questions)
{
	if (!questions)
		return;
	free(questions->places.items);
	free(questions->tls.items);
	free(questions);
}

static struct hawk_error *add(struct asked_list *list, const struct hawk_symbol_file *file,
			      uint64_t address, const struct hawk_symbol_place *place)
{
	const struct asked *last = list->count ? &list->items[list->count - 1] : NULL;

	if (last && last->file == file && address >= last->start && address < last->end)
		return NULL;
	if (!hawk_array_reserve(&list->items, list->count, &list->capacity, sizeof(*list->items)))
		return &hawk_enomem;
	list->items[list->count++] = (struct asked){
		.file = file,
		.start = place->start,
		.end = place->end,
		.symbol_start = place->name ? address - place->offset : 0,
		.name = place->name,
		.section = place->section,
	};
	return NULL;
}

struct hawk_error *hawk_questions_add_place(struct hawk_questions *questions,
					    const struct hawk_symbol_file *file, uint64_t address,
					    const struct hawk_symbol_place *place)
{
	return add(&questions->places, file, address, place);
}

struct hawk_error *hawk_questions_add_tls(struct hawk_questions *questions,
					  const struct hawk_symbol_file *file, uint64_t address,
					  const struct hawk_symbol_place *place)
{
	return add(&questions->tls, file, address, place);
}

/** Strings written so far, by address, since equal strings are shared. */
struct written {
	const char **slots;
	uint32_t *numbers;
	size_t slot_count; /**< a power of two, or 0 */
	uint32_t count;
};

struct saver {
	struct hawk_symbols *symbols;
	struct hawk_snapshot_writer *writer;
	struct hawk_column to;
	struct written written;
	struct hawk_symbol_file **files; /**< in the order of the tree */
	size_t file_count;
	size_t file_capacity;
	struct hawk_symbols_cached *lookups; /**< by file and address */
	size_t lookup_count;
};

static size_t slot_of(const struct written *written, const char *string)
{
	size_t slot = (size_t)((uintptr_t)string * UINT64_C(0x9e3779b97f4a7c15) >> 20) &
		      (written->slot_count - 1);

	while (written->slots[slot] && written->slots[slot] != string)
		slot = (slot + 1) & (written->slot_count - 1);
	return slot;
}

static bool grow(struct written *written)
{
	struct written more = {.slot_count =
				       written->slot_count ? 2 * written->slot_count : FIRST_SLOTS,
			       .count = written->count};

	more.slots = calloc(more.slot_count, sizeof(*more.slots));
	more.numbers = calloc(more.slot_count, sizeof(*more.numbers));
	for (size_t i = 0; more.slots && more.numbers && i < written->slot_count; i++) {
		size_t slot;

		if (!written->slots[i])
			continue;
		slot = slot_of(&more, written->slots[i]);
		more.slots[slot] = written->slots[i];
		more.numbers[slot] = written->numbers[i];
	}
	if (!more.slots || !more.numbers) {
		free(more.slots);
		free(more.numbers);
		return false;
	}
	free(written->slots);
	free(written->numbers);
	*written = more;
	return true;
}

/** Writes 0 for NULL, 1 before a new string, or a known string's number plus 2. */
static void put_string(struct saver *saver, const char *string, bool is_path)
{
	struct written *written = &saver->written;
	size_t slot;

	if (!string) {
		hawk_column_put(&saver->to, 0);
		return;
	}
	if (2 * (size_t)written->count >= written->slot_count && !grow(written)) {
		saver->to.failed = true;
		return;
	}
	slot = slot_of(written, string);
	if (written->slots[slot]) {
		hawk_column_put(&saver->to, (uint64_t)written->numbers[slot] + 2);
		return;
	}
	written->slots[slot] = string;
	written->numbers[slot] = written->count++;
	hawk_column_put(&saver->to, 1);
	hawk_column_put_string(&saver->to,
			       is_path ? hawk_snapshot_path(saver->writer, string) : string);
}

static void put_findings(struct saver *saver, const struct hawk_findings *findings)
{
	hawk_column_put(&saver->to, findings->count);
	for (size_t i = 0; i < findings->count; i++) {
		hawk_column_put(&saver->to, findings->items[i].sort);
		hawk_column_put(&saver->to, findings->items[i].partial);
		hawk_column_put_string(&saver->to, findings->items[i].key);
		hawk_snapshot_put_text(saver->writer, &saver->to, findings->items[i].text);
	}
}

static void put_file(struct saver *saver, const struct hawk_symbol_file *file)
{
	put_string(saver, file->path, true);
	hawk_column_put(&saver->to, file->vdso_start);
	hawk_column_put(&saver->to, file->main);
	hawk_column_put(&saver->to, file->build_id_bytes);
	hawk_column_put_bytes(&saver->to, file->build_id, file->build_id_bytes);
	hawk_column_put(&saver->to, file->status);
	hawk_column_put(&saver->to, file->has_layout);
	hawk_column_put(&saver->to, file->for_graph);
	hawk_column_put(&saver->to, file->first_page);
	put_string(saver, file->nameless, false);
	put_findings(saver, &file->said);
}

static void put_lookup(struct saver *saver, const struct hawk_symbols_cached *lookup,
		       uint64_t before)
{
	const char *aliases[ALIASES_MAX];
	size_t count = hawk_symbols_file_aliases(lookup->file, lookup->address - !lookup->exact,
						 aliases, ALIASES_MAX);

	hawk_column_put(&saver->to, lookup->address - before);
	hawk_column_put(&saver->to, (uint64_t)lookup->exact | (uint64_t)lookup->nameless << 1);
	hawk_column_put(&saver->to, lookup->count);
	for (uint32_t i = 0; i < lookup->count; i++) {
		const struct hawk_frame *frame = &lookup->frames[i];

		put_string(saver, frame->function, false);
		put_string(saver, frame->symbol, false);
		put_string(saver, frame->plain, false);
		put_string(saver, frame->file, true);
		hawk_column_put(&saver->to, frame->function_offset);
		hawk_column_put(&saver->to, frame->line);
		hawk_column_put(&saver->to, frame->inlined);
	}
	hawk_column_put(&saver->to, count);
	for (size_t i = 0; i < count; i++)
		put_string(saver, aliases[i], false);
}

static int compare_lookups(const void *left, const void *right)
{
	const struct hawk_symbols_cached *a = left, *b = right;

	if (a->file != b->file)
		return (uintptr_t)a->file < (uintptr_t)b->file ? -1 : 1;
	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return (int)a->exact - (int)b->exact;
}

static struct hawk_error *sort_lookups(struct saver *saver)
{
	const struct hawk_symbols *symbols = saver->symbols;

	saver->lookups = calloc(symbols->cache_count + 1, sizeof(*saver->lookups));
	if (!saver->lookups)
		return &hawk_enomem;
	for (size_t i = 0; i < symbols->cache_slots; i++)
		if (symbols->cache[i].file)
			saver->lookups[saver->lookup_count++] = symbols->cache[i];
	qsort(saver->lookups, saver->lookup_count, sizeof(*saver->lookups), compare_lookups);
	return NULL;
}

static void put_lookups(struct saver *saver, const struct hawk_symbol_file *file)
{
	size_t first = 0, count = 0;
	uint64_t before = 0;

	while (first < saver->lookup_count && saver->lookups[first].file != file)
		first++;
	while (first + count < saver->lookup_count && saver->lookups[first + count].file == file)
		count++;
	hawk_column_put(&saver->to, count);
	for (size_t i = first; i < first + count; i++) {
		put_lookup(saver, &saver->lookups[i], before);
		before = saver->lookups[i].address;
	}
}

static int compare_asked(const void *left, const void *right)
{
	const struct asked *a = left, *b = right;

	if (a->file != b->file)
		return (uintptr_t)a->file < (uintptr_t)b->file ? -1 : 1;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->end < b->end ? -1 : a->end > b->end;
}

/* Makes the places of each file ascending and disjoint; overlapping places have the same names. */
static void settle(struct asked_list *list)
{
	size_t kept = 0;

	if (list->count)
		qsort(list->items, list->count, sizeof(*list->items), compare_asked);
	for (size_t i = 0; i < list->count; i++) {
		struct asked next = list->items[i];
		const struct asked *last = kept ? &list->items[kept - 1] : NULL;

		if (last && last->file == next.file && next.start < last->end)
			next.start = last->end;
		if (next.start < next.end)
			list->items[kept++] = next;
	}
	list->count = kept;
}

static void put_places(struct saver *saver, const struct asked_list *list,
		       const struct hawk_symbol_file *file)
{
	size_t count = 0;
	uint64_t before = 0;

	for (size_t i = 0; i < list->count; i++)
		count += list->items[i].file == file;
	hawk_column_put(&saver->to, count);
	for (size_t i = 0; i < list->count; i++) {
		const struct asked *place = &list->items[i];

		if (place->file != file)
			continue;
		hawk_column_put(&saver->to, place->start - before);
		hawk_column_put(&saver->to, place->end - place->start);
		put_string(saver, place->name, false);
		put_string(saver, place->section, false);
		if (place->name)
			hawk_column_put_signed(&saver->to,
					       (int64_t)(place->start - place->symbol_start));
		before = place->end;
	}
}

/* Notes each file once, in the order of the tree. */
static void note_file(const void *node, VISIT visit, void *context)
{
	struct saver *saver = context;

	if (visit != postorder && visit != leaf)
		return;
	if (!hawk_array_reserve(&saver->files, saver->file_count, &saver->file_capacity,
				sizeof(*saver->files))) {
		saver->to.failed = true;
		return;
	}
	saver->files[saver->file_count++] = *(struct hawk_symbol_file *const *)node;
}

static void put_files(struct saver *saver)
{
	struct hawk_questions *questions = saver->symbols->questions;

	settle(&questions->places);
	settle(&questions->tls);
	hawk_column_put(&saver->to, saver->file_count);
	for (size_t i = 0; i < saver->file_count; i++) {
		put_file(saver, saver->files[i]);
		put_lookups(saver, saver->files[i]);
		put_places(saver, &questions->places, saver->files[i]);
		put_places(saver, &questions->tls, saver->files[i]);
	}
}

static void put_frames(struct saver *saver, const struct hawk_thread_frames *frames)
{
	uint64_t pc = 0, sp = 0;

	hawk_column_put(&saver->to, frames->count);
	hawk_column_put(&saver->to, frames->end);
	hawk_column_put(&saver->to, frames->guessed);
	for (size_t i = 0; i < frames->count; i++) {
		const struct hawk_stack_frame *frame = &frames->frames[i];

		hawk_column_put_signed(&saver->to, (int64_t)(frame->pc - pc));
		hawk_column_put_signed(&saver->to, (int64_t)(frame->sp - sp));
		hawk_column_put(&saver->to, frame->exact);
		pc = frame->pc;
		sp = frame->sp;
	}
}

static struct hawk_error *put_threads(struct saver *saver)
{
	size_t count;
	const struct hawk_thread *threads = hawk_target_threads(saver->symbols->target, &count);
	struct hawk_error *err = NULL;

	hawk_column_put(&saver->to, count);
	for (size_t i = 0; i < count && !err; i++) {
		struct hawk_thread_frames frames;

		err = hawk_symbols_unwind(saver->symbols, &threads[i], HAWK_UNWIND_FRAMES_MAX,
					  &frames);
		if (!err)
			put_frames(saver, &frames);
		hawk_thread_frames_deinit(&frames);
	}
	return err;
}

static void hawk_cleanup_saver(struct saver *saver)
{
	hawk_column_deinit(&saver->to);
	free(saver->written.slots);
	free(saver->written.numbers);
	free(saver->files);
	free(saver->lookups);
}

struct hawk_error *hawk_symbols_save(struct hawk_symbols *symbols,
				     struct hawk_snapshot_writer *writer)
{
	CLEANUP(saver) struct saver saver = {.symbols = symbols, .writer = writer};
	struct hawk_snapshot_piece piece = {.items = 1};
	struct hawk_error *err = put_threads(&saver);

	if (!err)
		err = sort_lookups(&saver);
	if (err)
		return err;
	twalk_r(symbols->files, note_file, &saver);
	put_files(&saver);
	piece.column = saver.to;
	return hawk_snapshot_put(writer, HAWK_SNAPSHOT_SYMBOLS, &piece);
}
