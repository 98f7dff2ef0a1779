/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The table's header, its twin, and its arrays.
 */
#include "arena.h"

#include <sys/auxv.h>

#include "file.h"
#include "place.h"
#include "span.h"
#include "clock.h"

enum { PAGE_BYTES = 4096 };

struct hawk_table_header *hawk_table_header;

void hawk_arena_publish(const void *memory, size_t bytes, enum hawk_extent_kind kind,
			uint64_t file_offset)
{
	struct hawk_table_header *header = hawk_table_header;
	uint32_t index;

	if (!header)
		return;
	hawk_file_check_fork();
	index = __atomic_fetch_add(&header->extent_count, 1, __ATOMIC_RELAXED);
	if (index >= HAWK_TABLE_EXTENTS)
		return;
	header->extents[index].address = (uint64_t)memory;
	header->extents[index].bytes = bytes;
	header->extents[index].file_offset = file_offset;
	__atomic_store_n(&header->extents[index].kind, (uint32_t)kind, __ATOMIC_RELEASE);
}

void *hawk_arena_private(size_t bytes, enum hawk_extent_kind kind)
{
	void *memory = hawk_place_map(bytes, kind != HAWK_EXTENT_PRIVATE);

	if (memory)
		hawk_arena_publish(memory, bytes, kind, 0);
	return memory;
}

uint64_t hawk_arena_private_at(uint64_t *place, size_t bytes, unsigned tag)
{
	void *memory = hawk_place_map(bytes, false);
	uint64_t word = (uint64_t)memory | tag, expected = 0;

	if (!memory)
		return __atomic_load_n(place, __ATOMIC_ACQUIRE);
	if (!__atomic_compare_exchange_n(place, &expected, word, false, __ATOMIC_RELEASE,
					 __ATOMIC_ACQUIRE)) {
		hawk_place_give_back(memory, bytes);
		return expected;
	}
	hawk_arena_publish(memory, bytes, HAWK_EXTENT_PRIVATE, 0);
	return word;
}

static void make_key(struct hawk_seal_key *key)
{
	const long grnd_nonblock = 1;
	const uint64_t *random = (const uint64_t *)getauxval(AT_RANDOM);

	if (hawk_syscall3(SYS_getrandom, (long)key, sizeof(*key), grnd_nonblock) == sizeof(*key))
		return;
	/* No entropy yet, or the call is filtered: use the kernel's 16 random bytes, mixed with our
	 * load address. */
	key->k[0] = (random ? random[0] : 0) * UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t)key;
	key->k[1] = (random ? random[1] : 0) * UINT64_C(0xc2b2ae3d27d4eb4f) ^ (uint64_t)&key;
}

static void copy_options(char *to, const char *from)
{
	size_t i = 0;

	for (; from && from[i] && i < HAWK_TABLE_OPTIONS_BYTES - 1; i++)
		to[i] = from[i];
	to[i] = '\0';
}

static void fill_header(struct hawk_table_header *header, struct hawk_table_header *twin,
			uint64_t flags)
{
	header->version = HAWK_TABLE_VERSION;
	header->header_bytes = HAWK_TABLE_HEADER_BYTES;
	header->incompatible_flags = HAWK_TABLE_TAGGED_COUNTERS;
	header->compatible_flags = flags;
	header->self_address = (uint64_t)header;
	header->primary_address = (uint64_t)header;
	header->twin_address = (uint64_t)twin;
	make_key(&header->key);
	header->trace_record_bytes = sizeof(struct hawk_trace_record);
	header->module_record_bytes = sizeof(struct hawk_module_record);
	header->thread_slot_bytes = hawk_thread_slot_bytes;
	header->pid = (uint32_t)hawk_syscall3(SYS_getpid, 0, 0, 0);
	header->start_realtime_ns = hawk_clock_now_ns(CLOCK_REALTIME);
	header->start_monotonic_ns = hawk_clock_now_ns(CLOCK_MONOTONIC);
	header->trace_count = 1;
	header->check = hawk_table_check(header);
}

/** Names the owner, for a process that finds the file under the name it wants for its own. */
static void name_owner(struct hawk_table_header *header)
{
	struct hawk_file_owner self;

	if (!hawk_file_active())
		return;
	hawk_file_owner_self(&self);
	header->process_start_ticks = self.start_ticks;
	header->pid_namespace = self.pid_namespace;
}

