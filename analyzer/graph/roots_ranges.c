/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Ranges of roots: first what threads and the tracer claim, then what is left of mappings.
 */
#include "roots_ranges.h"

#include <stdlib.h>
#include <string.h>

#include "hawk/base/cleanup.h"
#include "roots_bins.h"
#include "roots_heap.h"
#include "roots_stacks.h"
#include "roots_tls.h"

enum {
	RED_ZONE_BYTES = 128, /* below the stack pointer: leaf functions use it (System V ABI) */
	TLS_BELOW_BYTES =
		64 << 10,       /* below the thread pointer (variant II) if nobody says how much */
	TLS_ABOVE_BYTES = 2560, /* and struct pthread, 2304 bytes in glibc 2.36, above */
	WORD_BYTES = 8,
	PAGE_BYTES = 4096,
	HANDLER_BYTES_MAX = 256 << 10, /* of frames on an alternate stack */
	/* struct ucontext of the kernel, x86-64, in words. */
	CONTEXT_LINK = 1,
	CONTEXT_STACK = 2,
	CONTEXT_STACK_BYTES = 4,
	CONTEXT_RSP = 20,
	CONTEXT_SEGMENTS = 23,
	CONTEXT_WORDS = 24,
	CONTEXT_FLAGS_MAX = 7,
	USER_CODE_SEGMENT = 0x33,
	BSS_BEFORE_MAX = 64, /* mappings of a module between its .bss and its other data */
};

struct finder {
	const struct hawk_target *target;
	const struct hawk_block_index *index;
	const struct hawk_sweep_plan *plan;
	struct hawk_root_ranges *ranges;
	uint64_t tls_bytes; /**< static TLS below thread pointers; 0 = not known */
	struct hawk_stacks stacks;
	bool unwritten_known; /**< anonymous memory that was not dumped was never written, unless
				   plan->undumped has it */
};

/* Whether each range that the program kept out of cores is still where the tracer has noted it.
 * Where one is not, it was unmapped, or mremap() has moved it, who knows where to. */
static bool undumped_stayed(const struct hawk_target *target, const struct hawk_sweep_plan *plan)
{
	size_t count;
	const struct hawk_mapping *mappings = hawk_target_mappings(target, &count);

	for (size_t i = 0; i < plan->undumped_count; i++) {
		const struct hawk_span *span = &plan->undumped[i];
		bool stayed = span->start >= span->end;

		for (size_t j = 0; j < count && !stayed; j++)
			stayed = !mappings[j].dumped_bytes && mappings[j].start < span->end &&
				 span->start < mappings[j].end;
		if (!stayed)
			return false;
	}
	return true;
}

/* A kernel dumps private anonymous memory that was ever written, all of it or (coredump_filter)
 * none; names of files tell it from other memory. */
static bool knows_unwritten(const struct hawk_target *target, const struct hawk_sweep_plan *plan)
{
	size_t count;
	const struct hawk_mapping *mappings = hawk_target_mappings(target, &count);
	bool anonymous = false;
	bool named = false;

	for (size_t i = 0; i < count; i++) {
		if (mappings[i].path)
			named = true;
		else if (mappings[i].flags & HAWK_MAPPING_WRITE && mappings[i].dumped_bytes)
			anonymous = true;
	}
	return anonymous && named && plan->undumped_known && undumped_stayed(target, plan);
}

static struct hawk_error *add(struct hawk_root_ranges *ranges, struct hawk_root_range range)
{
	range.start = (range.start + WORD_BYTES - 1) & -(uint64_t)WORD_BYTES;
	if (range.start >= range.end)
		return NULL;
	if (ranges->count == ranges->capacity) {
		size_t more = ranges->capacity ? 2 * ranges->capacity : 64;
		void *moved = reallocarray(ranges->items, more, sizeof(*ranges->items));

		if (!moved)
			return &hawk_enomem;
		ranges->items = moved;
		ranges->capacity = more;
	}
	ranges->items[ranges->count++] = range;
	return NULL;
}

/* A module's memory that the loader made read-only when it had been relocated (RELRO): right below
 * what stayed writable. Where the module's headers are in the target, they say so (`data`). */
static bool is_relro(const struct hawk_mapping *mappings, size_t count, size_t i)
{
	const struct hawk_mapping *next = &mappings[i + 1];

	return i + 1 < count && !(mappings[i].flags & HAWK_MAPPING_EXEC) &&
	       next->start == mappings[i].end && next->flags & HAWK_MAPPING_WRITE && next->path &&
	       !strcmp(next->path, mappings[i].path);
}

