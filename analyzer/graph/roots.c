/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Looks up registers and the words of all root ranges in the block index.
 */
#include "hawk/graph/roots.h"

#include <stdlib.h>
#include <string.h>

#include "hawk/target/words.h"
#include "hawk/base/array.h"
#include "hawk/base/cleanup.h"
#include "hawk/base/progress.h"
#include "hawk/base/quantity.h"
#include "roots_ranges.h"

enum { PAGE_BYTES = 4096 };

static struct hawk_error *add(struct hawk_roots *roots, struct hawk_root root)
{
	if (!hawk_array_reserve(&roots->items, roots->count, &roots->capacity,
				sizeof(*roots->items)))
		return &hawk_enomem;
	roots->items[roots->count++] = root;
	return NULL;
}

/* Returns true if the header of a freed block lies at `address`. The allocator may hold it in its
 * free lists or, while working on them, in registers. */
static bool is_freed(const struct hawk_heap *heap, uint64_t address)
{
	struct hawk_block_header header;

	return heap->table &&
	       hawk_target_read_some(heap->target, address, &header, sizeof(header)) ==
		       sizeof(header) &&
	       hawk_header_is_dead(&hawk_table_header(heap->table)->key, header.word1, address);
}

/* Returns true for a page's start behind a block of which only the usable size is known: another
 * mapping begins there. A thread's descriptor leads to its stack. */
static bool is_page(const struct hawk_heap *heap, uint32_t block, uint64_t address)
{
	return !(hawk_heap_knows_of(heap, heap->index.traces[block]) & HAWK_HEAP_EXACT) &&
	       address % PAGE_BYTES == 0;
}

/* Returns the edge of a word outside of blocks, as in a graph. */
static uint32_t edge_of(const struct hawk_heap *heap, uint64_t value)
{
	const struct hawk_block_index *index = &heap->index;
	uint32_t edge = hawk_block_index_edge(index, value);
	uint32_t block = edge >> 1;

	if (edge != HAWK_BLOCK_NOWHERE && hawk_guests_is_link(&heap->guests, index, value, block))
		return HAWK_BLOCK_NOWHERE;
	if (edge == HAWK_BLOCK_NOWHERE || !(edge & HAWK_ROOT_INTERIOR) ||
	    value % HAWK_HEADER_BYTES ||
	    value - hawk_block_start(index, block) != hawk_block_size(index, block))
		return hawk_guests_edge(&heap->guests, index, value, edge);
	return is_freed(heap, value) || is_page(heap, block, value) ? HAWK_BLOCK_NOWHERE : edge;
}

/* Adds a register's value if it is the address of a block. `number` is the root's address. */
static struct hawk_error *add_register(uint64_t value, uint64_t number, uint32_t owner,
				       const struct hawk_heap *heap, struct hawk_roots *roots)
{
	uint32_t edge = edge_of(heap, value);

	roots->scanned_bytes[HAWK_ROOT_REGISTER] += sizeof(value);
	if (edge == HAWK_BLOCK_NOWHERE)
		return NULL;
	return add(roots, (struct hawk_root){
				  .address = number,
				  .edge = edge,
				  .kind = HAWK_ROOT_REGISTER,
				  .owner = owner & 0xfffffff,
			  });
}

static struct hawk_error *add_general(const struct hawk_arch *arch,
				      const struct hawk_thread *thread, uint32_t owner,
				      const struct hawk_heap *heap, struct hawk_roots *roots)
{
	for (unsigned number = 0; number < arch->register_count; number++) {
		struct hawk_error *err;

		if (arch->registers[number].use == HAWK_REGISTER_STATE)
			continue;
		err = add_register(thread->registers[number], number, owner, heap, roots);
		if (err)
			return err;
	}
	return NULL;
}