static void fill_twin(struct hawk_table_header *twin, const struct hawk_table_header *header)
{
	*twin = *header;
	twin->self_address = (uint64_t)twin;
	twin->check = hawk_table_check(twin);
	__atomic_store_n(&twin->magic, hawk_table_magic(), __ATOMIC_RELEASE);
}

bool hawk_arena_init(uint64_t compatible_flags, const char *options)
{
	struct hawk_table_header *header, *twin;

	hawk_place_init();
	header = hawk_file_active() ? hawk_file_header()
				    : hawk_place_map(HAWK_TABLE_HEADER_BYTES, true);
	if (!header)
		return false;
	twin = hawk_map(0, HAWK_TABLE_HEADER_BYTES, false);
	fill_header(header, twin, compatible_flags);
	name_owner(header);
	copy_options(header->options, options);
	if (twin)
		fill_twin(twin, header);
	hawk_table_header = header;
	hawk_arena_publish(header, HAWK_TABLE_HEADER_BYTES, HAWK_EXTENT_HEADER, 0);
	if (twin)
		hawk_arena_publish(twin, HAWK_TABLE_HEADER_BYTES, HAWK_EXTENT_TWIN, 0);

	/* In this order: a fixed-address executable leaves little room before it. */
	if (!hawk_arena_element(HAWK_ARRAY_MODULES, 0) ||
	    !hawk_arena_element(HAWK_ARRAY_TRACES, 0) || !hawk_arena_element(HAWK_ARRAY_WORDS, 0))
		return false;
	__atomic_store_n(&header->magic, hawk_table_magic(), __ATOMIC_RELEASE);
	return true;
}

static void require(struct hawk_table_header *header, uint64_t flag)
{
	__atomic_fetch_or(&header->incompatible_flags, flag, __ATOMIC_RELAXED);
	__atomic_store_n(&header->check, hawk_table_check(header), __ATOMIC_RELEASE);
}

/* Between the two stores of a header it is invalid, and readers use the other one: the primary is
 * written first, then the twin. Threads that race here store the same. */
void hawk_arena_require(uint64_t flag)
{
	struct hawk_table_header *header = hawk_table_header;

	if (__atomic_load_n(&header->incompatible_flags, __ATOMIC_RELAXED) & flag)
		return;
	require(header, flag);
	if (header->twin_address)
		require((struct hawk_table_header *)header->twin_address, flag);
}

struct array_shape {
	uint64_t *segments;
	unsigned segment_count;
	unsigned first_log2;
	size_t element_bytes;
	enum hawk_extent_kind kind;
};

static struct array_shape shape_of(enum hawk_arena_array array)
{
	struct hawk_table_header *header = hawk_table_header;

	switch (array) {
	case HAWK_ARRAY_TRACES:
		return (struct array_shape){header->trace_segments, HAWK_TRACE_SEGMENTS,
					    HAWK_TRACE_SEGMENT_LOG2,
					    sizeof(struct hawk_trace_record), HAWK_EXTENT_TRACES};
	case HAWK_ARRAY_WORDS:
		return (struct array_shape){header->word_segments, HAWK_WORD_SEGMENTS,
					    HAWK_WORD_SEGMENT_LOG2, sizeof(uint64_t),
					    HAWK_EXTENT_WORDS};
	case HAWK_ARRAY_THREADS:
		return (struct array_shape){header->thread_segments, HAWK_THREAD_SEGMENTS,
					    HAWK_THREAD_SEGMENT_LOG2, hawk_thread_slot_bytes,
					    HAWK_EXTENT_THREADS};
	case HAWK_ARRAY_LABELS:
		return (struct array_shape){header->label_segments, HAWK_LABEL_SEGMENTS,
					    HAWK_LABEL_SEGMENT_LOG2,
					    sizeof(struct hawk_label_record), HAWK_EXTENT_LABELS};
	case HAWK_ARRAY_SAMPLES:
		return (struct array_shape){header->sample_segments, HAWK_TRACE_SEGMENTS,
					    HAWK_TRACE_SEGMENT_LOG2,
					    sizeof(struct hawk_sample_record), HAWK_EXTENT_SAMPLES};
	case HAWK_ARRAY_MODULES:
		break;
	}
	return (struct array_shape){header->module_segments, HAWK_MODULE_SEGMENTS,
				    HAWK_MODULE_SEGMENT_LOG2, sizeof(struct hawk_module_record),
				    HAWK_EXTENT_MODULES};
}

enum {
	ARRAYS = HAWK_ARRAY_LABELS + 1,
	SEGMENTS_MAX = HAWK_TRACE_SEGMENTS,
};

