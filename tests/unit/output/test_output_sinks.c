/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Filters and destinations of output: filters are read back by zlib, libzstd and a decoder of
 * base64; a file appears complete, or not at all.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#if HAWK_HAVE_ZSTD
#include <zstd.h>
#endif

#include "test.h"
#include "hawk/output/output.h"
#include "hawk/output/file.h"

enum { NUMBERS = 200000, PATH_BYTES = 128 };

static struct hawk_output output;

struct bytes {
	char *at;
	size_t size;
};

static struct bytes read_fd(int fd)
{
	struct bytes bytes = {.size = (size_t)lseek(fd, 0, SEEK_END)};

	bytes.at = calloc(1, bytes.size + 1);
	assert_non_null(bytes.at);
	assert_int_equal(pread(fd, bytes.at, bytes.size, 0), bytes.size);
	close(fd);
	return bytes;
}

static void begin(void)
{
	hawk_output_init(&output, memfd_create("sinks", 0));
}

static struct bytes end(void)
{
	check(hawk_output_finish(&output));
	return read_fd(output.fd);
}

/** Numbers that compress badly enough to fill every buffer several times. */
static void put_numbers(size_t count)
{
	uint32_t state = 1;

	for (size_t i = 0; i < count; i++) {
		state = state * 1664525 + 1013904223;
		hawk_output_append(&output, &state, sizeof(state));
	}
}

static void expect_numbers(struct bytes found, size_t count)
{
	uint32_t state = 1;

	assert_int_equal(found.size, count * sizeof(state));
	for (size_t i = 0; i < count; i++) {
		state = state * 1664525 + 1013904223;
		assert_memory_equal(found.at + i * sizeof(state), &state, sizeof(state));
	}
	free(found.at);
}

static struct bytes gunzip(struct bytes packed, size_t size_max)
{
	struct bytes bytes = {.at = malloc(size_max)};
	z_stream stream = {.next_in = (unsigned char *)packed.at,
			   .avail_in = (unsigned)packed.size,
			   .next_out = (unsigned char *)bytes.at,
			   .avail_out = (unsigned)size_max};

	assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
	assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
	assert_int_equal(stream.avail_in, 0);
	bytes.size = stream.total_out;
	inflateEnd(&stream);
	free(packed.at);
	return bytes;
}

