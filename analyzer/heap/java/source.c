/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The heap of Java as a source of blocks, and Java as a guest whose types they have. Objects are
 * walked twice: first for their classes, whose numbers must be known before any block is given.
 */
#include "java.h"

#include "hawk/base/cleanup.h"

void java_search(struct java *java)
{
	struct java_walk walk = {.java = java, .near.target = java->target, .notes_unsound = true};
	struct java_object object;

	java_find_regions(java);
	while (!java->failed && java_walk_next(&walk, &object)) {
		java->types[object.number].objects++;
		java->types[object.number].bytes += object.bytes;
		java->objects++;
		java->bytes += object.bytes;
		java->forwarded += object.is_forwarded;
	}
}

void java_forget(struct java *java)
{
	free(java->regions);
	hawk_claims_deinit(&java->buffers);
	hawk_claims_deinit(&java->unsound);
	free(java->slots);
	free(java->types);
}

static void forget(struct hawk_heap_found *found)
{
	if (found->state)
		java_forget(found->state);
	free(found->state);
}

static const struct hawk_module *find_module(const struct hawk_target *target)
{
	size_t count;
	const struct hawk_module *modules = hawk_target_modules(target, &count);

	for (size_t i = 0; i < count; i++)
		if (!strcmp(hawk_path_base(modules[i].path), "libjvm.so"))
			return &modules[i];
	return NULL;
}

static void note(const struct java *java, struct hawk_findings *findings)
{
	if (!findings)
		return;
	if (!java->region_count)
		hawk_findings_add(findings, HAWK_FINDING_MISSING, false, "guest-unknown",
				  "the heap of %s is not walked: its objects are no blocks",
				  java->name);
	else if (java->forwarded)
		hawk_findings_add(findings, HAWK_FINDING_MISSING, false, "guest-collecting",
				  "%s was moving objects when the process died: some may be there "
				  "twice, and references may lead to the old place",
				  java->name);
}

static struct hawk_error *add_spans(const struct java *java, struct hawk_heap_spans *ret)
{
	struct hawk_error *err = NULL;

	for (size_t i = 0; i < java->region_count && !err; i++) {
		const struct java_region *region = &java->regions[i];

		err = hawk_heap_spans_add(
			ret, (struct hawk_heap_span){.start = region->start, .end = region->top});
		if (!err)
			err = hawk_heap_spans_add(ret,
						  (struct hawk_heap_span){.start = region->top,
									  .end = region->end,
									  .kind = HAWK_SPAN_FREE});
	}
	if (!err)
		err = hawk_claims_put(&java->buffers, HAWK_SPAN_FREE, ret);
	return err ? err : hawk_claims_put(&java->unsound, HAWK_SPAN_UNSOUND, ret);
}

static struct hawk_error *find(const struct hawk_heap_search *search, struct hawk_heap_found *ret,
			       bool *is_there)
{
	const struct hawk_module *module = find_module(search->target);
	struct java *java;

	*is_there = false;
	if (!module || !search->wants_java || !search->vtables || !search->vtables->symbols ||
	    hawk_target_process(search->target)->redacted)
		return NULL;
	java = ret->state = calloc(1, sizeof(*java));
	if (!java)
		return &hawk_enomem;
	*java = (struct java){.target = search->target,
			      .symbols = search->vtables->symbols,
			      .near.target = search->target,
			      .name = "this HotSpot"};
	if (java_read_names(java, module) && java_read_settings(java))
		java_search(java);
	if (java->failed)
		return &hawk_enomem;
	note(java, search->findings);
	*is_there = java->region_count;
	ret->class_count = java->type_count;
	ret->small_granules = true;
	ret->knows = HAWK_HEAP_BLOCKS | HAWK_HEAP_CONTENTS | HAWK_HEAP_ACCOUNTING | HAWK_HEAP_EXACT;
	return add_spans(java, &ret->spans);
}

static struct hawk_error *walk(struct hawk_heap_walk *walk, const struct hawk_block **ret,
			       size_t *count)
{
	struct java *java = walk->found->state;
	struct java_walk *cursor = walk->state;
	struct java_object object;

	if (!cursor) {
		cursor = walk->state = calloc(1, sizeof(*cursor));
		if (!cursor)
			return &hawk_enomem;
		*cursor = (struct java_walk){.java = java, .near.target = java->target};
	}
	*ret = walk->batch;
	*count = 0;
	while (*count < HAWK_HEAP_BATCH && java_walk_next(cursor, &object))
		walk->batch[(*count)++] = (struct hawk_block){
			.start = object.start, .size = object.bytes, .trace = object.number};
	return NULL;
}

static void leave(struct hawk_heap_walk *walk)
{
	free(walk->state);
}

static const struct hawk_heap_found *find_source(const struct hawk_heap *heap, unsigned *index)
{
	for (*index = 0; *index < heap->found_count; ++*index)
		if (heap->found[*index].source == &hawk_heap_java)
			return &heap->found[*index];
	return NULL;
}

void hawk_java_find(struct hawk_guest_finder *finder, const struct hawk_heap *heap)
{
	struct hawk_guests *guests = finder->guests;
	unsigned index;
	const struct hawk_heap_found *found = find_source(heap, &index);
	struct java *java = found ? found->state : NULL;
	struct hawk_guest *guest = java ? hawk_guest_named(guests, java->name) : NULL;

	if (!guest)
		return;
	guest->states = 1;
	guest->has_heap = true;
	guest->objects = java->objects;
	guest->bytes = java->bytes;
	guest->incomplete = java->incomplete || java->unsound.count;
	guests->source_types = calloc(java->type_count, sizeof(*guests->source_types));
	if (!guests->source_types) {
		finder->failed = true;
		return;
	}
	guests->source_first = index ? heap->origins[index - 1].end : 0;
	guests->source_type_count = java->type_count;
	for (uint32_t i = 1; i < java->type_count; i++) {
		CLEANUP(text) struct hawk_text name = {0};
		struct hawk_guest_layout layout = java_layout(java, &java->types[i]);

		java_append_class(java, java->types[i].address, &name);
		finder->failed |= name.failed;
		guests->source_types[i] =
			hawk_guest_add_type(finder, hawk_guest_mix(java->types[i].address, 1),
					    hawk_text_string(&name), &layout);
	}
}

const struct hawk_heap_source hawk_heap_java = {
	.name = "java",
	.find = find,
	.walk = walk,
	.leave = leave,
	.forget = forget,
};
