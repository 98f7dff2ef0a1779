/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Adds up all memory by use. Spans say whose memory it is, pieces what an allocator does with it,
 * mappings what the rest is.
 */
#include "hawk/analysis/balance.h"

#include <assert.h>
#include <stdlib.h>

#include "hawk/base/cleanup.h"

enum {
	SIZE_STEP = 8,
	SIZES_SMALL = 128,
	RANGE_LOG2 = 10, /* log2 of the bytes of the first range */
	RANGES_A_POWER = 4,
	CHUNK_WORD_BYTES = 8, /* a chunk's block has a word less */
};

static_assert(HAWK_BALANCE_SIZES == SIZES_SMALL + RANGES_A_POWER * (48 - RANGE_LOG2),
	      "ranges up to 2^48");

/** Input of a balance, and its state. */
struct making {
	const struct hawk_heap *heap;
	const struct hawk_heap *allocators;
	struct hawk_balance *balance;
	struct hawk_fragmentation *fragmentation;
	uint64_t inside_bytes; /**< of traced blocks in chunks of allocators */
	uint64_t inside_objects;
	/** Spans of these sources are known: of allocators, and last of the tracer. */
	bool known[HAWK_HEAP_SOURCES_MAX + 1];
	uint64_t source_bytes[HAWK_HEAP_SOURCES_MAX + 1]; /**< of all spans */
	uint64_t span_bytes[HAWK_HEAP_SOURCES_MAX + 1];   /**< of free spans */
	uint64_t metadata_bytes[HAWK_HEAP_SOURCES_MAX + 1];
	uint64_t guest_free_bytes; /**< of free spans of other sources */
	struct hawk_allocator_balance *of[HAWK_HEAP_SOURCES_MAX]; /**< NULL = no allocator */
	uint64_t piece_bytes[HAWK_HEAP_SOURCES_MAX];
	unsigned source; /**< of the latest piece */
	uint32_t block;  /**< traced: the first that does not lie below the latest chunk */
};

static bool is_traced(const struct making *making)
{
	return making->heap->knows & HAWK_HEAP_HEADERS;
}

