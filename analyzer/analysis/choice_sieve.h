/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The test of a wish for 64 blocks at a time, from the arrays of the index: a bit for each block
 * that passes it, and whose trace does. Blocks whose size is not in its array, parts of carved
 * blocks, births that are in headers only, and types that traces do not tell are tested one by one.
 * Internal to analysis/.
 */
#ifndef HAWK_CHOICE_SIEVE_H
#define HAWK_CHOICE_SIEVE_H

#include "hawk_block_choice.h"

enum { HAWK_SIEVE_BLOCKS = 4096 }; /**< of a run; a multiple of 64 */

struct hawk_sieve {
	const struct hawk_block_graph *graph;
	const struct hawk_choice_wish *wish; /**< NULL = every block passes */
	bool sited;                          /**< only blocks of a site do */
	uint64_t *traces;                    /**< a bit for each that passes; NULL = all do */
	uint64_t *typed; /**< a bit for each whose blocks are read for their types; NULL = none */
	/** Whether births that may be wanted are those from `births_first` to `births_last`. */
	bool births_in_row;
	uint8_t births_first, births_last;
};

/** `ret` is to be deinitialized after success only. */
struct hawk_error *hawk_sieve_init(const struct hawk_block_graph *graph,
				   const struct hawk_choice_wish *wish, bool sited,
				   struct hawk_sieve *ret);
void hawk_sieve_deinit(struct hawk_sieve *sieve);

/** Whether the type of block `number` is a wanted one; reads its first words. */
struct hawk_error *hawk_choice_test_type(const struct hawk_block_graph *graph,
					 struct hawk_near *near,
					 const struct hawk_choice_types *types, uint32_t number,
					 bool *ret);

/** Fills the bits of `count` blocks from `first` on, a multiple of 64: at most HAWK_SIEVE_BLOCKS,
 * and whole words unless they are the last ones. Any thread may ask, with a `near` of its own. */
struct hawk_error *hawk_sieve_run(const struct hawk_sieve *sieve, struct hawk_near *near,
				  uint32_t first, uint32_t count, uint64_t *bits);

/** Whether block `number` passes the test of a wish: what the sieve says of it but for its trace.
 */
bool hawk_choice_test_block(const struct hawk_block_graph *graph, struct hawk_near *near,
			    const struct hawk_choice_test *test, uint32_t number);

#endif