/** Memory of the segments, in the table file if there is one. A segment that does not fit there is
 * dropped, so that the file's sums stay right. */
static struct hawk_span spans[ARRAYS][SEGMENTS_MAX];

static uint64_t make_segment(struct hawk_span *span, const struct array_shape *shape,
			     unsigned segment, size_t bytes)
{
	size_t whole = hawk_segment_length(segment, shape->first_log2) * shape->element_bytes;
	const struct hawk_span_shape wanted = {
		.bytes = (whole + PAGE_BYTES - 1) & -(size_t)PAGE_BYTES,
		.kind = shape->kind,
	};
	struct hawk_file_pause pause;
	uint64_t memory = 0;

	hawk_file_enter(&pause);
	if (!hawk_file_lost)
		memory = hawk_span_reach(span, &wanted, bytes);
	if (memory) /* racing threads all store the same */
		__atomic_store_n(&shape->segments[segment], memory, __ATOMIC_RELEASE);
	hawk_file_exit(&pause);
	return memory;
}

void *hawk_arena_element(enum hawk_arena_array array, uint64_t index)
{
	struct array_shape shape = shape_of(array);
	unsigned segment = hawk_segment_of(index, shape.first_log2);
	uint64_t memory, inside;

	if (segment >= shape.segment_count)
		return NULL;
	inside = (index - hawk_segment_first(segment, shape.first_log2)) * shape.element_bytes;
	memory = __atomic_load_n(&shape.segments[segment], __ATOMIC_ACQUIRE);
	if (!memory || !hawk_span_find(&spans[array][segment], inside + shape.element_bytes))
		memory = make_segment(&spans[array][segment], &shape, segment,
				      inside + shape.element_bytes);
	return memory ? (char *)memory + inside : NULL;
}