static uint64_t minus(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static uint64_t present(const struct making *making, uint64_t start, uint64_t end)
{
	return hawk_target_present_between(making->heap->target, start, end);
}

static void add(struct hawk_pieces *to, uint64_t bytes)
{
	to->objects++;
	to->bytes += bytes;
}

static void use(struct making *making, enum hawk_use use, uint64_t objects, uint64_t bytes)
{
	making->balance->uses[use] += bytes;
	making->balance->objects[use] += objects;
}

static unsigned size_number(uint64_t bytes)
{
	unsigned log2;

	if (bytes <= SIZE_STEP * SIZES_SMALL)
		return bytes ? (unsigned)(bytes - 1) / SIZE_STEP : 0;
	log2 = 63 - (unsigned)__builtin_clzll(bytes);
	if (log2 >= 48)
		return HAWK_BALANCE_SIZES - 1;
	return SIZES_SMALL + RANGES_A_POWER * (log2 - RANGE_LOG2) +
	       (unsigned)(bytes >> (log2 - 2) & (RANGES_A_POWER - 1));
}

void hawk_balance_name_sizes(struct hawk_balance *balance)
{
	for (unsigned i = 0; i < HAWK_BALANCE_SIZES; i++) {
		unsigned range = minus(i, SIZES_SMALL) / RANGES_A_POWER + RANGE_LOG2;

		balance->sizes[i].bytes = i < SIZES_SMALL
						  ? SIZE_STEP * (i + 1)
						  : (UINT64_C(1) << (range - 2)) *
							    (RANGES_A_POWER + i % RANGES_A_POWER);
	}
}

/* Divides a live chunk of a traced heap into blocks, headers and the rest. */
static void take_traced(struct making *making, const struct hawk_piece *piece, uint64_t bytes)
{
	const struct hawk_block_index *index = &making->heap->index;
	uint64_t own = 0, objects = 0, traced = 0, headers;
	uint32_t block = making->block;

	while (block < index->count && hawk_block_start(index, block) < piece->start)
		block++;
	for (; block < index->count && hawk_block_start(index, block) < piece->start + piece->bytes;
	     block++, objects++) {
		own += hawk_block_own_bytes(index, block);
		if (hawk_heap_knows_of(making->heap, index->traces[block]) & HAWK_HEAP_HEADERS)
			traced++;
	}
	making->block = block;
	making->inside_bytes += own;
	making->inside_objects += objects;
	if (!objects) {
		use(making, HAWK_USE_UNTRACED, 1, bytes);
		return;
	}
	own = own < bytes ? own : bytes; /* a chunk that is cut off */
	headers = traced * HAWK_HEADER_BYTES;
	headers = headers < bytes - own ? headers : bytes - own;
	use(making, HAWK_USE_LIVE, objects, own);
	use(making, HAWK_USE_HEADERS, traced, headers);
	use(making, HAWK_USE_ROUNDING, 0, bytes - own - headers);
}

static struct hawk_arena_balance *arena_of(struct hawk_allocator_balance *of, uint32_t arena)
{
	return arena < of->arena_count ? &of->arenas[arena] : &of->mapped;
}

/* Takes a free piece, and notes its arena and thread. */
static void take_free(struct making *making, struct hawk_allocator_balance *of,
		      const struct hawk_piece *piece, uint64_t bytes)
{
	struct hawk_balance *balance = making->balance;
	struct hawk_arena_balance *arena = arena_of(of, piece->arena);

	switch (piece->state) {
	case HAWK_PIECE_UNTOUCHED:
		use(making, HAWK_USE_TOP, 1, bytes);
		add(&arena->top, bytes);
		return;
	case HAWK_PIECE_CACHED:
		use(making, HAWK_USE_CACHED, 1, bytes);
		add(&arena->cached, bytes);
		if (piece->thread < balance->thread_count) {
			add(&balance->threads[piece->thread].cached, bytes);
			balance->caches_known = true;
		}
		break;
	default:
		use(making, piece->state == HAWK_PIECE_FAST ? HAWK_USE_FAST : HAWK_USE_FREE, 1,
		    bytes);
		add(&arena->free, bytes);
	}
	add(&balance->sizes[size_number(of->has_chunks ? minus(bytes, CHUNK_WORD_BYTES) : bytes)]
		     .free,
	    bytes);
}

/* Returns the bytes of the range that are claimed for no other source. */
static uint64_t unclaimed(struct making *making, unsigned source, uint64_t start, uint64_t end)
{
	const struct hawk_heap_spans *spans = &making->allocators->spans;
	uint64_t sum = 0;

	for (size_t i = hawk_heap_spans_from(spans, start);
	     i < spans->count && spans->items[i].start < end; i++) {
		const struct hawk_heap_span *span = &spans->items[i];

		if (span->source == source)
			sum += present(making, span->start > start ? span->start : start,
				       span->end < end ? span->end : end);
	}
	return sum;
}

/* Counts a block of the allocator's own as live, as other verbs do, and not as metadata. */
static void take_internal(struct making *making, unsigned source, uint64_t start, uint64_t bytes)
{
	const struct hawk_heap_spans *spans = &making->allocators->spans;
	size_t at = hawk_heap_spans_from(spans, start);

	use(making, HAWK_USE_LIVE, 1, bytes);
	if (at < spans->count && spans->items[at].start <= start &&
	    spans->items[at].kind == HAWK_SPAN_METADATA)
		making->metadata_bytes[source] = minus(making->metadata_bytes[source], bytes);
}

/* Adds what no piece covers: words between chunks, or unused parts of slabs and pages. */
static void take_gaps(struct making *making, unsigned source,
		      const struct hawk_allocator_balance *of, uint64_t covered)
{
	uint64_t metadata =
		of->has_chunks ? minus(of->bytes, covered) : making->metadata_bytes[source];

	use(making, HAWK_USE_METADATA, 0, metadata);
	use(making, HAWK_USE_UNUSED, 0, minus(of->bytes, covered + metadata));
	making->balance->excess += minus(covered + metadata, of->bytes);
}

/* Adds one piece of an allocator's memory. */
static void take_piece(void *context, unsigned source, const struct hawk_piece *piece)
{
	struct making *making = context;
	struct hawk_allocator_balance *of = making->of[source];
	uint64_t end = piece->start + piece->bytes;
	uint64_t bytes = present(making, piece->start, end);

	if (source != making->source)
		making->block = 0;
	making->source = source;
	of->has_chunks |= !piece->unit_bytes;
	of->allocator.objects[piece->state]++;
	of->allocator.bytes[piece->state] += bytes;
	switch (piece->state) {
	case HAWK_PIECE_LIVE:
		if (is_traced(making))
			take_traced(making, piece, bytes);
		else
			use(making, HAWK_USE_LIVE, 1, bytes);
		add(&arena_of(of, piece->arena)->live, bytes);
		add(&making->balance->sizes[size_number(piece->bytes)].live, bytes);
		break;
	case HAWK_PIECE_INTERNAL:
		if (is_traced(making))
			return;
		take_internal(making, source, piece->start, bytes);
		break;
	case HAWK_PIECE_OVERHEAD:
		return;
	case HAWK_PIECE_FOREIGN:
		bytes = unclaimed(making, source, piece->start, end);
		use(making, HAWK_USE_OTHER, 0, bytes);
		break;
	case HAWK_PIECE_DAMAGED:
	case HAWK_PIECE_MISSING:
		use(making, HAWK_USE_UNDIVIDED, 1, bytes);
		break;
	default:
		take_free(making, of, piece, bytes);
	}
	making->piece_bytes[source] += bytes;
}

/* Counts the arenas, and the threads that use each. */
static struct hawk_error *find_arenas(struct making *making, const struct hawk_heap_found *found,
				      struct hawk_allocator_balance *of)
{
	struct hawk_balance *balance = making->balance;
	struct hawk_allocator_arena arena;
	CLEANUP(free_ptr) uint32_t *numbers = NULL;
	bool is_known = false;

	while (hawk_allocator_arena(found, of->arena_count, &arena))
		of->arena_count++;
	of->arenas = calloc(of->arena_count + 1, sizeof(*of->arenas));
	numbers = calloc(balance->thread_count + 1, sizeof(*numbers));
	if (!of->arenas || !numbers)
		return &hawk_enomem;
	for (size_t i = 0; i < of->arena_count; i++)
		hawk_allocator_arena(found, i, &of->arenas[i].arena);
	if (!hawk_allocator_thread_arenas(found, numbers))
		return NULL;
	for (size_t i = 0; i < balance->thread_count; i++) {
		if (numbers[i] >= of->arena_count)
			continue;
		of->arenas[numbers[i]].threads++;
		is_known = true;
	}
	if (is_known)
		of->thread_arenas = take_ptr(&numbers);
	return NULL;
}

/* Adds caches whose pieces do not tell their thread. */
static void add_caches(struct hawk_balance *balance, const struct hawk_heap_found *found)
{
	for (size_t i = 0; i < balance->thread_count; i++) {
		struct hawk_pieces *cached = &balance->threads[i].cached;

		balance->caches_known |=
			hawk_allocator_cached(found, i, &cached->objects, &cached->bytes);
	}
}

/* Describes all allocators, then walks them. */
static struct hawk_error *take_allocators(struct making *making)
{
	const struct hawk_heap *allocators = making->allocators;
	struct hawk_balance *balance = making->balance;
	struct hawk_error *err = NULL;

	balance->allocators = calloc(allocators->found_count + 1, sizeof(*balance->allocators));
	if (!balance->allocators)
		return &hawk_enomem;
	for (unsigned i = 0; i < allocators->found_count && !err; i++) {
		struct hawk_allocator_balance *of = &balance->allocators[balance->allocator_count];

		if (!hawk_allocator_describe(&allocators->found[i], &of->allocator))
			continue;
		balance->allocator_count++;
		of->bytes = making->source_bytes[i];
		making->of[i] = of;
		err = find_arenas(making, &allocators->found[i], of);
		add_caches(balance, &allocators->found[i]);
	}
	if (!err)
		err = hawk_fragmentation_make(making->heap, allocators, take_piece, making,
					      making->fragmentation);
	for (unsigned i = 0; i < allocators->found_count && !err; i++) {
		if (!making->of[i])
			continue;
		use(making, HAWK_USE_SPANS, 0, making->span_bytes[i]);
		take_gaps(making, i, making->of[i], making->piece_bytes[i] + making->span_bytes[i]);
	}
	return err;
}

static void add_spans(struct making *making)
{
	const struct hawk_heap_spans *spans = &making->allocators->spans;
	struct hawk_allocator allocator;

	making->known[HAWK_HEAP_SOURCES_MAX] = true;
	for (unsigned i = 0; i < making->allocators->found_count; i++)
		making->known[i] =
			hawk_allocator_describe(&making->allocators->found[i], &allocator);
	for (size_t i = 0; i < spans->count; i++) {
		const struct hawk_heap_span *span = &spans->items[i];
		uint64_t bytes = present(making, span->start, span->end);

		if (!making->known[span->source]) {
			making->guest_free_bytes += span->kind == HAWK_SPAN_FREE ? bytes : 0;
			continue;
		}
		making->source_bytes[span->source] += bytes;
		if (span->kind == HAWK_SPAN_FREE)
			making->span_bytes[span->source] += bytes;
		if (span->kind == HAWK_SPAN_METADATA)
			making->metadata_bytes[span->source] += bytes;
	}
	use(making, HAWK_USE_TRACER, 0, making->source_bytes[HAWK_HEAP_SOURCES_MAX]);
}

/* Adds what no span claims between two addresses of a mapping. */
static void add_rest(struct making *making, uint64_t start, uint64_t end, enum hawk_use kind)
{
	const struct hawk_heap_spans *spans = &making->allocators->spans;
	uint64_t claimed = 0, all = start < end ? present(making, start, end) : 0;

	for (size_t i = hawk_heap_spans_from(spans, start);
	     i < spans->count && spans->items[i].start < end; i++) {
		const struct hawk_heap_span *span = &spans->items[i];

		if (making->known[span->source])
			claimed += present(making, span->start > start ? span->start : start,
					   span->end < end ? span->end : end);
	}
	use(making, kind, 0, all - claimed);
	making->balance->bytes += all;
}

/* Adds what spans leave of a mapping. The kernel joins a module's .bss with what lies behind it. */
static void add_mapping(struct making *making, const struct hawk_mapping *mapping, bool is_stack)
{
	const struct hawk_module *module =
		hawk_target_module_at(making->heap->target, mapping->start);
	uint64_t module_end = mapping->start;

	if (module && (mapping->path || module->end >= mapping->end))
		module_end = mapping->end;
	else if (module)
		module_end = module->end;
	add_rest(making, mapping->start, module_end, HAWK_USE_MODULES);
	add_rest(making, module_end, mapping->end,
		 is_stack        ? HAWK_USE_STACKS
		 : mapping->path ? HAWK_USE_FILES
				 : HAWK_USE_OTHER);
}

static struct hawk_error *add_mappings(struct making *making)
{
	const struct hawk_target *target = making->heap->target;
	size_t count, thread_count;
	const struct hawk_mapping *mappings = hawk_target_mappings(target, &count);
	const struct hawk_thread *threads = hawk_target_threads(target, &thread_count);
	CLEANUP(free_ptr) bool *stacks = calloc(count + 1, sizeof(*stacks));

	if (!stacks)
		return &hawk_enomem;
	for (size_t i = 0; i < thread_count; i++)
		stacks[hawk_target_mapping_index(target, threads[i].sp)] = true;
	stacks[hawk_target_mapping_index(target, hawk_target_stack_top(target) - 1)] = true;
	for (size_t i = 0; i < count; i++)
		add_mapping(making, &mappings[i], stacks[i]);
	return NULL;
}

/* Moves bytes that a mapping's kind was given to what they are. */
static void move(struct making *making, enum hawk_use to, uint64_t objects, uint64_t bytes)
{
	uint64_t *other = &making->balance->uses[HAWK_USE_OTHER];

	use(making, to, objects, bytes);
	making->balance->excess += minus(bytes, *other);
	*other = minus(*other, bytes);
}

/* Adds heaps of guests, which are no allocators. */
static void add_guests(struct making *making)
{
	const struct hawk_guests *guests = &making->heap->guests;

	move(making, HAWK_USE_SPANS, 0, making->guest_free_bytes);
	for (unsigned i = 0; i < guests->count; i++)
		if (guests->items[i].has_heap)
			move(making, HAWK_USE_LIVE, guests->items[i].objects,
			     guests->items[i].bytes);
}

/* Adds blocks outside of all allocators that are known, and their heaps. */
static void add_outside(struct making *making)
{
	const struct hawk_heap *heap = making->heap;
	const struct hawk_accounting *memory = &heap->accounting;
	uint64_t objects = minus(heap->sums.blocks, making->inside_objects);
	uint64_t bytes = minus(heap->sums.bytes, making->inside_bytes);
	uint64_t headers = heap->knows & HAWK_HEAP_HEADERS ? objects * HAWK_HEADER_BYTES : 0;

	if (making->balance->allocator_count && !is_traced(making)) {
		add_guests(making);
		return;
	}
	move(making, HAWK_USE_LIVE, objects, bytes);
	move(making, HAWK_USE_HEADERS, headers ? objects : 0, headers);
	if (making->balance->allocator_count)
		return;
	move(making, HAWK_USE_UNDIVIDED, 0, minus(memory->heap_bytes, bytes + headers));
	move(making, HAWK_USE_TRACER, 0,
	     minus(memory->tracer_bytes, making->source_bytes[HAWK_HEAP_SOURCES_MAX]));
}

static struct hawk_error *make(struct making *making)
{
	struct hawk_balance *balance = making->balance;
	struct hawk_error *err;

	hawk_target_threads(making->heap->target, &balance->thread_count);
	balance->threads = calloc(balance->thread_count + 1, sizeof(*balance->threads));
	if (!balance->threads)
		return &hawk_enomem;
	hawk_balance_name_sizes(balance);
	add_spans(making);
	err = take_allocators(making);
	if (!err)
		err = add_mappings(making);
	if (!err)
		add_outside(making);
	return err;
}

struct hawk_error *hawk_balance_make(const struct hawk_heap *heap,
				     const struct hawk_heap *allocators, struct hawk_balance *ret,
				     struct hawk_fragmentation *fragmentation)
{
	struct making making = {.heap = heap,
				.allocators = allocators,
				.balance = ret,
				.fragmentation = fragmentation};

	*ret = (struct hawk_balance){0};
	*fragmentation = (struct hawk_fragmentation){0};
	return make(&making);
}

void hawk_balance_deinit(struct hawk_balance *balance)
{
	for (size_t i = 0; i < balance->allocator_count; i++) {
		free(balance->allocators[i].arenas);
		free(balance->allocators[i].thread_arenas);
	}
	free(balance->allocators);
	free(balance->threads);
	free(balance->names);
	*balance = (struct hawk_balance){0};
}