static bool is_wanted(const struct hawk_mapping *mappings, size_t count, size_t i)
{
	const struct hawk_mapping *mapping = &mappings[i];

	if ((mapping->flags & HAWK_MAPPING_WRITE) || mapping->data || !mapping->path ||
	    !mapping->path[0])
		return true;
	return is_relro(mappings, count, i);
}

/* Does any block begin in, or reach into, the mapping? */
static bool is_heap(const struct finder *finder, const struct hawk_mapping *mapping)
{
	const struct hawk_block_index *index = finder->index;
	uint32_t first = hawk_block_index_first(index, mapping->start);

	if (first < index->count && hawk_block_start(index, first) < mapping->end)
		return true;
	return first && hawk_block_start(index, first - 1) + hawk_block_size(index, first - 1) >
				mapping->start;
}

/* The end of the last block that begins below `address`; 0 if there is none. */
static uint64_t block_end_below(const struct finder *finder, uint64_t address)
{
	uint32_t first = hawk_block_index_first(finder->index, address);

	if (!first)
		return 0;
	return hawk_block_start(finder->index, first - 1) +
	       hawk_block_size(finder->index, first - 1);
}

/* Of a thread whose storage lies on top of its stack: never below the stack pointer. */
static uint64_t tls_start(const struct finder *finder, uint64_t sp, uint64_t tls)
{
	return tls - sp > finder->tls_bytes ? tls - finder->tls_bytes : sp;
}

static struct hawk_error *add_nobodys(const struct finder *finder, uint64_t start, uint64_t end)
{
	return add(finder->ranges,
		   (struct hawk_root_range){.start = start, .end = end, .kind = HAWK_ROOT_KINDS});
}

/* A mapping whose lower end is that of a stack: nothing is joined to it there. */
static bool has_guard(const struct finder *finder, const struct hawk_mapping *mapping)
{
	const unsigned rights = HAWK_MAPPING_READ | HAWK_MAPPING_WRITE | HAWK_MAPPING_EXEC;
	const struct hawk_mapping *below =
		mapping->start ? hawk_target_mapping_at(finder->target, mapping->start - 1) : NULL;

	return !below || !(below->flags & rights);
}

/* Whether all of the mapping below the stack pointer is the same stack, of which glibc does not
 * know: the first thread's, or one with its thread-local storage on top. Other memory with a stack
 * pointer in it (of a coroutine, a handler of signals, a garbage collector) may hold anything. */
static bool is_stack(const struct finder *finder, const struct hawk_thread *thread, uint64_t sp,
		     const struct hawk_mapping *mapping)
{
	uint64_t top = hawk_target_stack_top(finder->target);
	uint64_t tls = thread->registers[HAWK_FS_BASE];

	if (!top || (top >= mapping->start && top < mapping->end))
		return true;
	return thread->tid != hawk_target_process(finder->target)->pid && tls > sp &&
	       tls < mapping->end && has_guard(finder, mapping);
}

/* A thread that runs elsewhere: what lies on its own stack may all be in use. */
static struct hawk_error *add_left_stack(const struct finder *finder, const struct hawk_stack *own,
					 uint32_t owner)
{
	return add(finder->ranges, (struct hawk_root_range){.start = own->start,
							    .end = own->descriptor,
							    .kind = HAWK_ROOT_STACK,
							    .owner = owner});
}

/* Whether the kernel put `words` at `address` when it called a handler on an alternate stack. */
static bool is_context(const uint64_t *words, uint64_t address)
{
	return words[0] <= CONTEXT_FLAGS_MAX && !words[CONTEXT_LINK] &&
	       words[CONTEXT_STACK] <= address &&
	       address - words[CONTEXT_STACK] < words[CONTEXT_STACK_BYTES] &&
	       (words[CONTEXT_SEGMENTS] & UINT16_MAX) == USER_CODE_SEGMENT;
}

/* The lowest stack pointer in use. It is not `sp` in a handler of signals whose stack is a variable
 * of a function further out: what was interrupted lies below that, but not below `start`. */
