/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Reads the central lists, one for each class of sizes. Each holds its class's number, at the same
 * distance in every version. They lead to all spans of small objects, and to the free objects in
 * them.
 */
#include "tcmalloc.h"

enum {
	STRIDE = 0x4c0,
	CLASS_OFFSET = 8,
	EMPTY_OFFSET = 0x10, /* heads of rings are spans themselves */
	NONEMPTY_OFFSET = 0x40,
	SLOTS_OFFSET = 0x80, /* returned lists: first, last */
	SLOTS = 64,
	SLOTS_USED_OFFSET = 0x480,
	CLASSES_MIN = 40,
	SMALL_MAX = 0x40000, /* the largest class */
	SPAN_NEXT = 0x10,
	SPAN_OBJECTS = 0x20,
	SPAN_USED = 0x28,
};

bool hawk_tcmalloc_span(struct hawk_near *near, uint64_t address, struct hawk_tcmalloc_span *ret)
{
	uint64_t words[HAWK_SPAN_BYTES / 8];

	if (hawk_near_read(near, address, words, sizeof(words)) != sizeof(words))
		return false;
	*ret = (struct hawk_tcmalloc_span){
		.page = words[0],
		.pages = words[1],
		.next = words[SPAN_NEXT / 8],
		.objects = words[SPAN_OBJECTS / 8],
		.used = (uint16_t)words[SPAN_USED / 8],
		.size_class = (uint8_t)(words[SPAN_USED / 8] >> 16),
		.location = words[SPAN_USED / 8] >> 24 & 3,
		.sampled = words[SPAN_USED / 8] >> 26 & 1,
	};
	return ret->pages && ret->page < UINT64_C(1) << (48 - HAWK_TCMALLOC_PAGE_LOG2) &&
	       ret->pages < UINT64_C(1) << (48 - HAWK_TCMALLOC_PAGE_LOG2);
}

struct hawk_error *hawk_tcmalloc_claim(struct hawk_tcmalloc *tcmalloc, uint64_t address,
				       const struct hawk_tcmalloc_span *span)
{
	struct hawk_error *err =
		hawk_claims_add(&tcmalloc->heap.memory, span->page << HAWK_TCMALLOC_PAGE_LOG2,
				(span->page + span->pages) << HAWK_TCMALLOC_PAGE_LOG2);

	return err ? err
		   : hawk_claims_add(&tcmalloc->heap.metadata, address, address + HAWK_SPAN_BYTES);
}

static uint32_t count_classes(struct hawk_near *near, uint64_t first)
{
	uint32_t count = 0;
	uint64_t word;

	while (count < HAWK_TCMALLOC_CLASSES &&
	       hawk_word(near, first + (uint64_t)count * STRIDE + CLASS_OFFSET, &word) &&
	       (uint32_t)word == count)
		count++;
	return count;
}

/* The first class is 0, so looks for the second. */
static bool find_lists(struct hawk_tcmalloc *tcmalloc, struct hawk_near *near)
{
	struct hawk_data_words words = {0};
	uint64_t word;

	while (hawk_data_words_next(&words, near, &word)) {
		uint64_t first = words.at - STRIDE - CLASS_OFFSET;

		if ((uint32_t)word != 1 || first < words.mapping->start)
			continue;
		tcmalloc->classes = count_classes(near, first);
		tcmalloc->central = first;
		if (tcmalloc->classes >= CLASSES_MIN)
			return true;
	}
	return false;
}

/* Reads the sizes of all classes: ascending multiples of 8 up to the largest. */
static bool read_sizes(struct hawk_tcmalloc *tcmalloc, struct hawk_near *near, uint64_t at,
		       unsigned bytes)
{
	uint64_t last = 0;

	for (uint32_t i = 0; i < tcmalloc->classes; i++) {
		uint64_t size = 0;

		if (hawk_near_read(near, at + (uint64_t)i * bytes, &size, bytes) != bytes ||
		    size % 8 || size > SMALL_MAX || (i ? size <= last : size != 0)) {
			tcmalloc->class_bytes[i] = 0;
			return last == SMALL_MAX;
		}
		tcmalloc->class_bytes[i] = last = size;
	}
	return last == SMALL_MAX;
}

static bool find_sizes(struct hawk_tcmalloc *tcmalloc, struct hawk_near *near,
		       const struct hawk_mapping *mapping)
{
	uint64_t at = (mapping->start + 3) & -UINT64_C(4);
	uint64_t end = mapping->start + mapping->present_bytes;

	for (; at + 16 <= end; at += 4) {
		uint32_t halves[4];

		if (hawk_near_read(near, at, halves, sizeof(halves)) != sizeof(halves) || halves[0])
			continue;
		tcmalloc->wide_sizes = !halves[1] && halves[2] == 8 && !halves[3];
		tcmalloc->sizes = at;
		if ((tcmalloc->wide_sizes || (halves[1] == 8 && halves[2] == 16)) &&
		    read_sizes(tcmalloc, near, at, tcmalloc->wide_sizes ? 8 : 4))
			return true;
	}
	return false;
}

