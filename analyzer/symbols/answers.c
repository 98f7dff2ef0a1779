/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Reads a snapshot's answers and looks them up. All are read at once: names are a small part of a
 * snapshot.
 */
#include "answers.h"

#include <stdlib.h>
#include <string.h>

#include "hawk/base/array.h"
#include "hawk/base/cleanup.h"
#include "hawk/snapshot/column.h"
#include "hawk/snapshot/reader.h"

struct place {
	uint64_t start, end;
	int64_t offset; /**< of `start` from the symbol's start */
	const char *name;
	const char *section;
};

struct places {
	struct place *items; /**< ascending, disjoint */
	size_t count;
};

struct lookup {
	uint64_t address;
	const struct hawk_frame *frames;
	const char **aliases;
	uint32_t count;
	uint32_t alias_count;
	bool exact;
	bool nameless;
};

struct hawk_answer_file {
	struct hawk_symbol_file file; /**< its identity; first member, for comparison */
	struct lookup *lookups;       /**< ascending by address, then exactness */
	size_t lookup_count;
	struct places places;
	struct places tls;
};

struct hawk_answers {
	struct hawk_answer_file *files; /**< in the order of hawk_symbols_compare_files() */
	size_t file_count;
	struct hawk_thread_frames *threads;
	size_t thread_count;
	const char **strings;
	size_t string_count;
	size_t string_capacity;
};

/** The state of reading a record; `err` is set if memory runs out. */
struct reader {
	struct hawk_symbols *symbols;
	struct hawk_answers *answers;
	struct hawk_cursor *cursor;
	struct hawk_error *err;
};

void hawk_answers_destroy(struct hawk_answers *answers)
{
	if (!answers)
		return;
	for (size_t i = 0; i < answers->file_count; i++) {
		hawk_findings_deinit(&answers->files[i].file.said);
		free(answers->files[i].lookups);
		free(answers->files[i].places.items);
		free(answers->files[i].tls.items);
	}
	for (size_t i = 0; i < answers->thread_count; i++)
		hawk_thread_frames_deinit(&answers->threads[i]);
	free(answers->files);
	free(answers->threads);
	free(answers->strings);
	free(answers);
}

static bool is_good(const struct reader *reader)
{
	return !reader->err && !reader->cursor->failed;
}

/* Allocates `count` items that take a byte each at least in the record; NULL = none, or out of
 * memory. */
static void *make_items(struct reader *reader, size_t count, size_t bytes)
{
	void *items = is_good(reader) && count ? calloc(count, bytes) : NULL;

	if (is_good(reader) && count && !items)
		reader->err = &hawk_enomem;
	return items;
}

/* As make_items(), but the items live as long as the symbols' strings. */
static void *keep_items(struct reader *reader, size_t count, size_t bytes)
{
	void *items = is_good(reader) && count
			      ? hawk_strings_alloc(&reader->symbols->strings, count * bytes)
			      : NULL;

	if (is_good(reader) && count && !items)
		reader->err = &hawk_enomem;
	return items;
}

static const char *read_text(struct reader *reader)
{
	size_t length;
	const char *bytes = hawk_column_get_string(reader->cursor, &length);
	const char *text =
		bytes ? hawk_strings_intern(&reader->symbols->strings, bytes, length) : NULL;

	if (bytes && !text)
		reader->err = &hawk_enomem;
	return text;
}

/* Reads a string that follows here; later ones may refer to it by number. */
static const char *read_new_string(struct reader *reader)
{
	struct hawk_answers *answers = reader->answers;
	const char *string = read_text(reader);

	if (!string)
		return NULL;
	if (!hawk_array_reserve(&answers->strings, answers->string_count, &answers->string_capacity,
				sizeof(*answers->strings))) {
		reader->err = &hawk_enomem;
		return NULL;
	}
	answers->strings[answers->string_count++] = string;
	return string;
}

static const char *read_string(struct reader *reader)
{
	const struct hawk_answers *answers = reader->answers;
	uint64_t number = hawk_column_get_below(reader->cursor, answers->string_count + 1);

	if (number == 1)
		return read_new_string(reader);
	return number ? answers->strings[number - 2] : NULL;
}

