/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Placement and growth of the tracer's memory.
 *
 * Placed low: the kernel writes a core in ascending order of addresses and a truncated core loses
 * its end. A table that comes first turns a cut-off core into an answer for every block that is
 * left. In a position-independent program everything of the host lies above 0x550000000000; in a
 * fixed one (0x400000) only the first 3 MiB come before it.
 */
#include "hawk_arena.h"

#include <elf.h>
#include <errno.h>
#include <sys/auxv.h>
#include <time.h>

#include "hawk_claim.h"
#include "hawk_file_owner.h"

enum {
	PAGE_BYTES = 4096,
	PLACEMENT_TRIES = 64,
};

/**
 * 192 GiB: above what Java's compressed pointers (32 GiB) and SBCL's heap (64 GiB and up) want,
 * below GHC's heap (264 GiB), Go's arenas (768 GiB) and mimalloc's hints (2 TiB).
 */
static const uint64_t LOW_HINT = UINT64_C(0x3000000000);

/** Leaves the first MiB to DOS and to null pointers with an offset. */
static const uint64_t WINDOW_START = 0x110000;

struct hawk_table_header *hawk_table_header;

static uint64_t low_next;
static uint64_t window_next;
static uint64_t window_end;

/** The address where the executable starts, 0 if unknown. */
static uint64_t executable_start(void)
{
	const Elf64_Phdr *headers = (const Elf64_Phdr *)getauxval(AT_PHDR);
	unsigned long count = getauxval(AT_PHNUM);
	uint64_t lowest = UINT64_MAX;
	uint64_t bias = 0;

	if (!headers)
		return 0;
	for (unsigned long i = 0; i < count; i++) {
		if (headers[i].p_type == PT_PHDR)
			bias = (uint64_t)headers - headers[i].p_vaddr;
		if (headers[i].p_type == PT_LOAD && headers[i].p_vaddr < lowest)
			lowest = headers[i].p_vaddr;
	}
	return lowest == UINT64_MAX ? 0 : (lowest + bias) & -(uint64_t)PAGE_BYTES;
}

static void choose_places(void)
{
	uint64_t executable = executable_start();

	low_next = LOW_HINT;
	if (executable > WINDOW_START && executable < LOW_HINT) {
		const uint64_t window_max = 16 << 20;

		window_next = WINDOW_START;
		window_end = executable < WINDOW_START + window_max ? executable
								    : WINDOW_START + window_max;
	}
}

/** Takes the next `bytes` below `end` from a cursor and maps them; NULL when the place is taken or
 * there is none left. */
static void *map_next(uint64_t *next, uint64_t end, size_t bytes)
{
	const long flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;

	for (int i = 0; i < PLACEMENT_TRIES; i++) {
		uint64_t at = __atomic_load_n(next, __ATOMIC_RELAXED);
		long result;

		if (at + bytes > end)
			return NULL;
		if (!__atomic_compare_exchange_n(next, &at, at + bytes, false, __ATOMIC_RELAXED,
						 __ATOMIC_RELAXED))
			continue;
		result = hawk_syscall6(SYS_mmap, (long)at, (long)bytes, PROT_READ | PROT_WRITE,
				       flags, -1, 0);
		/* Perhaps elsewhere: kernels before 4.17 take MAP_FIXED_NOREPLACE for a hint. */
		if (result > 0)
			return (void *)result;
		if (result != -EEXIST) /* no memory: no other place will do either */
			return NULL;
	}
	return NULL;
}

/** Bytes mapped so far, or about to be. */
static uint64_t mapped_bytes;
uint64_t hawk_arena_limit;

uint64_t hawk_arena_bytes(void)
{
	return __atomic_load_n(&mapped_bytes, __ATOMIC_RELAXED);
}

static bool has_budget(size_t bytes)
{
	return !hawk_arena_limit || hawk_arena_bytes() + bytes <= hawk_arena_limit;
}

uint64_t hawk_arena_room(void)
{
	uint64_t bytes = hawk_arena_bytes();

	if (!hawk_arena_limit)
		return UINT64_MAX;
	return bytes < hawk_arena_limit ? hawk_arena_limit - bytes : 0;
}

static bool take_budget(size_t bytes)
{
	uint64_t before = __atomic_fetch_add(&mapped_bytes, bytes, __ATOMIC_RELAXED);

	if (!hawk_arena_limit || before + bytes <= hawk_arena_limit)
		return true;
	__atomic_fetch_sub(&mapped_bytes, bytes, __ATOMIC_RELAXED);
	return false;
}

static void give_back(void *memory, size_t bytes)
{
	if (memory)
		hawk_unmap(memory, bytes);
	__atomic_fetch_sub(&mapped_bytes, bytes, __ATOMIC_RELAXED);
}