bool hawk_tcmalloc_find_central(struct hawk_tcmalloc *tcmalloc)
{
	size_t count;
	const struct hawk_mapping *mappings = hawk_target_mappings(tcmalloc->heap.target, &count);
	struct hawk_near near = {.target = tcmalloc->heap.target};
	const struct hawk_module *module;
	bool found = false;

	if (!find_lists(tcmalloc, &near))
		return false;
	/* jemalloc has a table of such sizes as well. */
	module = hawk_target_module_at(near.target, tcmalloc->central);
	for (size_t i = 0; i < count && !found; i++)
		found = hawk_is_module_data(near.target, &mappings[i]) &&
			hawk_target_module_at(near.target, mappings[i].start) == module &&
			find_sizes(tcmalloc, &near, &mappings[i]);
	tcmalloc->heap.version = tcmalloc->wide_sizes ? "2.0 to 2.5" : "2.6 to 2.18";
	return found;
}

static struct hawk_error *add_span(struct hawk_tcmalloc *tcmalloc, uint64_t address,
				   const struct hawk_tcmalloc_span *span)
{
	uint64_t bytes = span->pages << HAWK_TCMALLOC_PAGE_LOG2;
	uint64_t object_bytes = tcmalloc->class_bytes[span->size_class];
	struct hawk_error *err;

	if (!hawk_array_reserve(&tcmalloc->spans, tcmalloc->span_count, &tcmalloc->span_capacity,
				sizeof(*tcmalloc->spans)))
		return &hawk_enomem;
	tcmalloc->spans[tcmalloc->span_count++] = address;
	err = hawk_slabs_add(&tcmalloc->heap.slabs,
			     (struct hawk_slab){.start = span->page << HAWK_TCMALLOC_PAGE_LOG2,
						.object_bytes = object_bytes,
						.count = bytes / object_bytes});
	return err ? err : hawk_tcmalloc_claim(tcmalloc, address, span);
}

/* Reads a ring of spans, up to the first that is not of the class. All rings together have at most
 * as many spans as memory has pages. */
static struct hawk_error *read_ring(struct hawk_tcmalloc *tcmalloc, struct hawk_near *near,
				    uint64_t head, uint32_t size_class)
{
	uint64_t most = hawk_target_present_bytes(tcmalloc->heap.target) >> HAWK_TCMALLOC_PAGE_LOG2;
	struct hawk_tcmalloc_span span;
	struct hawk_error *err = NULL;
	uint64_t at;

	if (!hawk_word(near, head + SPAN_NEXT, &at))
		return NULL;
	while (!err && at != head && tcmalloc->span_count <= most &&
	       hawk_tcmalloc_span(near, at, &span) && span.size_class == size_class) {
		err = add_span(tcmalloc, at, &span);
		at = span.next;
	}
	return err;
}

struct hawk_error *hawk_tcmalloc_read_spans(struct hawk_tcmalloc *tcmalloc)
{
	struct hawk_near near = {.target = tcmalloc->heap.target};
	uint64_t classes = tcmalloc->classes;
	struct hawk_error *err = hawk_claims_add(&tcmalloc->heap.metadata, tcmalloc->central,
						 tcmalloc->central + classes * STRIDE);

	if (!err)
		err = hawk_claims_add(&tcmalloc->heap.metadata, tcmalloc->sizes,
				      tcmalloc->sizes + classes * (tcmalloc->wide_sizes ? 8 : 4));
	for (uint32_t i = 1; !err && i < tcmalloc->classes && tcmalloc->class_bytes[i]; i++) {
		uint64_t list = tcmalloc->central + (uint64_t)i * STRIDE;

		err = read_ring(tcmalloc, &near, list + EMPTY_OFFSET, i);
		if (!err)
			err = read_ring(tcmalloc, &near, list + NONEMPTY_OFFSET, i);
	}
	return err;
}

/* Marks the lists of free objects that threads returned whole. While the list is locked, the last
 * one may be half written. */
static void mark_slots(struct hawk_tcmalloc *tcmalloc, struct hawk_near *near, uint32_t size_class)
{
	uint64_t at = tcmalloc->central + (uint64_t)size_class * STRIDE;
	struct hawk_slab_list list = {.object_bytes = tcmalloc->class_bytes[size_class],
				      .state = HAWK_OBJECT_CACHED};
	uint32_t used, locked;

	if (!hawk_half(near, at, &locked) || !hawk_half(near, at + SLOTS_USED_OFFSET, &used) ||
	    used > SLOTS)
		return;
	for (uint32_t i = 0; i < used - (locked && used); i++)
		if (hawk_word(near, at + SLOTS_OFFSET + 16 * (uint64_t)i, &list.first))
			hawk_slabs_mark_list(&tcmalloc->heap.slabs, near, &list);
}

void hawk_tcmalloc_mark_free(struct hawk_tcmalloc *tcmalloc)
{
	struct hawk_near near = {.target = tcmalloc->heap.target};

	for (size_t i = 0; i < tcmalloc->span_count; i++) {
		struct hawk_tcmalloc_span span;
		const struct hawk_slab *slab;
		uint64_t free_count;

		if (!hawk_tcmalloc_span(&near, tcmalloc->spans[i], &span))
			continue;
		slab = hawk_slabs_at(&tcmalloc->heap.slabs, span.page << HAWK_TCMALLOC_PAGE_LOG2);
		free_count = hawk_slabs_mark_list(
			&tcmalloc->heap.slabs, &near,
			&(struct hawk_slab_list){
				.first = span.objects,
				.object_bytes = tcmalloc->class_bytes[span.size_class],
				.length = slab && !tcmalloc->in_flux && span.used < slab->count
						  ? slab->count - span.used
						  : 0,
				.state = HAWK_OBJECT_FREE});
		tcmalloc->heap.differing += !slab || slab->count - free_count != span.used;
	}
	for (uint32_t i = 1; i < tcmalloc->classes; i++)
		mark_slots(tcmalloc, &near, i);
}
