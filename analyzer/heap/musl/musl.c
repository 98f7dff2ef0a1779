/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Reads musl's mallocng: its context, descriptions of groups, and the blocks in their slots.
 */
#include "musl.h"

/* Context. */
enum { READY = 8, FIRST_AREA = 0x38, LAST_AREA = 0x40, CONTEXT_BYTES = 0x48, PAGE_BYTES = 4096 };

/* Area of descriptions, and a description. */
enum {
	AREA_NEXT = 8,
	AREA_COUNT = 0x10,
	AREA_FIRST = 0x18,
	AREA_COUNT_MAX = (PAGE_BYTES - AREA_FIRST) / 40,
	AREAS_MAX = 1 << 24,
	GROUP = 0x10,
	AVAILABLE = 0x18, /* bits of slots never used, then of freed slots */
	BITS = 0x20,
	DESCRIPTION_BYTES = 40,
	SLOTS_MAX = 32,
	CLASS_MAPPED = 63,
};

/* Group, and what lies before a block. */
enum {
	UNIT = HAWK_MUSL_UNIT,
	CODE_ALIGNED = 7,
	CODE_NESTED = 6,
	CODE_LONG = 5, /* slack of 5 bytes or more: the last 4 bytes hold its length */
	WRAP_BYTES = 1 << 20,
};

/* Units of each class of sizes. */
static const uint16_t class_units[] = {
	1,   2,   3,   4,    5,    6,    7,    8,    9,    10,   12,   15,   18,   20,   25,   31,
	36,  42,  50,  63,   72,   84,   102,  127,  146,  170,  204,  255,  292,  340,  409,  511,
	584, 682, 818, 1023, 1169, 1364, 1637, 2047, 2340, 2730, 3276, 4095, 4680, 5460, 6552, 8191,
};

/** A description, as read. */
struct description {
	uint64_t group;
	uint32_t available, freed;
	uint64_t bits;
};

static uint64_t stride_of(const struct description *description)
{
	uint64_t last = description->bits & 31, class = description->bits >> 6 & 63;
	uint64_t pages = description->bits >> 12;

	if (!last && pages)
		return pages * PAGE_BYTES - UNIT;
	return class < sizeof(class_units) / sizeof(*class_units)
		       ? UNIT * (uint64_t)class_units[class]
		       : 0;
}

static struct hawk_error *add_group(struct hawk_musl *musl, struct hawk_near *near,
				    uint64_t address, const struct description *description)
{
	struct hawk_musl_group group = {
		.start = description->group,
		.stride = stride_of(description),
		.slots = (uint32_t)(description->bits & 31) + 1,
	};
	uint64_t back, bytes = HAWK_MUSL_GROUP_HEADER + group.stride * group.slots;
	bool is_read = hawk_word(near, group.start, &back);

	if (is_read && back != address)
		hawk_damages_add(&musl->damages, &(struct hawk_damage){.address = group.start,
								       .expected = address,
								       .found = back,
								       .kind = HAWK_DAMAGE_GUARD});
	if (!is_read || back != address || !group.stride || group.stride > UINT64_C(1) << 47 ||
	    group.start + bytes < group.start) {
		musl->differing++;
		return NULL;
	}
	group.live = ~(description->available | description->freed);
	if (group.slots < SLOTS_MAX)
		group.live &= (UINT32_C(1) << group.slots) - 1;
	if (!hawk_array_reserve(&musl->groups, musl->group_count, &musl->group_capacity,
				sizeof(*musl->groups)))
		return &hawk_enomem;
	musl->groups[musl->group_count++] = group;
	return hawk_claims_add(&musl->memory, group.start, group.start + bytes);
}

static struct hawk_error *read_area(struct hawk_musl *musl, struct hawk_near *near, uint64_t area)
{
	struct hawk_error *err = hawk_claims_add(&musl->metadata, area, area + PAGE_BYTES);
	uint32_t count;

	if (err || !hawk_half(near, area + AREA_COUNT, &count) || count > AREA_COUNT_MAX)
		return err;
	for (uint32_t i = 0; !err && i < count; i++) {
		uint64_t address = area + AREA_FIRST + (uint64_t)i * DESCRIPTION_BYTES;
		struct description description;

		if (hawk_near_read(near, address + GROUP, &description, sizeof(description)) ==
			    sizeof(description) &&
		    description.group)
			err = add_group(musl, near, address, &description);
	}
	return err;
}

