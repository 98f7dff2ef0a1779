/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The front of a written core, with more segments than ELF's header can count.
 */
#include <unistd.h>

#include "test.h"
#include "hawk/target/core_headers.h"
#include "synthetic_core.h"
#include "target/live/dump.h"

enum { PAGE_BYTES = 4096, MILLION = 1 << 20 };

/** Writes segments of two pages; the first page of the last is stored. */
static char *write_front(size_t count, struct hawk_text *notes)
{
	struct hawk_dump_segment *segments = calloc(count, sizeof(*segments));
	char *path = synthetic_file_write("", 0);
	struct hawk_file_sink_settings settings = {.path = path, .force = true};
	struct hawk_file_sink *sink;
	uint64_t bytes;

	for (size_t i = 0; i < count; i++)
		segments[i] = (struct hawk_dump_segment){
			.start = 0x10000 + i * 3 * PAGE_BYTES,
			.end = 0x10000 + (i * 3 + 2) * PAGE_BYTES,
			.bytes = i + 1 < count ? 0 : PAGE_BYTES,
			.flags = HAWK_MAPPING_READ | HAWK_MAPPING_WRITE,
		};
	check(hawk_file_sink_create(&settings, &sink));
	check(hawk_dump_headers(hawk_arch_host(), PAGE_BYTES, segments, count, notes, sink));
	check(hawk_file_sink_skip(sink, PAGE_BYTES));
	check(hawk_file_sink_finish(sink, &bytes));
	check(hawk_file_sink_commit(sink));
	assert_int_equal(bytes % PAGE_BYTES, 0);
	hawk_file_sink_destroy(sink);
	free(segments);
	return path;
}

static void expect_segments(size_t count, uint16_t stated)
{
	struct hawk_text notes = {0};
	struct hawk_findings findings;
	const struct hawk_mapping *mappings;
	struct hawk_target *target;
	Elf64_Ehdr header;
	size_t size, found;
	char *path;

	hawk_text_append(&notes, "", 0);
	path = write_front(count, &notes);
	hawk_findings_init(&findings);
	check(hawk_target_open_core(path, &findings, &target));
	memcpy(&header, hawk_target_core_bytes(target, &size), sizeof(header));
	assert_int_equal(header.e_phnum, stated);
	mappings = hawk_target_mappings(target, &found);
	assert_int_equal(found, count);
	assert_int_equal(mappings[count - 1].present_bytes, PAGE_BYTES);
	assert_int_equal(mappings[count - 1].end, 0x10000 + (count * 3 - 1) * PAGE_BYTES);
	assert_null(finding_of(&findings, "core-truncated"));
	hawk_target_close(target);
	hawk_findings_deinit(&findings);
	hawk_text_deinit(&notes);
	synthetic_core_remove(path);
}

TEST(as_many_segments_as_the_header_counts_need_no_section)
{
	expect_segments(PN_XNUM - 2, PN_XNUM - 1); /* the notes are a segment, too */
}

TEST(one_more_is_counted_by_the_section_header)
{
	expect_segments(PN_XNUM - 1, PN_XNUM);
}

TEST(a_million_segments_are_counted)
{
	expect_segments(MILLION, PN_XNUM);
}
