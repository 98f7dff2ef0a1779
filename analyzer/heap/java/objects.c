/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Walks objects one behind the other. Where none follows, the walk goes on at the next place at
 * which one may begin that another one follows.
 */
#include "java.h"

enum { HEADER_BYTES = 24, MARK_BITS = 3, FORWARDED = 3, WORD = 8 };

/** The words of an object that tell its bytes. */
struct header {
	uint64_t mark;
	uint8_t bytes[HEADER_BYTES];
};

static uint64_t class_id(const struct java *java, const struct header *header)
{
	uint32_t narrow;
	uint64_t wide;

	if (java->settings.is_compact)
		return header->mark >> java->names[JAVA_CLASS_BITS];
	memcpy(&wide, header->bytes + java->names[JAVA_OBJECT_CLASS], sizeof(wide));
	memcpy(&narrow, header->bytes + java->names[JAVA_OBJECT_CLASS], sizeof(narrow));
	return java->settings.narrow_class ? narrow : wide;
}

/* Returns the bytes of the object at `at`, not rounded; 0 = they cannot be read. */
static uint64_t bytes_of(struct java_walk *walk, const struct java_class *class,
			 const struct header *header, uint64_t at)
{
	const struct java_settings *settings = &walk->java->settings;
	uint32_t length, form = (uint32_t) class->form;

	if (class->form < 0) {
		memcpy(&length, header->bytes + settings->length_at, sizeof(length));
		return (form >> 16 & 255) + ((uint64_t)length << (form & 255));
	}
	if (!class->is_mirror)
		return form & -(uint32_t)WORD;
	if (!hawk_half(&walk->near, at + settings->mirror_size_at, &length))
		return 0;
	return (uint64_t)length * WORD;
}

/* Finds the object at `at`; it must end at or below `limit`. */
static bool object_at(struct java_walk *walk, uint64_t at, uint64_t limit, struct java_object *ret)
{
	struct java *java = walk->java;
	uint64_t mask = java->settings.alignment - 1, bytes;
	const struct java_class *class;
	struct header header = {0};

	if (hawk_near_read(&walk->near, at, header.bytes, sizeof(header.bytes)) < WORD)
		return false;
	memcpy(&header.mark, header.bytes, sizeof(header.mark));
	class = java_class_of(java, class_id(java, &header));
	if (!class)
		return false;
	bytes = (bytes_of(walk, class, &header, at) + mask) & ~mask;
	if (!bytes || bytes > limit - at)
		return false;
	*ret = (struct java_object){.start = at,
				    .bytes = bytes,
				    .number = class->number,
				    .is_forwarded = (header.mark & MARK_BITS) == FORWARDED};
	return true;
}

/* Returns the next unused part of a buffer that ends above `at`, or NULL. */
static const struct hawk_claim *buffer_at(struct java_walk *walk, uint64_t at)
{
	const struct hawk_claims *buffers = &walk->java->buffers;

	while (walk->buffer < buffers->count && buffers->items[walk->buffer].end <= at)
		walk->buffer++;
	return walk->buffer < buffers->count ? &buffers->items[walk->buffer] : NULL;
}

/* Returns true if a sound part of the region begins at `at`. */
static bool is_sound(struct java_walk *walk, uint64_t at, uint64_t top)
{
	const struct hawk_claim *buffer = buffer_at(walk, at);
	struct java_object object, next;

	if (buffer && buffer->start == at)
		return true;
	if (!object_at(walk, at, top, &object))
		return false;
	at += object.bytes;
	return at == top || (buffer && buffer->start == at) || object_at(walk, at, top, &next);
}

/* Goes on behind what is no object. */
static void skip(struct java_walk *walk, uint64_t top)
{
	struct java *java = walk->java;
	uint64_t start = walk->at;

	do
		walk->at += java->settings.alignment;
	while (walk->at < top && !is_sound(walk, walk->at, top));
	if (walk->at > top)
		walk->at = top;
	if (walk->notes_unsound && hawk_claims_add(&java->unsound, start, walk->at))
		java->failed = true;
}

bool java_walk_next(struct java_walk *walk, struct java_object *ret)
{
	const struct java *java = walk->java;

	while (walk->region < java->region_count) {
		const struct java_region *region = &java->regions[walk->region];
		const struct hawk_claim *buffer;

		if (walk->at < region->start)
			walk->at = region->start;
		if (walk->at >= region->top || (region->is_large && walk->at > region->start)) {
			walk->region++;
			continue;
		}
		buffer = buffer_at(walk, walk->at);
		if (buffer && buffer->start == walk->at) {
			walk->at = buffer->end;
		} else if (object_at(walk, walk->at, region->top, ret)) {
			walk->at += ret->bytes;
			return true;
		} else {
			skip(walk, region->top);
		}
	}
	return false;
}