void *hawk_arena_take(enum hawk_arena_array array, uint32_t *count, uint32_t least, uint32_t *index)
{
	uint32_t known = __atomic_load_n(count, __ATOMIC_RELAXED);
	void *element;

	do {
		*index = known < least ? least : known;
		element = hawk_arena_element(array, *index);
	} while (element && !__atomic_compare_exchange_n(count, &known, *index + 1, false,
							 __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return element;
}

static bool has_samples(uint32_t trace)
{
	return !hawk_table_header->sample_mean || hawk_arena_element(HAWK_ARRAY_SAMPLES, trace);
}

struct hawk_trace_record *hawk_arena_take_trace(uint32_t words, uint32_t *index, uint32_t *id)
{
	uint32_t *count = &hawk_table_header->trace_count;
	struct hawk_trace_record *record;

	*id = __atomic_load_n(count, __ATOMIC_RELAXED);
	/* Checked before anything is used up: without memory, every call tries this again. */
	if (!hawk_arena_element(HAWK_ARRAY_TRACES, *id) || !has_samples(*id) ||
	    !hawk_arena_reserve_words(words, index))
		return NULL;
	record = hawk_arena_take(HAWK_ARRAY_TRACES, count, 0, id);
	return record && has_samples(*id) ? record : NULL;
}

bool hawk_arena_reserve_words(uint32_t count, uint32_t *index)
{
	uint32_t *cursor = &hawk_table_header->word_count;
	uint32_t at = __atomic_load_n(cursor, __ATOMIC_RELAXED);

	for (;;) {
		uint32_t start = at;
		uint32_t end;
		unsigned segment = hawk_segment_of(start, HAWK_WORD_SEGMENT_LOG2);
		uint64_t limit = hawk_segment_first(segment + 1, HAWK_WORD_SEGMENT_LOG2);

		if (start + (uint64_t)count > limit) {
			/* The rest of the old segment stays unused, but is mapped: readers expect
			 * no gap. */
			if (!hawk_arena_element(HAWK_ARRAY_WORDS, limit - 1))
				return false;
			start = (uint32_t)limit;
			segment++;
		}
		if (segment >= HAWK_WORD_SEGMENTS || __builtin_add_overflow(start, count, &end))
			return false;
		if (!hawk_arena_element(HAWK_ARRAY_WORDS, end - 1))
			return false;
		if (!__atomic_compare_exchange_n(cursor, &at, end, false, __ATOMIC_RELAXED,
						 __ATOMIC_RELAXED))
			continue;
		*index = start;
		return true;
	}
}

/** Forgets elements beyond the known memory, and elements written beyond the count. */
static void adopt_array(enum hawk_arena_array array, uint32_t *count,
			uint64_t (*known_bytes)(uint64_t address))
{
	struct array_shape shape = shape_of(array);
	uint64_t there = 0; /* records */
	unsigned segment = 0;

	for (; segment < shape.segment_count && shape.segments[segment]; segment++) {
		uint64_t address = shape.segments[segment];
		uint64_t first = hawk_segment_first(segment, shape.first_log2);
		uint64_t bytes = known_bytes(address);
		uint64_t used = *count > first ? (*count - first) * shape.element_bytes : 0;

		if (!bytes)
			break;
		hawk_span_set(&spans[array][segment], address, bytes);
		if (used < bytes)
			__builtin_memset((char *)address + used, 0, bytes - used);
		there = first + bytes / shape.element_bytes;
		if (there > hawk_segment_first(segment + 1, shape.first_log2))
			there = hawk_segment_first(segment + 1, shape.first_log2);
	}
	if (*count > there)
		*count = (uint32_t)there;
	for (; segment < shape.segment_count; segment++) {
		shape.segments[segment] = 0;
		hawk_span_set(&spans[array][segment], 0, 0);
	}
}

static void adopt_extents(uint64_t (*known_bytes)(uint64_t address), bool file)
{
	struct hawk_table_header *header = hawk_table_header;

	for (uint32_t i = 0; i < HAWK_TABLE_EXTENTS; i++) {
		struct hawk_table_extent *extent = &header->extents[i];

		if (extent->file_offset && !known_bytes(extent->address))
			extent->bytes = 0;
		if (!file)
			extent->file_offset = 0;
	}
}

void hawk_arena_adopt(uint64_t (*known_bytes)(uint64_t address), bool file)
{
	struct hawk_table_header *header = hawk_table_header;
	struct hawk_table_header *twin = (struct hawk_table_header *)header->twin_address;
	uint32_t samples;

	adopt_array(HAWK_ARRAY_TRACES, &header->trace_count, known_bytes);
	samples = header->trace_count;
	adopt_array(HAWK_ARRAY_SAMPLES, &samples, known_bytes);
	adopt_array(HAWK_ARRAY_LABELS, &header->label_count, known_bytes);
	adopt_array(HAWK_ARRAY_WORDS, &header->word_count, known_bytes);
	adopt_array(HAWK_ARRAY_THREADS, &header->thread_count, known_bytes);
	adopt_array(HAWK_ARRAY_MODULES, &header->module_count, known_bytes);
	adopt_extents(known_bytes, file);
	header->compatible_flags |= HAWK_TABLE_COPIED;
	if (file)
		header->pid = (uint32_t)hawk_syscall3(SYS_getpid, 0, 0, 0);
	header->check = hawk_table_check(header);
	name_owner(header);
	if (!twin)
		return;
	twin->compatible_flags = header->compatible_flags;
	twin->pid = header->pid;
	twin->check = hawk_table_check(twin);
}

/* Notes of memory kept out of cores form a fixed array; one exchange of `start` takes an entry. An
 * entry with end 0 is being written or taken back: the analyzer then relies on none of them. */

void hawk_undumped_add(struct hawk_table_header *header, uint64_t start, uint64_t end)
{
	for (unsigned i = 0; i < HAWK_TABLE_UNDUMPED; i++) {
		struct hawk_table_undumped *entry = &header->undumped[i];
		uint64_t taken = 0;

		if (__atomic_compare_exchange_n(&entry->start, &taken, start, false,
						__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
			__atomic_store_n(&entry->end, end, __ATOMIC_RELEASE);
			return;
		}
		if (taken <= start && end <= __atomic_load_n(&entry->end, __ATOMIC_ACQUIRE))
			return;
	}
	__atomic_fetch_add(&header->undumped_lost, 1, __ATOMIC_RELAXED);
}

void hawk_undumped_remove(struct hawk_table_header *header, uint64_t start, uint64_t end)
{
	for (unsigned i = 0; i < HAWK_TABLE_UNDUMPED; i++) {
		struct hawk_table_undumped *entry = &header->undumped[i];
		uint64_t from = __atomic_load_n(&entry->start, __ATOMIC_ACQUIRE);
		uint64_t to = __atomic_load_n(&entry->end, __ATOMIC_ACQUIRE);

		if (!from || !to || from < start || to > end)
			continue;
		__atomic_store_n(&entry->end, 0, __ATOMIC_RELEASE);
		__atomic_store_n(&entry->start, 0, __ATOMIC_RELEASE);
	}
}