static uint64_t lowest_sp(const struct finder *finder, uint64_t sp, uint64_t start)
{
	enum { STEP = PAGE_BYTES / WORD_BYTES };
	uint64_t words[STEP + CONTEXT_WORDS], at = sp & -(uint64_t)WORD_BYTES, lowest = sp;
	size_t count = STEP;

	for (; count >= STEP && at + PAGE_BYTES <= sp + HANDLER_BYTES_MAX; at += PAGE_BYTES) {
		count = hawk_target_read_some(finder->target, at, words, sizeof(words)) /
			WORD_BYTES;
		for (size_t i = 0; i < STEP && i + CONTEXT_WORDS <= count; i++)
			if (is_context(&words[i], at + i * WORD_BYTES) &&
			    words[i + CONTEXT_RSP] >= start && words[i + CONTEXT_RSP] < lowest)
				lowest = words[i + CONTEXT_RSP];
	}
	return lowest;
}

/* The live part of the stack, and what lies below it, which is dead. Where the stack is a block, it
 * ends with the block; where thread-local storage lies above it, as glibc has it, it ends there;
 * and it ends with its mapping, or where the next stack begins. */
static struct hawk_error *add_stack(const struct finder *finder, const struct hawk_thread *thread,
				    uint32_t owner)
{
	uint64_t sp = hawk_target_stack_start(finder->target, thread);
	uint64_t tls = thread->registers[HAWK_FS_BASE];
	const struct hawk_mapping *mapping = hawk_target_mapping_at(finder->target, sp);
	const struct hawk_stack *own = hawk_stacks_of(&finder->stacks, tls);
	struct hawk_root_range range = {.kind = HAWK_ROOT_STACK, .owner = owner};
	bool elsewhere = own && !(sp >= own->start && sp < own->descriptor);
	struct hawk_error *err = elsewhere ? add_left_stack(finder, own, owner) : NULL;
	bool interior, whole;
	uint32_t block = hawk_block_index_find(finder->index, sp, &interior);

	if (err)
		return err;
	if (!mapping || sp - mapping->start >= mapping->present_bytes) {
		finder->ranges->threads_without_stack++;
		return NULL;
	}
	whole = !elsewhere && (own || is_stack(finder, thread, sp, mapping));
	range.end = hawk_stacks_next(&finder->stacks, sp + 1);
	if (range.end > mapping->end)
		range.end = mapping->end;
	if (tls > sp && tls < mapping->end && whole)
		range.end = tls_start(finder, sp, tls);
	if (whole)
		sp = lowest_sp(finder, sp, own ? own->start : mapping->start);
	range.start = sp - mapping->start > RED_ZONE_BYTES ? sp - RED_ZONE_BYTES : mapping->start;
	if (block != HAWK_BLOCK_NOWHERE) {
		uint64_t start = hawk_block_start(finder->index, block);

		range.in_block = true;
		range.end = start + hawk_block_size(finder->index, block);
		if (range.start < start)
			range.start = start;
	} else if (whole) {
		err = add_nobodys(finder, own ? own->start : mapping->start, range.start);
	}
	return err ? err : add(finder->ranges, range);
}

/* Around the thread pointer, up to the next block, the stack, or the end of the mapping. */
static struct hawk_error *add_tls(const struct finder *finder, const struct hawk_thread *thread,
				  uint32_t owner)
{
	uint64_t tls = thread->registers[HAWK_FS_BASE];
	uint64_t sp = hawk_target_stack_start(finder->target, thread);
	const struct hawk_mapping *mapping = hawk_target_mapping_at(finder->target, tls);
	const struct hawk_stack *own = hawk_stacks_of(&finder->stacks, tls);
	struct hawk_root_range range = {.kind = HAWK_ROOT_TLS, .owner = owner, .descriptor = tls};
	uint64_t below;

	if (!tls || !mapping)
		return NULL;
	below = finder->tls_bytes ? finder->tls_bytes : TLS_BELOW_BYTES;
	range.start = tls - mapping->start > below ? tls - below : mapping->start;
	range.end = mapping->end - tls > TLS_ABOVE_BYTES ? tls + TLS_ABOVE_BYTES : mapping->end;
	if (own && own->end < range.end)
		range.end = own->end;
	below = block_end_below(finder, tls);
	if (below > tls)
		return NULL; /* it is a block, and so no root */
	if (below > range.start)
		range.start = below;
	if (sp >= mapping->start && sp < tls)
		range.start = tls_start(finder, sp, tls);
	return add(finder->ranges, range);
}

static int compare(const void *left, const void *right)
{
	const struct hawk_root_range *a = left;
	const struct hawk_root_range *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return a->owner < b->owner ? -1 : a->owner > b->owner;
}

