/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Memory of living processes: captured, untouched, without rights.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "test.h"
#include "hawk/target/near.h"
#include "synthetic_victim.h"

enum { MEBIBYTE = 1 << 20 };

static char secret[] = "before the fork";

static void change_and_count(struct shared *shared)
{
	memcpy(secret, "after the fork!", sizeof(secret));
	victim_count_for_ever(shared);
}

LIVE_TEST(after_the_release_only_captured_memory_is_left)
{
	uintptr_t address = (uintptr_t)secret;
	const char *view;
	char bytes[8];

	victim_start(world, change_and_count);
	victim_open(world);
	assert_null(hawk_target_view(world->target, address, 4));
	assert_int_equal(hawk_target_read_some(world->target, address, bytes, 8), 8);
	assert_null(hawk_target_capture(world->target, address + 2, 4));
	assert_null(hawk_target_capture(world->target, address + 1, 8));
	assert_null(hawk_target_capture(world->target, address + 1, 8));
	hawk_target_release(world->target);
	hawk_target_release(world->target);
	assert_null(hawk_target_verify(world->target));
	assert_true(victim_counts(world));
	assert_true(hawk_target_pause_ns(world->target) > 0);

	assert_null(hawk_target_read(world->target, address + 1, bytes, 8));
	assert_memory_equal(bytes, "fter the", 8);
	view = hawk_target_view(world->target, address + 2, 4);
	assert_non_null(view);
	assert_memory_equal(view, "ter ", 4);
	assert_int_equal(hawk_target_read_some(world->target, address, bytes, 1), 0);
	assert_int_equal(hawk_target_read_some(world->target, address + 7, bytes, 8), 2);
	check_fails(hawk_target_read(world->target, address + 9, bytes, 1), HAWK_ERROR_FAULT, "");
}

