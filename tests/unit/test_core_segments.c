/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Program headers of cores: what a well-formed core of any layout gives, and what is left of a
 * damaged one.
 */
#include <elf.h>
#include <unistd.h>

#include "test.h"
#include "synthetic_world.h"

enum { HEADER_OFFSET = 64, HEADER_BYTES = 56 };

static void patch_header(struct world *world, size_t index, size_t field, uint64_t value)
{
	memcpy(world->bytes + HEADER_OFFSET + HEADER_BYTES * index + field, &value, sizeof(value));
}

static void add_three(struct world *world)
{
	synthetic_core_add_memory(world->core, 0x30000, "third", 5);
	synthetic_core_add_memory(world->core, 0x10000, "first", 5);
	synthetic_core_add_memory(world->core, 0x20000, "second", 6);
}

static void expect_three(const struct world *world)
{
	size_t count;
	const struct hawk_mapping *mappings = hawk_target_mappings(world->target, &count);

	assert_int_equal(count, 3);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(mappings[i].start, 0x10000 * (i + 1));
	world_expect_bytes(world, 0x10000, "first");
	world_expect_bytes(world, 0x20000, "second");
	world_expect_bytes(world, 0x30000, "third");
	assert_null(world_finding(world, "core-truncated"));
}

WORLD_TEST(segments_are_sorted_whatever_their_order_in_the_file)
{
	add_three(world);
	world_open(world);
	expect_three(world);
}

WORLD_TEST(notes_at_the_end_and_unaligned_segments_are_read)
{
	size_t count;

	synthetic_core_set_layout(world->core, (struct synthetic_layout){.notes_last = true,
									 .unaligned = true,
									 .descending = true});
	synthetic_core_add_thread(world->core, 1, 0, NULL);
	add_three(world);
	world_open(world);
	expect_three(world);
	hawk_target_threads(world->target, &count);
	assert_int_equal(count, 1);
}

WORLD_TEST(an_extended_segment_count_is_read_from_section_zero)
{
	synthetic_core_set_layout(world->core, (struct synthetic_layout){.extended_count = true});
	add_three(world);
	world_open(world);
	expect_three(world);
}

WORLD_TEST(a_lost_extended_count_is_inferred_and_reported)
{
	size_t count;

	synthetic_core_set_layout(world->core, (struct synthetic_layout){.extended_count = true});
	add_three(world);
	world_build(world);
	world->size -= sizeof(Elf64_Shdr);
	world_open(world);
	hawk_target_mappings(world->target, &count);
	assert_int_equal(count, 3);
	world_expect_bytes(world, 0x20000, "second");
	assert_non_null(world_finding(world, "core-header-count"));
	assert_true(hawk_findings_partial(&world->findings));
}

/* The file may be as large as the memory of the machine many times over. */
WORLD_TEST(a_lost_extended_count_costs_no_memory_for_the_size_of_the_file)
{
	const off_t bytes = (off_t)4 << 40;
	struct hawk_error *error;
	char *path;

	synthetic_core_set_layout(world->core, (struct synthetic_layout){.extended_count = true});
	add_three(world);
	world_build(world);
	memset(world->bytes + offsetof(Elf64_Ehdr, e_shoff), 0, sizeof(uint64_t));
	path = synthetic_file_write(world->bytes, world->size);
	if (truncate(path, bytes)) {
		synthetic_core_remove(path);
		print_message("no file of 4 TiB can be made here\n");
		skip();
	}
	error = hawk_target_open_core(path, &world->findings, &world->target);
	synthetic_core_remove(path);
	if (error)
		fail_msg("%s", hawk_error_message(error));
	expect_three(world);
	assert_non_null(world_finding(world, "core-header-count"));
}

WORLD_TEST(seventy_thousand_segments_are_all_there)
{
	enum { COUNT = 70000 };
	size_t count;

	synthetic_core_set_layout(
		world->core, (struct synthetic_layout){.extended_count = true, .unaligned = true});
	for (uint64_t i = 0; i < COUNT; i++)
		synthetic_core_add_memory(world->core, (i + 1) << 12, &i, sizeof(i));
	world_open(world);
	hawk_target_mappings(world->target, &count);
	assert_int_equal(count, COUNT);
	for (uint64_t i = 0; i < COUNT; i += 997) {
		const uint64_t *value = hawk_target_view(world->target, (i + 1) << 12, 8);

		assert_non_null(value);
		assert_int_equal(*value, i);
	}
}

WORLD_TEST(bytes_that_were_not_dumped_are_not_zeros)
{
	const struct hawk_mapping *mapping;
	uint8_t byte;

	synthetic_core_add_segment(world->core, (struct synthetic_segment){
							.address = 0x10000,
							.bytes = "head",
							.dumped_bytes = 4,
							.memory_bytes = 0x2000,
							.flags = SYNTHETIC_READ,
						});
	world_open(world);
	mapping = hawk_target_mapping_at(world->target, 0x11fff);
	assert_non_null(mapping);
	assert_int_equal(mapping->end, 0x12000);
	assert_int_equal(mapping->present_bytes, 4);
	assert_int_equal(mapping->dumped_bytes, 4);
	assert_int_equal(hawk_target_read_some(world->target, 0x10003, &byte, 1), 1);
	assert_int_equal(hawk_target_read_some(world->target, 0x10004, &byte, 1), 0);
	assert_null(world_finding(world, "core-truncated"));
}

