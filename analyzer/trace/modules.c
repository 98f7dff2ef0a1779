/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The module log: finds the module of a program counter at a given time.
 *
 * The index cuts the address space at every start and end of a module; each piece lists the modules
 * that ever covered it, latest last. A plug-in loaded a thousand times at one place makes a long
 * list, a forged log could make all lists long: their sum is limited.
 */
#include "state.h"

#include <stdlib.h>
#include <string.h>

#include "hawk/base/array.h"

enum {
	PATHS_BYTES_MAX = 64 << 20,
	ENTRIES_MAX = 4 << 20,
};

/** [start, next piece's start): entries[first] .. entries[next piece's first - 1]. */
struct piece {
	uint64_t start;
	size_t first;
};

struct hawk_table_module_index {
	struct piece *pieces; /**< piece_count + 1, the last one is the end */
	size_t piece_count;
	uint32_t *entries; /**< module numbers */
};

static void free_index(struct hawk_table_module_index *index)
{
	if (!index)
		return;
	free(index->pieces);
	free(index->entries);
	free(index);
}

void hawk_table_free_modules(struct hawk_table *table)
{
	for (size_t i = 0; i < table->module_count; i++)
		free(table->modules[i].path);
	free(table->modules);
	free_index(table->module_index);
}

/**
 * Returns the target's own path of the executable, or NULL. The tracer may lack it: without /proc
 * it has only the name used to start the program.
 */
static const char *executable_path(const struct hawk_table *table,
				   const struct hawk_module_record *record)
{
	const struct hawk_module *known = NULL;

	if (record->flags & HAWK_MODULE_MAIN)
		known = hawk_target_module_at(table->target, record->start);
	if (!known || !known->path || known->path[0] != '/' || known->start != record->start)
		return NULL;
	if (known->build_id_bytes && record->build_id_bytes &&
	    (known->build_id_bytes != record->build_id_bytes ||
	     memcmp(known->build_id, record->build_id, known->build_id_bytes) != 0))
		return NULL;
	return known->path;
}

static struct hawk_error *add_module(struct hawk_table *table,
				     const struct hawk_module_record *record, size_t *path_bytes)
{
	struct hawk_table_module *module = &table->modules[table->module_count];
	const char *known = executable_path(table, record);
	uint32_t bytes = record->path_bytes;

	*module = (struct hawk_table_module){
		.start = record->start,
		.end = record->end,
		.bias = record->bias,
		.generation = record->generation,
		.unload_generation = record->unload_generation,
		.flags = record->flags,
		.build_id_bytes = record->build_id_bytes,
	};
	memcpy(module->build_id, record->build_id, record->build_id_bytes);
	if (bytes > HAWK_TABLE_PATH_MAX)
		bytes = HAWK_TABLE_PATH_MAX;
	module->path =
		known ? strdup(known) : hawk_table_copy_text(table, record->path_index, bytes);
	if (!module->path)
		return &hawk_enomem;
	table->module_count++;
	*path_bytes += strlen(module->path);
	return NULL;
}

