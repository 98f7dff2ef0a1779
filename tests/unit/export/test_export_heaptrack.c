/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * heaptrack's data beyond what real heaps show: more blocks than lines, and sites that a filter has
 * left out. (e2e.export compares its sums, e2e.export_readers opens it.)
 */
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "test.h"
#include "hawk/export/export.h"
#include "hawk/heap/heap.h"
#include "synthetic_world.h"

enum { HEAP_BYTES = 64 << 10, TEXT_BYTES = 4096, ID_BYTES = 17, COLUMNS = 2 };

static const struct hawk_profile_column columns[COLUMNS] = {
	{"inuse_objects", "count"},
	{"inuse_space", "bytes"},
};

static struct hawk_heap heap;
static struct hawk_output output;
static struct hawk_profile *profile;
static char text[TEXT_BYTES];

/** Three blocks of 100 bytes from one stack, two of 7 and 8 from another. */
static int setup(void **state)
{
	static const uint64_t sizes[] = {100, 7, 100, 8, 100};
	struct world *world;
	uint32_t traces[2];

	if (world_set_up(state))
		return -1;
	world = *state;
	world->heap = synthetic_heap_create(HEAP_BYTES);
	synthetic_heap_add_module(world->heap, "/usr/bin/app", 0x400000, 0x500000, 0x400000);
	for (uint64_t i = 0; i < 2; i++) {
		const uint64_t frames[] = {0x400100 + i, 0x400200};

		traces[i] = synthetic_heap_add_trace(world->heap, frames, 2, 0, 0);
	}
	for (uint64_t i = 0; i < 5; i++)
		synthetic_heap_add_block(world->heap,
					 (struct synthetic_block){
						 .start = SYNTHETIC_HEAP + 1024 * i + 16,
						 .size = sizes[i],
						 .trace = traces[i % 2],
					 });
	world_open(world);
	check(hawk_heap_load(world->target, NULL, &world->findings, &heap));
	check(hawk_profile_create(columns, COLUMNS, &profile));
	profile->what = "live";
	profile->shown_column = 1;
	return 0;
}

static int teardown(void **state)
{
	hawk_profile_destroy(profile);
	hawk_heap_deinit(&heap);
	heap = (struct hawk_heap){0};
	return world_tear_down(state);
}

/** Adds the sample of a site, whose stack is the function `name`. */
static void add_site(size_t number, const char *name)
{
	const struct hawk_site *site = &heap.sites[number];
	const int64_t values[COLUMNS] = {(int64_t)site->inuse_objects, (int64_t)site->inuse_bytes};
	struct hawk_profile_labels labels = {0};
	char id[ID_BYTES];

	snprintf(id, sizeof(id), "%016" PRIx64, site->id);
	labels.site = hawk_profile_string(profile, id);
	hawk_profile_add(profile, hawk_profile_note(profile, 0, HAWK_PROFILE_NOTE, name), &labels,
			 values);
}

/** Fills `text` from the stacks' lines on. */
static void write_blocks(struct world *world, uint32_t blocks_max, bool filtered)
{
	const struct hawk_export export = {
		.profile = profile,
		.process = hawk_target_process(world->target),
		.heap = &heap,
		.findings = &world->findings,
		.column = 1,
		.filtered = filtered,
		.blocks_max = blocks_max,
	};
	static char whole[TEXT_BYTES];
	ssize_t size;

	hawk_output_init(&output, memfd_create("heaptrack", 0));
	check(hawk_export_heaptrack(&export, &output));
	check(hawk_output_finish(&output));
	size = pread(output.fd, whole, sizeof(whole) - 1, 0);
	assert_true(size > 0);
	whole[size] = '\0';
	assert_non_null(strstr(whole, "\na "));
	strcpy(text, strstr(whole, "\na ") + 1);
	close(output.fd);
}

#define HEAPTRACK_TEST(name) TEST_WITH(struct world *world, setup, teardown, name)

HEAPTRACK_TEST(every_block_has_a_line_below_its_size_and_stack)
{
	add_site(0, "large");
	add_site(1, "small");
	write_blocks(world, 5, false);
	assert_string_equal(text, "a 64 1\n+ 0\n+ 0\n+ 0\na 7 2\n+ 1\na 8 2\n+ 2\nc 0\n");
	assert_null(world_finding(world, "heaptrack-joined"));
}

HEAPTRACK_TEST(blocks_beyond_the_limit_are_one_for_each_stack_and_a_finding)
{
	const struct hawk_finding *finding;

	add_site(0, "large");
	add_site(1, "small");
	write_blocks(world, 1, false);
	assert_string_equal(text, "a 64 1\n+ 0\na c8 1\n+ 1\na f 2\n+ 2\nc 0\n");
	finding = world_finding(world, "heaptrack-joined");
	assert_non_null(finding);
	assert_true(finding->partial);
	assert_non_null(strstr(finding->text, "4 blocks (215 bytes) beyond the first 1 "));
}

HEAPTRACK_TEST(blocks_of_sites_that_a_filter_left_out_are_left_out)
{
	add_site(1, "small");
	write_blocks(world, 5, true);
	assert_string_equal(text, "a 7 1\n+ 0\na 8 1\n+ 1\nc 0\n");
}

HEAPTRACK_TEST(blocks_whose_site_is_not_listed_are_not_sampled)
{
	add_site(0, "large");
	write_blocks(world, 5, false);
	assert_string_equal(text, "a 64 1\n+ 0\n+ 0\n+ 0\na 7 2\n+ 1\na 8 2\n+ 2\nc 0\n");
}