static void read_findings(struct reader *reader, struct hawk_findings *to)
{
	size_t count = hawk_column_get_count(reader->cursor);

	hawk_findings_init(to);
	for (size_t i = 0; i < count && is_good(reader); i++) {
		bool damage = hawk_column_get(reader->cursor) == HAWK_FINDING_DAMAGE;
		bool partial = hawk_column_get_below(reader->cursor, 1);
		const char *key = read_text(reader);
		const char *text = read_text(reader);

		if (key && text)
			hawk_findings_add(to, damage ? HAWK_FINDING_DAMAGE : HAWK_FINDING_MISSING,
					  partial, key, "%s", text);
	}
}

static void read_file(struct reader *reader, struct hawk_symbol_file *file)
{
	const char *path = read_string(reader);

	file->path = path ? path : "";
	file->vdso_start = hawk_column_get(reader->cursor);
	file->main = hawk_column_get_below(reader->cursor, 1);
	file->build_id_bytes =
		(uint32_t)hawk_column_get_below(reader->cursor, HAWK_MODULE_BUILD_ID_MAX);
	hawk_cursor_copy(reader->cursor, file->build_id, file->build_id_bytes);
	file->status =
		(enum hawk_symbol_status)hawk_column_get_below(reader->cursor, HAWK_SYMBOL_REFUSED);
	file->has_layout = hawk_column_get_below(reader->cursor, 1);
	file->for_graph = hawk_column_get_below(reader->cursor, 1);
	file->first_page = hawk_column_get(reader->cursor);
	file->nameless = read_string(reader);
	read_findings(reader, &file->said);
}

static void read_frame(struct reader *reader, struct hawk_frame *frame)
{
	frame->function = read_string(reader);
	frame->symbol = read_string(reader);
	frame->plain = read_string(reader);
	frame->file = read_string(reader);
	frame->function_offset = hawk_column_get(reader->cursor);
	frame->line = (uint32_t)hawk_column_get_below(reader->cursor, UINT32_MAX);
	frame->inlined = hawk_column_get_below(reader->cursor, 1);
}

static void read_lookup(struct reader *reader, const struct hawk_answer_file *file,
			struct lookup *lookup)
{
	uint64_t bits;
	struct hawk_frame *frames;

	lookup->address += hawk_column_get(reader->cursor);
	bits = hawk_column_get_below(reader->cursor, 3);
	lookup->exact = bits & 1;
	lookup->nameless = bits >> 1 && file->file.nameless;
	lookup->count = (uint32_t)hawk_column_get_count(reader->cursor);
	frames = keep_items(reader, lookup->count, sizeof(*frames));
	if (!lookup->count)
		reader->cursor->failed = true;
	for (uint32_t i = 0; i < lookup->count && is_good(reader); i++)
		read_frame(reader, &frames[i]);
	lookup->frames = frames;
	lookup->alias_count = (uint32_t)hawk_column_get_count(reader->cursor);
	lookup->aliases = keep_items(reader, lookup->alias_count, sizeof(*lookup->aliases));
	for (uint32_t i = 0; i < lookup->alias_count && is_good(reader); i++) {
		lookup->aliases[i] = read_string(reader);
		if (!lookup->aliases[i])
			reader->cursor->failed = true;
	}
}

static int compare_lookups(const void *left, const void *right)
{
	const struct lookup *a = left, *b = right;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return (int)a->exact - (int)b->exact;
}

static void read_lookups(struct reader *reader, struct hawk_answer_file *file)
{
	size_t count = hawk_column_get_count(reader->cursor);

	file->lookups = make_items(reader, count, sizeof(*file->lookups));
	for (size_t i = 0; i < count && is_good(reader); i++) {
		struct lookup *lookup = &file->lookups[i];

		lookup->address = i ? lookup[-1].address : 0;
		read_lookup(reader, file, lookup);
		if (i && compare_lookups(&lookup[-1], lookup) >= 0)
			reader->cursor->failed = true;
		file->lookup_count++;
	}
}

