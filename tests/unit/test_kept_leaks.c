/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Loss records in an index cache: those that are about something that is not there are refused,
 * even if their hash is right.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "graph_cache_format.h"

enum { SITES = 3, BLOCKS = 50, ROOTS = 4, RECORDS = 5, ASKED = 2 };

/** The sections of a file that are looked at, and records that are as expected. */
struct file {
	struct cache_header header;
	struct cache_reader reader;
	struct {
		struct cache_heap heap;
		struct cache_index index;
		struct hawk_kept_sums sums;
		struct hawk_leak_record records[RECORDS];
		uint64_t asked[ASKED];
	} bytes;
};

static void place(struct file *file, enum cache_section_id id, const void *at, size_t bytes)
{
	file->header.sections[id] = (struct cache_section){
		.offset = (uint64_t)((const uint8_t *)at - (const uint8_t *)&file->bytes),
		.bytes = bytes,
	};
}

static void open_file(struct file *file)
{
	memset(file, 0, sizeof(*file));
	file->bytes.heap.site_count = SITES;
	file->bytes.index.count = BLOCKS;
	for (uint32_t i = 0; i < RECORDS; i++)
		file->bytes.records[i] = (struct hawk_leak_record){
			.site = i < SITES ? i : UINT32_MAX,
			.kind = (enum hawk_reach_kind)(1 + i % (HAWK_REACH_KINDS - 1)),
			.example = BLOCKS - 1 - i,
			.first_root = i < ROOTS ? i : UINT32_MAX,
		};
	place(file, CACHE_HEAP, &file->bytes.heap, sizeof(file->bytes.heap));
	place(file, CACHE_INDEX, &file->bytes.index, sizeof(file->bytes.index));
	place(file, CACHE_LEAKS_HEAD, &file->bytes.sums, sizeof(file->bytes.sums));
	place(file, CACHE_LEAKS, file->bytes.records, sizeof(file->bytes.records));
	place(file, CACHE_ASKED, file->bytes.asked, sizeof(file->bytes.asked));
	file->header.sections[CACHE_ROOTS].bytes = ROOTS * sizeof(struct hawk_root);
	file->header.parts = HAWK_PART_INDEX | HAWK_PART_ROOTS | HAWK_PART_LEAKS | HAWK_PART_ASKED;
	file->reader = (struct cache_reader){
		.header = &file->header,
		.bytes = (const uint8_t *)&file->bytes,
		.size = sizeof(file->bytes),
		.parts = HAWK_PART_LEAKS | HAWK_PART_ASKED,
	};
}

static void records_are_about_what_is_there(void **state)
{
	struct file file;

	(void)state;
	open_file(&file);
	assert_true(cache_check_graph(&file.reader));
	for (unsigned i = 0; i < RECORDS; i++) {
		struct hawk_leak_record *record = &file.bytes.records[i];

		open_file(&file);
		record->site = SITES;
		assert_false(cache_check_graph(&file.reader));
		open_file(&file);
		record->kind = (enum hawk_reach_kind)0;
		assert_false(cache_check_graph(&file.reader));
		record->kind = HAWK_REACH_KINDS;
		assert_false(cache_check_graph(&file.reader));
		open_file(&file);
		record->example = BLOCKS;
		assert_false(cache_check_graph(&file.reader));
		open_file(&file);
		record->first_root = ROOTS;
		assert_false(cache_check_graph(&file.reader));
	}
}

static void sections_are_as_long_as_what_is_in_them(void **state)
{
	struct file file;

	(void)state;
	open_file(&file);
	file.header.sections[CACHE_LEAKS].bytes = 0;
	assert_true(cache_check_graph(&file.reader));
	file.header.sections[CACHE_LEAKS].bytes = sizeof(struct hawk_leak_record) + 8;
	assert_false(cache_check_graph(&file.reader));
	file.header.sections[CACHE_LEAKS].bytes =
		(HAWK_KEPT_LEAKS_MAX + 1ull) * sizeof(struct hawk_leak_record);
	assert_false(cache_check_graph(&file.reader));
	open_file(&file);
	file.header.sections[CACHE_LEAKS_HEAD].bytes -= 8;
	assert_false(cache_check_graph(&file.reader));
	open_file(&file);
	file.header.sections[CACHE_ASKED].bytes -= 1;
	assert_false(cache_check_graph(&file.reader));
	file.header.sections[CACHE_ASKED].bytes = (HAWK_ASKED_MODULES_MAX + 1ull) * 8;
	assert_false(cache_check_graph(&file.reader));
	open_file(&file);
	file.header.parts &= ~(unsigned)HAWK_PART_ROOTS; /* then nobody knows how many there are */
	assert_false(cache_check_graph(&file.reader));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_are_about_what_is_there),
		cmocka_unit_test(sections_are_as_long_as_what_is_in_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