static int compare_addresses(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left;
	uint64_t b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

static struct hawk_error *make_pieces(const struct hawk_table *table,
				      struct hawk_table_module_index *index)
{
	size_t count = 2 * table->module_count;
	uint64_t *cuts = malloc((count + 1) * sizeof(*cuts));

	index->pieces = calloc(count + 1, sizeof(*index->pieces));
	if (!cuts || !index->pieces) {
		free(cuts);
		return &hawk_enomem;
	}
	for (size_t i = 0; i < table->module_count; i++) {
		cuts[2 * i] = table->modules[i].start;
		cuts[2 * i + 1] = table->modules[i].end;
	}
	qsort(cuts, count, sizeof(*cuts), compare_addresses);
	for (size_t i = 0; i < count; i++)
		if (!i || cuts[i] != cuts[i - 1])
			index->pieces[index->piece_count++].start = cuts[i];
	free(cuts);
	/* The last cut is only an end. */
	if (index->piece_count)
		index->piece_count--;
	return NULL;
}

/* Returns the piece that contains `address`, or SIZE_MAX. */
static size_t find_piece(const struct hawk_table_module_index *index, uint64_t address)
{
	size_t above = hawk_array_first_above(index->pieces, index->piece_count + 1,
					      sizeof(*index->pieces), offsetof(struct piece, start),
					      address);

	return above && above <= index->piece_count ? above - 1 : SIZE_MAX;
}

/* Counts the entries of each piece or, from these counts down, fills them in. The latest modules
 * get room first. Returns the number of entries. */
static size_t visit_entries(const struct hawk_table *table, struct hawk_table_module_index *index,
			    size_t *counts, bool fill)
{
	size_t entries = 0;

	for (size_t i = table->module_count; i-- > 0;) {
		const struct hawk_table_module *module = &table->modules[i];

		for (size_t p = find_piece(index, module->start);
		     p < index->piece_count && index->pieces[p].start < module->end; p++) {
			if (entries == ENTRIES_MAX)
				return entries;
			entries++;
			if (fill)
				index->entries[index->pieces[p].first + --counts[p]] = (uint32_t)i;
			else
				counts[p]++;
		}
	}
	return entries;
}

static struct hawk_error *make_index(struct hawk_table *table)
{
	struct hawk_table_module_index *index = calloc(1, sizeof(*index));
	struct hawk_error *err;
	size_t *counts;
	size_t entries;
	size_t first = 0;

	table->module_index = index;
	if (!index)
		return &hawk_enomem;
	err = make_pieces(table, index);
	if (err)
		return err;
	counts = calloc(index->piece_count + 1, sizeof(*counts));
	if (!counts)
		return &hawk_enomem;
	entries = visit_entries(table, index, counts, false);
	index->entries = malloc((entries + 1) * sizeof(*index->entries));
	if (!index->entries) {
		free(counts);
		return &hawk_enomem;
	}
	for (size_t p = 0; p <= index->piece_count; p++) {
		index->pieces[p].first = first;
		first += counts[p];
	}
	visit_entries(table, index, counts, true);
	free(counts);
	return NULL;
}

struct hawk_error *hawk_table_load_modules(struct hawk_table *table, struct hawk_findings *findings)
{
	uint32_t count = table->header.module_count;
	size_t path_bytes = 0;
	size_t damaged = 0;

	table->modules = calloc((size_t)count + 1, sizeof(*table->modules));
	if (!table->modules)
		return &hawk_enomem;
	for (uint32_t i = 0; i < count && path_bytes < PATHS_BYTES_MAX; i++) {
		struct hawk_module_record record;
		struct hawk_error *err;

		if (!hawk_table_array_read(&table->module_records, i, &record, sizeof(record)) ||
		    !record.state)
			continue;
		if (record.state != 1 || record.end <= record.start ||
		    record.build_id_bytes > HAWK_BUILD_ID_MAX) {
			damaged++;
			continue;
		}
		err = add_module(table, &record, &path_bytes);
		if (err)
			return err;
	}
	if (damaged)
		hawk_findings_add(findings, HAWK_FINDING_DAMAGE, true, "table-module-damaged",
				  "%zu module records of the trace table are damaged", damaged);
	return make_index(table);
}

const struct hawk_table_module *hawk_table_modules(const struct hawk_table *table, size_t *count)
{
	*count = table->module_count;
	return table->modules;
}

const struct hawk_table_module *hawk_table_module_at(const struct hawk_table *table, uint64_t pc,
						     uint32_t generation)
{
	const struct hawk_table_module_index *index = table->module_index;
	size_t piece = find_piece(index, pc);

	if (piece == SIZE_MAX)
		return NULL;
	for (size_t i = index->pieces[piece + 1].first; i-- > index->pieces[piece].first;) {
		const struct hawk_table_module *module = &table->modules[index->entries[i]];

		if (module->generation <= generation)
			return module;
	}
	return NULL;
}