static unsigned value_of(char letter)
{
	static const char alphabet[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = strchr(alphabet, letter);

	assert_true(letter && at);
	return (unsigned)(at - alphabet);
}

static struct bytes decode_base64(struct bytes text)
{
	struct bytes bytes = {.at = malloc(text.size + 1)};
	unsigned held = 0;
	uint32_t bits = 0;

	assert_int_equal(text.size % 4, 0);
	for (size_t i = 0; i < text.size && text.at[i] != '='; i++) {
		bits = bits << 6 | value_of(text.at[i]);
		held += 6;
		if (held < 8)
			continue;
		held -= 8;
		bytes.at[bytes.size++] = (char)(bits >> held);
	}
	free(text.at);
	return bytes;
}

TEST(gzip_is_read_back_by_zlib)
{
	begin();
	check(hawk_output_gzip(&output));
	put_numbers(NUMBERS);
	expect_numbers(gunzip(end(), NUMBERS * 4 + 1), NUMBERS);
}

TEST(gzip_of_nothing_is_a_stream_of_no_bytes)
{
	begin();
	check(hawk_output_gzip(&output));
	expect_numbers(gunzip(end(), 1), 0);
}

TEST(zstd_is_read_back_by_libzstd)
{
	begin();
#if HAWK_HAVE_ZSTD
	struct bytes packed, found = {.at = malloc(NUMBERS * 4)};

	check(hawk_output_zstd(&output));
	put_numbers(NUMBERS);
	packed = end();
	found.size = ZSTD_decompress(found.at, NUMBERS * 4, packed.at, packed.size);
	free(packed.at);
	expect_numbers(found, NUMBERS);
#else
	check_fails(hawk_output_zstd(&output), HAWK_ERROR_UNSUPPORTED, "without zstd");
	close(output.fd);
#endif
}

TEST(base64_is_that_of_rfc_4648)
{
	static const char *const vectors[][2] = {
		{"", ""},
		{"f", "Zg=="},
		{"fo", "Zm8="},
		{"foo", "Zm9v"},
		{"foob", "Zm9vYg=="},
		{"fooba", "Zm9vYmE="},
		{"foobar", "Zm9vYmFy"},
		{"\xfb\xff\xbf", "+/+/"},
	};

	for (size_t i = 0; i < COUNT_OF(vectors); i++) {
		struct bytes text;

		begin();
		check(hawk_output_base64(&output));
		hawk_output_puts(&output, vectors[i][0]);
		text = end();
		assert_string_equal(text.at, vectors[i][1]);
		free(text.at);
	}
}

TEST(filters_are_passed_from_the_last_added_to_the_first)
{
	begin();
	check(hawk_output_base64(&output));
	check(hawk_output_gzip(&output));
	put_numbers(NUMBERS);
	expect_numbers(gunzip(decode_base64(end()), NUMBERS * 4 + 1), NUMBERS);
}

TEST(bytes_before_and_after_filters_pass_none)
{
	struct bytes text;

	begin();
	hawk_output_puts(&output, "<");
	check(hawk_output_base64(&output));
	hawk_output_puts(&output, "fo");
	hawk_output_end_filters(&output);
	hawk_output_puts(&output, ">");
	text = end();
	assert_string_equal(text.at, "<Zm8=>");
	free(text.at);
}

TEST(an_error_behind_filters_is_kept)
{
	int fd = open("/dev/full", O_WRONLY);

	if (fd < 0)
		skip();
	hawk_output_init(&output, fd);
	check(hawk_output_base64(&output));
	check(hawk_output_gzip(&output));
	put_numbers(NUMBERS);
	check_fails(hawk_output_finish(&output), HAWK_ERROR_OS, strerror(ENOSPC));
	close(fd);
}

/** A folder of its own for each test, with the file that is to be made. */
static char folder[PATH_BYTES];
static char path[PATH_BYTES + 8];

static int set_up(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/hawk-sinks-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/file", folder);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	hawk_output_deinit(&output);
	unlink(path);
	return rmdir(folder); // fails if a temporary file is left
}

#define FILE_TEST(name) TEST_WITH(void *nothing, set_up, tear_down, name)

static void expect_file(const char *text)
{
	struct bytes found;
	struct stat info;

	found = read_fd(open(path, O_RDONLY));
	assert_string_equal(found.at, text);
	free(found.at);
	assert_int_equal(stat(path, &info), 0);
	assert_int_equal(info.st_mode & 07777, 0600);
}

static void expect_entries(unsigned count)
{
	DIR *directory = opendir(folder);
	unsigned found = 0;

	assert_non_null(directory);
	for (struct dirent *entry; (entry = readdir(directory));)
		found += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
	closedir(directory);
	assert_int_equal(found, count);
}

FILE_TEST(a_file_appears_when_it_is_complete)
{
	check(hawk_output_open_file(&output, path, false));
	hawk_output_puts(&output, "new");
	hawk_output_flush(&output);
	assert_int_equal(access(path, F_OK), -1);
	check(hawk_output_finish(&output));
	expect_file("new");
	expect_entries(1);
}

FILE_TEST(a_file_without_finish_is_not_there)
{
	check(hawk_output_open_file(&output, path, false));
	check(hawk_output_gzip(&output));
	put_numbers(NUMBERS);
	hawk_output_deinit(&output);
	expect_entries(0);
}

FILE_TEST(a_file_whose_output_failed_is_not_there)
{
	check(hawk_output_open_file(&output, path, false));
	hawk_output_puts(&output, "half");
	output.errnum = ENOSPC;
	check_fails(hawk_output_finish(&output), HAWK_ERROR_OS, path);
	expect_entries(0);
}

FILE_TEST(an_existing_file_is_kept_unless_forced)
{
	close(open(path, O_CREAT | O_WRONLY, 0644));
	check_fails(hawk_output_open_file(&output, path, false), HAWK_ERROR_OS, "--force");
	hawk_output_deinit(&output);
	check(hawk_output_open_file(&output, path, true));
	hawk_output_puts(&output, "replaced");
	check(hawk_output_finish(&output));
	expect_file("replaced");
	expect_entries(1);
}

FILE_TEST(a_file_that_appears_meanwhile_is_kept)
{
	check(hawk_output_open_file(&output, path, false));
	close(open(path, O_CREAT | O_WRONLY, 0600));
	hawk_output_puts(&output, "late");
	check_fails(hawk_output_finish(&output), HAWK_ERROR_OS, "--force");
	expect_file("");
	expect_entries(1);
}

FILE_TEST(a_symbolic_link_is_replaced_and_its_file_stays)
{
	char other[PATH_BYTES + 8];

	snprintf(other, sizeof(other), "%s/other", folder);
	close(open(other, O_CREAT | O_WRONLY, 0600));
	assert_int_equal(symlink("other", path), 0);
	check_fails(hawk_output_open_file(&output, path, false), HAWK_ERROR_OS, "--force");
	hawk_output_deinit(&output);
	check(hawk_output_open_file(&output, path, true));
	hawk_output_puts(&output, "instead of it");
	check(hawk_output_finish(&output));
	expect_file("instead of it");
	expect_entries(2);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rename(other, path), 0);
	expect_file("");
}