static bool is_context(struct hawk_near *near, uint64_t at)
{
	uint64_t secret, first, last, first_secret, last_secret;
	uint32_t ready;

	return hawk_half(near, at + READY, &ready) && ready == 1 && hawk_word(near, at, &secret) &&
	       secret && hawk_word(near, at + FIRST_AREA, &first) && first &&
	       first % PAGE_BYTES == 0 && hawk_word(near, at + LAST_AREA, &last) &&
	       last % PAGE_BYTES == 0 && hawk_word(near, first, &first_secret) &&
	       first_secret == secret && hawk_word(near, last, &last_secret) &&
	       last_secret == secret;
}

static bool find_context(struct hawk_musl *musl, struct hawk_near *near)
{
	struct hawk_data_words words = {0};
	uint64_t word;

	while (hawk_data_words_next(&words, near, &word)) {
		musl->context = words.at;
		if (words.end - words.at >= CONTEXT_BYTES && is_context(near, words.at))
			return true;
	}
	return false;
}

static int by_start(const void *left, const void *right)
{
	const struct hawk_musl_group *a = left, *b = right;

	return a->start < b->start ? -1 : a->start > b->start;
}

void hawk_musl_deinit(struct hawk_musl *musl)
{
	free(musl->groups);
	hawk_damages_deinit(&musl->damages);
	hawk_claims_deinit(&musl->metadata);
	hawk_claims_deinit(&musl->memory);
	*musl = (struct hawk_musl){0};
}

static struct hawk_error *read_areas(struct hawk_musl *musl, struct hawk_near *near)
{
	struct hawk_error *err =
		hawk_claims_add(&musl->metadata, musl->context, musl->context + CONTEXT_BYTES);
	uint64_t area, mark = 0;

	if (err || !hawk_word(near, musl->context + FIRST_AREA, &area))
		return err;
	for (uint64_t i = 0;
	     !err && area && area % PAGE_BYTES == 0 && area != mark && i < AREAS_MAX; i++) {
		err = read_area(musl, near, area);
		if (!(i & (i + 1)))
			mark = area;
		if (!hawk_word(near, area + AREA_NEXT, &area))
			break;
	}
	if (musl->group_count)
		qsort(musl->groups, musl->group_count, sizeof(*musl->groups), by_start);
	hawk_claims_sort(&musl->metadata);
	hawk_claims_sort(&musl->memory);
	return err;
}

struct hawk_error *hawk_musl_find(const struct hawk_target *target, struct hawk_musl *ret,
				  bool *is_there)
{
	struct hawk_musl musl = {.target = target};
	struct hawk_near near = {.target = target};
	struct hawk_error *err = find_context(&musl, &near) ? read_areas(&musl, &near) : NULL;

	*is_there = !err && musl.group_count;
	if (*is_there)
		*ret = musl;
	else
		hawk_musl_deinit(&musl);
	return err;
}

bool hawk_musl_head(struct hawk_near *near, uint64_t block, struct hawk_musl_head *ret)
{
	uint8_t bytes[8];
	uint16_t low;
	uint32_t wide;

	if (hawk_near_read(near, block - sizeof(bytes), bytes, sizeof(bytes)) != sizeof(bytes))
		return false;
	memcpy(&low, bytes + 6, sizeof(low));
	memcpy(&wide, bytes, sizeof(wide));
	*ret = (struct hawk_musl_head){
		.slot = bytes[5] & 31,
		.code = bytes[5] >> 5,
		.units = bytes[4] ? wide : low,
	};
	return true;
}

/* Returns the block of an aligned slot: the slot's first bytes hold its offset modulo 2^16 units.
 */
static uint64_t find_aligned(struct hawk_near *near, const struct hawk_musl_group *group,
			     uint32_t number, uint64_t slot_start, uint64_t units)
{
	uint64_t end = slot_start + group->stride;

	for (uint64_t at = slot_start + UNIT * units; at < end; at += WRAP_BYTES) {
		struct hawk_musl_head head;

		if (!hawk_musl_head(near, at, &head))
			break; /* the core lacks it */
		if (head.slot == number &&
		    group->start + HAWK_MUSL_GROUP_HEADER + UNIT * head.units == at)
			return at;
	}
	return 0;
}

