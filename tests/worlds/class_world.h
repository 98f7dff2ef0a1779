/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A heap without stacks, from one source or from three, all values made from it, and the output of
 * reports. Test code: any failure fails the test.
 */
#ifndef CLASS_WORLD_H
#define CLASS_WORLD_H

#include "hawk/analysis/paths.h"
#include "hawk/graph/dominators.h"
#include "hawk/output/json.h"
#include "hawk/report/pointers.h"
#include "list_source.h"
#include "synthetic_world.h"

enum {
	ORDERS = 8,
	ORDER_BYTES = 64,
	LINE_BYTES = 32,
	STEP = ORDER_BYTES + LINE_BYTES + 32, /**< from an order to the next */
	GHOSTS = 2,
	GHOST_BYTES = 48,
	GHOSTS_AT = ORDERS * STEP,
	NAMELESS_AT = GHOSTS_AT + GHOSTS * GHOST_BYTES,
	NAMELESS_BYTES = 16,
	ALL_BLOCKS = 2 * ORDERS + GHOSTS + 1,
	ALL_BYTES = ORDERS * (ORDER_BYTES + LINE_BYTES) + GHOSTS * GHOST_BYTES + NAMELESS_BYTES,
	MEMORY_BYTES = 4096,
	CLASS_SOURCES = 3,
};

enum class { NAMELESS, ORDER, LINE, GHOST };

/**
 * A global -> order 0 -> order 1 ...; order -> its line; order 0 -> nameless; ghost 0 -> ghost 1.
 *
 * Of three sources the first has orders and the nameless block, the second lines, by the same class
 * number, in granules of 8 bytes; the third has ghosts, again by this number, and chunks in each of
 * which an order and its line lie.
 */
struct class_world {
	struct world *world;
	char *list_paths[CLASS_SOURCES];
	struct list_file files[CLASS_SOURCES];
	struct hawk_heap_source sources[CLASS_SOURCES];
	bool joined;                 /**< three sources give the blocks of one */
	uint32_t numbers[GHOST + 1]; /**< the heap's, by class */
	struct hawk_heap heap;
	struct hawk_graph graph;
	struct hawk_reach reach;
	struct hawk_dominators dominators;
	struct hawk_paths paths;
	struct hawk_symbols *symbols;
	struct hawk_site_list list;
	struct hawk_pointer_report report;
	struct hawk_output output;
	struct hawk_screen screen;
	char text[1 << 18]; /**< what was printed last */
};

/** For cmocka: `*state` becomes a struct class_world. */
int class_world_set_up(void **state);
int class_world_tear_down(void **state);

int class_world_set_up_joined(void **state);

/** A test of the heap of one source, and of the same heap of three. */
#define CLASS_TEST(name)                                                                           \
	static void expect_##name(struct class_world *world);                                      \
	TEST_WITH(struct class_world *world, class_world_set_up, class_world_tear_down, name)      \
	{                                                                                          \
		expect_##name(world);                                                              \
	}                                                                                          \
	TEST_WITH(struct class_world *world, class_world_set_up_joined, class_world_tear_down,     \
		  name##_of_three_sources)                                                         \
	{                                                                                          \
		expect_##name(world);                                                              \
	}                                                                                          \
	static void expect_##name(struct class_world *world)

/** Begins an answer: `world->screen` and the result lead to it. */
struct hawk_output *class_world_begin(struct class_world *world, bool full);

/** Ends the answer, which is `world->text` then. */
const char *class_world_take(struct class_world *world);

/** Ends the answer, which is `world->text` then. Fails the test if it speaks of what the heap does
 * not know. */
const char *class_world_end(struct class_world *world);

/** The same around what a report puts into a JSON document. */
void class_world_begin_json(struct class_world *world, struct hawk_json *json);
void class_world_end_json(struct class_world *world, struct hawk_json *json);

/** Fails the test unless `world->text` contains these words. */
void class_world_expect(const struct class_world *world, const char *words);

#endif
