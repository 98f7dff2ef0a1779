/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds threads' caches: a list of free objects for each class. From 2.6 on each list has its
 * class's size behind it, and so is found anywhere. Earlier caches are found by pointers in the
 * library's data.
 *
 *     list, from 2.6 on:  | first | length 32, low 32 | longest 32, ... 32 | size |
 *     list, before:       | first | length 32, low 32 | longest 32, ... 32 |
 */
#include "tcmalloc.h"

enum {
	STRIDE = 0x20,
	LENGTH_OFFSET = 8,
	SIZE_OFFSET = 0x18,
	OLD_STRIDE = 0x18,
	OLD_NEXT = 0,
	OLD_CACHES_MAX = 1 << 16,
	THREAD_AWAY = 0x100, /* upper limit on bytes from the lists to the thread's number */
};

/* Returns the thread of a cache, or NULL: it has ended. Its number follows the lists, of which some
 * may not be used. */
static struct hawk_slab_thread *thread_of(const struct hawk_tcmalloc *tcmalloc,
					  struct hawk_near *near, uint64_t lists, unsigned stride)
{
	uint64_t at = lists + (uint64_t)tcmalloc->classes * stride, word;
	uint64_t end = lists + (uint64_t)HAWK_TCMALLOC_CLASSES * stride + THREAD_AWAY;
	struct hawk_slab_thread *thread = NULL;

	for (; !thread && at < end && hawk_word(near, at, &word); at += 8)
		thread = hawk_slab_heap_thread(&tcmalloc->heap, word);
	return thread;
}

static void mark_lists(struct hawk_tcmalloc *tcmalloc, struct hawk_near *near, uint64_t lists,
		       unsigned stride)
{
	struct hawk_slab_thread *thread = thread_of(tcmalloc, near, lists, stride);

	for (uint32_t i = 1; i < tcmalloc->classes && tcmalloc->class_bytes[i]; i++) {
		uint64_t at = lists + (uint64_t)i * stride;
		struct hawk_slab_list list = {.object_bytes = tcmalloc->class_bytes[i],
					      .state = HAWK_OBJECT_CACHED};
		uint32_t length = 0;
		uint64_t count = 0;

		if (!tcmalloc->in_flux && hawk_half(near, at + LENGTH_OFFSET, &length))
			list.length = length;
		if (hawk_word(near, at, &list.first))
			count = hawk_slabs_mark_list(&tcmalloc->heap.slabs, near, &list);
		if (!thread)
			continue;
		thread->cached_objects += count;
		thread->cached_bytes += count * list.object_bytes;
		tcmalloc->heap.caches_known = true;
	}
	tcmalloc->caches++;
}

/* Returns true if lists at `lists` are followed by the sizes of all classes. */
static bool has_sizes(const struct hawk_tcmalloc *tcmalloc, struct hawk_near *near, uint64_t lists)
{
	for (uint32_t i = 1; i < tcmalloc->classes && tcmalloc->class_bytes[i]; i++) {
		uint64_t word;

		if (!hawk_word(near, lists + (uint64_t)i * STRIDE + SIZE_OFFSET, &word) ||
		    (uint32_t)word != tcmalloc->class_bytes[i])
			return false;
	}
	return true;
}

/* Caches lie in memory that holds no spans. */
static struct hawk_error *search(struct hawk_tcmalloc *tcmalloc, struct hawk_near *near,
				 uint64_t at, uint64_t end)
{
	struct hawk_error *err = NULL;
	uint64_t word;

	for (; !err && hawk_next_word(near, &at, end, &word); at += 8) {
		uint64_t lists = at - SIZE_OFFSET - STRIDE;

		if ((uint32_t)word != tcmalloc->class_bytes[1] || !has_sizes(tcmalloc, near, lists))
			continue;
		mark_lists(tcmalloc, near, lists, STRIDE);
		err = hawk_claims_add(&tcmalloc->heap.metadata, lists,
				      lists + (uint64_t)tcmalloc->classes * STRIDE);
	}
	return err;
}

static struct hawk_error *search_memory(struct hawk_tcmalloc *tcmalloc, struct hawk_near *near)
{
	size_t count;
	const struct hawk_mapping *mappings = hawk_target_mappings(tcmalloc->heap.target, &count);
	struct hawk_error *err = NULL;

	for (size_t i = 0; i < count && !err; i++) {
		uint64_t at = mappings[i].start;
		uint64_t end = at + mappings[i].present_bytes;

		if (!hawk_is_anonymous(tcmalloc->heap.target, &mappings[i]))
			continue;
		while (!err && at < end) {
			const struct hawk_claim *pages =
				hawk_claims_from(&tcmalloc->heap.memory, at);
			uint64_t limit = pages && pages->start < end ? pages->start : end;

			if (limit > at)
				err = search(tcmalloc, near, at, limit);
			at = pages && pages->end > limit ? pages->end : end;
		}
	}
	return err;
}

/* Returns true if every list is empty or holds objects of its class. */
static bool is_old_cache(const struct hawk_tcmalloc *tcmalloc, struct hawk_near *near,
			 uint64_t lists)
{
	unsigned used = 0;

	for (uint32_t i = 1; i < tcmalloc->classes && tcmalloc->class_bytes[i]; i++) {
		uint64_t first;
		uint32_t length;
		const struct hawk_slab *slab;

		if (!hawk_word(near, lists + (uint64_t)i * OLD_STRIDE, &first) ||
		    !hawk_half(near, lists + (uint64_t)i * OLD_STRIDE + LENGTH_OFFSET, &length) ||
		    !first != !length)
			return false;
		slab = first ? hawk_slabs_at(&tcmalloc->heap.slabs, first) : NULL;
		if (first && (!slab || slab->object_bytes != tcmalloc->class_bytes[i]))
			return false;
		used += first != 0;
	}
	return used;
}

/* Marks caches of 2.0 to 2.5: lists lie 0x30 behind the start of a cache, whose first word leads to
 * the next. */
static void search_old(struct hawk_tcmalloc *tcmalloc, struct hawk_near *near)
{
	enum { LISTS = 0x30 };
	struct hawk_data_words words = {0};
	uint64_t cache;

	while (hawk_data_words_next(&words, near, &cache))
		while (tcmalloc->caches < OLD_CACHES_MAX && cache &&
		       is_old_cache(tcmalloc, near, cache + LISTS)) {
			mark_lists(tcmalloc, near, cache + LISTS, OLD_STRIDE);
			if (!hawk_word(near, cache + OLD_NEXT, &cache))
				break;
		}
}

struct hawk_error *hawk_tcmalloc_mark_cached(struct hawk_tcmalloc *tcmalloc)
{
	struct hawk_near near = {.target = tcmalloc->heap.target};
	struct hawk_error *err = hawk_slab_heap_threads(&tcmalloc->heap);

	if (err)
		return err;
	if (!tcmalloc->wide_sizes)
		return search_memory(tcmalloc, &near);
	search_old(tcmalloc, &near);
	return NULL;
}
