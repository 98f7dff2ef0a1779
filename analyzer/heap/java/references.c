/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Which words of objects refer to others, by the maps behind a class's structure. Weak references
 * are in no map. Static fields lie in the object of java.lang.Class behind its own fields.
 *
 *     | class | method table | tables of interfaces | map: offset, count | map ... |
 */
#include "java.h"

enum { HALF = 4, WORD = 8, HALVES = 128, TABLE_MAX = 1 << 20, MAPS_MAX = 1 << 10 };

/* Marks `count` compressed references from `offset` on. */
static void mark(struct hawk_guest_layout *layout, uint64_t offset, uint64_t count)
{
	uint64_t half = offset / HALF;

	for (; count && half < HALVES; half++, count--)
		layout->narrow[half / 64] |= UINT64_C(1) << half % 64;
	layout->narrow_rest |= count > 0;
}

static void mark_fields(struct java *java, uint64_t class, struct hawk_guest_layout *layout)
{
	uint32_t methods, interfaces, maps, map[2];
	uint64_t at = class + java->names[JAVA_CLASS_BYTES];

	if (!hawk_half(&java->near, class + java->names[JAVA_CLASS_METHODS], &methods) ||
	    !hawk_half(&java->near, class + java->names[JAVA_CLASS_INTERFACES], &interfaces) ||
	    !hawk_half(&java->near, class + java->names[JAVA_CLASS_MAPS], &maps) ||
	    methods > TABLE_MAX || interfaces > TABLE_MAX || maps > MAPS_MAX)
		return;
	at += WORD * ((uint64_t)methods + interfaces);
	for (uint32_t i = 0; i < maps; i++)
		if (hawk_near_read(&java->near, at + i * sizeof(map), map, sizeof(map)) ==
		    sizeof(map))
			mark(layout, map[0], map[1]);
}

struct hawk_guest_layout java_layout(struct java *java, const struct java_type *type)
{
	enum { ARRAY_OF_OBJECTS = 2, LONG = 11 };
	const struct java_settings *settings = &java->settings;
	uint32_t form = (uint32_t)type->form;
	struct hawk_guest_layout ret = {.is_collected = true};

	if (type->form < 0 && form >> 30 != ARRAY_OF_OBJECTS) {
		/* An array of long may hold addresses of native memory. */
		ret.ignores_rest = (form >> 8 & 255) != LONG;
		ret.ignored_words = ret.ignores_rest ? UINT64_MAX : 0;
		return ret;
	}
	if (!settings->narrow_reference)
		return ret;
	ret.narrow_base = settings->reference_base;
	ret.narrow_shift = (uint8_t)settings->reference_shift;
	if (type->form < 0)
		mark(&ret, form >> 16 & 255, UINT32_MAX);
	else
		mark_fields(java, type->address, &ret);
	if (type->is_mirror)
		mark(&ret, form & -(uint32_t)WORD, UINT32_MAX);
	return ret;
}