/* Adds the words of one run of vector registers. */
static struct hawk_error *add_vectors(const struct hawk_arch_vectors *vectors,
				      const struct hawk_thread *thread, uint32_t owner,
				      const struct hawk_heap *heap, struct hawk_roots *roots)
{
	uint32_t end = vectors->range.end < thread->vectors_bytes ? vectors->range.end
								  : thread->vectors_bytes;
	uint64_t value;

	for (uint32_t at = vectors->range.start; at < end && end - at >= sizeof(value);
	     at += sizeof(value)) {
		struct hawk_error *err;

		memcpy(&value, thread->vectors + at, sizeof(value));
		err = add_register(value, HAWK_ROOT_VECTORS + at, owner, heap, roots);
		if (err)
			return err;
	}
	return NULL;
}

/** An alternate signal stack and the index of its thread. */
struct owned_stack {
	uint32_t owner;
	uint64_t start;
};

static int compare_owned(const void *left, const void *right)
{
	const struct owned_stack *a = left;
	const struct owned_stack *b = right;

	if (a->owner != b->owner)
		return a->owner < b->owner ? -1 : 1;
	return a->start < b->start ? -1 : a->start > b->start;
}

/* Returns `*ret` stacks in the order of threads, NULL = out of memory. Threads of another PID
 * namespace have other numbers: the first thread stands for them. */
static struct owned_stack *find_owners(const struct hawk_table *table,
				       const struct hawk_thread *threads, size_t count, size_t *ret)
{
	const struct hawk_table_signal_stack *stacks =
		table ? hawk_table_signal_stacks(table, ret) : NULL;
	struct owned_stack *owned;

	if (!stacks)
		*ret = 0;
	owned = calloc(*ret + 1, sizeof(*owned));
	for (size_t i = 0; owned && i < *ret; i++) {
		size_t owner = 0;

		while (owner < count && threads[owner].tid != stacks[i].tid)
			owner++;
		owned[i].owner = owner < count ? (uint32_t)owner : 0;
		owned[i].start = stacks[i].start;
	}
	if (owned)
		qsort(owned, *ret, sizeof(*owned), compare_owned);
	return owned;
}

/* Adds the root of an alternate stack: the kernel uses it, wherever it begins in its block. */
static struct hawk_error *add_signal_stack(const struct owned_stack *stack,
					   const struct hawk_heap *heap, struct hawk_roots *roots)
{
	size_t before = roots->count;
	struct hawk_error *err =
		add_register(stack->start, HAWK_ROOT_SIGNAL_STACK, stack->owner, heap, roots);
	bool interior;

	/* A stack that begins at a block's end does not hold that block. */
	if (roots->count > before &&
	    hawk_block_index_find(&heap->index, stack->start, &interior) != HAWK_BLOCK_NOWHERE)
		roots->items[before].edge &= ~(uint32_t)HAWK_ROOT_INTERIOR;
	return err;
}

static struct hawk_error *add_registers(const struct hawk_heap *heap, struct hawk_roots *roots)
{
	const struct hawk_arch *arch = hawk_target_arch(heap->target);
	size_t count, stacks, next = 0;
	const struct hawk_thread *threads = hawk_target_threads(heap->target, &count);
	CLEANUP(free_ptr)
	struct owned_stack *owned = find_owners(heap->table, threads, count, &stacks);

	if (!owned)
		return &hawk_enomem;
	for (size_t i = 0; i < count; i++) {
		struct hawk_error *err = add_general(arch, &threads[i], (uint32_t)i, heap, roots);

		while (!err && next < stacks && owned[next].owner == i)
			err = add_signal_stack(&owned[next++], heap, roots);
		for (size_t j = 0; !err && threads[i].vectors && j < HAWK_ARCH_VECTORS; j++)
			err = add_vectors(&arch->vectors[j], &threads[i], (uint32_t)i, heap, roots);
		if (err)
			return err;
	}
	return NULL;
}

/* Makes a thread's pointer to its vector of thread-local storage a start pointer: it points behind
 * the vector's first entry. */
static uint32_t strengthen(const struct hawk_heap *heap, const struct hawk_root_range *range,
			   uint64_t address, uint32_t edge)
{
	uint64_t value;

	if (!(edge & HAWK_ROOT_INTERIOR) || address != range->vector.address ||
	    hawk_target_read_some(heap->target, address, &value, sizeof(value)) != sizeof(value) ||
	    value - hawk_block_start(&heap->index, edge >> 1) != range->vector.entry)
		return edge;
	return edge & ~(uint32_t)HAWK_ROOT_INTERIOR;
}

