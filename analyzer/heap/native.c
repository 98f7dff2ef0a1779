/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Makes heaps from allocators' own structures. Blocks have no stacks: they are grouped by their
 * virtual table, else by size. Classes are the same for all allocators.
 */
#include "native.h"

#include "hawk/heap/heap.h"
#include "hawk/heap/vtables.h"
#include "hawk/libc/exceptions.h"
#include "hawk/libc/tls.h"

/** Class numbers: 0 is unused, then blocks of the allocator, of the libraries, sizes in steps of 8
 * bytes, ranges (four to each power of two), virtual tables, samples. */
enum {
	CLASS_INTERNAL = 1,
	CLASS_VECTOR = 2,  /**< a thread's DTV */
	CLASS_RESERVE = 3, /**< libstdc++'s, for exceptions */
	CLASS_SIZE = 4,
	SIZE_STEP = 8,
	SIZES = 128,
	CLASS_RANGE = CLASS_SIZE + SIZES,
	RANGE_LOG2 = 10, /* log2 of the bytes of the first range */
	RANGES_A_POWER = 4,
	RANGES = RANGES_A_POWER * (48 - RANGE_LOG2),
	CLASS_VTABLE = CLASS_RANGE + RANGES,
};

/** A heap that was found. */
struct native {
	const struct hawk_walker *walker;
	void *state;
	const struct hawk_vtables *vtables; /**< NULL = none are known */
	const struct hawk_target *target;
	const struct hawk_sample *samples; /**< ascending; the walker's */
	size_t sample_count;
	uint32_t first_sample; /**< its class */
	uint64_t *vectors;     /**< ascending; blocks of threads' DTVs */
	size_t vector_count;
	struct hawk_reserve reserve;
};

/* Finds the allocator. Leaves `native->state` NULL if it is absent. */
static struct hawk_error *find_state(const struct hawk_heap_search *search, struct native *native)
{
	struct hawk_claims claims = {0};
	void *state = calloc(1, native->walker->state_bytes);
	bool is_there = false;
	struct hawk_error *err =
		state ? hawk_claims_of_spans(search->claimed, &claims) : &hawk_enomem;

	if (!err)
		err = native->walker->find(search->target, &claims, state, &is_there);
	if (!err && is_there) {
		native->state = state;
	} else {
		if (state)
			native->walker->forget(state);
		free(state);
	}
	hawk_claims_deinit(&claims);
	return err;
}

void hawk_allocator_report(const struct hawk_allocator *allocator, struct hawk_findings *findings)
{
	if (allocator->differing)
		hawk_findings_add(findings, HAWK_FINDING_MISSING, true, "heap-differs",
				  "%s counts other sums of its memory than were found: some of it "
				  "may be overlooked",
				  allocator->name);
	if (allocator->incomplete)
		hawk_findings_add(findings, HAWK_FINDING_MISSING, true, "heap-incomplete",
				  "parts of what %s keeps about its memory are not in the core, or "
				  "of an unknown version: some blocks may be overlooked",
				  allocator->name);
}

static void report(const struct native *native, struct hawk_findings *findings)
{
	struct hawk_allocator allocator = {.name = native->walker->name};

	native->walker->describe(native->state, &allocator);
	hawk_allocator_report(&allocator, findings);
}

