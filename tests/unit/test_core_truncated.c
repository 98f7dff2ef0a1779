/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A core cut off anywhere: either it is refused, or it is a target with findings that say that it
 * is not complete. Cut at every byte of the first 8 KiB and at 200 further places.
 */
#include <elf.h>
#include <signal.h>

#include "test.h"
#include "core_file.h"
#include "synthetic_world.h"

enum { EVERY_BYTE = 8192, FURTHER = 200, SEGMENTS = 24 };

static void fill(struct synthetic_core *core)
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
	for (uint64_t i = 1; i <= SEGMENTS; i++)
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
	fill(core);
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

TEST(a_core_of_the_kernel_may_be_cut_anywhere)
{
	cut_everywhere((struct synthetic_layout){0});
}

TEST(a_core_of_gcore_may_be_cut_anywhere)
{
	cut_everywhere((struct synthetic_layout){.notes_last = true, .unaligned = true});
}

TEST(a_core_with_an_extended_count_may_be_cut_anywhere)
{
	cut_everywhere((struct synthetic_layout){.extended_count = true});
}

WORLD_TEST(a_core_cut_in_half_gives_its_first_half)
{
	size_t present = 0;
	size_t count;
	const struct hawk_mapping *mappings;

	fill(world->core);
	world_build(world);
	world->size -= SEGMENTS / 2 * SYNTHETIC_PAGE_BYTES;
	world_open(world);
	mappings = hawk_target_mappings(world->target, &count);
	assert_int_equal(count, SEGMENTS);
	for (size_t i = 0; i < count; i++)
		present += mappings[i].present_bytes == SYNTHETIC_PAGE_BYTES;
	assert_int_equal(present, SEGMENTS / 2);
	hawk_target_threads(world->target, &count);
	assert_int_equal(count, 3);
	assert_string_equal(hawk_target_process(world->target)->name, "service");
}