WORLD_TEST(a_cut_core_says_how_much_of_it_is_missing)
{
	const struct hawk_mapping *mapping;
	uint8_t page[4096];

	memset(page, 'x', sizeof(page));
	for (uint64_t i = 1; i <= 4; i++)
		synthetic_core_add_memory(world->core, i << 16, page, sizeof(page));
	world_build(world);
	world->size -= 4096 + 96;
	world_open(world);
	mapping = hawk_target_mapping_at(world->target, 0x30000);
	assert_int_equal(mapping->present_bytes, 4000);
	assert_int_equal(mapping->dumped_bytes, 4096);
	mapping = hawk_target_mapping_at(world->target, 0x40000);
	assert_int_equal(mapping->present_bytes, 0);
	assert_non_null(world_finding(world, "core-truncated"));
	assert_non_null(
		strstr(world_finding(world, "core-truncated")->text,
		       "4.1 KiB of the 16.0 KiB that were dumped are missing, in 2 of 4 segments"));
	assert_true(world_finding(world, "core-truncated")->partial);
}

WORLD_TEST(an_overlap_is_cut_off_the_later_segment)
{
	size_t count;
	const struct hawk_mapping *mappings;

	synthetic_core_add_memory(world->core, 0x10000, "abcdefgh", 8);
	synthetic_core_add_memory(world->core, 0x10004, "ABCDEFGH", 8);
	synthetic_core_add_memory(world->core, 0x10006, "12", 2);
	world_open(world);
	mappings = hawk_target_mappings(world->target, &count);
	assert_int_equal(count, 2);
	assert_int_equal(mappings[1].start, 0x10008);
	world_expect_bytes(world, 0x10000, "abcdefghEFGH");
	assert_int_equal(world_finding(world, "segment-overlap")->count, 2);
	assert_int_equal(world_finding(world, "segment-overlap")->sort, HAWK_FINDING_DAMAGE);
}

WORLD_TEST(a_segment_beyond_the_address_space_is_clipped)
{
	const struct hawk_mapping *mapping;
	uint8_t bytes[16];

	synthetic_core_add_memory(world->core, 0x10000, "abcdefgh", 8);
	synthetic_core_add_memory(world->core, 0x20000, "intact", 6);
	world_build(world);
	patch_header(world, 1, offsetof(Elf64_Phdr, p_vaddr), UINT64_MAX - 4);
	patch_header(world, 1, offsetof(Elf64_Phdr, p_memsz), UINT64_MAX - 8);
	world_open(world);
	mapping = hawk_target_mapping_at(world->target, UINT64_MAX - 2);
	assert_non_null(mapping);
	assert_int_equal(mapping->end, UINT64_MAX);
	assert_int_equal(hawk_target_read_some(world->target, UINT64_MAX - 4, bytes, 16), 4);
	world_expect_bytes(world, 0x20000, "intact");
	assert_non_null(world_finding(world, "segment-overflow"));
}

WORLD_TEST(counts_of_2_to_the_64_are_clamped_to_the_file)
{
	const struct hawk_mapping *mapping;

	synthetic_core_add_memory(world->core, 0x10000, "abcdefgh", 8);
	world_build(world);
	patch_header(world, 1, offsetof(Elf64_Phdr, p_filesz), UINT64_MAX);
	patch_header(world, 1, offsetof(Elf64_Phdr, p_memsz), UINT64_MAX);
	world_open(world);
	mapping = hawk_target_mapping_at(world->target, 0x10000);
	assert_non_null(mapping);
	assert_true(mapping->present_bytes <= world->size);
	world_expect_bytes(world, 0x10000, "abcdefgh");
}

WORLD_TEST(a_segment_outside_the_file_holds_nothing)
{
	const struct hawk_mapping *mapping;

	synthetic_core_add_memory(world->core, 0x10000, "abcdefgh", 8);
	world_build(world);
	patch_header(world, 1, offsetof(Elf64_Phdr, p_offset), UINT64_MAX - 3);
	world_open(world);
	mapping = hawk_target_mapping_at(world->target, 0x10000);
	assert_int_equal(mapping->present_bytes, 0);
	assert_int_equal(mapping->dumped_bytes, 8);
	assert_non_null(world_finding(world, "core-truncated"));
}

WORLD_TEST(segments_that_share_all_bytes_cannot_multiply_them)
{
	uint64_t present = 0;
	size_t count;
	const struct hawk_mapping *mappings;

	for (uint64_t i = 1; i <= 200; i++)
		synthetic_core_add_memory(world->core, i << 32, "x", 1);
	world_build(world);
	for (size_t i = 1; i <= 200; i++) {
		patch_header(world, i, offsetof(Elf64_Phdr, p_offset), 0);
		patch_header(world, i, offsetof(Elf64_Phdr, p_filesz), world->size);
		patch_header(world, i, offsetof(Elf64_Phdr, p_memsz), world->size);
	}
	world_open(world);
	mappings = hawk_target_mappings(world->target, &count);
	for (size_t i = 0; i < count; i++)
		present += mappings[i].present_bytes;
	assert_true(present <= 5 * world->size);
	assert_non_null(world_finding(world, "segment-shared"));
}

WORLD_TEST(a_list_of_segments_cut_in_the_middle_gives_the_first_ones)
{
	size_t count;

	add_three(world);
	world_build(world);
	world->size = HEADER_OFFSET + 3 * HEADER_BYTES + 1;
	world_open(world);
	hawk_target_mappings(world->target, &count);
	assert_int_equal(count, 2);
	assert_non_null(world_finding(world, "core-truncated"));
	assert_true(hawk_findings_partial(&world->findings));
}
