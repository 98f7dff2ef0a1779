/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A thread's descriptor (nptl/descr.h, struct pthread) lies at the end of its stack and says where
 * that is, and how large it and its guard are. These three words follow each other in all versions;
 * their place is searched for. Descriptors are in rings, one for threads with stacks of glibc's,
 * one for those of the program's (and the first thread), one for stacks that are kept for later
 * threads. The head of each is in the data of one module: of ld.so, or up to 2.33 of libpthread.
 *
 *     block: | guard | stack ... | static TLS | descriptor: self .. self .. ring, tid .. block,
 *     size, guard |
 *
 * The kernel clears the thread id when the thread ends, and who joins it makes it -1.
 */
#include "hawk/graph/descriptors.h"

#include <stdlib.h>

#include "hawk/base/array.h"
#include "roots_ranges.h"

enum {
	WORDS = 296,    /* of a descriptor: 2,304 to 2,368 bytes */
	SELF_WORD = 2,  /* header.self, behind header.tcb, which is the same */
	RING_WORD = 88, /* list: behind 704 bytes of header */
	TID_WORD = 90,  /* tid */
	BLOCK_MIN = 91, /* behind that */
	ALIGNMENT = 16, /* of descriptors, at least */
	RING_OFFSET = RING_WORD * HAWK_WORD_BYTES,
	ABOVE_MAX = 128 << 10, /* from a descriptor to its block's end: itself, and alignment */
	ASKED_MAX = 8,         /* threads, whether their ring leads to a head */
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

/* Whether `address` is that of a descriptor. */
static bool is_descriptor(const struct hawk_target *target, uint64_t address)
{
	uint64_t words[SELF_WORD + 1];

	return address && address % ALIGNMENT == 0 &&
	       hawk_target_read_some(target, address, words, sizeof(words)) == sizeof(words) &&
	       words[0] == address && words[SELF_WORD] == address;
}

/* The block of the descriptor; false = it says of none, as the first thread's. */
static bool describe(const struct hawk_target *target, uint64_t descriptor, struct hawk_stack *ret)
{
	uint64_t words[WORDS];
	size_t count =
		hawk_target_read_some(target, descriptor, words, sizeof(words)) / sizeof(words[0]);

	if (count <= BLOCK_MIN)
		return false;
	ret->descriptor = descriptor;
	ret->ended = (int32_t)words[TID_WORD] <= 0;
	for (size_t i = BLOCK_MIN; i + 2 < count; i++) {
		uint64_t above = words[i] + words[i + 1] - descriptor;

		if (!words[i] || words[i] >= descriptor || above > ABOVE_MAX || !above ||
		    words[i + 2] % HAWK_ROOTS_PAGE_BYTES || words[i + 2] >= descriptor - words[i])
			continue;
		ret->described = descriptor + i * HAWK_WORD_BYTES;
		ret->start = words[i];
		ret->end = descriptor + above;
		return true;
	}
	return false;
}

static struct hawk_error *add(struct hawk_stacks *stacks, const struct hawk_stack *stack)
{
	if (!hawk_array_reserve(&stacks->items, stacks->count, &stacks->capacity,
				sizeof(*stacks->items)))
		return &hawk_enomem;
	stacks->items[stacks->count++] = *stack;
	return NULL;
}

/* The head of the ring that the descriptor is in; 0 = it leads nowhere. That every link leads back
 * keeps this from going round in circles. */
static uint64_t find_head(const struct hawk_target *target, uint64_t descriptor)
{
	uint64_t at = descriptor + RING_OFFSET;
	struct link link;

	for (unsigned i = 0; i < RING_MAX && read_link(target, at, &link); i++) {
		struct link next;

		if (!read_link(target, link.next, &next) || next.before != at ||
		    link.next == descriptor + RING_OFFSET)
			return 0;
		at = link.next;
		if (!is_descriptor(target, at - RING_OFFSET))
			return at;
	}
	return 0;
}

/* Adds what ended threads of the ring have left. */
static struct hawk_error *follow(const struct hawk_target *target, uint64_t head,
				 struct hawk_stacks *stacks)
{
	uint64_t at = head;
	struct link link;

	for (unsigned i = 0; i < RING_MAX && read_link(target, at, &link); i++) {
		struct hawk_stack stack;
		struct link next;
		struct hawk_error *err;

		if (!read_link(target, link.next, &next) || next.before != at)
			break;
		if (link.next == head)
			return NULL;
		at = link.next;
		if (!is_descriptor(target, at - RING_OFFSET))
			break;
		if (!describe(target, at - RING_OFFSET, &stack) || !stack.ended)
			continue;
		err = add(stacks, &stack);
		if (err)
			return err;
	}
	stacks->incomplete = true;
	return NULL;
}

/* Whether a ring of descriptors begins with the link at `address`, whose first word is `next`. */
static bool is_head(const struct hawk_target *target, uint64_t address, uint64_t next)
{
	struct link link;

	return next > RING_OFFSET && next % ALIGNMENT == 0 && next != address &&
	       read_link(target, next, &link) && link.before == address &&
	       is_descriptor(target, next - RING_OFFSET) &&
	       !is_descriptor(target, address - RING_OFFSET);
}

/* All rings whose heads lie in [start, end). */
static struct hawk_error *follow_all(const struct hawk_target *target, uint64_t start, uint64_t end,
				     struct hawk_stacks *stacks)
{
	struct hawk_words words;
	struct hawk_word_range range;
	struct hawk_error *err = NULL;