static void read_places(struct reader *reader, struct places *places)
{
	size_t count = hawk_column_get_count(reader->cursor);
	uint64_t end = 0;

	places->items = make_items(reader, count, sizeof(*places->items));
	for (size_t i = 0; i < count && is_good(reader); i++) {
		struct place *place = &places->items[i];
		uint64_t gap = hawk_column_get(reader->cursor);
		uint64_t bytes = hawk_column_get(reader->cursor);

		if (__builtin_add_overflow(end, gap, &place->start) ||
		    __builtin_add_overflow(place->start, bytes, &place->end) || !bytes)
			reader->cursor->failed = true;
		place->name = read_string(reader);
		place->section = read_string(reader);
		if (place->name)
			place->offset = hawk_column_get_signed(reader->cursor);
		end = place->end;
		places->count++;
	}
}

static void read_files(struct reader *reader)
{
	struct hawk_answers *answers = reader->answers;
	size_t count = hawk_column_get_count(reader->cursor);

	answers->files = make_items(reader, count, sizeof(*answers->files));
	for (size_t i = 0; i < count && is_good(reader); i++) {
		struct hawk_answer_file *file = &answers->files[answers->file_count++];

		read_file(reader, &file->file);
		read_lookups(reader, file);
		read_places(reader, &file->places);
		read_places(reader, &file->tls);
	}
	/* Paths cut to names may sort differently. */
	if (is_good(reader) && answers->file_count)
		qsort(answers->files, answers->file_count, sizeof(*answers->files),
		      hawk_symbols_compare_files);
}

static void read_frames(struct reader *reader, struct hawk_thread_frames *frames)
{
	size_t count = hawk_column_get_count(reader->cursor);
	uint64_t pc = 0, sp = 0;

	frames->end =
		(enum hawk_unwind_end)hawk_column_get_below(reader->cursor, HAWK_UNWIND_END_LIMIT);
	frames->guessed = hawk_column_get_below(reader->cursor, 1);
	frames->frames = make_items(reader, count, sizeof(*frames->frames));
	for (size_t i = 0; i < count && is_good(reader); i++) {
		pc += (uint64_t)hawk_column_get_signed(reader->cursor);
		sp += (uint64_t)hawk_column_get_signed(reader->cursor);
		frames->frames[i] = (struct hawk_stack_frame){
			.pc = pc, .sp = sp, .exact = hawk_column_get_below(reader->cursor, 1)};
		frames->count++;
	}
}

static void read_threads(struct reader *reader)
{
	struct hawk_answers *answers = reader->answers;
	size_t count = hawk_column_get_count(reader->cursor);

	answers->threads = make_items(reader, count, sizeof(*answers->threads));
	for (size_t i = 0; i < count && is_good(reader); i++)
		read_frames(reader, &answers->threads[answers->thread_count++]);
}

static void hawk_cleanup_answers(struct hawk_answers **answers)
{
	hawk_answers_destroy(*answers);
}

struct hawk_error *hawk_answers_read(const struct hawk_snapshot *snapshot,
				     struct hawk_symbols *symbols)
{
	CLEANUP(contents) struct hawk_snapshot_contents contents = {0};
	CLEANUP(answers) struct hawk_answers *answers = calloc(1, sizeof(*answers));
	struct reader reader = {.symbols = symbols, .answers = answers, .cursor = &contents.cursor};
	struct hawk_error *err;

	if (!answers)
		return &hawk_enomem;
	err = hawk_snapshot_read(snapshot, HAWK_SNAPSHOT_SYMBOLS, 0, &contents);
	if (!err) {
		read_threads(&reader);
		read_files(&reader);
		err = reader.err;
	}
	if (!err && contents.cursor.failed)
		err = hawk_snapshot_nonsense(HAWK_SNAPSHOT_SYMBOLS);
	if (!err)
		symbols->answers = take_ptr(&answers);
	return err;
}

void hawk_answers_load(const struct hawk_symbols *symbols, struct hawk_symbol_file *file)
{
	const struct hawk_answers *answers = symbols->answers;
	const struct hawk_answer_file *known =
		answers->file_count ? bsearch(file, answers->files, answers->file_count,
					      sizeof(*answers->files), hawk_symbols_compare_files)
				    : NULL;

	file->status = known ? known->file.status : HAWK_SYMBOL_NOT_FOUND;
	file->answers = known;
	if (!known)
		return;
	file->has_layout = known->file.has_layout;
	file->first_page = known->file.first_page;
	file->nameless = known->file.nameless;
	hawk_findings_add_all(symbols->search.findings, &known->file.said);
}

