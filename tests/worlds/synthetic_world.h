/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The fixture of tests that open a synthetic core or heap: the core under construction, the target
 * once opened, and the findings.
 */
#ifndef SYNTHETIC_WORLD_H
#define SYNTHETIC_WORLD_H

#include "hawk/target/target.h"
#include "synthetic_heap.h"
#include "test.h"

struct world {
	struct synthetic_core *core;
	struct synthetic_heap *heap; /**< NULL, or what is opened in place of `core` */
	struct hawk_findings findings;
	struct hawk_target *target;
	uint8_t *bytes; /**< the built file, to be patched before it is opened */
	size_t size;
};

/** For cmocka_unit_test_setup_teardown(): `*state` becomes a struct world. */
int world_set_up(void **state);
int world_tear_down(void **state);

/** Restores the world's state after set-up. */
void world_renew(struct world *world);

/** Fills `bytes` and `size`. */
void world_build(struct world *world);

/** Opens `bytes`, which it builds if that was not done; fails the test if the core is refused. */
void world_open(struct world *world);

/** Forgets target and findings, and keeps the core under construction. */
void world_close(struct world *world);

/** Opens this core, and destroys it. */
void world_open_core(struct world *world, struct synthetic_core *core);

/** The finding with `key`, or NULL. */
const struct hawk_finding *world_finding(const struct world *world, const char *key);

/** Fails the test unless the target has the characters of `bytes` at `address`. */
void world_expect_bytes(const struct world *world, uint64_t address, const char *bytes);

#define WORLD_TEST(name) TEST_WITH(struct world *world, world_set_up, world_tear_down, name)

#endif
