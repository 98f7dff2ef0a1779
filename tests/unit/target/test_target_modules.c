/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Mappings named by NT_FILE, and the modules that are found in them.
 */
#include <elf.h>

#include "test.h"
#include "synthetic_world.h"

static const uint8_t build_id[20] = "0123456789abcdefghi";

enum { TEXT = SYNTHETIC_READ | SYNTHETIC_EXEC, DATA = SYNTHETIC_READ | SYNTHETIC_WRITE };

static void add_pages(struct world *world, uint64_t address, const void *bytes, uint64_t pages,
		      uint32_t flags, const char *path, uint64_t file_page)
{
	synthetic_core_add_segment(world->core,
				   (struct synthetic_segment){
					   .address = address,
					   .bytes = bytes,
					   .dumped_bytes = bytes ? SYNTHETIC_PAGE_BYTES : 0,
					   .memory_bytes = pages * SYNTHETIC_PAGE_BYTES,
					   .flags = flags,
					   .path = path,
					   .file_offset = file_page * SYNTHETIC_PAGE_BYTES,
				   });
}

/** A page with the ELF header of a file, mapped at `address` as its first `pages` pages. */
static void add_header(struct world *world, uint64_t address, struct synthetic_elf elf,
		       uint64_t pages, uint32_t flags, const char *path)
{
	uint8_t header[SYNTHETIC_PAGE_BYTES];

	synthetic_elf_page(header, elf);
	add_pages(world, address, header, pages, flags, path, 0);
}

/** A library of 4 pages at `address`: header and text, data, and a page of .bss. */
static void add_library(struct world *world, uint64_t address, const char *path)
{
	uint8_t header[SYNTHETIC_PAGE_BYTES];

	synthetic_elf_page(header, (struct synthetic_elf){.bytes = 4 * SYNTHETIC_PAGE_BYTES,
							  .build_id = build_id,
							  .build_id_bytes = sizeof(build_id)});
	add_pages(world, address, header, 2, TEXT, path, 0);
	add_pages(world, address + 0x2000, header, 1, DATA, path, 2);
	add_pages(world, address + 0x3000, header, 3, DATA, NULL, 0);
}

static const struct hawk_module *modules_of(const struct world *world, size_t expected)
{
	size_t count;
	const struct hawk_module *modules = hawk_target_modules(world->target, &count);

	assert_int_equal(count, expected);
	return modules;
}

WORLD_TEST(a_module_has_bias_build_id_and_bss)
{
	const struct hawk_module *module;

	add_library(world, 0x7f0000000000, "/lib/liba.so");
	world_open(world);
	module = modules_of(world, 1);
	assert_string_equal(module->path, "/lib/liba.so");
	assert_int_equal(module->start, 0x7f0000000000);
	assert_int_equal(module->end, 0x7f0000004000);
	assert_true(module->has_bias);
	assert_int_equal(module->bias, 0x7f0000000000);
	assert_int_equal(module->build_id_bytes, sizeof(build_id));
	assert_memory_equal(module->build_id, build_id, sizeof(build_id));
	assert_false(module->deleted);
	assert_ptr_equal(hawk_target_module_at(world->target, 0x7f0000003fff), module);
	assert_null(hawk_target_module_at(world->target, 0x7f0000004000));
	assert_null(hawk_target_module_at(world->target, 0x7effffffffff));
}

WORLD_TEST(an_executable_at_its_linked_address_has_bias_zero)
{
	add_header(world, 0x400000, (struct synthetic_elf){.vaddr = 0x400000, .executable = true},
		   1, TEXT, "/bin/fixed");
	world_open(world);
	assert_true(modules_of(world, 1)->has_bias);
	assert_int_equal(modules_of(world, 1)->bias, 0);
}

WORLD_TEST(the_same_library_loaded_twice_is_two_modules)
{
	const struct hawk_module *modules;

	add_library(world, 0x10000, "/lib/liba.so");
	add_library(world, 0x16000, "/lib/liba.so");
	world_open(world);
	modules = modules_of(world, 2);
	assert_int_equal(modules[0].bias, 0x10000);
	assert_int_equal(modules[1].bias, 0x16000);
}

WORLD_TEST(a_deleted_file_is_flagged_and_its_name_cut)
{
	add_library(world, 0x10000, "/lib/liba.so (deleted)");
	world_open(world);
	assert_string_equal(modules_of(world, 1)->path, "/lib/liba.so");
	assert_true(modules_of(world, 1)->deleted);
}

WORLD_TEST(a_file_mapped_as_data_or_copied_to_the_heap_is_no_module)
{
	add_header(world, 0x10000, (struct synthetic_elf){.bytes = 0x4000}, 4, SYNTHETIC_READ,
		   "/lib/liba.so");
	add_pages(world, 0x20000, NULL, 4, DATA, "/var/data", 0);
	add_library(world, 0x30000, NULL);
	world_open(world);
	modules_of(world, 0);
}