enum hawk_musl_content hawk_musl_slot(struct hawk_near *near, const struct hawk_musl_group *group,
				      uint32_t number, struct hawk_musl_block *ret)
{
	uint64_t start = group->start + HAWK_MUSL_GROUP_HEADER + number * group->stride;
	uint64_t end = start + group->stride - HAWK_MUSL_HEAD, slack;
	struct hawk_musl_head head;
	uint32_t wide;

	ret->start = start;
	ret->end = end;
	if (!hawk_musl_head(near, start, &head))
		return HAWK_MUSL_NOTHING;
	if (head.code == CODE_NESTED)
		return HAWK_MUSL_GROUP;
	if (head.code == CODE_ALIGNED) {
		ret->start = find_aligned(near, group, number, start, head.units);
		if (!ret->start || !hawk_musl_head(near, ret->start, &head))
			return HAWK_MUSL_NOTHING;
	}
	slack = head.code;
	if (head.code == CODE_LONG) {
		if (!hawk_half(near, end - 4, &wide))
			return HAWK_MUSL_NOTHING;
		slack = wide;
	}
	if (ret->start > end || slack > end - ret->start)
		return HAWK_MUSL_NOTHING;
	ret->requested = end - ret->start - slack;
	return HAWK_MUSL_BLOCK;
}

static uint64_t end_of(const struct hawk_musl_group *group)
{
	return group->start + HAWK_MUSL_GROUP_HEADER + group->stride * group->slots;
}

/* Enters the group, unless it is nested too deep. */
static void enter(struct hawk_musl_cursor *cursor, size_t group)
{
	if (cursor->depth == HAWK_MUSL_DEPTH)
		return;
	cursor->at[cursor->depth].group = group;
	cursor->at[cursor->depth++].slot = 0;
}

/* Enters the next group that lies in no other one; returns false behind the last one. */
static bool enter_next(struct hawk_musl_cursor *cursor)
{
	const struct hawk_musl *musl = cursor->musl;
	size_t group = cursor->next;
	uint64_t end;

	if (group >= musl->group_count)
		return false;
	end = end_of(&musl->groups[group]);
	enter(cursor, group);
	while (cursor->next < musl->group_count && musl->groups[cursor->next].start < end)
		cursor->next++;
	return true;
}

/* Enters the group at the start of the slot [start, end), unless it is larger than the slot. */
static void enter_slot(struct hawk_musl_cursor *cursor, uint64_t start, uint64_t end)
{
	const struct hawk_musl *musl = cursor->musl;
	size_t group =
		hawk_array_first_above(musl->groups, musl->group_count, sizeof(*musl->groups),
				       offsetof(struct hawk_musl_group, start), start - 1);

	if (group < musl->group_count && musl->groups[group].start == start &&
	    end_of(&musl->groups[group]) <= end)
		enter(cursor, group);
}

bool hawk_musl_next(struct hawk_musl_cursor *cursor, struct hawk_musl_block *ret)
{
	while (cursor->depth || enter_next(cursor)) {
		const struct hawk_musl_group *group =
			&cursor->musl->groups[cursor->at[cursor->depth - 1].group];
		uint32_t slot = cursor->at[cursor->depth - 1].slot++;
		enum hawk_musl_content content;

		if (slot >= group->slots) {
			cursor->depth--;
			continue;
		}
		ret->group = group->start;
		ret->group_bytes = end_of(group) - group->start;
		ret->is_free = !(group->live >> slot & 1);
		if (ret->is_free) {
			ret->start = group->start + HAWK_MUSL_GROUP_HEADER + slot * group->stride;
			ret->requested = group->stride;
			return true;
		}
		content = hawk_musl_slot(&cursor->near, group, slot, ret);
		if (content == HAWK_MUSL_BLOCK)
			return true;
		if (content == HAWK_MUSL_GROUP)
			enter_slot(cursor, ret->start, ret->start + group->stride);
	}
	return false;
}
