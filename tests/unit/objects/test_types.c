/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Types of blocks: from classes, from later stages, and their sums.
 */
#include <stdio.h>

#include "test.h"
#include "hawk/analysis/type_list.h"
#include "class_world.h"

enum { MANY = 1000 };

static struct hawk_types types_of(struct class_world *world)
{
	struct hawk_types types;

	check(hawk_types_make(&world->heap, world->report.types, world->symbols,
			      &(struct hawk_types_wish){0}, &types));
	return types;
}

static const struct hawk_type *type_of_block(const struct hawk_types *types, uint64_t offset)
{
	bool interior;
	uint32_t block =
		hawk_block_index_find(&types->heap->index, SYNTHETIC_HEAP + offset, &interior);

	return hawk_types_at(types, hawk_types_of(types, block));
}

CLASS_TEST(blocks_have_the_types_of_their_classes)
{
	struct hawk_types types = types_of(world);
	const struct hawk_type *order = type_of_block(&types, 0);

	assert_string_equal(order->name, "Order");
	assert_int_equal(order->origin, HAWK_TYPE_GUEST);
	assert_int_equal(order->id, hawk_type_id("Order"));
	assert_string_equal(type_of_block(&types, ORDER_BYTES)->name, "shop::Line");
	assert_int_equal(type_of_block(&types, NAMELESS_AT)->origin, HAWK_TYPE_NONE);
	hawk_types_deinit(&types);
}

CLASS_TEST(sums_of_types_are_those_of_their_blocks)
{
	struct hawk_types types = types_of(world);
	struct hawk_type_list list;

	check(hawk_type_list_make(&types, NULL, NULL, HAWK_TYPES_BY_COUNT, &list));
	assert_int_equal(list.all.objects, ALL_BLOCKS);
	assert_int_equal(list.all.bytes, ALL_BYTES);
	assert_int_equal(list.known.objects, ALL_BLOCKS - 1);
	assert_int_equal(list.count, 4);
	assert_int_equal(list.items[0].blocks.objects, ORDERS);
	assert_int_equal(list.items[0].blocks.bytes, ORDERS * ORDER_BYTES);
	assert_int_equal(list.items[3].type, 0);
	hawk_type_list_deinit(&list);
	hawk_types_deinit(&types);
}

static uint32_t add(struct hawk_types *types, const char *name, enum hawk_type_origin origin,
		    bool is_guess)
{
	const struct hawk_type type = {.name = name,
				       .id = hawk_type_id(name),
				       .origin = (uint8_t)origin,
				       .is_guess = is_guess};
	uint32_t number;

	check(hawk_types_add(types, &type, &number));
	return number;
}

CLASS_TEST(types_are_found_by_id_and_certainty)
{
	struct hawk_types types = types_of(world);
	char names[MANY][16];
	size_t before = types.count;

	for (unsigned i = 0; i < MANY; i++) {
		snprintf(names[i], sizeof(names[i]), "type %u", i);
		assert_int_equal(add(&types, names[i], HAWK_TYPE_DWARF, false), before + i);
	}
	for (unsigned i = 0; i < MANY; i++)
		assert_int_equal(add(&types, names[i], HAWK_TYPE_DWARF, false), before + i);
	assert_int_equal(add(&types, names[0], HAWK_TYPE_DWARF, true), before + MANY);
	hawk_types_deinit(&types);
}

CLASS_TEST(a_block_keeps_the_type_that_is_known_best)
{
	struct hawk_types types = types_of(world);
	uint32_t size = add(&types, "malloc, 16 bytes", HAWK_TYPE_SIZE, false);
	uint32_t guess = add(&types, "Node", HAWK_TYPE_CONTAINER, true);
	uint32_t flow = add(&types, "Node", HAWK_TYPE_DWARF, false);
	uint32_t annotation = add(&types, "node", HAWK_TYPE_ANNOTATION, false);
	uint32_t block = types.heap->index.count - 1;

	assert_int_equal(hawk_types_of(&types, block), 0);
	hawk_types_set(&types, block, size);
	assert_int_equal(hawk_types_of(&types, block), size);
	hawk_types_set(&types, block, guess);
	hawk_types_set(&types, block, size);
	assert_int_equal(hawk_types_of(&types, block), guess);
	hawk_types_set(&types, block, flow);
	hawk_types_set(&types, block, guess);
	assert_int_equal(hawk_types_of(&types, block), flow);
	hawk_types_set(&types, block, annotation);
	hawk_types_set(&types, block, flow);
	assert_int_equal(hawk_types_of(&types, block), annotation);
	hawk_types_deinit(&types);
}
