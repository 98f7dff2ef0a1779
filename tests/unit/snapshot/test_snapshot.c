/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Columns of numbers, and frames from a writer to a reader: whole, damaged, cut off, from a later
 * version.
 */
#include <stdio.h>
#include <unistd.h>
#include <xxhash.h>

#include "hawk/base/cleanup.h"
#include "hawk/snapshot/reader.h"
#include "hawk/snapshot/writer.h"
#include "test.h"

enum { FRAMES = 40, FRAME_NUMBERS = 5000 };

static const uint64_t numbers[] = {0,         1,          0x7f,        0x80,
				   0x3fff,    0x4000,     UINT32_MAX,  UINT64_C(1) << 62,
				   INT64_MAX, UINT64_MAX, 0x123456789, UINT64_MAX - 1};

enum { NUMBERS = sizeof(numbers) / sizeof(numbers[0]) };

TEST(numbers_come_back)
{
	CLEANUP(column) struct hawk_column column = {0};
	struct hawk_cursor cursor;

	for (size_t i = 0; i < NUMBERS; i++) {
		hawk_column_put(&column, numbers[i]);
		hawk_column_put_signed(&column, (int64_t)numbers[i]);
	}
	cursor = hawk_cursor_over(column.bytes, column.size);
	for (size_t i = 0; i < NUMBERS; i++) {
		assert_int_equal(hawk_column_get(&cursor), numbers[i]);
		assert_int_equal(hawk_column_get_signed(&cursor), (int64_t)numbers[i]);
	}
	assert_false(cursor.failed);
	assert_int_equal(hawk_cursor_left(&cursor), 0);
}

TEST(small_numbers_take_one_byte)
{
	CLEANUP(column) struct hawk_column column = {0};

	hawk_column_put(&column, 127);
	hawk_column_put_signed(&column, -64);
	assert_int_equal(column.size, 2);
}

TEST(a_number_that_ends_too_early_fails)
{
	const uint8_t bytes[] = {0x80, 0x80};
	struct hawk_cursor cursor = hawk_cursor_over(bytes, sizeof(bytes));

	assert_int_equal(hawk_column_get(&cursor), 0);
	assert_true(cursor.failed);
}

TEST(a_number_of_more_than_64_bits_fails)
{
	const uint8_t bytes[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0};
	struct hawk_cursor cursor = hawk_cursor_over(bytes, sizeof(bytes));

	assert_int_equal(hawk_column_get(&cursor), 0);
	assert_true(cursor.failed);
}

TEST(a_count_of_more_than_is_left_fails)
{
	const uint8_t bytes[] = {3, 1, 1};
	struct hawk_cursor cursor = hawk_cursor_over(bytes, sizeof(bytes));

	assert_int_equal(hawk_column_get_count(&cursor), 0);
	assert_true(cursor.failed);
}

TEST(a_string_with_a_nul_fails)
{
	const uint8_t bytes[] = {3, 'a', 0, 'b'};
	struct hawk_cursor cursor = hawk_cursor_over(bytes, sizeof(bytes));
	size_t length;

	assert_null(hawk_column_get_string(&cursor, &length));
	assert_true(cursor.failed);
}

/** A file of frames in memory. */
struct world {
	uint8_t *bytes;
	size_t size;
};

static struct hawk_error *fill(void *context, size_t number, struct hawk_snapshot_piece *piece)
{
	(void)context;
	piece->first = number * FRAME_NUMBERS;
	piece->items = FRAME_NUMBERS;
	for (uint64_t i = 0; i < piece->items; i++)
		hawk_column_put(&piece->column, piece->first + i);
	return NULL;
}

static int set_up(void **state)
{
	struct hawk_output *output = calloc(1, sizeof(*output));
	struct world *world = calloc(1, sizeof(*world));
	struct hawk_snapshot_writer writer;
	FILE *file = tmpfile();

	if (!file || !world || !output)
		return -1;
	hawk_output_init(output, fileno(file));
	hawk_snapshot_begin(&writer, output, HAWK_SNAPSHOT_BASE_PATHS);
	check(hawk_snapshot_put_all(&writer, HAWK_SNAPSHOT_BLOCKS, FRAMES, fill, NULL));
	check(hawk_snapshot_finish(&writer));
	check(hawk_output_finish(output));
	world->size = (size_t)lseek(fileno(file), 0, SEEK_END);
	world->bytes = malloc(world->size);
	if (!world->bytes || pread(fileno(file), world->bytes, world->size, 0) < 0)
		return -1;
	fclose(file);
	free(output);
	*state = world;
	return 0;
}

