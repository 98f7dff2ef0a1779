/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Descriptors are in rings: one for threads with stacks of the C library, one for threads with
 * stacks of the program (and the first thread), one for stacks kept for later threads. The heads of
 * all rings are in the data of one module: ld.so, or libpthread up to glibc 2.33.
 */
#include "hawk/libc/stacks.h"

#include <stdlib.h>
#include <string.h>

#include "descriptor.h"
#include "hawk/base/array.h"
#include "hawk/target/words.h"

enum {
	ASKED_MAX = 8, /* threads whose ring is followed to look for a head */
	RING_MAX = 1 << 20,
};

/** A link of a ring: a head, or part of a descriptor. */
struct link {
	uint64_t next, before;
};

static bool read_link(const struct hawk_target *target, uint64_t address, struct link *ret)
{
	return hawk_target_read_some(target, address, ret, sizeof(*ret)) == sizeof(*ret);
}

static struct hawk_error *add(struct hawk_stacks *stacks, const struct hawk_stack *stack)
{
	if (!hawk_array_reserve(&stacks->items, stacks->count, &stacks->capacity,
				sizeof(*stacks->items)))
		return &hawk_enomem;
	stacks->items[stacks->count++] = *stack;
	return NULL;
}

/* Returns the head of the descriptor's ring, or 0 if the ring leads nowhere. Terminates because
 * every link must lead back. */
static uint64_t find_head(const struct hawk_descriptors *in, uint64_t descriptor)
{
	uint64_t ring = in->layout->ring, at = descriptor + ring;
	struct link link;

	for (unsigned i = 0; i < RING_MAX && read_link(in->target, at, &link); i++) {
		struct link next;

		if (!read_link(in->target, link.next, &next) || next.before != at ||
		    link.next == descriptor + ring)
			return 0;
		at = link.next;
		if (!hawk_is_descriptor(in, at - in->layout->ring))
			return at;
	}
	return 0;
}

/* Adds the stacks that ended threads of the ring left. */
static struct hawk_error *follow(const struct hawk_descriptors *in, uint64_t head,
				 struct hawk_stacks *stacks)
{
	uint64_t at = head;
	struct link link;

	for (unsigned i = 0; i < RING_MAX && read_link(in->target, at, &link); i++) {
		struct hawk_stack stack;
		struct link next;
		struct hawk_error *err;

		if (!read_link(in->target, link.next, &next) || next.before != at)
			break;
		if (link.next == head)
			return NULL;
		at = link.next;
		if (!hawk_is_descriptor(in, at - in->layout->ring))
			break;
		if (!hawk_descriptor_read(in, at - in->layout->ring, &stack) || !stack.ended)
			continue;
		err = add(stacks, &stack);
		if (err)
			return err;
	}
	stacks->incomplete = true;
	return NULL;
}

/* Returns true if a ring of descriptors begins with the link at `address`, whose first word is
 * `next`. */
static bool is_head(const struct hawk_descriptors *in, uint64_t address, uint64_t next)
{
	struct link link;

	return next > in->layout->ring && next % in->layout->alignment == 0 && next != address &&
	       read_link(in->target, next, &link) && link.before == address &&
	       hawk_is_descriptor(in, next - in->layout->ring) &&
	       !hawk_is_descriptor(in, address - in->layout->ring);
}

/* Follows all rings whose heads lie in [start, end). */
static struct hawk_error *follow_all(const struct hawk_descriptors *in, uint64_t start,
				     uint64_t end, struct hawk_stacks *stacks)
{
	struct hawk_words words;
	struct hawk_word_range range;
	struct hawk_error *err = NULL;

	hawk_words_init(&words, in->target);
	for (uint64_t at = start; !err && hawk_words_next(&words, at, end, &range);
	     at = range.start + range.words * HAWK_WORD_BYTES) {
		for (size_t i = 0; !err && i < range.words; i++) {
			uint64_t address = range.start + i * HAWK_WORD_BYTES;
			uint64_t value;

			memcpy(&value, range.bytes + i * HAWK_WORD_BYTES, sizeof(value));
			if (is_head(in, address, value))
				err = follow(in, address, stacks);
		}
	}
	if (!err && words.failed)
		err = &hawk_enomem;
	hawk_words_deinit(&words);
	return err;
}

/* Follows the rings whose heads are in the data of `module`. */
static struct hawk_error *follow_module(const struct hawk_descriptors *in,
					const struct hawk_module *module,
					struct hawk_stacks *stacks)
{
	size_t count;
	const struct hawk_mapping *mappings = hawk_target_mappings(in->target, &count);
	struct hawk_error *err = NULL;

	for (size_t i = 0; !err && i < count; i++)
		if (mappings[i].flags & HAWK_MAPPING_WRITE &&
		    hawk_target_module_at(in->target, mappings[i].start) == module)
			err = follow_all(in, mappings[i].start, mappings[i].end, stacks);
	return err;
}

/* Follows all rings. One module holds their heads, unless a second C library was loaded (dlmopen).
 */
static struct hawk_error *follow_rings(const struct hawk_descriptors *in,
				       struct hawk_stacks *stacks)
{
	size_t count;
	const struct hawk_thread *threads = hawk_target_threads(in->target, &count);
	const struct hawk_module *modules[ASKED_MAX];
	size_t known = 0;
	size_t asked = 0;
	struct hawk_error *err = NULL;

