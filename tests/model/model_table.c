/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A reader that trusts only published data, and checks all of it.
 */
#include "model_table.h"

#include <string.h>

#include "table/arena.h"
#include "hooks/init.h"
#include "base/options.h"
#include "hooks/record.h"
#include "unwind/sighting.h"
#include "table/threads.h"
#include "table/traces.h"

/* hooks/init.c is the one file that is left out, with the hooks. */
enum hawk_phase hawk_phase = HAWK_PHASE_TRACING;

void model_table_set_up(const char *options)
{
	hawk_options_parse(options);
	if (!hawk_arena_init(0, NULL) || !hawk_threads_init() || !hawk_traces_init())
		model_fail("no table");
	hawk_sighting_init();
	hawk_unwind_options.depth = MODEL_FRAMES_MAX;
	if (!hawk_unwind_init())
		model_fail("no unwinder");
	hawk_threads_watch_exits();
}

static uint64_t one_pc(const struct hawk_frames *self, uint32_t index)
{
	return self->hash + index;
}

void model_table_make_traces(uint32_t last)
{
	for (uint32_t i = 1; i <= last; i++) {
		struct hawk_frames frames = {
			.pc = one_pc, .count = 1, .hash = i * UINT64_C(0x9e3779b97f4a7c15)};

		if (hawk_traces_intern(&frames) != i)
			model_fail("trace ids are not in order");
	}
}

static const void *element(const uint64_t *segments, unsigned segment_count, unsigned log2,
			   uint64_t index, size_t bytes)
{
	unsigned segment = hawk_segment_of(index, log2);
	const char *at;

	if (segment >= segment_count || !segments[segment])
		return NULL;
	if (model_kernel_is_gone((void *)segments[segment]))
		model_fail("a published segment is unmapped");
	at = (const char *)segments[segment] + (index - hawk_segment_first(segment, log2)) * bytes;
	MODEL_CHECK(model_kernel_is_mapped(at, bytes), "record %lu is not mapped", index);
	return at;
}

static const struct hawk_trace_record *trace_at(uint32_t id)
{
	return element(hawk_table_header->trace_segments, HAWK_TRACE_SEGMENTS,
		       HAWK_TRACE_SEGMENT_LOG2, id, hawk_table_header->trace_record_bytes);
}

static const struct hawk_thread_record *thread_at(uint32_t index)
{
	return element(hawk_table_header->thread_segments, HAWK_THREAD_SEGMENTS,
		       HAWK_THREAD_SEGMENT_LOG2, index, hawk_table_header->thread_slot_bytes);
}

static const struct hawk_module_record *module_at(uint32_t index)
{
	return element(hawk_table_header->module_segments, HAWK_MODULE_SEGMENTS,
		       HAWK_MODULE_SEGMENT_LOG2, index, hawk_table_header->module_record_bytes);
}

static const struct hawk_label_record *label_at(uint32_t id)
{
	return element(hawk_table_header->label_segments, HAWK_LABEL_SEGMENTS,
		       HAWK_LABEL_SEGMENT_LOG2, id, sizeof(struct hawk_label_record));
}

/** `count` words of the word array, which lie in one segment; NULL = not all of them. */
static const void *words_at(uint32_t index, uint32_t count)
{
	if ((uint64_t)index + count > hawk_table_header->word_count || !count ||
	    hawk_segment_of(index, HAWK_WORD_SEGMENT_LOG2) !=
		    hawk_segment_of(index + count - 1, HAWK_WORD_SEGMENT_LOG2))
		return NULL;
	return element(hawk_table_header->word_segments, HAWK_WORD_SEGMENTS, HAWK_WORD_SEGMENT_LOG2,
		       index, 8);
}