static int by_address(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

/* Finds the vectors that lead to threads' own storage. The C library allocates them. */
static struct hawk_error *find_vectors(struct native *native)
{
	const struct hawk_arch *arch = hawk_target_arch(native->target);
	struct hawk_near near = {.target = native->target};
	size_t count;
	const struct hawk_thread *threads = hawk_target_threads(native->target, &count);

	native->vectors = calloc(count + 1, sizeof(*native->vectors));
	if (!native->vectors)
		return &hawk_enomem;
	for (size_t i = 0; i < count; i++) {
		struct hawk_tls_vector vector =
			hawk_tls_vector_of(arch, hawk_thread_pointer(&threads[i]));
		uint64_t entry;

		if (hawk_word(&near, vector.address, &entry))
			native->vectors[native->vector_count++] = entry - vector.entry;
	}
	qsort(native->vectors, native->vector_count, sizeof(*native->vectors), by_address);
	return NULL;
}

static struct hawk_error *find(const struct hawk_heap_search *search, struct hawk_heap_found *ret,
			       bool *is_there)
{
	struct native *native = calloc(1, sizeof(*native));
	struct hawk_error *err;

	if (!native)
		return &hawk_enomem;
	ret->state = native;
	native->walker = ret->source->context;
	native->target = search->target;
	*is_there = false;
	if (hawk_target_process(search->target)->table_file)
		return NULL;
	err = find_state(search, native);
	if (err || !native->state)
		return err;
	*is_there = true;
	native->vtables = search->vtables;
	if (search->vtables)
		err = hawk_vtables_find(search->vtables);
	hawk_reserve_find(native->target, &native->reserve);
	if (!err)
		err = find_vectors(native);
	if (!err)
		err = native->walker->spans(native->state, &ret->spans);
	ret->small_granules = native->walker->small_granules;
	ret->blocks_apart = native->walker->blocks_apart;
	ret->rounds_to_16 = native->walker->rounds_to_16;
	native->first_sample =
		CLASS_VTABLE + (native->vtables ? (uint32_t)native->vtables->count : 0);
	if (native->walker->samples)
		native->samples = native->walker->samples(native->state, &native->sample_count);
	ret->class_count = native->first_sample + (uint32_t)native->sample_count;
	ret->knows = HAWK_HEAP_BLOCKS | HAWK_HEAP_CONTENTS | HAWK_HEAP_ACCOUNTING |
		     (native->walker->exact ? HAWK_HEAP_EXACT : 0);
	if (!err)
		report(native, search->findings);
	return err;
}

static uint32_t class_of_size(uint64_t bytes)
{
	unsigned log2;

	if (bytes <= SIZE_STEP * SIZES)
		return CLASS_SIZE + (uint32_t)(bytes ? (bytes - 1) / SIZE_STEP : 0);
	log2 = 63 - (unsigned)__builtin_clzll(bytes);
	if (log2 >= 48)
		return CLASS_VTABLE - 1;
	return CLASS_RANGE + RANGES_A_POWER * (log2 - RANGE_LOG2) +
	       (uint32_t)(bytes >> (log2 - 2) & (RANGES_A_POWER - 1));
}

/* The state of a walk. */
struct cursor {
	void *pieces;
	struct hawk_near near; /**< for blocks' first words */
	size_t vector;         /**< index of the next DTV */
};

/* Returns true if the thread-local storage of a thread is found by the block. */
static bool is_vector(const struct native *native, struct cursor *cursor, uint64_t start)
{
	while (cursor->vector < native->vector_count && native->vectors[cursor->vector] < start)
		cursor->vector++;
	return cursor->vector < native->vector_count && native->vectors[cursor->vector] == start;
}

static uint32_t class_of(const struct native *native, struct cursor *cursor,
			 const struct hawk_piece *piece)
{
	const struct hawk_vtable *vtable = NULL;
	uint64_t word;

	if (piece->state == HAWK_PIECE_INTERNAL)
		return CLASS_INTERNAL;
	if (is_vector(native, cursor, piece->start))
		return CLASS_VECTOR;
	if (piece->start == native->reserve.block)
		return CLASS_RESERVE;
	if (native->vtables && native->vtables->count && piece->bytes >= sizeof(word) &&
	    hawk_word(&cursor->near, piece->start, &word))
		vtable = hawk_vtables_at(native->vtables, word);
	return vtable ? CLASS_VTABLE + (uint32_t)(vtable - native->vtables->items)
		      : class_of_size(piece->bytes);
}

/* Returns the block's sample, or NULL. */
static const struct hawk_sample *sample_of(const struct native *native, uint64_t start)
{
	size_t i = hawk_array_first_above(native->samples, native->sample_count,
					  sizeof(*native->samples),
					  offsetof(struct hawk_sample, start), start - 1);

	return i < native->sample_count && native->samples[i].start == start ? &native->samples[i]
									     : NULL;
}

static struct hawk_block block_of(const struct native *native, struct cursor *cursor,
				  const struct hawk_piece *piece)
{
	const struct hawk_sample *sample = sample_of(native, piece->start);

	if (sample && piece->state == HAWK_PIECE_LIVE)
		return (struct hawk_block){.start = piece->start,
					   .size = sample->requested,
					   .trace = native->first_sample +
						    (uint32_t)(sample - native->samples)};
	return (struct hawk_block){.start = piece->start,
				   .size = piece->bytes,
				   .trace = class_of(native, cursor, piece)};
}

static void add_damage(struct hawk_heap_walk *walk, const struct hawk_piece *piece)
{
	hawk_damages_add(walk->damages, &(struct hawk_damage){.address = piece->start,
							      .bytes = piece->bytes,
							      .neighbour = piece->neighbour,
							      .found = piece->found,
							      .kind = HAWK_DAMAGE_SIZE});
}

static struct hawk_error *begin(struct hawk_heap_walk *walk, const struct native *native)
{
	struct cursor *cursor = calloc(1, sizeof(*cursor));

	walk->state = cursor;
	if (!cursor)
		return &hawk_enomem;
	hawk_allocator_describe(walk->found, &walk->allocator);
	cursor->near.target = native->target;
	cursor->pieces = native->walker->begin(native->state);
	return cursor->pieces ? NULL : &hawk_enomem;
}

static struct hawk_error *walk(struct hawk_heap_walk *walk, const struct hawk_block **ret,
			       size_t *count)
{
	const struct native *native = walk->found->state;
	struct hawk_error *err = walk->state ? NULL : begin(walk, native);
	struct cursor *cursor = walk->state;
	struct hawk_piece piece;

	*ret = walk->batch;
	*count = 0;
	while (!err && *count < HAWK_HEAP_BATCH && native->walker->next(cursor->pieces, &piece)) {
		hawk_allocator_count(&walk->allocator, &piece);
		if (piece.state == HAWK_PIECE_DAMAGED)
			add_damage(walk, &piece);
		if (piece.state != HAWK_PIECE_LIVE && piece.state != HAWK_PIECE_INTERNAL)
			continue;
		walk->batch[(*count)++] = block_of(native, cursor, &piece);
	}
	return err;
}

static void leave(struct hawk_heap_walk *walk)
{
	struct cursor *cursor = walk->state;

	if (cursor)
		free(cursor->pieces);
	free(cursor);
}

static void describe_class(const struct hawk_heap_found *found, uint32_t number,
			   struct hawk_class *ret)
{
	const struct native *native = found->state;
	const char *const internals[CLASS_SIZE] = {
		[CLASS_INTERNAL] = native->walker->name,
		[CLASS_VECTOR] = "thread-local storage",
		[CLASS_RESERVE] = "reserve for exceptions",
	};

	if (number < CLASS_SIZE) {
		*ret = (struct hawk_class){.kind = HAWK_CLASS_INTERNAL, .name = internals[number]};
	} else if (number < CLASS_RANGE) {
		*ret = (struct hawk_class){.kind = HAWK_CLASS_SIZE,
					   .size = SIZE_STEP * (uint64_t)(number - CLASS_SIZE + 1)};
	} else if (number < CLASS_VTABLE) {
		uint32_t range = number - CLASS_RANGE;
		uint64_t step = UINT64_C(1) << (RANGE_LOG2 + range / RANGES_A_POWER - 2);

		*ret = (struct hawk_class){.kind = HAWK_CLASS_RANGE,
					   .size = step *
						   (RANGES_A_POWER + range % RANGES_A_POWER)};
	} else if (number >= native->first_sample) {
		const struct hawk_sample *sample = &native->samples[number - native->first_sample];

		*ret = (struct hawk_class){.kind = HAWK_CLASS_SAMPLE,
					   .name = native->walker->name,
					   .frames = sample->frames,
					   .frame_count = sample->frame_count};
	} else {
		uint64_t address = native->vtables->items[number - CLASS_VTABLE].address;
		const struct hawk_module *module = hawk_target_module_at(found->target, address);

		*ret = (struct hawk_class){.kind = HAWK_CLASS_VTABLE,
					   .module = module,
					   .offset = module ? address - module->bias : address};
	}
}

static struct hawk_error *keep(const struct hawk_heap *heap, const struct hawk_heap_found *found,
			       hawk_keep_function *take, void *context)
{
	const struct native *native = found->state;
	struct hawk_error *err = NULL;

	for (size_t i = 0; i < heap->spans.count && !err; i++) {
		const struct hawk_heap_span *span = &heap->spans.items[i];

		if (span->kind == HAWK_SPAN_METADATA && &heap->found[span->source] == found)
			err = take(context, span->start, span->end);
	}
	if (!err && native->reserve.block)
		err = take(context, native->reserve.variables,
			   native->reserve.variables + HAWK_RESERVE_BYTES);
	if (!err && native->reserve.block)
		err = take(context, native->reserve.entry,
			   native->reserve.entry + HAWK_RESERVE_ENTRY_BYTES);
	if (!err && native->walker->keep)
		err = native->walker->keep(native->state, take, context);
	return err;
}

static void forget(struct hawk_heap_found *found)
{
	struct native *native = found->state;

	if (!native)
		return;
	if (native->state)
		native->walker->forget(native->state);
	free(native->state);
	free(native->vectors);
	free(native);
	found->state = NULL;
}

bool hawk_allocator_describe(const struct hawk_heap_found *found, struct hawk_allocator *ret)
{
	const struct native *native = found->state;

	if (found->source->walk != walk)
		return false;
	*ret = (struct hawk_allocator){.name = native->walker->name};
	native->walker->describe(native->state, ret);
	ret->samples = native->sample_count;
	return true;
}

bool hawk_allocator_arena(const struct hawk_heap_found *found, size_t number,
			  struct hawk_allocator_arena *ret)
{
	const struct native *native = found->state;

	return found->source->walk == walk && native->walker->arena &&
	       native->walker->arena(native->state, number, ret);
}

bool hawk_allocator_thread_arenas(const struct hawk_heap_found *found, uint32_t *ret)
{
	const struct native *native = found->state;

	if (found->source->walk != walk || !native->walker->thread_arenas)
		return false;
	native->walker->thread_arenas(native->state, ret);
	return true;
}

bool hawk_allocator_cached(const struct hawk_heap_found *found, size_t number, uint64_t *objects,
			   uint64_t *bytes)
{
	const struct native *native = found->state;

	return found->source->walk == walk && native->walker->cached &&
	       native->walker->cached(native->state, number, objects, bytes);
}

void *hawk_allocator_begin(const struct hawk_heap_found *found)
{
	const struct native *native = found->state;

	return found->source->walk == walk ? native->walker->begin(native->state) : NULL;
}

bool hawk_allocator_next(const struct hawk_heap_found *found, void *pieces, struct hawk_piece *ret)
{
	const struct native *native = found->state;

	return native->walker->next(pieces, ret);
}

const struct hawk_walker *hawk_native_walker(const struct hawk_heap_found *found,
					     const void **state)
{
	const struct native *native = found->state;

	if (found->source->walk != walk)
		return NULL;
	*state = native->state;
	return native->walker;
}

bool hawk_heap_is_aligned_within(const struct hawk_heap *heap, uint32_t block, uint64_t pointer)
{
	uint64_t start = hawk_block_start(&heap->index, block);
	uint64_t alignment = pointer & -pointer;
	bool is_given = false;

	/* The first multiple of the alignment in the block. */
	if (pointer <= start || pointer - start >= alignment)
		return false;
	for (unsigned i = 0; i < heap->found_count && !is_given; i++) {
		const struct native *native = heap->found[i].state;

		if (heap->found[i].source->walk == walk && native->walker->aligns_within)
			is_given = native->walker->aligns_within(native->state, start);
	}
	return is_given;
}

#define NATIVE_SOURCE(allocator)                                                                   \
	const struct hawk_heap_source hawk_heap_##allocator = {                                    \
		.name = #allocator,                                                                \
		.context = &hawk_walker_##allocator,                                               \
		.find = find,                                                                      \
		.walk = walk,                                                                      \
		.leave = leave,                                                                    \
		.class = describe_class,                                                           \
		.keep = keep,                                                                      \
		.forget = forget,                                                                  \
	}

NATIVE_SOURCE(musl);
NATIVE_SOURCE(mimalloc);
NATIVE_SOURCE(jemalloc);
NATIVE_SOURCE(tcmalloc);
NATIVE_SOURCE(pymalloc);
NATIVE_SOURCE(glibc);
