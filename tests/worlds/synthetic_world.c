/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The fixture around a synthetic core.
 */
#include "test.h"
#include "synthetic_world.h"

static void init(struct world *world)
{
	*world = (struct world){.core = synthetic_core_create()};
	hawk_findings_init(&world->findings);
}

void world_close(struct world *world)
{
	hawk_target_close(world->target);
	hawk_findings_deinit(&world->findings);
	hawk_findings_init(&world->findings);
	free(world->bytes);
	world->target = NULL;
	world->bytes = NULL;
}

static void deinit(struct world *world)
{
	world_close(world);
	hawk_findings_deinit(&world->findings);
	synthetic_core_destroy(world->core);
	synthetic_heap_destroy(world->heap);
}

int world_set_up(void **state)
{
	struct world *world = malloc(sizeof(*world));

	if (!world)
		return -1;
	init(world);
	*state = world;
	return 0;
}

int world_tear_down(void **state)
{
	deinit(*state);
	free(*state);
	return 0;
}

void world_renew(struct world *world)
{
	deinit(world);
	init(world);
}

void world_build(struct world *world)
{
	struct synthetic_core *core = world->heap ? synthetic_heap_core(world->heap) : world->core;

	world->bytes = synthetic_core_build(core, &world->size);
	if (core != world->core)
		synthetic_core_destroy(core);
}

void world_open(struct world *world)
{
	char *path;

	if (!world->bytes)
		world_build(world);
	path = synthetic_file_write(world->bytes, world->size);
	check(hawk_target_open_core(path, &world->findings, &world->target));
	synthetic_core_remove(path);
}

void world_open_core(struct world *world, struct synthetic_core *core)
{
	world->bytes = synthetic_core_build(core, &world->size);
	synthetic_core_destroy(core);
	world_open(world);
}

const struct hawk_finding *world_finding(const struct world *world, const char *key)
{
	return finding_of(&world->findings, key);
}

void world_expect_bytes(const struct world *world, uint64_t address, const char *bytes)
{
	char read[256] = {0};

	assert_true(strlen(bytes) < sizeof(read));
	check(hawk_target_read(world->target, address, read, strlen(bytes)));
	assert_string_equal(read, bytes);
}