	hawk_words_init(&words, target);
	for (uint64_t at = start; !err && hawk_words_next(&words, at, end, &range);
	     at = range.start + range.words * HAWK_WORD_BYTES) {
		for (size_t i = 0; !err && i < range.words; i++) {
			uint64_t address = range.start + i * HAWK_WORD_BYTES;
			uint64_t value;

			memcpy(&value, range.bytes + i * HAWK_WORD_BYTES, sizeof(value));
			if (is_head(target, address, value))
				err = follow(target, address, stacks);
		}
	}
	if (!err && words.failed)
		err = &hawk_enomem;
	hawk_words_deinit(&words);
	return err;
}

/* The rings whose heads are in the data of `module`. */
static struct hawk_error *follow_module(const struct hawk_target *target,
					const struct hawk_module *module,
					struct hawk_stacks *stacks)
{
	size_t count;
	const struct hawk_mapping *mappings = hawk_target_mappings(target, &count);
	struct hawk_error *err = NULL;

	for (size_t i = 0; !err && i < count; i++)
		if (mappings[i].flags & HAWK_MAPPING_WRITE &&
		    hawk_target_module_at(target, mappings[i].start) == module)
			err = follow_all(target, mappings[i].start, mappings[i].end, stacks);
	return err;
}

/* One module has them all, but where a second C library was loaded (dlmopen). */
static struct hawk_error *follow_rings(const struct hawk_target *target, struct hawk_stacks *stacks)
{
	size_t count;
	const struct hawk_thread *threads = hawk_target_threads(target, &count);
	const struct hawk_module *modules[ASKED_MAX];
	size_t known = 0;
	size_t asked = 0;
	struct hawk_error *err = NULL;

	for (size_t i = 0; !err && i < count && asked < ASKED_MAX; i++) {
		uint64_t descriptor = threads[i].registers[HAWK_FS_BASE];
		const struct hawk_module *module;
		size_t j = 0;

		if (!is_descriptor(target, descriptor))
			continue;
		asked++;
		module = hawk_target_module_at(target, find_head(target, descriptor));
		while (j < known && modules[j] != module)
			j++;
		if (!module || j < known)
			continue;
		modules[known++] = module;
		err = follow_module(target, module, stacks);
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

/* One of each. Of a thread that is there the registers count, whatever its id says. */
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

/* The thread pointer of the first thread, whose stack is the kernel's. */
static uint64_t first_descriptor(const struct hawk_target *target)
{
	size_t count;
	const struct hawk_thread *threads = hawk_target_threads(target, &count);

	for (size_t i = 0; i < count; i++)
		if (threads[i].tid == hawk_target_process(target)->pid)
			return threads[i].registers[HAWK_FS_BASE];
	return 0;
}

struct hawk_error *hawk_stacks_find(const struct hawk_target *target, struct hawk_stacks *ret)
{
	size_t count;
	const struct hawk_thread *threads = hawk_target_threads(target, &count);
	uint64_t first = first_descriptor(target);
	struct hawk_error *err = NULL;

	for (size_t i = 0; !err && i < count; i++) {
		uint64_t descriptor = threads[i].registers[HAWK_FS_BASE];
		struct hawk_stack stack;

		if (!is_descriptor(target, descriptor))
			continue;
		if (!describe(target, descriptor, &stack)) {
			ret->incomplete |= descriptor != first;
			continue;
		}
		stack.ended = false;
		err = add(ret, &stack);
	}
	if (!err)
		err = follow_rings(target, ret);
	merge(ret);
	return err;
}

void hawk_stacks_deinit(struct hawk_stacks *stacks)
{
	free(stacks->items);
	*stacks = (struct hawk_stacks){0};
}

/* How many begin below `address`. */
static size_t below(const struct hawk_stacks *stacks, uint64_t address)
{
	return address ? hawk_array_first_above(stacks->items, stacks->count,
						sizeof(*stacks->items),
						offsetof(struct hawk_stack, start), address - 1)
		       : 0;
}

const struct hawk_stack *hawk_stacks_of(const struct hawk_stacks *stacks, uint64_t descriptor)
{
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

/* The thread id of a descriptor, which tells whether its thread has ended. */
static struct hawk_span tid_of(uint64_t descriptor)
{
	uint64_t start = descriptor + TID_WORD * HAWK_WORD_BYTES;

	return (struct hawk_span){start, start + sizeof(uint32_t)};
}

struct hawk_error *hawk_descriptor_numbers_find(const struct hawk_target *target,
						struct hawk_span **ret, size_t *count)
{
	size_t threads, found = 0;
	const struct hawk_thread *thread = hawk_target_threads(target, &threads);
	struct hawk_stacks stacks = {0};
	struct hawk_error *err = hawk_stacks_find(target, &stacks);
	struct hawk_span *spans = calloc(2 * stacks.count + threads + 1, sizeof(*spans));

	if (!err && !spans)
		err = &hawk_enomem;
	for (size_t i = 0; !err && i < stacks.count; i++) {
		const struct hawk_stack *stack = &stacks.items[i];

		spans[found++] = (struct hawk_span){stack->described,
						    stack->described + 3 * HAWK_WORD_BYTES};
		spans[found++] = tid_of(stack->descriptor);
	}
	for (size_t i = 0; !err && i < threads; i++)
		if (is_descriptor(target, thread[i].registers[HAWK_FS_BASE]))
			spans[found++] = tid_of(thread[i].registers[HAWK_FS_BASE]);
	hawk_stacks_deinit(&stacks);
	if (err) {
		free(spans);
		return err;
	}
	*ret = spans;
	*count = found;
	return NULL;
}
