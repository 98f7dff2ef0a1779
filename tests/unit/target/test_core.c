/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Program headers of cores: well-formed cores of any layout, the usable rest of damaged ones. A
 * core cut off anywhere is refused or reported as incomplete.
 */
#include <elf.h>
#include <signal.h>
#include <unistd.h>

#include "target/core/file.h"
#include "synthetic_world.h"

enum {
	HEADER_OFFSET = 64,
	HEADER_BYTES = 56,
	SEGMENTS = 10,
	BYTES = 2 * SYNTHETIC_PAGE_BYTES,
	PADDING = 5 << 20,
	EVERY_BYTE = 8192, /**< cores are cut at each of the first, */
	FURTHER = 200,     /**< and at so many further places */
	CUT_SEGMENTS = 24,
};

/* The first header is that of the notes. */
static uint8_t *field(const struct world *world, size_t segment, size_t offset)
{
	return world->bytes + HEADER_OFFSET + HEADER_BYTES * (segment + 1) + offset;
}

static void patch(const struct world *world, size_t segment, size_t offset, uint64_t value)
{
	memcpy(field(world, segment, offset), &value, sizeof(value));
}

static void add_three(struct world *world, struct synthetic_layout layout)
{
	synthetic_core_set_layout(world->core, layout);
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

WORLD_TEST(segments_are_read_and_sorted_whatever_the_layout)
{
	static const struct synthetic_layout layouts[] = {
		{0},
		{.notes_last = true, .unaligned = true, .descending = true},
		{.extended_count = true},
	};

	for (size_t i = 0; i < COUNT_OF(layouts); i++) {
		size_t count;

		synthetic_core_add_thread(world->core, 1, 0, NULL);
		add_three(world, layouts[i]);
		world_open(world);
		expect_three(world);
		hawk_target_threads(world->target, &count);
		assert_int_equal(count, 1);
		world_renew(world);
	}
}

WORLD_TEST(a_lost_extended_count_is_inferred_and_reported)
{
	size_t count;

	add_three(world, (struct synthetic_layout){.extended_count = true});
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
	char *path;

	add_three(world, (struct synthetic_layout){.extended_count = true});
	world_build(world);
	memset(world->bytes + offsetof(Elf64_Ehdr, e_shoff), 0, sizeof(uint64_t));
	path = synthetic_file_write(world->bytes, world->size);
	if (truncate(path, bytes)) {
		synthetic_core_remove(path);
		print_message("no file of 4 TiB can be made here\n");
		skip();
	}
	check(hawk_target_open_core(path, &world->findings, &world->target));
	synthetic_core_remove(path);
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
	patch(world, 0, offsetof(Elf64_Phdr, p_vaddr), UINT64_MAX - 4);
	patch(world, 0, offsetof(Elf64_Phdr, p_memsz), UINT64_MAX - 8);
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
	patch(world, 0, offsetof(Elf64_Phdr, p_filesz), UINT64_MAX);
	patch(world, 0, offsetof(Elf64_Phdr, p_memsz), UINT64_MAX);
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
	patch(world, 0, offsetof(Elf64_Phdr, p_offset), UINT64_MAX - 3);
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
		patch(world, i - 1, offsetof(Elf64_Phdr, p_offset), 0);
		patch(world, i - 1, offsetof(Elf64_Phdr, p_filesz), world->size);
		patch(world, i - 1, offsetof(Elf64_Phdr, p_memsz), world->size);
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

	add_three(world, (struct synthetic_layout){0});
	world_build(world);
	world->size = HEADER_OFFSET + 3 * HEADER_BYTES + 1;
	world_open(world);
	hawk_target_mappings(world->target, &count);
	assert_int_equal(count, 2);
	assert_non_null(world_finding(world, "core-truncated"));
	assert_true(hawk_findings_partial(&world->findings));
}

static uint64_t address_of(size_t segment)
{
	return (segment + 1) << 20;
}

static void build(struct world *world, struct synthetic_layout layout)
{
	char bytes[BYTES];

	memset(bytes, 'x', sizeof(bytes));
	synthetic_core_set_layout(world->core, layout);
	for (size_t i = 0; i < SEGMENTS; i++)
		synthetic_core_add_memory(world->core, address_of(i), bytes, sizeof(bytes));
	world_build(world);
}

/* Opens the core: of the findings about claims, only `key` is there, or none if that is NULL. */
static void expect_claims(struct world *world, const char *key, const char *words)
{
	static const char *const keys[] = {"segments-unclaimed", "segments-twice",
					   "segments-strange"};

	world_open(world);
	for (size_t i = 0; i < COUNT_OF(keys); i++) {
		const struct hawk_finding *finding = world_finding(world, keys[i]);

		if (!finding != (!key || strcmp(key, keys[i]) != 0))
			fail_msg("%s, expected %s", keys[i], key ? key : "nothing");
		if (!finding)
			continue;
		assert_int_equal(finding->sort, HAWK_FINDING_DAMAGE);
		assert_true(finding->partial);
		assert_non_null(strstr(finding->text, words));
	}
	assert_int_equal(hawk_target_is_incomplete(world->target), key != NULL);
	world_renew(world);
}

WORLD_TEST(a_sound_core_of_any_layout_is_whole)
{
	build(world, (struct synthetic_layout){0});
	expect_claims(world, NULL, "");
	build(world, (struct synthetic_layout){.notes_last = true});
	expect_claims(world, NULL, "");
	build(world, (struct synthetic_layout){.descending = true, .unaligned = true});
	expect_claims(world, NULL, "");
}

WORLD_TEST(a_header_that_contradicts_the_others_is_damage)
{
	const struct {
		size_t segment, field, bytes;
		uint64_t value;
		const char *key, *words;
	} cases[] = {
		{4, offsetof(Elf64_Phdr, p_type), 4, 77, "segments-unclaimed", "8.0 KiB"},
		{SEGMENTS - 1, offsetof(Elf64_Phdr, p_type), 4, 77, "segments-unclaimed", ""},
		{4, offsetof(Elf64_Phdr, p_filesz), 8, BYTES + 100, "segments-twice", "100 B"},
		{0, offsetof(Elf64_Phdr, p_vaddr), 8, address_of(SEGMENTS), "segments-strange", ""},
		{4, offsetof(Elf64_Phdr, p_vaddr), 8, address_of(4) + 16, "segments-strange", ""},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		build(world, (struct synthetic_layout){0});
		memcpy(field(world, cases[i].segment, cases[i].field), &cases[i].value,
		       cases[i].bytes);
		expect_claims(world, cases[i].key, cases[i].words);
	}
}

/* What `change` leaves is sound if its last byte is 0, and not if it is another one. */
static void expect_zeros_only(struct world *world,
			      void (*change)(struct world *world, uint8_t last))
{
	build(world, (struct synthetic_layout){0});
	change(world, 0);
	expect_claims(world, NULL, "");
	build(world, (struct synthetic_layout){0});
	change(world, 1);
	expect_claims(world, "segments-unclaimed", "");
}

static void pad(struct world *world, uint8_t last)
{
	world->bytes = realloc(world->bytes, world->size + PADDING);
	memset(world->bytes + world->size, 0, PADDING);
	world->size += PADDING;
	world->bytes[world->size - 1] = last;
}

WORLD_TEST(zeros_behind_the_end_are_padding_and_other_bytes_are_not)
{
	expect_zeros_only(world, pad);
}

/* A segment whose header is lost holds nothing that could be missed, if all of it is zeros. */
static void lose_header(struct world *world, uint8_t last)
{
	Elf64_Phdr header;

	memcpy(&header, field(world, 4, 0), sizeof(header));
	memset(world->bytes + header.p_offset, 0, BYTES);
	world->bytes[header.p_offset + BYTES - 1] = last;
	memcpy(field(world, 4, offsetof(Elf64_Phdr, p_type)), &(uint32_t){77}, 4);
}

WORLD_TEST(a_gap_of_zeros_is_none)
{
	expect_zeros_only(world, lose_header);
}

/* As BFD writes them from 65,280 on: the number is in the first one. */
WORLD_TEST(a_table_of_many_sections_is_claimed)
{
	const uint64_t count = 70000;
	uint64_t bytes = count * sizeof(Elf64_Shdr);
	Elf64_Ehdr header;

	build(world, (struct synthetic_layout){0});
	world->bytes = realloc(world->bytes, world->size + bytes);
	memset(world->bytes + world->size, 'y', bytes);
	memcpy(&header, world->bytes, sizeof(header));
	header.e_shoff = world->size;
	header.e_shnum = 0;
	memcpy(world->bytes, &header, sizeof(header));
	memcpy(world->bytes + world->size + offsetof(Elf64_Shdr, sh_size), &count, sizeof(count));
	world->size += bytes;
	world->size -= 10; /* cut off within it, behind all memory */
	expect_claims(world, NULL, "");
}

/* The gap is zeros, and what is claimed twice is at the end of the file. */
WORLD_TEST(a_segment_moved_into_the_last_one_is_damage)
{
	Elf64_Phdr header;

	build(world, (struct synthetic_layout){0});
	memcpy(&header, field(world, SEGMENTS - 2, 0), sizeof(header));
	memset(world->bytes + header.p_offset, 0, 4096);
	header.p_offset += 4096;
	memcpy(field(world, SEGMENTS - 2, 0), &header, sizeof(header));
	expect_claims(world, "segments-twice", "");
}

static void fill_core(struct synthetic_core *core)
{
	static const uint64_t auxv[][2] = {{AT_PHDR, 0x20040}, {AT_PAGESZ, 4096}};
	uint8_t page[SYNTHETIC_PAGE_BYTES];

	for (uint32_t tid = 1; tid <= 3; tid++)
		synthetic_core_add_thread(core, tid, SIGSEGV, NULL);
	synthetic_core_add_process(core, 1, "service", "/bin/service");
	synthetic_core_add_siginfo(core, SIGSEGV, SEGV_MAPERR, 16);
	synthetic_core_add_auxv(core, auxv, 2);
	synthetic_elf_page(page,
			   (struct synthetic_elf){.build_id = "12345678", .build_id_bytes = 8});
	for (uint64_t i = 1; i <= CUT_SEGMENTS; i++)
		synthetic_core_add_segment(
			core, (struct synthetic_segment){
				      .address = i << 16,
				      .bytes = page,
				      .dumped_bytes = sizeof(page),
				      .flags = SYNTHETIC_READ | SYNTHETIC_EXEC,
				      .path = i % 2 ? NULL : "/usr/lib/x86_64-linux-gnu/libc.so.6",
			      });
}

/** Reads all that the mappings promise. */
static void read_everything(const struct hawk_target *target)
{
	size_t count;
	const struct hawk_mapping *mappings = hawk_target_mappings(target, &count);

	for (size_t i = 0; i < count; i++) {
		uint8_t bytes[SYNTHETIC_PAGE_BYTES];

		assert_true(mappings[i].present_bytes <= sizeof(bytes));
		assert_int_equal(
			hawk_target_read_some(target, mappings[i].start, bytes, sizeof(bytes)),
			mappings[i].present_bytes);
	}
}

static void open_cut(const uint8_t *bytes, size_t cut)
{
	/* of exactly that size, so that a sanitizer sees the first byte beyond */
	uint8_t *copy = malloc(cut + !cut);
	struct hawk_findings findings;
	struct hawk_core_file *file;
	struct hawk_target *target;
	struct hawk_error *error;

	memcpy(copy, bytes, cut);
	hawk_findings_init(&findings);
	assert_null(hawk_core_file_over(copy, cut, &file));
	error = hawk_core_open_file(file, "cut", &findings, &target);
	if (error) {
		assert_int_equal(hawk_error_code(error), HAWK_ERROR_FORMAT);
		assert_true(cut < sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr));
	} else {
		if (!hawk_findings_partial(&findings))
			fail_msg("cut at %zu: not said to be incomplete", cut);
		read_everything(target);
		hawk_target_close(target);
	}
	hawk_error_destroy(error);
	hawk_findings_deinit(&findings);
	free(copy);
}

static void cut_everywhere(struct synthetic_layout layout)
{
	struct synthetic_core *core = synthetic_core_create();
	uint64_t random = 88172645463325252;
	uint8_t *bytes;
	size_t size;

	synthetic_core_set_layout(core, layout);
	fill_core(core);
	bytes = synthetic_core_build(core, &size);
	assert_true(size > EVERY_BYTE);
	for (size_t cut = 0; cut < EVERY_BYTE; cut++)
		open_cut(bytes, cut);
	for (int i = 0; i < FURTHER; i++) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		open_cut(bytes, random % size);
	}
	free(bytes);
	synthetic_core_destroy(core);
}

TEST(a_core_may_be_cut_anywhere)
{
	cut_everywhere((struct synthetic_layout){0});
	cut_everywhere(
		(struct synthetic_layout){.notes_last = true, .unaligned = true}); /* gcore */
	cut_everywhere((struct synthetic_layout){.extended_count = true});
}