/** What only the tracer itself uses does not compete for the scarce lowest addresses. */
static void *map_extent(size_t bytes, bool for_readers)
{
	void *memory = NULL;

	if (!take_budget(bytes))
		return NULL;
	if (window_end && for_readers)
		memory = map_next(&window_next, window_end, bytes);
	if (!memory)
		memory = map_next(&low_next, UINT64_MAX / 2, bytes);
	if (!memory)
		memory = hawk_map(0, bytes, false);
	if (!memory)
		give_back(NULL, bytes);
	return memory;
}

static void publish_extent(const void *memory, size_t bytes, enum hawk_extent_kind kind,
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
	void *memory = map_extent(bytes, kind != HAWK_EXTENT_PRIVATE);

	if (memory)
		publish_extent(memory, bytes, kind, 0);
	return memory;
}

uint64_t hawk_arena_private_at(uint64_t *place, size_t bytes, unsigned tag)
{
	void *memory = map_extent(bytes, false);
	uint64_t word = (uint64_t)memory | tag, expected = 0;

	if (!memory)
		return __atomic_load_n(place, __ATOMIC_ACQUIRE);
	if (!__atomic_compare_exchange_n(place, &expected, word, false, __ATOMIC_RELEASE,
					 __ATOMIC_ACQUIRE)) {
		give_back(memory, bytes);
		return expected;
	}
	publish_extent(memory, bytes, HAWK_EXTENT_PRIVATE, 0);
	return word;
}

static void make_key(struct hawk_seal_key *key)
{
	const long grnd_nonblock = 1;
	const uint64_t *random = (const uint64_t *)getauxval(AT_RANDOM);

	if (hawk_syscall3(SYS_getrandom, (long)key, sizeof(*key), grnd_nonblock) == sizeof(*key))
		return;
	/* No entropy yet, or the call is filtered: the kernel's 16 random bytes, mixed with where
	 * we happen to be. */
	key->k[0] = (random ? random[0] : 0) * UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t)key;
	key->k[1] = (random ? random[1] : 0) * UINT64_C(0xc2b2ae3d27d4eb4f) ^ (uint64_t)&key;
}

static uint64_t read_clock(clockid_t clock)
{
	struct timespec time = {0};

	hawk_syscall3(SYS_clock_gettime, clock, (long)&time, 0);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
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
	header->start_realtime_ns = read_clock(CLOCK_REALTIME);
	header->start_monotonic_ns = read_clock(CLOCK_MONOTONIC);
	header->trace_count = 1;
	header->check = hawk_table_check(header);
}

/** For whoever finds the file under a name that it wants itself. */
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

	choose_places();
	header =
		hawk_file_active() ? hawk_file_header() : map_extent(HAWK_TABLE_HEADER_BYTES, true);
	if (!header)
		return false;
	twin = hawk_map(0, HAWK_TABLE_HEADER_BYTES, false);
	fill_header(header, twin, compatible_flags);
	name_owner(header);
	copy_options(header->options, options);
	if (twin)
		fill_twin(twin, header);
	hawk_table_header = header;
	publish_extent(header, HAWK_TABLE_HEADER_BYTES, HAWK_EXTENT_HEADER, 0);
	if (twin)
		publish_extent(twin, HAWK_TABLE_HEADER_BYTES, HAWK_EXTENT_TWIN, 0);

	/* In this order, because a fixed-address executable leaves room for little else before it.
	 */
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

/* Between the two stores a header is in error, and readers take the other one's word for it: first
 * the primary, then the twin. Threads that do this at once store the same. */
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

/** In the file, if there is one: what finds no room there is dropped, so that the file's sums stay
 * right. */
static void *map_segment(size_t bytes, uint64_t *file_offset)
{
	void *memory;

	*file_offset = 0;
	if (!hawk_file_active())
		return map_extent(bytes, true);
	if (!take_budget(bytes))
		return NULL;
	memory = hawk_file_map(bytes, file_offset);
	if (!memory)
		give_back(NULL, bytes);
	return memory;
}

/** File mappings stay: others may be growing from them. */
static void unmap_segment(void *memory, size_t bytes)
{
	if (!hawk_file_active())
		give_back(memory, bytes);
}

/**
 * Growth of a file costs space for good, so one thread makes a segment while others wait for it. A
 * claim for each segment, by the place of its directory entry in the header.
 */
static uint32_t claims[HAWK_TABLE_HEADER_BYTES / sizeof(uint64_t)];

static size_t segment_bytes(const struct array_shape *shape, unsigned segment)
{
	size_t bytes = hawk_segment_length(segment, shape->first_log2) * shape->element_bytes;

	return (bytes + PAGE_BYTES - 1) & -(size_t)PAGE_BYTES;
}

static uint64_t make_new_segment(const struct array_shape *shape, unsigned segment)
{
	size_t bytes = segment_bytes(shape, segment);
	uint64_t expected = 0;
	uint64_t memory, file_offset;

	memory = (uint64_t)map_segment(bytes, &file_offset);
	if (!memory)
		return 0;
	if (!__atomic_compare_exchange_n(&shape->segments[segment], &expected, memory, false,
					 __ATOMIC_RELEASE, __ATOMIC_ACQUIRE)) {
		unmap_segment((void *)memory, bytes);
		return expected;
	}
	publish_extent((void *)memory, bytes, shape->kind, file_offset);
	return memory;
}