static int tear_down(void **state)
{
	struct world *world = *state;

	free(world->bytes);
	free(world);
	return 0;
}

static struct hawk_error *take(void *context, struct hawk_snapshot_contents *contents)
{
	uint8_t *seen = context;

	for (uint64_t i = 0; i < contents->items; i++)
		seen[contents->first + i] +=
			hawk_column_get(&contents->cursor) == contents->first + i;
	return contents->cursor.failed ? hawk_snapshot_nonsense(HAWK_SNAPSHOT_BLOCKS) : NULL;
}

static struct hawk_error *read_back(const struct world *world, size_t size, uint8_t *seen)
{
	struct hawk_snapshot *snapshot;
	struct hawk_error *err = hawk_snapshot_open(world->bytes, size, &snapshot);

	if (err)
		return err;
	memset(seen, 0, FRAMES * FRAME_NUMBERS);
	err = hawk_snapshot_read_all(snapshot, HAWK_SNAPSHOT_BLOCKS, FRAMES * FRAME_NUMBERS, take,
				     seen);
	hawk_snapshot_close(snapshot);
	return err;
}

#define FILE_TEST(name) TEST_WITH(struct world *world, set_up, tear_down, name)

FILE_TEST(every_item_of_every_frame_comes_back_once)
{
	static uint8_t seen[FRAMES * FRAME_NUMBERS];

	memset(seen, 0, sizeof(seen));
	check(read_back(world, world->size, seen));
	for (size_t i = 0; i < sizeof(seen); i++)
		assert_int_equal(seen[i], 1);
}

FILE_TEST(flags_come_back)
{
	struct hawk_snapshot *snapshot;

	check(hawk_snapshot_open(world->bytes, world->size, &snapshot));
	assert_int_equal(hawk_snapshot_flags(snapshot), HAWK_SNAPSHOT_BASE_PATHS);
	assert_false(hawk_snapshot_is_cut(snapshot));
	hawk_snapshot_close(snapshot);
}

/* Returns true if a reader that needs no block gets an error or no contents. */
static bool is_told(const struct world *world)
{
	struct hawk_snapshot *snapshot;
	struct hawk_error *err = hawk_snapshot_open(world->bytes, world->size, &snapshot);
	bool told = err;

	hawk_error_destroy(err);
	if (err)
		return true;
	told = hawk_snapshot_damaged_section(snapshot) || hawk_snapshot_is_cut(snapshot);
	hawk_snapshot_close(snapshot);
	return told;
}

FILE_TEST(any_changed_byte_is_told_whether_its_section_is_read_or_not)
{
	assert_false(is_told(world));
	for (size_t at = 0; at < world->size; at += at < 512 || at > world->size - 512 ? 1 : 257) {
		world->bytes[at] ^= 0x10;
		if (!is_told(world))
			print_message("byte %zu\n", at);
		assert_true(is_told(world));
		world->bytes[at] ^= 0x10;
	}
}

/** A frame where it lies in the file: frames are not aligned. */
typedef struct hawk_snapshot_frame frame_in_file __attribute__((aligned(1)));

/* Frame `number`; FRAMES = the last one. */
static frame_in_file *frame_at(const struct world *world, size_t number)
{
	size_t at = sizeof(struct hawk_snapshot_header);
	frame_in_file *frame;

	for (;;) {
		frame = (frame_in_file *)(world->bytes + at);
		if (!number--)
			return frame;
		at += sizeof(*frame) + (size_t)frame->stored_bytes;
	}
}

static void set_check(frame_in_file *frame)
{
	frame->check = XXH3_64bits_withSeed(frame, offsetof(struct hawk_snapshot_frame, check),
					    XXH3_64bits(frame + 1, (size_t)frame->stored_bytes));
}

/* The file as it was written before there was a table of contents. */
static void make_old(struct world *world)
{
	frame_in_file *end = frame_at(world, FRAMES);

	world->size -= (size_t)end->stored_bytes;
	end->raw_bytes = end->stored_bytes = 0;
	set_check(end);
}

FILE_TEST(damaged_contents_cost_their_section_only)
{
	static uint8_t seen[FRAMES * FRAME_NUMBERS];
	struct hawk_snapshot *snapshot;

	frame_at(world, 3)[1].magic ^= 1;
	check(hawk_snapshot_open(world->bytes, world->size, &snapshot));
	assert_string_equal(hawk_snapshot_damaged_section(snapshot), "blocks");
	hawk_snapshot_close(snapshot);
	check_fails(read_back(world, world->size, seen), HAWK_ERROR_FORMAT,
		    "checksum of its blocks");
}