uint32_t model_table_frames(uint32_t id, uint64_t *pcs)
{
	const struct hawk_trace_record *record = trace_at(id);
	const uint64_t *words;
	uint64_t tail[MODEL_FRAMES_MAX];
	uint32_t tail_count;

	if (!record || !record->hash)
		return 0;
	MODEL_CHECK(id < hawk_table_header->trace_count, "trace %u is beyond the count", id);
	words = words_at(record->word_index, record->own_count);
	MODEL_CHECK(words, "trace %u: its words are not there", id);
	MODEL_CHECK(record->own_count + record->tail_count <= MODEL_FRAMES_MAX,
		    "trace %u: %u and %u frames", id, record->own_count, record->tail_count);
	for (uint32_t i = 0; i < record->own_count; i++) {
		MODEL_CHECK(words[i], "trace %u: frame %u is not written", id, i);
		pcs[i] = words[i];
	}
	if (!record->tail_count)
		return record->own_count;
	MODEL_CHECK(record->tail_trace < id && record->tail_trace, "trace %u: tail %u", id,
		    record->tail_trace);
	tail_count = model_table_frames(record->tail_trace, tail);
	MODEL_CHECK(tail_count >= record->tail_count, "trace %u: the tail has %u frames of %u", id,
		    tail_count, record->tail_count);
	memcpy(pcs + record->own_count, tail + tail_count - record->tail_count,
	       record->tail_count * sizeof(*pcs));
	return record->own_count + (uint32_t)record->tail_count;
}

static void check_extents(void)
{
	const struct hawk_table_header *header = hawk_table_header;

	for (uint32_t i = 0; i < header->extent_count && i < HAWK_TABLE_EXTENTS; i++) {
		const struct hawk_table_extent *extent = &header->extents[i];

		if (!extent->kind)
			continue;
		MODEL_CHECK(extent->address && extent->bytes, "extent %u is published empty", i);
		MODEL_CHECK(!model_kernel_is_gone((void *)extent->address), "extent %u is unmapped",
			    i);
		for (uint32_t j = 0; j < i; j++)
			MODEL_CHECK(!header->extents[j].kind ||
					    header->extents[j].address != extent->address,
				    "extents %u and %u are the same", i, j);
	}
}

static void check_modules(void)
{
	for (uint32_t i = 0; i < hawk_table_header->module_count; i++) {
		const struct hawk_module_record *record = module_at(i);

		if (!record || !record->state)
			continue;
		MODEL_CHECK(record->start < record->end, "module %u has no range", i);
		MODEL_CHECK(words_at(record->path_index, (record->path_bytes + 7) / 8),
			    "module %u: no path", i);
		MODEL_CHECK(!record->unload_generation ||
				    record->unload_generation > record->generation,
			    "module %u: from %u to %u", i, record->generation,
			    record->unload_generation);
	}
}

static void check_labels(void)
{
	enum { LABELS_CHECKED = 16 };
	uint32_t count = hawk_table_header->label_count;

	for (uint32_t id = count > LABELS_CHECKED ? count - LABELS_CHECKED : 1; id < count; id++) {
		const struct hawk_label_record *record = label_at(id), *parent;

		if (!record || !record->hash)
			continue;
		MODEL_CHECK(record->kind && record->name_bytes <= HAWK_LABEL_NAME_BYTES_MAX &&
				    words_at(record->name_index, (record->name_bytes + 7) / 8),
			    "label %u has no name", id);
		parent = record->parent ? label_at(record->parent) : record;
		MODEL_CHECK(record->parent < id && parent && parent->hash, "label %u is within %u",
			    id, record->parent);
	}
}

/** Checks slots; ids of traces without a count do not matter. */
static void check_slots(void)
{
	for (uint32_t i = 0; i < hawk_table_header->thread_count; i++) {
		const struct hawk_thread_record *slot = thread_at(i);
		const struct hawk_counter_entry *entries;
		uint64_t pcs[MODEL_FRAMES_MAX];

		MODEL_CHECK(slot && slot->state <= HAWK_THREAD_FREE, "slot %u is none", i);
		if (!slot->state)
			continue;
		entries = (const void *)((const char *)slot + slot->counter_offset);
		MODEL_CHECK(slot->counter_offset && slot->counter_count,
			    "slot %u is published without counters", i);
		for (uint32_t j = 0; j < slot->counter_count; j++)
			MODEL_CHECK(!entries[j].trace ||
					    entries[j].trace >= hawk_table_header->trace_count ||
					    model_table_frames(entries[j].trace, pcs),
				    "slot %u counts for trace %u, which is not published", i,
				    entries[j].trace);
	}
}