/** Ranges that have begun, innermost last. */
struct open_ranges {
	struct hawk_root_range *items;
	size_t count;
	uint64_t at; /**< up to here everything has been put out */
	struct hawk_root_ranges *out;
};

/* Puts out the innermost open range up to `end`. */
static struct hawk_error *put_out(struct open_ranges *open, uint64_t end)
{
	struct hawk_root_range range = open->items[open->count - 1];

	if (end <= open->at)
		return NULL;
	range.start = open->at;
	range.end = end;
	open->at = end;
	return add(open->out, range);
}

static struct hawk_error *close_until(struct open_ranges *open, uint64_t address)
{
	while (open->count && open->items[open->count - 1].end <= address) {
		struct hawk_error *err = put_out(open, open->items[open->count - 1].end);

		if (err)
			return err;
		open->count--;
	}
	return open->count ? put_out(open, address) : NULL;
}

/* Sorts; where ranges overlap, the one that begins last has the bytes. */
static struct hawk_error *make_disjoint(struct hawk_root_ranges *ranges)
{
	struct hawk_root_ranges out = *ranges;
	CLEANUP(free_ptr) struct hawk_root_range *sorted = ranges->items;
	CLEANUP(free_ptr)
	struct hawk_root_range *begun = calloc(ranges->count + 1, sizeof(*begun));
	struct open_ranges open = {.items = begun, .out = &out};
	struct hawk_error *err = begun ? NULL : &hawk_enomem;

	out.items = NULL;
	out.count = out.capacity = 0;
	if (ranges->count)
		qsort(sorted, ranges->count, sizeof(*sorted), compare);
	for (size_t i = 0; !err && i < ranges->count; i++) {
		err = close_until(&open, sorted[i].start);
		open.items[open.count++] = sorted[i];
		open.at = sorted[i].start;
	}
	if (!err)
		err = close_until(&open, UINT64_MAX);
	*ranges = out;
	return err;
}

/* glibc's own pointers to free memory, in its data. */
static struct hawk_error *add_bins(const struct finder *finder)
{
	size_t count;
	const struct hawk_mapping *mappings = hawk_target_mappings(finder->target, &count);
	struct hawk_words words;
	struct hawk_error *err = NULL;

	hawk_words_init(&words, finder->target);
	for (size_t i = 0; !err && i < count; i++) {
		struct hawk_span bins = {.end = mappings[i].start};

		if (!(mappings[i].flags & HAWK_MAPPING_WRITE) ||
		    !hawk_target_module_at(finder->target, mappings[i].start))
			continue;
		while (!err && hawk_roots_bins_next(&words, bins.end, mappings[i].end, &bins))
			err = add_nobodys(finder, bins.start, bins.end);
	}
	if (!err && words.failed)
		err = &hawk_enomem;
	hawk_words_deinit(&words);
	return err;
}

/* What ended threads have left. Their descriptors go on holding vectors of thread-local storage,
 * and what is to be returned to who joins them. */
static struct hawk_error *add_ended_stacks(const struct finder *finder)
{
	size_t count;
	const struct hawk_mapping *mappings = hawk_target_mappings(finder->target, &count);
	struct hawk_error *err = NULL;

	for (size_t i = 0; !err && i < finder->stacks.count; i++) {
		const struct hawk_stack *stack = &finder->stacks.items[i];
		const struct hawk_mapping *mapping =
			hawk_target_mapping_at(finder->target, stack->descriptor);

		if (!stack->ended || !mapping)
			continue;
		err = add_nobodys(finder, stack->start, stack->descriptor);
		if (!err)
			err = add(finder->ranges,
				  (struct hawk_root_range){
					  .start = stack->descriptor,
					  .end = stack->end < mapping->end ? stack->end
									   : mapping->end,
					  .kind = HAWK_ROOT_OTHER,
					  .owner = (uint32_t)(mapping - mappings),
					  .descriptor = stack->descriptor,
				  });
	}
	return err;
}

static struct hawk_error *add_claims(const struct finder *finder)
{
	size_t count;
	const struct hawk_thread *threads = hawk_target_threads(finder->target, &count);
	struct hawk_error *err;

	for (size_t i = 0; i < count; i++) {
		err = add_stack(finder, &threads[i], (uint32_t)i);
		if (!err)
			err = add_tls(finder, &threads[i], (uint32_t)i);
		if (err)
			return err;
	}
	for (size_t i = 0; i < finder->plan->excluded_count; i++) {
		err = add_nobodys(finder, finder->plan->excluded[i].start,
				  finder->plan->excluded[i].end);
		if (err)
			return err;
	}
	err = add_bins(finder);
	if (!err)
		err = add_ended_stacks(finder);
	return err ? err : make_disjoint(finder->ranges);
}