FILE_TEST(a_file_without_a_table_of_contents_is_read)
{
	static uint8_t seen[FRAMES * FRAME_NUMBERS];

	make_old(world);
	assert_false(is_told(world));
	check(read_back(world, world->size, seen));
	assert_int_equal(seen[sizeof(seen) - 1], 1);
}

FILE_TEST(damage_that_no_table_of_contents_locates_is_refused)
{
	static uint8_t seen[FRAMES * FRAME_NUMBERS];

	make_old(world);
	frame_at(world, 3)->section = 60000;
	check_fails(read_back(world, world->size, seen), HAWK_ERROR_FORMAT, "one of its parts");
}

static void remove_frame(struct world *world, size_t number)
{
	uint8_t *start = (uint8_t *)frame_at(world, number);
	uint8_t *end = (uint8_t *)frame_at(world, number + 1);

	memmove(start, end, (size_t)(world->bytes + world->size - end));
	world->size -= (size_t)(end - start);
}

FILE_TEST(a_frame_that_is_gone_is_refused)
{
	static uint8_t seen[FRAMES * FRAME_NUMBERS];

	remove_frame(world, FRAMES - 1);
	check_fails(read_back(world, world->size, seen), HAWK_ERROR_FORMAT, "table of contents");
}

FILE_TEST(a_frame_that_is_gone_is_refused_without_a_table_of_contents)
{
	static uint8_t seen[FRAMES * FRAME_NUMBERS];

	make_old(world);
	remove_frame(world, 0);
	check_fails(read_back(world, world->size, seen), HAWK_ERROR_FORMAT, "table of contents");
}

FILE_TEST(a_frame_of_another_section_is_refused)
{
	static uint8_t seen[FRAMES * FRAME_NUMBERS];
	frame_in_file *frame = frame_at(world, 5);

	frame->section = HAWK_SNAPSHOT_SECTIONS;
	set_check(frame);
	check_fails(read_back(world, world->size, seen), HAWK_ERROR_FORMAT, "table of contents");
}

FILE_TEST(a_file_that_is_cut_off_says_so)
{
	static uint8_t seen[FRAMES * FRAME_NUMBERS];

	check_fails(read_back(world, 40, seen), HAWK_ERROR_FORMAT, "cut off in its header");
	for (size_t size = 64; size < world->size; size += 1009)
		if (size < world->size - sizeof(struct hawk_snapshot_frame))
			check_fails(read_back(world, size, seen), HAWK_ERROR_FORMAT,
				    "cut off in its blocks");
}

FILE_TEST(a_later_version_is_refused_by_its_number)
{
	static uint8_t seen[FRAMES * FRAME_NUMBERS];

	world->bytes[offsetof(struct hawk_snapshot_header, version)] = 2;
	check_fails(read_back(world, world->size, seen), HAWK_ERROR_UNSUPPORTED, "version 2");
}

FILE_TEST(features_that_are_not_known_are_refused)
{
	static uint8_t seen[FRAMES * FRAME_NUMBERS];
	struct hawk_snapshot_header *header = (struct hawk_snapshot_header *)world->bytes;

	header->incompatible_flags = 4;
	header->check = XXH3_64bits(header, offsetof(struct hawk_snapshot_header, check));
	check_fails(read_back(world, world->size, seen), HAWK_ERROR_UNSUPPORTED, "flags 0x4");
}

TEST(only_paths_lose_their_folders)
{
	const struct hawk_snapshot_writer writer = {.flags = HAWK_SNAPSHOT_BASE_PATHS};
	CLEANUP(column) struct hawk_column column = {0};
	struct hawk_cursor cursor;
	const char *text;
	size_t length;

	hawk_snapshot_put_text(&writer, &column, "/usr/lib/x.so is (/home/me/y): 1/2 a/b");
	cursor = hawk_cursor_over(column.bytes, column.size);
	text = hawk_column_get_string(&cursor, &length);
	assert_int_equal(length, strlen("x.so is (y): 1/2 a/b"));
	assert_memory_equal(text, "x.so is (y): 1/2 a/b", length);
	assert_string_equal(hawk_snapshot_path(&writer, "/a/b"), "b");
}