	for (size_t i = 0; !err && i < count && asked < ASKED_MAX; i++) {
		uint64_t descriptor = hawk_descriptor_of(in, &threads[i]);
		const struct hawk_module *module;
		size_t j = 0;

		if (!descriptor)
			continue;
		asked++;
		module = hawk_target_module_at(in->target, find_head(in, descriptor));
		while (j < known && modules[j] != module)
			j++;
		if (!module || j < known)
			continue;
		modules[known++] = module;
		err = follow_module(in, module, stacks);
	}
	if (!known && stacks->count)
		stacks->incomplete = true;
	return err;
}

static int compare(const void *left, const void *right)
{
	const struct hawk_stack *a = left;
	const struct hawk_stack *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->descriptor < b->descriptor ? -1 : a->descriptor > b->descriptor;
}

/* Removes duplicates. A thread with registers is live, whatever its descriptor's thread id is. */
static void merge(struct hawk_stacks *stacks)
{
	size_t kept = 0;

	if (stacks->count)
		qsort(stacks->items, stacks->count, sizeof(*stacks->items), compare);
	for (size_t i = 0; i < stacks->count; i++) {
		if (kept && stacks->items[kept - 1].descriptor == stacks->items[i].descriptor)
			stacks->items[kept - 1].ended &= stacks->items[i].ended;
		else
			stacks->items[kept++] = stacks->items[i];
	}
	stacks->count = kept;
}

/* Adds the stacks of live threads. The first thread's is the kernel's. */
static struct hawk_error *add_live(const struct hawk_descriptors *in, struct hawk_stacks *stacks)
{
	size_t count;
	const struct hawk_thread *threads = hawk_target_threads(in->target, &count);
	uint32_t first = hawk_target_process(in->target)->pid;
	struct hawk_error *err = NULL;

	for (size_t i = 0; !err && i < count; i++) {
		uint64_t descriptor = hawk_descriptor_of(in, &threads[i]);
		struct hawk_stack stack;

		if (!descriptor)
			continue;
		if (!hawk_descriptor_read(in, descriptor, &stack)) {
			stacks->incomplete |= threads[i].tid != first;
			continue;
		}
		stack.ended = false;
		err = add(stacks, &stack);
	}
	return err;
}

struct hawk_error *hawk_stacks_find(const struct hawk_target *target, struct hawk_stacks *ret)
{
	struct hawk_descriptors in = hawk_descriptors_of(target);
	struct hawk_error *err;

	ret->layout = in.layout;
	ret->below = in.below;
	if (!in.layout)
		return NULL;
	err = add_live(&in, ret);
	if (!err && in.layout->ring)
		err = follow_rings(&in, ret);
	merge(ret);
	return err;
}

void hawk_stacks_deinit(struct hawk_stacks *stacks)
{
	free(stacks->items);
	*stacks = (struct hawk_stacks){0};
}

/* Returns the number of stacks that begin below `address`. */
static size_t below(const struct hawk_stacks *stacks, uint64_t address)
{
	return address ? hawk_array_first_above(stacks->items, stacks->count,
						sizeof(*stacks->items),
						offsetof(struct hawk_stack, start), address - 1)
		       : 0;
}

const struct hawk_stack *hawk_stacks_of(const struct hawk_stacks *stacks, uint64_t thread_pointer)
{
	uint64_t descriptor = thread_pointer - stacks->below;
	size_t i = below(stacks, descriptor);

	if (!i || stacks->items[i - 1].descriptor != descriptor || stacks->items[i - 1].ended)
		return NULL;
	return &stacks->items[i - 1];
}

uint64_t hawk_stacks_next(const struct hawk_stacks *stacks, uint64_t address)
{
	size_t i = below(stacks, address);

	return i < stacks->count ? stacks->items[i].start : UINT64_MAX;
}

/* Returns the place of a descriptor's thread id, which shows if the thread has ended. */
static struct hawk_span tid_of(const struct hawk_thread_layout *layout, uint64_t descriptor)
{
	uint64_t start = descriptor + layout->tid;

	return (struct hawk_span){start, start + sizeof(uint32_t)};
}

/* Fills `ret` with the numbers of `stacks` and of all threads; returns their count. */
static size_t list_numbers(const struct hawk_target *target, const struct hawk_stacks *stacks,
			   struct hawk_span *ret)
{
	struct hawk_descriptors in = {target, stacks->layout, stacks->below};
	size_t count, found = 0;
	const struct hawk_thread *threads = hawk_target_threads(target, &count);

	for (size_t i = 0; i < stacks->count; i++) {
		const struct hawk_stack *stack = &stacks->items[i];

		ret[found++] = (struct hawk_span){
			stack->described, stack->described + in.layout->guard + HAWK_WORD_BYTES};
		ret[found++] = tid_of(in.layout, stack->descriptor);
	}
	for (size_t i = 0; in.layout && i < count; i++) {
		uint64_t descriptor = hawk_descriptor_of(&in, &threads[i]);

		if (descriptor)
			ret[found++] = tid_of(in.layout, descriptor);
	}
	return found;
}

struct hawk_error *hawk_stacks_numbers(const struct hawk_target *target, struct hawk_span **ret,
				       size_t *count)
{
	size_t threads;
	struct hawk_stacks stacks = {0};
	struct hawk_error *err = hawk_stacks_find(target, &stacks);

	hawk_target_threads(target, &threads);
	*ret = err ? NULL : calloc(2 * stacks.count + threads + 1, sizeof(**ret));
	if (!err && !*ret)
		err = &hawk_enomem;
	if (!err)
		*count = list_numbers(target, &stacks, *ret);
	hawk_stacks_deinit(&stacks);
	return err;
}
