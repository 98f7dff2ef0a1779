/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Compares what musl keeps around its blocks with where they lie: a byte of 0 behind each block,
 * and the bytes before it. These are the assertions of musl's own get_meta() and
 * get_nominal_size(). A thread inside of malloc may not have written them yet: a slot that looks
 * never used, or freed, is no damage.
 */
#include "musl.h"

enum { FREED = 0xff, SLACK_WORD = 4 /* holds the length of long slack */ };

struct check {
	const struct hawk_musl_group *group;
	struct hawk_near near;
	struct hawk_damages *damages;
	struct hawk_musl_block last; /**< block of the slot below; start 0 = none */
};

static uint32_t half_at(struct check *check, uint64_t address)
{
	uint32_t half = 0;

	hawk_half(&check->near, address, &half);
	return half;
}

static bool is_zero(struct check *check, uint64_t address)
{
	uint8_t byte = 0;

	hawk_near_read(&check->near, address, &byte, 1);
	return !byte;
}

/* Returns the number of equal bytes from `address` on, at most those up to `end`. */
static uint64_t count_equal(struct check *check, uint64_t address, uint64_t end)
{
	uint8_t first = (uint8_t)half_at(check, address);
	uint64_t at = address;

	while (at < end && (uint8_t)half_at(check, at) == first)
		at++;
	return at - address;
}

/* Adds a byte behind the block that should be 0. If the same byte fills all up to the next block,
 * that may have written them. */
static void add_behind(struct check *check, const struct hawk_musl_block *block, uint64_t address)
{
	uint64_t next = block->end + HAWK_MUSL_HEAD, room = next - address;
	struct hawk_damage damage = {.address = address,
				     .bytes = 1,
				     .neighbour = block->start,
				     .neighbour_bytes = block->requested,
				     .found = half_at(check, address) & 0xff,
				     .kind = HAWK_DAMAGE_GUARD};

	if (room <= sizeof(damage.found) && count_equal(check, address, next) == room) {
		damage.bytes = room;
		damage.victim = next;
		damage.found *= UINT64_MAX / 0xff >> 8 * (sizeof(damage.found) - room);
	}
	hawk_damages_add(check->damages, &damage);
}

/* Adds the bytes before a block. If their lower half is sound, the block itself wrote them. */
static void add_before(struct check *check, uint64_t block, uint32_t expected)
{
	uint64_t address = block - HAWK_MUSL_HEAD;
	uint32_t found = half_at(check, address);

	hawk_damages_add(check->damages,
			 &(struct hawk_damage){
				 .address = address,
				 .bytes = HAWK_MUSL_HEAD,
				 .neighbour = check->last.start,
				 .neighbour_bytes = check->last.requested,
				 .victim = block,
				 .expected = (uint16_t)found == (uint16_t)expected ? expected : 0,
				 .found = found,
				 .kind = HAWK_DAMAGE_GUARD});
}

/* Returns true if the bytes before a block are those of a slot that is being taken or freed. */
static bool is_in_flux(uint32_t head)
{
	return head >> 16 == 0 && ((head >> 8 & 0xff) == FREED || !head);
}

/* Examines the bytes before the block at `address`; returns false if they are damaged. */
static bool check_head(struct check *check, uint32_t number, uint64_t address)
{
	uint64_t units = (address - check->group->start - HAWK_MUSL_GROUP_HEADER) / HAWK_MUSL_UNIT;
	uint32_t found = half_at(check, address - HAWK_MUSL_HEAD);
	uint32_t expected = (uint32_t)(units << 16) | (found & 0xe000) | number << 8;

	if (units > UINT16_MAX || found == expected)
		return true;
	add_before(check, address, expected);
	return false;
}

/* Adds the length of long slack, which makes no sense. How long the block is shows no more. */
static void check_slack(struct check *check, struct hawk_musl_block *block)
{
	uint64_t before = block->end - SLACK_WORD - 1;

	block->requested = before - block->start;
	if (!is_zero(check, before))
		add_behind(check, block, before);
}

/* Examines a slot in use. Its block may begin later, if it was aligned. */
static void check_slot(struct check *check, uint32_t number)
{
	struct hawk_musl_block block = {0};
	enum hawk_musl_content content = hawk_musl_slot(&check->near, check->group, number, &block);
	uint64_t start =
		check->group->start + HAWK_MUSL_GROUP_HEADER + number * check->group->stride;
	uint32_t head;

	if (content == HAWK_MUSL_GROUP || !hawk_half(&check->near, start - HAWK_MUSL_HEAD, &head) ||
	    is_in_flux(head))
		return;
	if (block.start != start && head & 0xff)
		add_before(check, start, 0);
	else if (block.start == start && !check_head(check, number, start))
		return;
	else if (block.start && content == HAWK_MUSL_NOTHING)
		check_slack(check, &block);
	else if (content == HAWK_MUSL_BLOCK && !is_zero(check, block.start + block.requested))
		add_behind(check, &block, block.start + block.requested);
	check->last = block;
}

void hawk_musl_verify(const void *state, struct hawk_damages *ret)
{
	const struct hawk_musl *musl = state;
	struct check check = {.near.target = musl->target, .damages = ret};

	for (size_t i = 0; i < musl->group_count; i++) {
		check.group = &musl->groups[i];
		check.last = (struct hawk_musl_block){0};
		for (uint32_t slot = 0; slot < check.group->slots; slot++) {
			if (check.group->live >> slot & 1)
				check_slot(&check, slot);
			else
				check.last = (struct hawk_musl_block){0};
		}
	}
	for (size_t i = 0; i < musl->damages.count; i++)
		hawk_damages_add(ret, &musl->damages.items[i]);
}

uint64_t hawk_musl_free_bytes(const void *state, uint64_t address)
{
	enum { GROUPS_TRIED = 64 /* in slots of the one that holds the address, below it */ };
	const struct hawk_musl *musl = state;
	size_t i = hawk_array_first_above(musl->groups, musl->group_count, sizeof(*musl->groups),
					  offsetof(struct hawk_musl_group, start), address);

	for (unsigned tried = 0; i-- && tried < GROUPS_TRIED; tried++) {
		const struct hawk_musl_group *group = &musl->groups[i];
		uint64_t slot = (address - group->start - HAWK_MUSL_GROUP_HEADER) / group->stride;

		if (slot < group->slots)
			return group->live >> slot & 1 ? 0 : group->stride - HAWK_MUSL_HEAD;
	}
	return 0;
}