void model_table_check(void)
{
	enum { TRACES_CHECKED = 16 };
	uint32_t count = hawk_table_header->trace_count;
	uint64_t pcs[MODEL_FRAMES_MAX];

	for (uint32_t id = count > TRACES_CHECKED ? count - TRACES_CHECKED : 1; id < count; id++)
		model_table_frames(id, pcs);
	check_extents();
	check_modules();
	check_labels();
	check_slots();
}

/** Returns true if entry `number` of slot `index` is in its trace's counters already. */
static bool is_applied(const struct hawk_thread_record *slot, uint32_t index, uint32_t number)
{
	const struct hawk_trace_record *record;

	if (!(slot->flush & HAWK_FLUSH_PENDING) || hawk_flush_entry(slot->flush) != number)
		return false;
	record = trace_at((uint32_t)(slot->flush >> HAWK_FLUSH_TRACE_SHIFT));
	return slot->flush & HAWK_FLUSH_APPLIED ||
	       hawk_counter_tag(number < slot->counter_count ? record->alloc_objects
							     : record->free_objects) ==
		       hawk_flush_tag(slot->flush, index);
}

static uint64_t unflushed(uint32_t index, uint32_t trace, bool frees)
{
	const struct hawk_thread_record *slot = thread_at(index);
	const struct hawk_counter_entry *entries;
	uint32_t place; /* spares looking at all, after each step */

	if (!slot || !slot->state)
		return 0;
	entries = (const void *)((const char *)slot +
				 (frees ? slot->free_offset : slot->counter_offset));
	place = trace % (frees ? slot->free_count : slot->counter_count);
	return entries[place].trace == trace &&
			       !is_applied(slot, index, place + (frees ? slot->counter_count : 0))
		       ? entries[place].objects
		       : 0;
}

static uint64_t untraced(uint32_t index)
{
	const struct hawk_thread_record *slot = thread_at(index);

	return slot && slot->state ? slot->alloc_objects_untraced : 0;
}

uint64_t model_table_allocations(uint32_t trace)
{
	const struct hawk_trace_record *record = trace_at(trace);
	uint64_t total = trace ? hawk_counter_objects(record->alloc_objects, record->alloc_bytes)
			       : hawk_table_header->orphan_alloc_objects;

	for (uint32_t i = 0; i < hawk_table_header->thread_count; i++)
		total += trace ? unflushed(i, trace, false) : untraced(i);
	return total;
}

uint64_t model_table_frees_of(uint32_t trace)
{
	const struct hawk_trace_record *record = trace_at(trace);
	uint64_t total = hawk_counter_objects(record->free_objects, record->free_bytes);

	for (uint32_t i = 0; i < hawk_table_header->thread_count; i++)
		total += unflushed(i, trace, true);
	return total;
}

uint64_t model_table_frees(void)
{
	uint64_t total = hawk_table_header->orphan_free_objects;

	for (uint32_t i = 0; i < hawk_table_header->thread_count; i++) {
		const struct hawk_thread_record *slot = thread_at(i);

		if (slot && slot->state)
			total += slot->free_objects;
	}
	return total;
}

const struct hawk_module_record *model_table_module(uint64_t pc, uint32_t generation)
{
	const struct hawk_module_record *best = NULL;

	for (uint32_t i = 0; i < hawk_table_header->module_count; i++) {
		const struct hawk_module_record *record = module_at(i);

		if (!record || !record->state || pc < record->start || pc >= record->end ||
		    record->generation > generation)
			continue;
		if (!best || record->generation >= best->generation)
			best = record;
	}
	return best;
}

bool model_table_path_is(const struct hawk_module_record *record, const char *path)
{
	const char *words = words_at(record->path_index, (record->path_bytes + 7) / 8);

	return words && record->path_bytes == strlen(path) &&
	       !memcmp(words, path, record->path_bytes);
}

bool model_table_label_is(uint32_t id, uint32_t kind, uint32_t parent, const char *name)
{
	const struct hawk_label_record *record =
		id && id < hawk_table_header->label_count ? label_at(id) : NULL;
	const char *words;

	if (!record || !record->hash || record->kind != kind || record->parent != parent)
		return false;
	words = words_at(record->name_index, (record->name_bytes + 7) / 8);
	return words && record->name_bytes == strlen(name) &&
	       !memcmp(words, name, record->name_bytes);
}