/** Nobody waits in vain, call after call, once the file is full; and whoever takes the last of it
 * has a claim until it is there. */
static bool is_hopeless(size_t bytes, const uint32_t *claim)
{
	return (!has_budget(bytes) || !hawk_file_has_room(bytes)) && !hawk_claim_is_taken(claim);
}

static uint64_t make_segment_of_file(const struct array_shape *shape, unsigned segment)
{
	uint64_t *entry = &shape->segments[segment];
	uint32_t *claim = &claims[entry - (const uint64_t *)hawk_table_header];
	uint64_t memory;

	if (is_hopeless(segment_bytes(shape, segment), claim) || !hawk_claim_take(claim, entry))
		return __atomic_load_n(entry, __ATOMIC_ACQUIRE);
	memory = __atomic_load_n(entry, __ATOMIC_ACQUIRE);
	if (!memory)
		memory = make_new_segment(shape, segment);
	hawk_claim_end(claim);
	return memory;
}

static uint64_t make_segment(const struct array_shape *shape, unsigned segment)
{
	struct hawk_file_pause pause;
	uint64_t memory = 0;

	hawk_file_enter(&pause);
	if (hawk_file_active() && !hawk_file_lost)
		memory = make_segment_of_file(shape, segment);
	else if (!hawk_file_lost)
		memory = make_new_segment(shape, segment);
	hawk_file_exit(&pause);
	return memory;
}

void *hawk_arena_element(enum hawk_arena_array array, uint64_t index)
{
	struct array_shape shape = shape_of(array);
	unsigned segment = hawk_segment_of(index, shape.first_log2);
	uint64_t memory;

	if (segment >= shape.segment_count)
		return NULL;
	memory = __atomic_load_n(&shape.segments[segment], __ATOMIC_ACQUIRE);
	if (!memory)
		memory = make_segment(&shape, segment);
	if (!memory)
		return NULL;
	return (char *)memory +
	       (index - hawk_segment_first(segment, shape.first_log2)) * shape.element_bytes;
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
			start = (uint32_t)limit; /* the rest of the old segment stays unused */
			segment++;
		}
		if (segment >= HAWK_WORD_SEGMENTS || __builtin_add_overflow(start, count, &end))
			return false;
		if (!hawk_arena_element(HAWK_ARRAY_WORDS, start))
			return false;
		if (!__atomic_compare_exchange_n(cursor, &at, end, false, __ATOMIC_RELAXED,
						 __ATOMIC_RELAXED))
			continue;
		*index = start;
		return true;
	}
}

/** Forgets what lies beyond the segments that are known, and what was written beyond the count. */
static void adopt_array(enum hawk_arena_array array, uint32_t *count, bool (*is_known)(uint64_t))
{
	struct array_shape shape = shape_of(array);
	unsigned segment = 0;

	for (; segment < shape.segment_count && shape.segments[segment]; segment++) {
		uint64_t first = hawk_segment_first(segment, shape.first_log2);
		uint64_t end = hawk_segment_first(segment + 1, shape.first_log2);
		uint64_t used = *count < first ? first : *count > end ? end : *count;

		if (!is_known(shape.segments[segment]))
			break;
		__builtin_memset((char *)shape.segments[segment] +
					 (used - first) * shape.element_bytes,
				 0, (end - used) * shape.element_bytes);
	}
	if (*count > hawk_segment_first(segment, shape.first_log2))
		*count = (uint32_t)hawk_segment_first(segment, shape.first_log2);
	for (; segment < shape.segment_count; segment++)
		shape.segments[segment] = 0;
}

static void adopt_extents(bool (*is_known)(uint64_t), bool file)
{
	struct hawk_table_header *header = hawk_table_header;

	for (uint32_t i = 0; i < HAWK_TABLE_EXTENTS; i++) {
		struct hawk_table_extent *extent = &header->extents[i];

		if (extent->file_offset && !is_known(extent->address))
			extent->bytes = 0;
		if (!file)
			extent->file_offset = 0;
	}
}

void hawk_arena_adopt(bool (*is_known)(uint64_t address), bool file)
{
	struct hawk_table_header *header = hawk_table_header;
	struct hawk_table_header *twin = (struct hawk_table_header *)header->twin_address;
	uint32_t samples;

	__builtin_memset(claims, 0, sizeof(claims));
	adopt_array(HAWK_ARRAY_TRACES, &header->trace_count, is_known);
	samples = header->trace_count;
	adopt_array(HAWK_ARRAY_SAMPLES, &samples, is_known);
	adopt_array(HAWK_ARRAY_LABELS, &header->label_count, is_known);
	adopt_array(HAWK_ARRAY_WORDS, &header->word_count, is_known);
	adopt_array(HAWK_ARRAY_THREADS, &header->thread_count, is_known);
	adopt_array(HAWK_ARRAY_MODULES, &header->module_count, is_known);
	adopt_extents(is_known, file);
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
