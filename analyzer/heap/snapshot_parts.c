/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Saves and reads sources' data about a heap in a snapshot: origins, spans, damages, classes.
 */
#include "snapshot.h"

#include "hawk/base/array.h"

static void put_origins(const struct hawk_heap_record *record, struct hawk_column *to)
{
	hawk_column_put(to, record->origin_count);
	for (unsigned i = 0; i < record->origin_count; i++) {
		hawk_column_put_string(to, record->origins[i].name);
		hawk_column_put(to, record->origins[i].knows & ~HAWK_HEAP_CONTENTS);
		hawk_column_put(to, record->origins[i].end);
	}
	hawk_column_put(to, record->small_granules);
	hawk_column_put(to, record->undumped_known);
}

static void put_spans(const struct hawk_heap_spans *spans, struct hawk_column *to)
{
	uint64_t at = 0;

	hawk_column_put(to, spans->count);
	for (size_t i = 0; i < spans->count; i++) {
		const struct hawk_heap_span *span = &spans->items[i];

		hawk_column_put(to, span->start - at);
		hawk_column_put(to, span->end - span->start);
		hawk_column_put(to, span->kind);
		hawk_column_put(to, span->source);
		hawk_column_put(to, span->owner);
		at = span->end;
	}
}

static void put_damages(const struct hawk_damages *damages, struct hawk_column *to)
{
	hawk_column_put(to, HAWK_DAMAGE_KINDS);
	for (unsigned i = 0; i < HAWK_DAMAGE_KINDS; i++)
		hawk_column_put(to, damages->counts[i]);
	hawk_column_put(to, damages->count);
	for (size_t i = 0; i < damages->count; i++) {
		const struct hawk_damage *damage = &damages->items[i];

		hawk_column_put(to, damage->kind);
		hawk_column_put(to, damage->source);
		hawk_column_put(to, damage->address);
		hawk_column_put(to, damage->neighbour);
		hawk_column_put(to, damage->expected);
		hawk_column_put(to, damage->found);
	}
}

static void put_classes(const struct hawk_heap_record *record, const struct hawk_target *target,
			struct hawk_column *to)
{
	size_t modules;
	const struct hawk_module *first = hawk_target_modules(target, &modules);

	hawk_column_put(to, record->class_first);
	hawk_column_put(to, record->class_end - record->class_first);
	for (uint32_t i = 0; i < record->class_end - record->class_first; i++) {
		const struct hawk_class *class = &record->classes[i];

		hawk_column_put(to, class->kind);
		hawk_column_put(to, class->size);
		hawk_column_put(to, class->offset);
		hawk_column_put(to, class->module ? (uint64_t)(class->module - first) + 1 : 0);
		hawk_column_put_string(to, class->name);
	}
}

/* Puts the stacks of classes that have one: how many classes to skip, then the stack. */
static void put_stacks(const struct hawk_heap_record *record, struct hawk_column *to)
{
	uint32_t count = record->class_end - record->class_first, stacks = 0, next = 0;

	for (uint32_t i = 0; i < count; i++)
		stacks += record->classes[i].frame_count != 0;
	hawk_column_put(to, stacks);
	for (uint32_t i = 0; i < count; i++) {
		const struct hawk_class *class = &record->classes[i];

		if (!class->frame_count)
			continue;
		hawk_column_put(to, i - next);
		hawk_column_put(to, class->frame_count);
		for (uint32_t j = 0; j < class->frame_count; j++)
			hawk_column_put(to, class->frames[j]);
		next = i + 1;
	}
}

void hawk_heap_parts_put(const struct hawk_heap_record *record, const struct hawk_target *target,
			 struct hawk_column *to)
{
	put_origins(record, to);
	put_spans(&record->spans, to);
	put_damages(&record->damages, to);
	put_classes(record, target, to);
	put_stacks(record, to);
}

static void get_origins(struct hawk_cursor *from, char **names, struct hawk_heap_record *record)
{
	uint32_t last = 0;

	record->origin_count = (unsigned)hawk_column_get_below(from, HAWK_HEAP_SOURCES_MAX);
	for (unsigned i = 0; i < record->origin_count && !from->failed; i++) {
		struct hawk_heap_origin *origin = &record->origins[i];
		const char *name = hawk_column_get_name(from, names);

		origin->name = name ? name : "unknown";
		origin->knows =
			(unsigned)hawk_column_get_below(from, UINT32_MAX) & ~HAWK_HEAP_CONTENTS;
		origin->end = (uint32_t)hawk_column_get_below(from, UINT32_MAX - 1);
		from->failed |= origin->end <= last || (i && origin->knows & HAWK_HEAP_STACKS);
		last = origin->end;
	}
	record->small_granules = hawk_column_get_below(from, 1);
	record->undumped_known = hawk_column_get_below(from, 1);
}

/* A later writer may know more kinds of spans. */
static bool is_known(unsigned kind)
{
	return hawk_span_is_heap(kind) || kind == HAWK_SPAN_METADATA || kind == HAWK_SPAN_UNDUMPED;
}