/* Adds the word at `address` in `range` if it leads to a block. */
static struct hawk_error *add_word(const struct hawk_heap *heap,
				   const struct hawk_root_range *range, uint64_t address,
				   uint64_t value, struct hawk_roots *roots)
{
	uint32_t edge = edge_of(heap, value);
	bool other;

	if (edge == HAWK_BLOCK_NOWHERE)
		return NULL;
	/* The pointers of blocks belong to the graph. */
	if (!range->in_block &&
	    hawk_block_index_find(&heap->index, address, &other) != HAWK_BLOCK_NOWHERE)
		return NULL;
	return add(roots, (struct hawk_root){
				  .address = address,
				  .edge = strengthen(heap, range, address, edge),
				  .kind = range->kind & 0xf,
				  .owner = range->owner & 0xfffffff,
			  });
}

static struct hawk_error *scan_range(struct hawk_words *words, const struct hawk_heap *heap,
				     const struct hawk_root_range *range, struct hawk_roots *roots)
{
	uint64_t unreadable = words->unreadable_bytes;
	struct hawk_word_range word_range;
	uint64_t reported = 0;

	for (uint64_t at = range->start; hawk_words_next(words, at, range->end, &word_range);
	     at = word_range.start + word_range.words * HAWK_WORD_BYTES) {
		for (size_t i = 0; i < word_range.words; i++) {
			uint64_t offset = i * HAWK_WORD_BYTES, value;
			struct hawk_error *err;

			memcpy(&value, word_range.bytes + offset, sizeof(value));
			err = add_word(heap, range, word_range.start + offset, value, roots);
			if (err)
				return err;
			hawk_progress_pass(&reported, word_range.start + offset - range->start);
		}
		roots->scanned_bytes[range->kind] += word_range.words * HAWK_WORD_BYTES;
	}
	roots->missing_bytes[range->kind] += words->unreadable_bytes - unreadable;
	return words->failed ? &hawk_enomem : NULL;
}

/* Compares in the order of roots, so that roots need no sorting. */
static int compare(const void *left, const void *right)
{
	const struct hawk_root_range *a = left;
	const struct hawk_root_range *b = right;

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->owner != b->owner)
		return a->owner < b->owner ? -1 : 1;
	return a->start < b->start ? -1 : a->start > b->start;
}

static uint64_t bytes_to_scan(const struct hawk_root_ranges *ranges)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < ranges->count; i++)
		if (ranges->items[i].kind < HAWK_ROOT_KINDS)
			bytes += ranges->items[i].end - ranges->items[i].start;
	return bytes;
}

static void hawk_cleanup_ranges(struct hawk_root_ranges *ranges)
{
	free(ranges->items);
}

static struct hawk_error *scan_all(const struct hawk_heap *heap, struct hawk_roots *roots)
{
	CLEANUP(ranges) struct hawk_root_ranges ranges = {0};
	struct hawk_progress progress;
	struct hawk_words words;
	struct hawk_error *err;

	err = hawk_root_ranges_find(heap, &ranges);
	if (!err && ranges.count)
		qsort(ranges.items, ranges.count, sizeof(*ranges.items), compare);
	hawk_progress_begin_bytes(&progress, "reading roots", bytes_to_scan(&ranges));
	hawk_words_init(&words, heap->target);
	for (size_t i = 0; !err && i < ranges.count; i++)
		if (ranges.items[i].kind < HAWK_ROOT_KINDS)
			err = scan_range(&words, heap, &ranges.items[i], roots);
	hawk_words_deinit(&words);
	hawk_progress_end(&progress);
	for (unsigned kind = 0; kind < HAWK_ROOT_KINDS; kind++)
		roots->missing_bytes[kind] += ranges.missing_bytes[kind];
	roots->heap_missing_bytes = ranges.heap_missing_bytes;
	roots->undumped_bytes = ranges.undumped_bytes;
	roots->stacks_incomplete = ranges.stacks_incomplete;
	roots->threads_without_stack = ranges.threads_without_stack;
	return err;
}

