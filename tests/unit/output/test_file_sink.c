/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A file appears whole or not at all.
 */
#include "hawk/output/file_sink.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"

static char folder[64];
static char path[128];

static void make_folder(void)
{
	snprintf(folder, sizeof(folder), "/tmp/hawk-sink-XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/file", folder);
}

static void remove_folder(void)
{
	unlink(path);
	assert_int_equal(rmdir(folder), 0); // nothing else was left
}

/** Files in the folder. */
static unsigned count_files(void)
{
	DIR *directory = opendir(folder);
	unsigned count = 0;

	assert_non_null(directory);
	for (struct dirent *entry; (entry = readdir(directory));)
		count += entry->d_name[0] != '.' || strlen(entry->d_name) > 2;
	closedir(directory);
	return count;
}

static void write_file(const char *bytes)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_int_equal(write(fd, bytes, strlen(bytes)), strlen(bytes));
	close(fd);
}

static void expect_file(const void *bytes, size_t size)
{
	char found[256];
	int fd = open(path, O_RDONLY);

	assert_true(fd >= 0 && size < sizeof(found));
	assert_int_equal(read(fd, found, sizeof(found)), size);
	assert_memory_equal(found, bytes, size);
	close(fd);
}

static struct hawk_file_sink *create(const struct hawk_file_sink_settings *settings)
{
	struct hawk_file_sink *sink;

	check(hawk_file_sink_create(settings, &sink));
	return sink;
}

TEST(the_name_appears_with_the_last_step)
{
	struct hawk_file_sink_settings settings = {.path = path};
	struct hawk_file_sink *sink;
	struct stat status;
	uint64_t bytes;

	make_folder();
	sink = create(&settings);
	check(hawk_file_sink_write(sink, "ab", 2));
	check(hawk_file_sink_skip(sink, 3));
	check(hawk_file_sink_finish(sink, &bytes));
	assert_int_equal(bytes, 5);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(access(hawk_file_sink_place(sink), F_OK), 0);
	check(hawk_file_sink_commit(sink));
	hawk_file_sink_destroy(sink);
	expect_file("ab\0\0\0", 5);
	assert_int_equal(count_files(), 1);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
	remove_folder();
}

TEST(what_was_not_committed_is_gone)
{
	struct hawk_file_sink_settings settings = {.path = path};
	struct hawk_file_sink *sink;

	make_folder();
	sink = create(&settings);
	check(hawk_file_sink_write(sink, "ab", 2));
	assert_true(count_files() <= 1); /* none where a file needs no name */
	hawk_file_sink_destroy(sink);
	assert_int_equal(count_files(), 0);
	remove_folder();
}

TEST(another_file_is_replaced_by_force_only)
{
	struct hawk_file_sink_settings settings = {.path = path};
	struct hawk_file_sink *sink;
	uint64_t bytes;

	make_folder();
	write_file("old");
	check_fails(hawk_file_sink_create(&settings, &sink), HAWK_ERROR_OS, "--force");
	settings.force = true;
	sink = create(&settings);
	check(hawk_file_sink_write(sink, "new", 3));
	check(hawk_file_sink_finish(sink, &bytes));
	expect_file("old", 3);
	check(hawk_file_sink_commit(sink));
	hawk_file_sink_destroy(sink);
	expect_file("new", 3);
	remove_folder();
}

TEST(a_file_that_came_meanwhile_is_not_replaced)
{
	struct hawk_file_sink_settings settings = {.path = path};
	struct hawk_file_sink *sink;
	uint64_t bytes;

	make_folder();
	sink = create(&settings);
	check(hawk_file_sink_finish(sink, &bytes));
	write_file("old");
	check_fails(hawk_file_sink_commit(sink), HAWK_ERROR_OS, "exists");
	hawk_file_sink_destroy(sink);
	expect_file("old", 3);
	assert_int_equal(count_files(), 1);
	remove_folder();
}

TEST(devices_and_folders_are_never_replaced)
{
	struct hawk_file_sink_settings settings = {.path = "/dev/null", .force = true};
	struct hawk_file_sink *sink;

	make_folder();
	check_fails(hawk_file_sink_create(&settings, &sink), HAWK_ERROR_OS, "no regular file");
	settings.path = folder;
	check_fails(hawk_file_sink_create(&settings, &sink), HAWK_ERROR_OS, "no regular file");
	settings.path = "/nonexistent/file";
	check_fails(hawk_file_sink_create(&settings, &sink), HAWK_ERROR_OS, "/nonexistent/file");
	remove_folder();
}

#if HAWK_HAVE_ZSTD
#include "hawk/target/decoder.h"

TEST(a_name_that_ends_in_zst_is_compressed)
{
	struct hawk_file_sink_settings settings = {.path = path};
	struct hawk_file_sink *sink;
	struct hawk_decoder *decoder;
	uint8_t packed[256], found[16];
	uint64_t bytes;
	size_t got;
	int fd;

	make_folder();
	snprintf(path, sizeof(path), "%s/file.zst", folder);
	sink = create(&settings);
	check(hawk_file_sink_write(sink, "ab", 2));
	check(hawk_file_sink_skip(sink, 3));
	check(hawk_file_sink_write(sink, "c", 1));
	check(hawk_file_sink_finish(sink, &bytes));
	check(hawk_file_sink_commit(sink));
	hawk_file_sink_destroy(sink);
	fd = open(path, O_RDONLY);
	assert_int_equal(read(fd, packed, sizeof(packed)), bytes);
	close(fd);
	check(hawk_decoder_create(packed, bytes, &decoder));
	assert_int_equal(hawk_decoder_read(decoder, found, sizeof(found), &got), HAWK_DECODER_END);
	assert_int_equal(got, 6);
	assert_memory_equal(found, "ab\0\0\0c", 6);
	hawk_decoder_destroy(decoder);
	remove_folder();
}

TEST(holes_of_a_compressed_file_take_no_room)
{
	enum { HOLE_BYTES = 150 << 20, BUFFER_BYTES = 1 << 20 };
	struct hawk_file_sink_settings settings = {.path = path};
	struct hawk_file_sink *sink;
	struct hawk_decoder *decoder;
	static uint8_t packed[1 << 16], found[BUFFER_BYTES];
	uint64_t bytes, all = 0, ones = 0;
	enum hawk_decoder_state state;
	size_t got;
	int fd;

	make_folder();
	snprintf(path, sizeof(path), "%s/file.zst", folder);
	sink = create(&settings);
	check(hawk_file_sink_write(sink, "\1", 1));
	check(hawk_file_sink_skip(sink, HOLE_BYTES));
	check(hawk_file_sink_write(sink, "\1", 1));
	check(hawk_file_sink_finish(sink, &bytes));
	check(hawk_file_sink_commit(sink));
	hawk_file_sink_destroy(sink);
	assert_true(bytes < 8192);
	fd = open(path, O_RDONLY);
	assert_int_equal(read(fd, packed, sizeof(packed)), bytes);
	close(fd);
	check(hawk_decoder_create(packed, bytes, &decoder));
	do {
		state = hawk_decoder_read(decoder, found, sizeof(found), &got);
		for (size_t i = 0; i < got; i++)
			ones += found[i];
		all += got;
	} while (state == HAWK_DECODER_MORE);
	assert_int_equal(state, HAWK_DECODER_END);
	assert_int_equal(all, HOLE_BYTES + 2);
	assert_int_equal(ones, 2);
	hawk_decoder_destroy(decoder);
	remove_folder();
}
#endif
