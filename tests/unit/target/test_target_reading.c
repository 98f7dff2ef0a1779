/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Reading the memory of a core: across mappings, at their edges, through holes of the file, and
 * while the file shrinks.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"
#include "synthetic_world.h"

WORLD_TEST(a_read_crosses_mappings_that_touch)
{
	synthetic_core_add_memory(world->core, 0x10000, "abcd", 4);
	synthetic_core_add_memory(world->core, 0x10004, "efgh", 4);
	synthetic_core_add_memory(world->core, 0x10008, "i", 1);
	world_open(world);
	world_expect_bytes(world, 0x10000, "abcdefghi");
	world_expect_bytes(world, 0x10003, "def");
}

WORLD_TEST(a_read_that_is_not_complete_is_a_fault)
{
	char bytes[16];

	synthetic_core_add_memory(world->core, 0x10000, "abcd", 4);
	synthetic_core_add_memory(world->core, 0x10006, "gh", 2);
	world_open(world);
	check_fails(hawk_target_read(world->target, 0x10002, bytes, 6), HAWK_ERROR_FAULT, "");
	assert_int_equal(hawk_target_read_some(world->target, 0x10002, bytes, 6), 2);
	assert_int_equal(hawk_target_read_some(world->target, 0xffff, bytes, 6), 0);
	assert_int_equal(hawk_target_read_some(world->target, UINT64_MAX, bytes, 6), 0);
}

WORLD_TEST(a_view_lies_in_one_mapping)
{
	const char *view;

	synthetic_core_add_memory(world->core, 0x10000, "abcd", 4);
	synthetic_core_add_memory(world->core, 0x10004, "efgh", 4);
	world_open(world);
	view = hawk_target_view(world->target, 0x10001, 3);
	assert_non_null(view);
	assert_memory_equal(view, "bcd", 3);
	assert_null(hawk_target_view(world->target, 0x10001, 4));
	assert_null(hawk_target_view(world->target, 0x10001, SIZE_MAX));
	assert_null(hawk_target_view(world->target, 0x20000, 1));
}

WORLD_TEST(an_address_is_found_between_neighbours)
{
	for (uint64_t i = 1; i < 100; i++)
		synthetic_core_add_memory(world->core, i << 12, "12345678", 8);
	world_open(world);
	for (uint64_t i = 1; i < 100; i++) {
		const struct hawk_mapping *mapping =
			hawk_target_mapping_at(world->target, (i << 12) + 7);

		assert_non_null(mapping);
		assert_int_equal(mapping->start, i << 12);
		assert_null(hawk_target_mapping_at(world->target, (i << 12) + 8));
		assert_null(hawk_target_mapping_at(world->target, (i << 12) - 1));
	}
}

WORLD_TEST(capture_and_release_do_nothing_to_a_core)
{
	synthetic_core_add_memory(world->core, 0x10000, "abcd", 4);
	world_open(world);
	assert_null(hawk_target_capture(world->target, 0, UINT64_MAX));
	hawk_target_release(world->target);
	world_expect_bytes(world, 0x10000, "abcd");
	assert_int_equal(hawk_target_pause_ns(world->target), 0);
}

/** A file with a hole of 1 MiB in the only segment, 64 KiB from its beginning. */
static char *write_sparse_core(struct world *world)
{
	enum { SEGMENT_BYTES = 2 << 20, BEFORE = 64 << 10, HOLE = 1 << 20 };
	uint8_t *memory = malloc(SEGMENT_BYTES);
	char *path;
	int fd;

	memset(memory, 'x', SEGMENT_BYTES);
	synthetic_core_add_memory(world->core, 0x10000000, memory, SEGMENT_BYTES);
	free(memory);
	path = synthetic_core_write(world->core, SIZE_MAX);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 4096 + BEFORE, HOLE)) {
		synthetic_core_remove(path);
		path = NULL;
	}
	close(fd);
	return path;
}

WORLD_TEST(holes_of_the_file_can_be_left_out)
{
	uint64_t start, end;
	uint64_t at = 0;
	uint64_t data_bytes = 0;
	char *path = write_sparse_core(world);

	if (!path)
		skip(); /* this file system has no holes */
	check(hawk_target_open_core(path, &world->findings, &world->target));
	synthetic_core_remove(path);
	while (hawk_target_next_data(world->target, at, UINT64_MAX, &start, &end)) {
		char byte = 0;

		assert_true(start >= at && start < end);
		assert_int_equal(hawk_target_read_some(world->target, start, &byte, 1), 1);
		data_bytes += end - start;
		at = end;
	}
	assert_int_equal(at, 0x10000000 + (2 << 20));
	assert_int_equal(data_bytes, 1 << 20);
	assert_true(hawk_target_next_data(world->target, 0x10000000 + (64 << 10) - 1,
					  0x10000000 + (200 << 10), &start, &end));
	assert_int_equal(end, 0x10000000 + (64 << 10));
	assert_false(
		hawk_target_next_data(world->target, end, 0x10000000 + (200 << 10), &start, &end));
}

WORLD_TEST(a_file_that_shrinks_yields_zeros_and_a_finding)
{
	enum { SEGMENT_BYTES = 1 << 20 };
	uint8_t *memory = malloc(SEGMENT_BYTES);
	const uint8_t *view;
	char *path;

	memset(memory, 'x', SEGMENT_BYTES);
	synthetic_core_add_memory(world->core, 0x10000000, memory, SEGMENT_BYTES);
	free(memory);
	path = synthetic_core_write(world->core, SIZE_MAX);
	check(hawk_target_open_core(path, &world->findings, &world->target));
	hawk_target_check(world->target, &world->findings);
	assert_null(world_finding(world, "core-changed"));
	assert_int_equal(truncate(path, 100 << 10), 0);
	synthetic_core_remove(path);

	view = hawk_target_view(world->target, 0x10000000, SEGMENT_BYTES);
	assert_non_null(view);
	assert_int_equal(view[4096], 'x');
	assert_int_equal(view[SEGMENT_BYTES - 1], 0);
	assert_int_equal(view[SEGMENT_BYTES / 2], 0);
	assert_int_equal(view[4096], 'x');
	hawk_target_check(world->target, &world->findings);
	assert_non_null(world_finding(world, "core-changed"));
	assert_true(hawk_findings_partial(&world->findings));
}

/** In a child: opens a core (which installs the guard), then touches a lost page of another file.
 */
static void die_of_another_file(struct world *world)
{
	char *path = synthetic_file_write("x", 1);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	volatile char *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);

	world_open(world);
	synthetic_core_remove(path);
	if (ftruncate(fd, 0))
		_exit(1);
	signal(SIGALRM, SIG_DFL);
	alarm(10);
	_exit(page[0] ? 2 : 3);
}

WORLD_TEST(a_bus_error_elsewhere_still_kills)
{
	int status;
	pid_t child;

	synthetic_core_add_memory(world->core, 0x10000, "abcd", 4);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		signal(SIGBUS, SIG_DFL);
		die_of_another_file(world);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGBUS);
}
