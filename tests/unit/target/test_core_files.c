/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Files that are no core, or no supported one: each is refused with a sentence that names its kind.
 */
#include <elf.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "test.h"
#include "hawk/target/target.h"
#include "synthetic_core.h"

/** Opening `path` must fail with `code` and a message that contains `words`. */
static void expect_refusal(const char *path, enum hawk_error_code code, const char *words)
{
	struct hawk_findings findings;
	struct hawk_target *target = NULL;
	struct hawk_error *error;

	hawk_findings_init(&findings);
	error = hawk_target_open_core(path, &findings, &target);
	assert_non_null(error);
	assert_null(target);
	if (!strstr(hawk_error_message(error), words))
		fail_msg("\"%s\" does not say \"%s\"", hawk_error_message(error), words);
	assert_int_equal(hawk_error_code(error), code);
	assert_non_null(strstr(hawk_error_message(error), path));
	hawk_error_destroy(error);
	hawk_findings_deinit(&findings);
}

static void expect_refusal_of(const void *bytes, size_t size, enum hawk_error_code code,
			      const char *words)
{
	char *path = synthetic_file_write(bytes, size);

	expect_refusal(path, code, words);
	synthetic_core_remove(path);
}

TEST(what_is_no_regular_file_is_refused_by_name)
{
	expect_refusal("/nonexistent/core", HAWK_ERROR_OS, "No such file");
	expect_refusal("/", HAWK_ERROR_FORMAT, "directory");
	expect_refusal("/dev/zero", HAWK_ERROR_FORMAT, "character device");
	expect_refusal("/proc/self/exe", HAWK_ERROR_FORMAT, "executable");
}

TEST(a_fifo_without_writer_does_not_hang)
{
	char *path = synthetic_file_write("", 0);

	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	expect_refusal(path, HAWK_ERROR_FORMAT, "FIFO");
	synthetic_core_remove(path);
}

TEST(a_socket_is_named_as_such)
{
	char *path = synthetic_file_write("", 0);
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	unlink(path);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	expect_refusal(path, HAWK_ERROR_FORMAT, "socket");
	close(fd);
	synthetic_core_remove(path);
}

/** Formats supported by this build are reported as damaged, others with the remedy. */
TEST(other_files_are_told_apart_by_their_first_bytes)
{
	static const struct {
		const char *bytes;
		size_t size;
		enum hawk_error_code code;
		const char *words;
	} cases[] = {
		{"", 0, HAWK_ERROR_FORMAT, "empty"},
		{"#!/bin/sh\n", 10, HAWK_ERROR_FORMAT, "text file"},
		{"x", 1, HAWK_ERROR_FORMAT, "text file"},
		{"\1\2\3\4", 4, HAWK_ERROR_FORMAT, "unknown format"},
		{"\x28\xb5\x2f\xfd....", 8,
		 HAWK_HAVE_ZSTD ? HAWK_ERROR_FORMAT : HAWK_ERROR_UNSUPPORTED, "zstd -d"},
		/* One whose window is of 2 GiB. */
		{"\x28\xb5\x2f\xfd\0\xa8\x01\0\0", 9,
		 HAWK_HAVE_ZSTD ? HAWK_ERROR_FORMAT : HAWK_ERROR_UNSUPPORTED,
		 HAWK_HAVE_ZSTD ? "too much memory" : "zstd -d"},
		{"\x1f\x8b......", 8, HAWK_ERROR_FORMAT, "gzip -d"},
		{"\xfd\x37zXZ\0..", 8, HAWK_ERROR_FORMAT, "xz -d"},
		{"\x04\x22\x4d\x18....", 8,
		 HAWK_HAVE_LZ4 ? HAWK_ERROR_FORMAT : HAWK_ERROR_UNSUPPORTED, "lz4 -d"},
		{"BZh91AY", 7, HAWK_ERROR_UNSUPPORTED, "bzip2 -d"},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++)
		expect_refusal_of(cases[i].bytes, cases[i].size, cases[i].code, cases[i].words);
}

TEST(a_compressed_file_larger_than_the_process_may_write_is_refused)
{
	/* A block of 64 KiB times the letter "a". */
	const char bytes[] = "\x28\xb5\x2f\xfd\0\x38\x03\0\x08"
			     "a";
	struct rlimit whole, small;

	if (!HAWK_HAVE_ZSTD)
		skip();
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &whole), 0);
	small = (struct rlimit){.rlim_cur = 4096, .rlim_max = whole.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	expect_refusal_of(bytes, sizeof(bytes) - 1, HAWK_ERROR_UNSUPPORTED, "ulimit -f");
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &whole), 0);
}

#define SET(field, value)                                                                          \
	{                                                                                          \
		offsetof(Elf64_Ehdr, field), sizeof(((Elf64_Ehdr *)0)->field), value               \
	}

TEST(a_header_of_another_kind_of_file_is_refused_by_name)
{
	static const struct {
		enum hawk_error_code code;
		const char *words;
		struct {
			size_t at, bytes;
			uint64_t value;
		} changes[3];
	} cases[] = {
		{HAWK_ERROR_FORMAT, "ELF executable", {SET(e_type, ET_EXEC)}},
		{HAWK_ERROR_FORMAT, "shared object", {SET(e_type, ET_DYN)}},
		{HAWK_ERROR_FORMAT, "object file", {SET(e_type, ET_REL)}},
		{HAWK_ERROR_UNSUPPORTED,
		 "32-bit",
		 {SET(e_ident[EI_CLASS], ELFCLASS32), SET(e_machine, EM_386)}},
		{HAWK_ERROR_UNSUPPORTED, "RISC-V", {SET(e_machine, EM_RISCV)}},
		{HAWK_ERROR_UNSUPPORTED,
		 "big-endian core of S/390",
		 {SET(e_ident[EI_DATA], ELFDATA2MSB), SET(e_type, ET_CORE << 8),
		  SET(e_machine, EM_S390 << 8)}},
		{HAWK_ERROR_UNSUPPORTED, "4660", {SET(e_machine, 0x1234)}},
		{HAWK_ERROR_FORMAT, "without program headers", {SET(e_phnum, 0)}},
		{HAWK_ERROR_FORMAT, "cut off", {SET(e_phoff, UINT64_MAX - 8)}},
		{HAWK_ERROR_FORMAT, "32 bytes", {SET(e_phentsize, 32)}},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct synthetic_core *core = synthetic_core_create();
		uint8_t *bytes;
		size_t size;

		synthetic_core_add_memory(core, 0x10000, "bytes", 5);
		bytes = synthetic_core_build(core, &size);
		for (size_t k = 0; k < 3; k++)
			memcpy(bytes + cases[i].changes[k].at, &cases[i].changes[k].value,
			       cases[i].changes[k].bytes);
		expect_refusal_of(bytes, size, cases[i].code, cases[i].words);
		free(bytes);
		synthetic_core_destroy(core);
	}
}
