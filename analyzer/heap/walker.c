/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Shared code of the allocators' walkers.
 */
#include "walker.h"

#include <stdlib.h>

enum { PAGE_BYTES = 4096 };

/** Processes have nothing above: no sum of an address below and a table's size wraps around. */
static const uint64_t user_end = UINT64_C(1) << 57;

struct hawk_error *hawk_claims_add(struct hawk_claims *claims, uint64_t start, uint64_t end)
{
	if (start >= end)
		return NULL;
	if (!hawk_array_reserve(&claims->items, claims->count, &claims->capacity,
				sizeof(*claims->items)))
		return &hawk_enomem;
	claims->items[claims->count++] = (struct hawk_claim){start, end};
	return NULL;
}

static int by_start(const void *left, const void *right)
{
	const struct hawk_claim *a = left, *b = right;

	return a->start < b->start ? -1 : a->start > b->start;
}

void hawk_claims_sort(struct hawk_claims *claims)
{
	size_t used = 0;

	if (claims->count)
		qsort(claims->items, claims->count, sizeof(*claims->items), by_start);
	for (size_t i = 0; i < claims->count; i++) {
		struct hawk_claim *last = used ? &claims->items[used - 1] : NULL;

		if (last && claims->items[i].start <= last->end) {
			if (last->end < claims->items[i].end)
				last->end = claims->items[i].end;
		} else {
			claims->items[used++] = claims->items[i];
		}
	}
	claims->count = used;
}

struct hawk_error *hawk_claims_of_spans(const struct hawk_heap_spans *spans,
					struct hawk_claims *ret)
{
	struct hawk_error *err = NULL;

	for (size_t i = 0; i < spans->count && !err; i++)
		err = hawk_claims_add(ret, spans->items[i].start, spans->items[i].end);
	hawk_claims_sort(ret);
	return err;
}

const struct hawk_claim *hawk_claims_from(const struct hawk_claims *claims, uint64_t address)
{
	size_t i = hawk_array_first_above(claims->items, claims->count, sizeof(*claims->items),
					  offsetof(struct hawk_claim, end), address);

	return i < claims->count ? &claims->items[i] : NULL;
}

struct hawk_error *hawk_claims_put(const struct hawk_claims *claims, uint8_t kind,
				   struct hawk_heap_spans *ret)
{
	struct hawk_error *err = NULL;

	for (size_t i = 0; i < claims->count && !err; i++)
		err = hawk_heap_spans_add(ret,
					  (struct hawk_heap_span){.start = claims->items[i].start,
								  .end = claims->items[i].end,
								  .kind = kind});
	return err;
}

void hawk_claims_deinit(struct hawk_claims *claims)
{
	free(claims->items);
	*claims = (struct hawk_claims){0};
}

bool hawk_thread_is_inside(const struct hawk_target *target, const struct hawk_thread *thread,
			   uint64_t address)
{
	enum { WORDS = 64 /* of the stack: waiting for a lock, or the kernel, takes few */ };
	const struct hawk_module *module = hawk_target_module_at(target, address);
	uint64_t words[WORDS];
	size_t count =
		hawk_target_read_some(target, thread->sp, words, sizeof(words)) / sizeof(*words);

	if (!module || module->main || hawk_target_module_at(target, thread->pc) == module)
		return true;
	for (size_t i = 0; i < count; i++)
		if (words[i] >= module->start && words[i] < module->end)
			return true;
	return false;
}

bool hawk_threads_are_inside(const struct hawk_target *target, uint64_t address)
{
	size_t count;
	const struct hawk_thread *threads = hawk_target_threads(target, &count);

	for (size_t i = 0; i < count; i++)
		if (hawk_thread_is_inside(target, &threads[i], address))
			return true;
	return false;
}

uint64_t hawk_budget_to_read(const struct hawk_target *target)
{
	return 2 * hawk_target_present_bytes(target) + (UINT64_C(64) << 20);
}

/* Holes are passed page by page: asking for them costs more than reading a page. */
bool hawk_next_word(struct hawk_near *near, uint64_t *at, uint64_t end, uint64_t *ret)
{
	uint64_t data, data_end = 0;

	while (*at < end && end - *at >= sizeof(*ret)) {
		if (hawk_word(near, *at, ret) && *ret)
			return true;
		*at += sizeof(*ret);
		if (*at % PAGE_BYTES || *at < data_end)
			continue;
		if (!hawk_target_next_data(near->target, *at, end, &data, &data_end))
			return false;
		data &= -UINT64_C(8);
		*at = data > *at ? data : *at;
	}
	return false;
}