static void map_much_and_count(struct shared *shared)
{
	uint8_t *bytes = mmap(NULL, 512 * (size_t)MEBIBYTE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	madvise(bytes, 512 * (size_t)MEBIBYTE, MADV_NOHUGEPAGE);
	memset(bytes + 100 * (size_t)MEBIBYTE, 'x', 10000);
	atomic_store(&shared->address, (uintptr_t)bytes);
	victim_count_for_ever(shared);
}

LIVE_TEST(untouched_memory_is_neither_read_nor_allocated)
{
	long resident_before, resident_after;
	uint64_t address, touched, start_address, end_address;
	uint8_t bytes[8192];

	victim_start(world, map_much_and_count);
	address = atomic_load(&world->shared->address);
	touched = address + 100 * (uint64_t)MEBIBYTE;
	resident_before =
		victim_status(world->victim, "VmRSS") + victim_status(world->victim, "VmPTE");
	victim_open(world);
	assert_true(hawk_target_next_data(world->target, address, address + 512ull * MEBIBYTE,
					  &start_address, &end_address));
	assert_int_equal(start_address, touched);
	assert_int_equal(end_address, touched + 3 * 4096);
	assert_false(hawk_target_next_data(world->target, end_address, address + 512ull * MEBIBYTE,
					   &start_address, &end_address));
	assert_null(hawk_target_read(world->target, touched - 4096, bytes, sizeof(bytes)));
	assert_int_equal(bytes[0], 0);
	assert_int_equal(bytes[4095], 0);
	assert_int_equal(bytes[4096], 'x');
	assert_null(hawk_target_capture(world->target, address, 512ull * MEBIBYTE));
	resident_after =
		victim_status(world->victim, "VmRSS") + victim_status(world->victim, "VmPTE");
	hawk_target_release(world->target);
	assert_true(resident_after - resident_before < 256);
	assert_null(hawk_target_read(world->target, touched - 4096, bytes, sizeof(bytes)));
	assert_int_equal(bytes[4095], 0);
	assert_int_equal(bytes[4096], 'x');
	assert_true(hawk_target_next_data(world->target, address, address + 512ull * MEBIBYTE,
					  &start_address, &end_address));
	assert_int_equal(start_address, touched);
	kill(world->victim, SIGKILL);
	assert_true(victim_comes_to(world->victim, 'Z'));
	assert_null(hawk_target_verify(world->target)); /* it was whole until the release */
}

static void map_without_rights_and_count(struct shared *shared)
{
	char *bytes =
		mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	strcpy(bytes, "no rights");
	mprotect(bytes, 4096, PROT_NONE);
	atomic_store(&shared->address, (uintptr_t)bytes);
	victim_count_for_ever(shared);
}

LIVE_TEST(memory_without_rights_is_read_all_the_same)
{
	char bytes[10];

	victim_start(world, map_without_rights_and_count);
	victim_open(world);
	assert_null(hawk_target_read(world->target, atomic_load(&world->shared->address), bytes,
				     sizeof(bytes)));
	assert_string_equal(bytes, "no rights");
}

enum { LOWEST = 0x10000 }; /* no process has a mapping below it by itself */

static int shared_file;

static void map_a_file_lowest_and_count(struct shared *shared)
{
	char *bytes = mmap((void *)LOWEST, 4096, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_FIXED_NOREPLACE, shared_file, 0);

	if (bytes != MAP_FAILED)
		bytes[0] = 'x';
	atomic_store(&shared->address, (uintptr_t)bytes);
	victim_count_for_ever(shared);
}

/** That is not the end of it. */
LIVE_TEST(a_file_of_a_process_is_cut_off_while_it_stands)
{
	char byte;

	shared_file = memfd_create("file", MFD_CLOEXEC);
	assert_true(shared_file >= 0);
	assert_int_equal(ftruncate(shared_file, 4096), 0);
	victim_start(world, map_a_file_lowest_and_count);
	if (atomic_load(&world->shared->address) != LOWEST) /* vm.mmap_min_addr is higher */
		skip();
	victim_open(world);
	assert_int_equal(hawk_target_read_some(world->target, LOWEST + 1, &byte, 1), 1);
	assert_int_equal(ftruncate(shared_file, 0), 0);
	assert_null(hawk_target_verify(world->target));
	hawk_target_release(world->target);
	assert_null(hawk_target_verify(world->target));
	close(shared_file);
}

/** Short reads are what one long read is. */
LIVE_TEST(short_reads_are_what_a_long_one_is)
{
	struct hawk_near near = {0};
	uint64_t touched;
	uint8_t all[6 * 4096], bytes[24];

	victim_start(world, map_much_and_count);
	touched = atomic_load(&world->shared->address) + 100 * (uint64_t)MEBIBYTE;
	victim_open(world);
	near.target = world->target;
	assert_null(hawk_target_read(world->target, touched - 4096, all, sizeof(all)));
	for (unsigned at = 0; at + sizeof(bytes) <= sizeof(all); at += 7) {
		memset(bytes, 0xa5, sizeof(bytes));
		assert_int_equal(hawk_near_read(&near, touched - 4096 + at, bytes, sizeof(bytes)),
				 sizeof(bytes));
		assert_memory_equal(bytes, all + at, sizeof(bytes));
	}
	assert_int_equal(hawk_near_read(&near, 1, bytes, 8), 0);
	hawk_target_release(world->target);
	assert_int_equal(hawk_target_read_some(world->target, touched, bytes, 1), 0);
	assert_int_equal(hawk_near_read(&near, touched, bytes, 1), 0);
}

enum { GUARD_INSTALL = 102 }; /* MADV_GUARD_INSTALL */

/* As glibc 2.42 does for stacks. The kernel tells which pages those are from Linux 6.16 on. */
static void install_a_guard_and_count(struct shared *shared)
{
	char *bytes =
		mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct utsname system;
	int major = 0, minor = 0;

	bytes[0] = bytes[2 * 4096] = 'x';
	uname(&system);
	sscanf(system.release, "%d.%d", &major, &minor);
	if ((major > 6 || (major == 6 && minor >= 16)) &&
	    madvise(bytes + 4096, 4096, GUARD_INSTALL) == 0)
		atomic_store(&shared->address, (uintptr_t)bytes);
	victim_count_for_ever(shared);
}

LIVE_TEST(guard_pages_inside_of_a_mapping_are_nothing)
{
	uint64_t address;
	uint8_t bytes[3 * 4096];

	victim_start(world, install_a_guard_and_count);
	address = atomic_load(&world->shared->address);
	if (!address)
		skip();
	victim_open(world);
	for (unsigned captured = 0; captured < 2; captured++) {
		assert_null(hawk_target_read(world->target, address, bytes, sizeof(bytes)));
		assert_int_equal(bytes[0], 'x');
		assert_int_equal(bytes[4096], 0);
		assert_int_equal(bytes[2 * 4096], 'x');
		assert_null(hawk_target_capture(world->target, address, sizeof(bytes)));
	}
	hawk_target_release(world->target);
	hawk_target_check(world->target, &world->findings);
	assert_int_equal(world->findings.count, 0);
}