static uint64_t missing_bytes(const struct hawk_roots *roots)
{
	uint64_t sum = roots->heap_missing_bytes;

	for (unsigned kind = 0; kind < HAWK_ROOT_KINDS; kind++)
		sum += roots->missing_bytes[kind];
	return sum;
}

void hawk_roots_report(const struct hawk_heap *heap, const struct hawk_roots *roots,
		       struct hawk_findings *findings)
{
	if (hawk_heap_spans_have(&heap->spans, HAWK_SPAN_UNSOUND))
		hawk_findings_add(findings, HAWK_FINDING_MISSING, false, "roots-unowned",
				  "live blocks were not recorded or lost their headers, so memory "
				  "between blocks may be in use: what only it points to is called "
				  "possibly lost");
	if (missing_bytes(roots))
		hawk_findings_add(findings, HAWK_FINDING_MISSING, true, "roots-missing",
				  "%s of writable memory, where pointers to blocks may lie, are "
				  "missing",
				  hawk_quantity_bytes(missing_bytes(roots)).text);
	if (roots->stacks_incomplete)
		hawk_findings_add(findings, HAWK_FINDING_MISSING, false, "stacks-unlisted",
				  "the C library's lists of stacks cannot be read to their end: "
				  "stacks of ended threads may hide leaks");
	if (roots->undumped_bytes)
		hawk_findings_add(findings, HAWK_FINDING_MISSING, true, "roots-undumped",
				  "the program excludes %s of that from cores (MADV_DONTDUMP)",
				  hawk_quantity_bytes(roots->undumped_bytes).text);
	if (roots->threads_without_stack)
		hawk_findings_add(findings, HAWK_FINDING_MISSING, true, "stack-missing",
				  "the stack%s of %llu thread%s missing",
				  roots->threads_without_stack == 1 ? "" : "s",
				  (unsigned long long)roots->threads_without_stack,
				  roots->threads_without_stack == 1 ? " is" : "s are");
}

/* Gives unused memory back: the peak of memory comes later. */
static void shrink(struct hawk_roots *roots)
{
	void *moved = roots->count ? reallocarray(roots->items, roots->count, sizeof(*roots->items))
				   : NULL;

	if (!moved)
		return;
	roots->items = moved;
	roots->capacity = roots->count;
}

struct hawk_error *hawk_roots_find(const struct hawk_heap *heap, struct hawk_findings *findings,
				   struct hawk_roots *ret)
{
	struct hawk_roots roots = {0};
	struct hawk_error *err = add_registers(heap, &roots);

	if (!err)
		err = scan_all(heap, &roots);
	if (err) {
		hawk_roots_deinit(&roots);
		return err;
	}
	shrink(&roots);
	hawk_roots_report(heap, &roots, findings);
	*ret = roots;
	return NULL;
}

void hawk_roots_deinit(struct hawk_roots *roots)
{
	free(roots->items);
	free(roots->insides);
	*roots = (struct hawk_roots){0};
}

bool hawk_roots_complete(const struct hawk_roots *roots)
{
	return !missing_bytes(roots) && !roots->threads_without_stack;
}

uint64_t hawk_roots_inside(const struct hawk_heap *heap, const struct hawk_roots *roots,
			   size_t root, uint32_t block)
{
	const struct hawk_root *item = &roots->items[root];
	uint64_t value;

	if (roots->insides)
		return roots->insides[root];
	if (item->kind == HAWK_ROOT_REGISTER ||
	    hawk_target_read_some(heap->target, item->address, &value, sizeof(value)) !=
		    sizeof(value))
		return UINT64_MAX;
	value -= hawk_block_start(&heap->index, block);
	/* One past the end counts as inside. */
	return value <= hawk_block_size(&heap->index, block) ? value : UINT64_MAX;
}