static struct hawk_error *get_spans(struct hawk_cursor *from, struct hawk_heap_spans *spans)
{
	size_t count = hawk_column_get_count(from);
	uint64_t at = 0;
	struct hawk_error *err = NULL;

	for (size_t i = 0; i < count && !from->failed && !err; i++) {
		struct hawk_heap_span span = {.start = at + hawk_column_get(from)};

		span.end = span.start + hawk_column_get(from);
		span.kind = (uint8_t)hawk_column_get_below(from, UINT8_MAX);
		span.source = (uint8_t)hawk_column_get_below(from, HAWK_HEAP_SOURCES_MAX - 1);
		span.owner = (uint16_t)hawk_column_get_below(from, UINT16_MAX);
		from->failed |= span.start < at || span.end < span.start;
		at = span.end;
		if (!from->failed && is_known(span.kind))
			err = hawk_heap_spans_add(spans, span);
	}
	return err;
}

static void get_damages(struct hawk_cursor *from, struct hawk_damages *damages)
{
	size_t kinds = hawk_column_get_count(from);
	uint64_t counts[HAWK_DAMAGE_KINDS] = {0};
	size_t count;

	for (size_t i = 0; i < kinds && !from->failed; i++) {
		uint64_t value = hawk_column_get(from);

		if (i < HAWK_DAMAGE_KINDS)
			counts[i] = value;
	}
	count = hawk_column_get_count(from);
	for (size_t i = 0; i < count && !from->failed; i++) {
		struct hawk_damage damage = {
			.kind = (uint8_t)hawk_column_get_below(from, UINT8_MAX),
			.source = (uint8_t)hawk_column_get_below(from, HAWK_HEAP_SOURCES_MAX - 1),
		};

		damage.address = hawk_column_get(from);
		damage.neighbour = hawk_column_get(from);
		damage.expected = hawk_column_get(from);
		damage.found = hawk_column_get(from);
		if (damage.kind < HAWK_DAMAGE_KINDS)
			hawk_damages_add(damages, &damage);
	}
	memcpy(damages->counts, counts, sizeof(counts));
}

static struct hawk_error *get_classes(struct hawk_cursor *from, const struct hawk_target *target,
				      char **names, struct hawk_heap_record *record)
{
	size_t modules, count;
	const struct hawk_module *first = hawk_target_modules(target, &modules);

	record->class_first = (uint32_t)hawk_column_get_below(from, UINT32_MAX - 1);
	count = hawk_column_get_count(from);
	if (count > UINT32_MAX - 1 - record->class_first)
		from->failed = true;
	if (from->failed)
		return NULL;
	record->class_end = record->class_first + (uint32_t)count;
	record->classes = calloc(count + 1, sizeof(*record->classes));
	if (!record->classes)
		return &hawk_enomem;
	for (size_t i = 0; i < count && !from->failed; i++) {
		struct hawk_class *class = &record->classes[i];
		uint64_t module;

		class->kind = (uint8_t)hawk_column_get_below(from, UINT8_MAX);
		class->size = hawk_column_get(from);
		class->offset = hawk_column_get(from);
		module = hawk_column_get_below(from, modules);
		class->module = module ? &first[module - 1] : NULL;
		class->name = hawk_column_get_name(from, names);
	}
	return NULL;
}

static struct hawk_error *get_stacks(struct hawk_cursor *from, struct hawk_heap_record *record)
{
	uint32_t classes = record->class_end - record->class_first;
	size_t stacks, next = 0, used = 0;

	if (from->failed || from->at == from->size) /* from an older writer */
		return NULL;
	/* Each frame takes a byte at least. */
	record->frames = malloc((from->size - from->at) * sizeof(*record->frames));
	if (!record->frames)
		return &hawk_enomem;
	stacks = hawk_column_get_count(from);
	for (size_t i = 0; i < stacks && !from->failed; i++) {
		uint64_t number = next + hawk_column_get_below(from, classes);
		size_t count = hawk_column_get_count(from);
		struct hawk_class *class;

		from->failed |= number >= classes;
		if (from->failed)
			break;
		class = &record->classes[number];
		class->frames = record->frames + used;
		class->frame_count = (uint32_t)count;
		for (size_t j = 0; j < count; j++)
			record->frames[used++] = hawk_column_get(from);
		next = number + 1;
	}
	return NULL;
}

struct hawk_error *hawk_heap_parts_get(struct hawk_cursor *from, const struct hawk_target *target,
				       struct hawk_heap_record *record)
{
	char *names; /* share one piece of memory, as large as the rest of the record */
	struct hawk_error *err;

	if (from->failed || from->at == from->size) { /* from an older writer */
		record->damages.counts[HAWK_DAMAGE_OVERLAP] = record->overlapping;
		record->damages.counts[HAWK_DAMAGE_HEADER] = record->implausible;
		return NULL;
	}
	names = record->names = malloc(from->size - from->at + 1);
	if (!record->names)
		return &hawk_enomem;
	get_origins(from, &names, record);
	err = get_spans(from, &record->spans);
	get_damages(from, &record->damages);
	if (!err)
		err = get_classes(from, target, &names, record);
	if (!err)
		err = get_stacks(from, record);
	return err;
}
