/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Program headers that contradict each other: a core that lacks memory nobody knows of is not taken
 * for a whole one, and a whole one of any layout is.
 */
#include <elf.h>

#include "test.h"
#include "synthetic_world.h"

enum { HEADER_OFFSET = 64, HEADER_BYTES = 56, SEGMENTS = 10, BYTES = 2 * 4096, PADDING = 5 << 20 };

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

/* The first header is that of the notes. */
static void *field(const struct world *world, size_t segment, size_t offset)
{
	return world->bytes + HEADER_OFFSET + HEADER_BYTES * (segment + 1) + offset;
}

static void expect(const struct world *world, const char *key)
{
	static const char *const keys[] = {"segments-unclaimed", "segments-twice",
					   "segments-strange"};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		const struct hawk_finding *finding = world_finding(world, keys[i]);

		if (!key || strcmp(key, keys[i]) != 0) {
			assert_null(finding);
			continue;
		}
		assert_non_null(finding);
		assert_int_equal(finding->sort, HAWK_FINDING_DAMAGE);
		assert_true(finding->partial);
	}
	assert_int_equal(hawk_target_is_incomplete(world->target), key != NULL);
}

WORLD_TEST(a_sound_core_of_any_layout_is_whole)
{
	build(world, (struct synthetic_layout){0});
	world_open(world);
	expect(world, NULL);
}

WORLD_TEST(notes_at_the_end_leave_no_gap)
{
	build(world, (struct synthetic_layout){.notes_last = true});
	world_open(world);
	expect(world, NULL);
}

/* What `change` leaves is sound if its last byte is 0, and not if it is another one. */
static void expect_zeros_only(struct world *world,
			      void (*change)(struct world *world, uint8_t last))
{
	build(world, (struct synthetic_layout){0});
	change(world, 0);
	world_open(world);
	expect(world, NULL);
	world_renew(world);
	build(world, (struct synthetic_layout){0});
	change(world, 1);
	world_open(world);
	expect(world, "segments-unclaimed");
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
	world_open(world);
	expect(world, NULL);
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
	world_open(world);
	expect(world, "segments-twice");
}

WORLD_TEST(a_header_of_another_type_leaves_bytes_that_nobody_claims)
{
	build(world, (struct synthetic_layout){0});
	memcpy(field(world, 4, offsetof(Elf64_Phdr, p_type)), &(uint32_t){77}, 4);
	world_open(world);
	expect(world, "segments-unclaimed");
	assert_non_null(strstr(world_finding(world, "segments-unclaimed")->text, "8.0 KiB"));
}

WORLD_TEST(the_last_header_is_missed_like_any_other)
{
	build(world, (struct synthetic_layout){0});
	memcpy(field(world, SEGMENTS - 1, offsetof(Elf64_Phdr, p_type)), &(uint32_t){77}, 4);
	world_open(world);
	expect(world, "segments-unclaimed");
}

WORLD_TEST(bytes_of_two_segments_are_damage)
{
	uint64_t bytes = BYTES + 100;

	build(world, (struct synthetic_layout){0});
	memcpy(field(world, 4, offsetof(Elf64_Phdr, p_filesz)), &bytes, sizeof(bytes));
	world_open(world);
	expect(world, "segments-twice");
	assert_non_null(strstr(world_finding(world, "segments-twice")->text, "100 B"));
}

WORLD_TEST(one_address_out_of_order_is_damage)
{
	uint64_t address = address_of(SEGMENTS);

	build(world, (struct synthetic_layout){0});
	memcpy(field(world, 0, offsetof(Elf64_Phdr, p_vaddr)), &address, sizeof(address));
	world_open(world);
	expect(world, "segments-strange");
}

WORLD_TEST(a_descending_order_is_none)
{
	build(world, (struct synthetic_layout){.descending = true, .unaligned = true});
	world_open(world);
	expect(world, NULL);
}

WORLD_TEST(an_address_within_a_page_is_damage)
{
	uint64_t address = address_of(4) + 16;

	build(world, (struct synthetic_layout){0});
	memcpy(field(world, 4, offsetof(Elf64_Phdr, p_vaddr)), &address, sizeof(address));
	world_open(world);
	expect(world, "segments-strange");
}
