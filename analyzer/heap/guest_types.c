/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The types of guests' objects, by key and by name. A key is found without making a name, which
 * would take most of the time.
 */
#include "guest.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

static struct hawk_guest_key *slot_of(struct hawk_guest_key *slots, size_t capacity, uint64_t key)
{
	size_t at = (size_t)(hawk_guest_mix(0, key) & (capacity - 1));

	while (slots[at].type && slots[at].key != key)
		at = (at + 1) & (capacity - 1);
	return &slots[at];
}

uint32_t hawk_guest_find_type(const struct hawk_guest_finder *finder, uint64_t key)
{
	return finder->keys ? slot_of(finder->keys, finder->key_capacity, key)->type : 0;
}

static bool grow(struct hawk_guest_key **slots, size_t *capacity, size_t count)
{
	size_t wanted = *capacity ? *capacity * 2 : 1024;
	struct hawk_guest_key *made;

	if (count * 2 < *capacity)
		return true;
	made = calloc(wanted, sizeof(*made));
	if (!made)
		return false;
	for (size_t i = 0; i < *capacity; i++)
		if ((*slots)[i].type)
			*slot_of(made, wanted, (*slots)[i].key) = (*slots)[i];
	free(*slots);
	*slots = made;
	*capacity = wanted;
	return true;
}

/* Adds a type; type 0 is "none". */
static uint32_t add(struct hawk_guest_finder *finder, const char *name,
		    const struct hawk_guest_layout *layout)
{
	struct hawk_guests *guests = finder->guests;
	char *copy;

	if (!guests->type_count)
		guests->type_count = 1;
	if (guests->type_count == HAWK_GUEST_TYPES_MAX)
		return 0;
	copy = strdup(name);
	if (!copy || !hawk_array_reserve(&guests->types, guests->type_count, &finder->type_capacity,
					 sizeof(*guests->types))) {
		free(copy);
		finder->failed = true;
		return 0;
	}
	if (guests->type_count == 1)
		guests->types[0] = (struct hawk_guest_type){0};
	guests->types[guests->type_count] =
		(struct hawk_guest_type){.name = copy, .layout = *layout};
	return guests->type_count++;
}

uint32_t hawk_guest_add_type(struct hawk_guest_finder *finder, uint64_t key, const char *name,
			     const struct hawk_guest_layout *layout)
{
	uint64_t layout_key = hawk_guest_mix(layout->ignored_words,
					     2 * (uint64_t)layout->front + layout->is_collected);
	uint64_t narrow_key = hawk_guest_mix(layout->narrow[0], layout->narrow[1]);
	uint64_t name_key = hawk_guest_mix(hawk_guest_mix(layout_key, narrow_key),
					   XXH3_64bits(name, strlen(name)));
	struct hawk_guest_key *slot;

	if (!grow(&finder->keys, &finder->key_capacity, finder->key_count) ||
	    !grow(&finder->names, &finder->name_capacity, finder->guests->type_count)) {
		finder->failed = true;
		return 0;
	}
	slot = slot_of(finder->names, finder->name_capacity, name_key);
	if (!slot->type)
		*slot = (struct hawk_guest_key){name_key, add(finder, name, layout)};
	if (!slot->type || finder->key_count == HAWK_GUEST_KEYS_MAX)
		return slot->type;
	*slot_of(finder->keys, finder->key_capacity, key) =
		(struct hawk_guest_key){key, slot->type};
	finder->key_count++;
	return slot->type;
}

void hawk_guest_append(struct hawk_text *name, const char *text, size_t bytes)
{
	for (size_t i = 0; i < bytes && name->size < HAWK_GUEST_NAME_MAX; i++) {
		char byte = text[i];

		if (byte < 0x20 || byte > 0x7e)
			byte = '?';
		hawk_text_append(name, &byte, 1);
	}
}
