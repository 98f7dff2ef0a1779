/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The state of a flow of types: flow_roots.c starts it, flow.c follows links. Internal to objects/.
 */
#ifndef HAWK_ANALYZER_OBJECTS_FLOW_H
#define HAWK_ANALYZER_OBJECTS_FLOW_H

#include "layouts.h"
#include "stages.h"

/** Objects in a block whose own links are to be followed. */
struct hawk_flow_work {
	uint32_t block;
	uint32_t layout;
	uint64_t offset, count;
};

struct hawk_flow_queue {
	struct hawk_flow_work *items;
	size_t count, capacity;
};

struct hawk_flow {
	struct hawk_types *types;
	struct hawk_symbols *symbols;
	const struct hawk_types_wish *wish;
	struct hawk_layouts *layouts;     /**< of `types` */
	struct hawk_flow_queue queues[2]; /**< facts, guesses */
	uint64_t *seen;                   /**< a bit for each block that was queued */
	uint32_t *classes; /**< layout of each type of the heap stage; 0 = not asked, or none */
	size_t class_count;
	struct hawk_near near, words;
	uint64_t left; /**< of STEPS_MAX */
	bool exact;
	bool guessing;
	bool in_frame; /**< whose variables may not hold an object yet */
	bool failed;   /**< memory ran out */
};

/** Returns the word at the address; 0 = it cannot be read. */
uint64_t hawk_flow_word(struct hawk_flow *flow, uint64_t address);
/** Returns the block that begins at `address`; HAWK_BLOCK_NOWHERE = none. */
uint32_t hawk_flow_block(const struct hawk_flow *flow, uint64_t address);
/** Returns true if a container's block may have that size. What its members tell needs no further
 * evidence, so that size classes of all allocators are let pass. */
bool hawk_flow_may_hold(const struct hawk_flow *flow, uint32_t block, uint64_t bytes);
/** Queues objects whose links are to be followed. */
void hawk_flow_queue(struct hawk_flow *flow, const struct hawk_flow_work *work, bool guess);
/** Gives the block at `address` the type to which the link leads. */
void hawk_flow_pointer(struct hawk_flow *flow, uint64_t address, const struct hawk_link *link);
/** Follows the links of an object that lies outside of blocks. */
void hawk_flow_object(struct hawk_flow *flow, uint64_t address, uint32_t layout);
/** Follows all that is queued, and what comes to it. */
void hawk_flow_drain(struct hawk_flow *flow, bool guesses);

/** Guesses containers in what no type flowed into (shapes.c). */
struct hawk_error *hawk_flow_shapes(struct hawk_flow *flow);

#endif