WORLD_TEST(code_moved_to_anonymous_memory_still_belongs_to_the_module)
{
	uint8_t header[SYNTHETIC_PAGE_BYTES];
	Elf64_Phdr loads[2] = {
		{.p_type = PT_LOAD, .p_flags = PF_R, .p_filesz = 0x1000, .p_memsz = 0x1000},
		{.p_type = PT_LOAD,
		 .p_flags = PF_R | PF_X,
		 .p_offset = 0x1000,
		 .p_vaddr = 0x1000,
		 .p_filesz = 0x2000,
		 .p_memsz = 0x2000},
	};

	synthetic_elf_page(header, (struct synthetic_elf){0});
	memcpy(header + sizeof(Elf64_Ehdr), loads, sizeof(loads));
	add_pages(world, 0x10000, header, 1, SYNTHETIC_READ, "/bin/node", 0);
	add_pages(world, 0x11000, NULL, 2, TEXT, NULL, 0);
	world_open(world);
	assert_int_equal(modules_of(world, 1)->end, 0x13000);
}

WORLD_TEST(code_that_is_mapped_a_second_time_has_its_own_bias)
{
	const struct hawk_module *modules;

	add_library(world, 0x10000, "/bin/node");
	add_pages(world, 0x90000, NULL, 1, TEXT, "/bin/node", 1);
	add_pages(world, 0x98000, NULL, 1, DATA, NULL, 0);
	add_pages(world, 0xa0000, NULL, 1, TEXT, "/bin/node", 9);
	world_open(world);
	modules = modules_of(world, 3);
	assert_true(modules[1].has_bias);
	assert_int_equal(modules[1].bias, 0x90000 - 0x1000);
	assert_int_equal(modules[1].build_id_bytes, sizeof(build_id));
	assert_int_equal(modules[1].start, 0x90000);
	assert_int_equal(modules[1].end, 0x91000);
	assert_false(modules[2].has_bias); /* the file has no such page */
}

WORLD_TEST(executable_mappings_without_header_are_a_module_without_bias)
{
	const struct hawk_module *module;

	add_pages(world, 0x10000, NULL, 1, SYNTHETIC_READ, "/lib/liba.so", 0);
	add_pages(world, 0x11000, NULL, 2, TEXT, "/lib/liba.so", 1);
	add_pages(world, 0x13000, NULL, 1, DATA, "/lib/liba.so", 3);
	add_pages(world, 0x14000, NULL, 1, DATA, NULL, 0);
	add_pages(world, 0x20000, NULL, 9, SYNTHETIC_READ, "/usr/share/locale", 0);
	world_open(world);
	module = modules_of(world, 1);
	assert_false(module->has_bias);
	assert_int_equal(module->start, 0x10000);
	assert_int_equal(module->end, 0x15000);
	assert_int_equal(module->build_id_bytes, 0);
}

WORLD_TEST(the_vdso_is_found_by_its_address)
{
	static const uint64_t auxv[][2] = {{AT_SYSINFO_EHDR, 0x30000}};
	const struct hawk_module *module;

	synthetic_core_add_auxv(world->core, auxv, 1);
	add_library(world, 0x10000, "/lib/liba.so");
	add_header(world, 0x30000, (struct synthetic_elf){.bytes = 4096}, 1, TEXT, NULL);
	world_open(world);
	module = &modules_of(world, 2)[1];
	assert_true(module->vdso);
	assert_string_equal(module->path, "[vdso]");
}

WORLD_TEST(the_main_module_holds_the_program_headers)
{
	static const uint64_t auxv[][2] = {{AT_PHDR, 0x20040}};
	const struct hawk_module *modules;

	synthetic_core_add_auxv(world->core, auxv, 1);
	add_library(world, 0x10000, "/lib/liba.so");
	add_library(world, 0x20000, "/bin/program");
	world_open(world);
	modules = modules_of(world, 2);
	assert_false(modules[0].main);
	assert_true(modules[1].main);
}

WORLD_TEST(a_range_that_only_the_note_tells_is_a_mapping_without_bytes)
{
	const struct hawk_mapping *mapping;
	uint8_t header[SYNTHETIC_PAGE_BYTES];

	synthetic_elf_page(header, (struct synthetic_elf){.bytes = 0x2000});
	synthetic_core_add_segment(world->core, (struct synthetic_segment){
							.address = 0x10000,
							.bytes = header,
							.dumped_bytes = sizeof(header),
							.flags = TEXT,
							.path = "/lib/liba.so",
						});
	synthetic_core_add_segment(world->core, (struct synthetic_segment){
							.address = 0x11000,
							.memory_bytes = 0x1000,
							.path = "/lib/liba.so",
							.file_offset = 0x1000,
							.omitted = true,
						});
	world_open(world);
	mapping = hawk_target_mapping_at(world->target, 0x11800);
	assert_non_null(mapping);
	assert_int_equal(mapping->present_bytes, 0);
	assert_int_equal(mapping->dumped_bytes, 0);
	assert_int_equal(mapping->file_offset, 0x1000);
	assert_string_equal(mapping->path, "/lib/liba.so");
	/* its rights are those of the program header */
	assert_int_equal(mapping->flags, HAWK_MAPPING_READ | HAWK_MAPPING_EXEC);
	assert_int_equal(modules_of(world, 1)->end, 0x12000);
}