struct hawk_error *hawk_symbols_open_for_graph(struct hawk_symbols *symbols)
{
	const struct hawk_answers *answers = symbols->answers;
	struct hawk_error *err = NULL;

	for (size_t i = 0; answers && i < answers->file_count && !err; i++)
		if (answers->files[i].file.for_graph)
			err = hawk_symbols_open_answers(symbols, &answers->files[i].file);
	return err;
}

static const struct lookup *find_lookup(const struct hawk_answer_file *file, uint64_t address,
					bool exact)
{
	const struct lookup key = {.address = address, .exact = exact};

	return file->lookup_count ? bsearch(&key, file->lookups, file->lookup_count, sizeof(key),
					    compare_lookups)
				  : NULL;
}

void hawk_answers_lookup(const struct hawk_answer_file *file, struct hawk_symbols_cached *entry)
{
	static const struct hawk_frame unknown;
	const struct lookup *found = find_lookup(file, entry->address, entry->exact);

	entry->frames = found ? found->frames : &unknown;
	entry->count = found ? found->count : 1;
	entry->nameless = found && found->nameless;
}

size_t hawk_answers_aliases(const struct hawk_answer_file *file, uint64_t address, bool exact,
			    const char **names, size_t max)
{
	const struct lookup *found = find_lookup(file, address, exact);
	size_t count = found && found->alias_count < max ? found->alias_count : max;

	if (!found)
		return 0;
	for (size_t i = 0; i < count; i++)
		names[i] = found->aliases[i];
	return count;
}

static struct hawk_symbol_place place_at(const struct places *places, uint64_t address)
{
	size_t i = hawk_array_first_above(places->items, places->count, sizeof(*places->items),
					  offsetof(struct place, end), address);
	const struct place *place = i < places->count ? &places->items[i] : NULL;

	if (!place || address < place->start)
		return (struct hawk_symbol_place){.start = address, .end = address + 1};
	return (struct hawk_symbol_place){
		.name = place->name,
		.offset = place->name ? address - place->start + (uint64_t)place->offset : 0,
		.section = place->section,
		.start = place->start,
		.end = place->end,
	};
}

struct hawk_symbol_place hawk_answers_place(const struct hawk_answer_file *file, uint64_t address)
{
	return place_at(&file->places, address);
}

void hawk_answers_tls_place(const struct hawk_answer_file *file, uint64_t address,
			    struct hawk_symbol_place *ret)
{
	*ret = place_at(&file->tls, address);
}

/* Opens the files that unwinding would have opened, so that their findings appear. */
static struct hawk_error *touch_files(struct hawk_symbols *symbols,
				      const struct hawk_thread_frames *frames)
{
	struct hawk_symbol_module module = {0};
	struct hawk_error *err = NULL;

	for (size_t i = 0; i < frames->count && !err; i++) {
		uint64_t at = frames->frames[i].pc - !frames->frames[i].exact;
		struct hawk_symbol_file *file;

		if (at >= module.start && at < module.end)
			continue;
		if (hawk_symbols_module_at(symbols, at, &module))
			err = hawk_symbols_file(symbols, &module, &file);
	}
	return err;
}

struct hawk_error *hawk_answers_unwind(struct hawk_symbols *symbols,
				       const struct hawk_thread *thread, size_t max,
				       struct hawk_thread_frames *ret)
{
	const struct hawk_answers *answers = symbols->answers;
	size_t count;
	const struct hawk_thread *threads = hawk_target_threads(symbols->target, &count);
	size_t number = (size_t)(thread - threads);
	const struct hawk_thread_frames *known;

	if (number >= answers->thread_count)
		return NULL;
	known = &answers->threads[number];
	ret->count = known->count < max ? known->count : max;
	ret->end = known->count <= max ? known->end : HAWK_UNWIND_END_LIMIT;
	ret->guessed = known->guessed;
	ret->frames = calloc(ret->count + 1, sizeof(*ret->frames));
	if (!ret->frames) {
		ret->count = 0;
		return &hawk_enomem;
	}
	if (ret->count)
		memcpy(ret->frames, known->frames, ret->count * sizeof(*ret->frames));
	return touch_files(symbols, ret);
}