/* The first of the claims, which are the first `claims` ranges, that ends above `address`. */
static size_t first_claim(const struct hawk_root_ranges *ranges, size_t claims, uint64_t address)
{
	size_t low = 0;
	size_t high = claims;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ranges->items[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool has_stack(const struct hawk_root_ranges *ranges, size_t claims,
		      const struct hawk_mapping *mapping)
{
	for (size_t i = first_claim(ranges, claims, mapping->start);
	     i < claims && ranges->items[i].start < mapping->end; i++)
		if (ranges->items[i].kind == HAWK_ROOT_STACK && !ranges->items[i].in_block)
			return true;
	return false;
}

/* What the claims leave of [at, end). */
static struct hawk_error *add_rest(const struct finder *finder, size_t claims, uint64_t at,
				   uint64_t end, uint32_t kind, uint32_t owner)
{
	struct hawk_root_ranges *ranges = finder->ranges;

	for (size_t i = first_claim(ranges, claims, at); i < claims && at < end; i++) {
		struct hawk_root_range claim = ranges->items[i];
		struct hawk_error *err;

		if (claim.start >= end)
			break;
		err = add(ranges, (struct hawk_root_range){
					  .start = at,
					  .end = claim.start,
					  .kind = kind,
					  .owner = owner,
				  });
		if (err)
			return err;
		at = claim.end;
	}
	return add(ranges,
		   (struct hawk_root_range){.start = at, .end = end, .kind = kind, .owner = owner});
}

/* Of a mapping with blocks in it: heaps, whose memory outside of blocks is free or not known, and
 * what else lies there. */
static struct hawk_error *add_around_heaps(const struct finder *finder, size_t claims, uint64_t at,
					   uint64_t end, uint32_t owner)
{
	struct hawk_span heap;
	struct hawk_error *err = NULL;

	while (!err && at < end &&
	       hawk_roots_heap_next(finder->target, finder->index, at, end, &heap)) {
		err = add_rest(finder, claims, at, heap.start, HAWK_ROOT_OTHER, owner);
		if (!err && finder->plan->blocks_missing)
			err = add_rest(finder, claims, heap.start, heap.end, HAWK_ROOT_UNOWNED,
				       owner);
		at = heap.end;
	}
	return err ? err : add_rest(finder, claims, at, end, HAWK_ROOT_OTHER, owner);
}

/* Of [start, end): what is not the tracer's own (which lies in its table file, say). */
static uint64_t bytes_outside(const struct hawk_sweep_plan *plan, uint64_t start, uint64_t end)
{
	uint64_t bytes = end - start;

	for (size_t i = 0; i < plan->excluded_count; i++) {
		uint64_t low = plan->excluded[i].start > start ? plan->excluded[i].start : start;
		uint64_t high = plan->excluded[i].end < end ? plan->excluded[i].end : end;

		if (low < high)
			bytes -= high - low; /* they are disjoint */
	}
	return bytes;
}

static bool is_undumped(const struct hawk_sweep_plan *plan, const struct hawk_mapping *mapping)
{
	for (size_t i = 0; i < plan->undumped_count; i++)
		if (plan->undumped[i].start < mapping->end &&
		    mapping->start < plan->undumped[i].end)
			return true;
	return false;
}

/* A module's .bss, of which other writable or relocated memory was dumped: nobody keeps that out.
 */
static bool is_bss(const struct finder *finder, const struct hawk_mapping *mapping,
		   const struct hawk_module *module)
{
	size_t count;
	const struct hawk_mapping *mappings = hawk_target_mappings(finder->target, &count);

	for (const struct hawk_mapping *before = mapping - 1;
	     module && before > mappings && before->start >= module->start &&
	     before->end > module->start && mapping - before <= BSS_BEFORE_MAX;
	     before--)
		if (before->dumped_bytes && before->file_offset)
			return true;
	return false;
}

/* The kernel dumps no anonymous memory that was never written: it reads as zeros. */
static bool was_never_written(const struct finder *finder, const struct hawk_mapping *mapping,
			      const struct hawk_module *module)
{
	return !mapping->dumped_bytes && !(mapping->path && mapping->path[0]) &&
	       !is_undumped(finder->plan, mapping) &&
	       (finder->unwritten_known || is_bss(finder, mapping, module));
}

static void count_missing(const struct finder *finder, const struct hawk_mapping *mapping,
			  const struct hawk_module *module, bool heap, uint32_t kind)
{
	struct hawk_root_ranges *ranges = finder->ranges;
	uint64_t bytes = mapping->end - mapping->start;
	uint64_t missing = bytes > mapping->present_bytes ? bytes - mapping->present_bytes : 0;

	if (missing)
		missing = bytes_outside(finder->plan, mapping->end - missing, mapping->end);
	/* Anonymous memory without rights is a reservation, not data. */
	if (!missing || !(mapping->flags & HAWK_MAPPING_WRITE) ||
	    was_never_written(finder, mapping, module))
		return;
	if (is_undumped(finder->plan, mapping))
		ranges->undumped_bytes += missing;
	if (heap)
		ranges->heap_missing_bytes += missing;
	else
		ranges->missing_bytes[kind] += missing;
}

/* gdb leaves out such memory with its address. It writes segments wherever they come to lie, the
 * kernel on page boundaries. */
static bool is_of_gdb(const struct hawk_target *target)
{
	size_t count;
	const struct hawk_mapping *mappings = hawk_target_mappings(target, &count);

	for (size_t i = 0; i < count; i++)
		if (mappings[i].core_offset % PAGE_BYTES && mappings[i].start % PAGE_BYTES == 0)
			return true;
	return false;
}

static void count_undumped(const struct finder *finder)
{
	const struct hawk_sweep_plan *plan = finder->plan;

	if (!plan->undumped_count || !is_of_gdb(finder->target))
		return;
	for (size_t i = 0; i < plan->undumped_count; i++) {
		uint64_t start = plan->undumped[i].start;
		uint64_t end = plan->undumped[i].end;

		if (start >= end || hawk_target_mapping_at(finder->target, start))
			continue;
		finder->ranges->missing_bytes[HAWK_ROOT_OTHER] += end - start;
		finder->ranges->undumped_bytes += end - start;
	}
}

static struct hawk_error *add_mapping(const struct finder *finder, size_t claims,
				      const struct hawk_mapping *mapping, uint32_t owner)
{
	size_t count;
	const struct hawk_module *modules = hawk_target_modules(finder->target, &count);
	const struct hawk_module *module = hawk_target_module_at(finder->target, mapping->start);
	uint64_t at = mapping->start;
	bool heap;

	if (module) {
		count_missing(finder, mapping, module, false, HAWK_ROOT_MODULE);
		return add_rest(finder, claims, at, mapping->end, HAWK_ROOT_MODULE,
				(uint32_t)(module - modules));
	}
	heap = is_heap(finder, mapping);
	count_missing(finder, mapping, NULL, heap,
		      has_stack(finder->ranges, claims, mapping) ? HAWK_ROOT_STACK
								 : HAWK_ROOT_OTHER);
	if (heap)
		return add_around_heaps(finder, claims, at, mapping->end, owner);
	return add_rest(finder, claims, at, mapping->end, HAWK_ROOT_OTHER, owner);
}

static struct hawk_error *add_mappings(const struct finder *finder)
{
	size_t count;
	const struct hawk_mapping *mappings = hawk_target_mappings(finder->target, &count);
	size_t claims = finder->ranges->count;
	struct hawk_error *err = NULL;

	for (size_t i = 0; !err && i < count; i++)
		if (is_wanted(mappings, count, i))
			err = add_mapping(finder, claims, &mappings[i], (uint32_t)i);
	count_undumped(finder);
	return err;
}

struct hawk_error *hawk_root_ranges_find(const struct hawk_target *target,
					 const struct hawk_block_index *index,
					 const struct hawk_sweep_plan *plan,
					 struct hawk_root_ranges *ret)
{
	struct finder finder = {
		.target = target,
		.index = index,
		.plan = plan,
		.ranges = ret,
		.tls_bytes = hawk_roots_static_tls_bytes(target),
		.unwritten_known = knows_unwritten(target, plan),
	};
	struct hawk_error *err = hawk_stacks_find(target, &finder.stacks);

	ret->stacks_incomplete = finder.stacks.incomplete;
	if (!err)
		err = add_claims(&finder);
	if (!err)
		err = add_mappings(&finder);
	hawk_stacks_deinit(&finder.stacks);
	return err ? err : make_disjoint(ret);
}