FILE_TEST(a_link_to_nowhere_is_a_file_that_exists)
{
	assert_int_equal(symlink("nowhere", path), 0);
	check_fails(hawk_output_open_file(&output, path, false), HAWK_ERROR_OS, "--force");
	hawk_output_deinit(&output);
	check(hawk_output_open_file(&output, path, true));
	hawk_output_puts(&output, "here");
	check(hawk_output_finish(&output));
	expect_file("here");
	expect_entries(1);
}

FILE_TEST(what_is_no_file_is_written_directly)
{
	char text[8] = "";
	int fd;

	assert_int_equal(mkfifo(path, 0600), 0);
	fd = open(path, O_RDONLY | O_NONBLOCK);
	assert_true(fd >= 0);
	check(hawk_output_open_file(&output, path, false));
	hawk_output_puts(&output, "passed");
	check(hawk_output_finish(&output));
	assert_int_equal(read(fd, text, sizeof(text)), 6);
	assert_string_equal(text, "passed");
	close(fd);
}

FILE_TEST(a_target_that_cannot_be_written_is_an_error)
{
	char missing[PATH_BYTES + 24];

	snprintf(missing, sizeof(missing), "%s/no/file", folder);
	check_fails(hawk_output_open_file(&output, missing, false), HAWK_ERROR_OS, missing);
	hawk_output_deinit(&output);
	check_fails(hawk_output_open_file(&output, folder, true), HAWK_ERROR_OS, strerror(EISDIR));
}

/* File systems without unnamed files. */

FILE_TEST(a_temporary_name_is_given_up_for_the_files_own)
{
	for (int force = 0; force < 2; force++) {
		struct hawk_output_file *file;
		int fd;

		assert_int_equal(hawk_output_file_create(path, true, &fd, &file), 0);
		expect_entries(1 + (unsigned)force);
		assert_int_equal(write(fd, "text", 4), 4);
		assert_int_equal(hawk_output_file_publish(file, fd, force), 0);
		hawk_output_file_destroy(file);
		close(fd);
		expect_file("text");
		expect_entries(1);
	}
}

FILE_TEST(a_temporary_name_is_removed_if_the_files_own_is_taken)
{
	struct hawk_output_file *file;
	int fd;

	assert_int_equal(hawk_output_file_create(path, true, &fd, &file), 0);
	assert_int_equal(close(open(path, O_CREAT | O_WRONLY, 0600)), 0);
	assert_int_equal(hawk_output_file_publish(file, fd, false), EEXIST);
	expect_entries(2);
	hawk_output_file_destroy(file);
	close(fd);
	expect_entries(1);
}

TEST(a_terminal_is_refused)
{
	int terminal = posix_openpt(O_RDWR | O_NOCTTY);

	if (terminal < 0)
		skip();
	hawk_output_init(&output, terminal);
	check_fails(hawk_output_refuse_terminal(&output, "gzip"), HAWK_ERROR_USAGE,
		    "refusing to write gzip");
	close(terminal);
	begin();
	check(hawk_output_refuse_terminal(&output, "gzip"));
	output.terminal = true; // by way of a pager
	check_fails(hawk_output_refuse_terminal(&output, "gzip"), HAWK_ERROR_USAGE, "-o FILE");
	close(output.fd);
}