WORLD_TEST(a_segment_larger_than_its_file_is_split_in_the_right_place)
{
	const struct hawk_mapping *mapping;

	synthetic_core_add_memory(world->core, 0x10000, "0123456789abcdef", 16);
	synthetic_core_add_segment(world->core, (struct synthetic_segment){
							.address = 0x10004,
							.memory_bytes = 4,
							.path = "/a",
							.file_offset = 0x5000,
							.omitted = true,
						});
	world_open(world);
	mapping = hawk_target_mapping_at(world->target, 0x10004);
	assert_int_equal(mapping->start, 0x10004);
	assert_int_equal(mapping->end, 0x10008);
	assert_int_equal(mapping->present_bytes, 4);
	assert_string_equal(mapping->path, "/a");
	assert_null(hawk_target_mapping_at(world->target, 0x10003)->path);
	assert_null(hawk_target_mapping_at(world->target, 0x10008)->path);
	world_expect_bytes(world, 0x10000, "0123456789abcdef");
}

/** Memory of a program without NT_FILE: libraries are known to the dynamic linker only. */
static void add_links(struct world *world, bool ring)
{
	static const uint64_t auxv[][2] = {{AT_PHDR, 0x20040}, {AT_PHNUM, 3}};
	uint8_t header[SYNTHETIC_PAGE_BYTES];
	Elf64_Phdr dynamic = {.p_type = PT_DYNAMIC, .p_vaddr = 0x2100, .p_memsz = 32};
	Elf64_Phdr self = {.p_type = PT_PHDR, .p_vaddr = 0x40};
	uint8_t data[SYNTHETIC_PAGE_BYTES] = {0};
	uint64_t tags[] = {DT_DEBUG, 0x22200, DT_NULL, 0};
	uint64_t debug[] = {1, 0x22300};
	uint64_t links[2][4] = {{0x20000, 0x22400, 0x22100, 0x22320},
				{0x50000, 0x22408, 0x52800, ring ? 0x22300 : 0}};

	synthetic_core_set_layout(world->core,
				  (struct synthetic_layout){.without_file_note = true});
	synthetic_core_add_auxv(world->core, auxv, 2);
	synthetic_elf_page(header, (struct synthetic_elf){.bytes = 4 * 4096});
	memcpy(header + 0x40 + 56, &dynamic, sizeof(dynamic));
	memcpy(header + 0x40 + 112, &self, sizeof(self));
	header[offsetof(Elf64_Ehdr, e_phnum)] = 3;
	memcpy(data + 0x100, tags, sizeof(tags));
	memcpy(data + 0x200, debug, sizeof(debug));
	memcpy(data + 0x300, links, sizeof(links));
	memcpy(data + 0x408, "/lib/libb.so", 13);
	add_pages(world, 0x20000, header, 2, TEXT, "x", 0);
	add_pages(world, 0x22000, data, 2, DATA, "x", 2);
	add_pages(world, 0x50000, NULL, 2, TEXT, "x", 0);
	add_pages(world, 0x52000, data, 1, DATA, "x", 2);
}

WORLD_TEST(without_a_note_the_dynamic_linker_names_the_modules)
{
	const struct hawk_module *modules;

	add_links(world, false);
	world_open(world);
	modules = modules_of(world, 2);
	assert_int_equal(modules[0].start, 0x20000);
	assert_true(modules[0].main);
	assert_int_equal(modules[0].origin, HAWK_MODULE_BY_AUXV);
	assert_string_equal(modules[1].path, "/lib/libb.so");
	assert_int_equal(modules[1].origin, HAWK_MODULE_BY_LINK);
	assert_true(modules[1].has_bias);
	assert_int_equal(modules[1].bias, 0x50000);
	assert_int_equal(modules[1].start, 0x50000);
	assert_int_equal(modules[1].end, 0x53000);
	assert_non_null(world_finding(world, "file-note-missing"));
	world_renew(world);
	add_links(world, true); /* a ring */
	world_open(world);
	modules_of(world, 2);
	assert_non_null(world_finding(world, "link-map-endless"));
}

WORLD_TEST(without_a_note_only_mapped_code_makes_a_header_a_module)
{
	const struct hawk_mapping *mapping;

	add_library(world, 0x10000, NULL);
	add_header(world, 0x20000, (struct synthetic_elf){.bytes = 0x4000}, 4, DATA, NULL);
	synthetic_core_set_layout(world->core,
				  (struct synthetic_layout){.without_file_note = true});
	world_open(world);
	assert_int_equal(modules_of(world, 1)->origin, HAWK_MODULE_BY_HEADER);
	mapping = hawk_target_mapping_at(world->target, 0x10000);
	assert_null(mapping->path); /* nothing names it */
}