bool hawk_is_module_data(const struct hawk_target *target, const struct hawk_mapping *mapping)
{
	return mapping->flags & HAWK_MAPPING_WRITE && mapping->end <= user_end &&
	       hawk_target_module_at(target, mapping->start);
}

static bool is_wanted(const struct hawk_data_words *words, const struct hawk_target *target,
		      const struct hawk_mapping *mapping)
{
	return hawk_is_module_data(target, mapping) &&
	       (!words->module || hawk_target_module_at(target, mapping->start) == words->module);
}

bool hawk_data_words_next(struct hawk_data_words *words, struct hawk_near *near, uint64_t *ret)
{
	size_t count;
	const struct hawk_mapping *mappings = hawk_target_mappings(near->target, &count);

	words->at += sizeof(*ret);
	while (!hawk_next_word(near, &words->at, words->end, ret)) {
		while (words->next < count &&
		       !is_wanted(words, near->target, &mappings[words->next]))
			words->next++;
		if (words->next == count)
			return false;
		words->mapping = &mappings[words->next++];
		words->at = (words->mapping->start + 7) & -UINT64_C(8);
		words->end = words->mapping->start + words->mapping->present_bytes;
	}
	return true;
}

bool hawk_is_anonymous(const struct hawk_target *target, const struct hawk_mapping *mapping)
{
	return mapping->flags & HAWK_MAPPING_WRITE && mapping->end <= user_end && !mapping->path &&
	       !hawk_target_module_at(target, mapping->start);
}

struct hawk_error *hawk_each_aligned(const struct hawk_target *target, uint64_t alignment,
				     hawk_place_function *take, void *context)
{
	size_t count;
	const struct hawk_mapping *mappings = hawk_target_mappings(target, &count);
	struct hawk_error *err = NULL;

	for (size_t i = 0; i < count && !err; i++) {
		uint64_t at = (mappings[i].start + alignment - 1) & -alignment;
		uint64_t end = mappings[i].start + mappings[i].present_bytes;

		if (!hawk_is_anonymous(target, &mappings[i]))
			continue;
		for (; !err && at >= mappings[i].start && at < end; at += alignment)
			err = take(context, at);
	}
	return err;
}

void hawk_unclaimed_begin(struct hawk_unclaimed *walk, const struct hawk_target *target,
			  const struct hawk_claims *claims)
{
	*walk = (struct hawk_unclaimed){.target = target, .claims = claims};
}

static uint64_t page_up(uint64_t address)
{
	return (address + PAGE_BYTES - 1) & -(uint64_t)PAGE_BYTES;
}

/* Advances to unclaimed data in the mapping; returns false behind the last. */
static bool find_data(struct hawk_unclaimed *walk, uint64_t end)
{
	while (walk->at < end) {
		const struct hawk_claim *claim = hawk_claims_from(walk->claims, walk->at);
		uint64_t data;

		if (claim && claim->start <= walk->at) {
			walk->at = page_up(claim->end);
			continue;
		}
		walk->limit = claim && claim->start < end ? claim->start : end;
		if (!hawk_target_next_data(walk->target, walk->at, walk->limit, &data,
					   &walk->data_end)) {
			walk->at = page_up(walk->limit);
			continue;
		}
		data &= -(uint64_t)PAGE_BYTES;
		walk->at = data > walk->at ? data : walk->at;
		return true;
	}
	return false;
}

/* Where anonymous memory begins in a mapping: the kernel joins a module's .bss with what is mapped
 * behind it. The mapping's end: there is none. */
static uint64_t anonymous_start(const struct hawk_target *target,
				const struct hawk_mapping *mapping)
{
	const struct hawk_module *module = hawk_target_module_at(target, mapping->start);

	if (hawk_is_anonymous(target, mapping))
		return mapping->start;
	return module && mapping->flags & HAWK_MAPPING_WRITE && !mapping->path &&
			       mapping->end <= user_end && module->end < mapping->end
		       ? module->end
		       : mapping->end;
}

bool hawk_unclaimed_page(struct hawk_unclaimed *walk)
{
	size_t count;
	const struct hawk_mapping *mappings = hawk_target_mappings(walk->target, &count);

	walk->at = page_up(walk->at);
	for (; walk->mapping < count; walk->mapping++) {
		const struct hawk_mapping *mapping = &mappings[walk->mapping];
		uint64_t start = page_up(anonymous_start(walk->target, mapping));

		if (walk->at < start)
			walk->at = start;
		if (walk->at < walk->data_end && walk->at < mapping->end)
			return true;
		if (walk->at < mapping->end && find_data(walk, mapping->end))
			return true;
		walk->data_end = 0;
	}
	return false;
}
