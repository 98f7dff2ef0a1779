/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Files that are no core, or not one for us: each is refused with a sentence that says what it is.
 */
#include <elf.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "test.h"
#include "hawk_target.h"
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

/** A core whose ELF header was changed by `change`. */
static void expect_changed_refusal(void (*change)(Elf64_Ehdr *header), enum hawk_error_code code,
				   const char *words)
{
	struct synthetic_core *core = synthetic_core_create();
	Elf64_Ehdr header;
	uint8_t *bytes;
	size_t size;

	synthetic_core_add_memory(core, 0x10000, "bytes", 5);
	bytes = synthetic_core_build(core, &size);
	memcpy(&header, bytes, sizeof(header));
	change(&header);
	memcpy(bytes, &header, sizeof(header));
	expect_refusal_of(bytes, size, code, words);
	free(bytes);
	synthetic_core_destroy(core);
}

TEST(a_missing_file_is_an_os_error)
{
	expect_refusal("/nonexistent/core", HAWK_ERROR_OS, "No such file");
}

TEST(a_directory_is_named_as_such)
{
	expect_refusal("/", HAWK_ERROR_FORMAT, "directory");
}

TEST(a_device_is_not_read)
{
	expect_refusal("/dev/zero", HAWK_ERROR_FORMAT, "character device");
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

TEST(an_empty_file_is_named_as_such)
{
	expect_refusal_of("", 0, HAWK_ERROR_FORMAT, "empty");
}

TEST(text_and_garbage_are_told_apart)
{
	expect_refusal_of("#!/bin/sh\n", 10, HAWK_ERROR_FORMAT, "text file");
	expect_refusal_of("\1\2\3\4", 4, HAWK_ERROR_FORMAT, "unknown format");
	expect_refusal_of("x", 1, HAWK_ERROR_FORMAT, "text file");
}

/** What can be unpacked here is said to be damaged, the rest comes with the remedy. */
TEST(a_compressed_file_without_a_core_says_how_to_look_at_it)
{
	expect_refusal_of("\x28\xb5\x2f\xfd....", 8,
			  HAWK_HAVE_ZSTD ? HAWK_ERROR_FORMAT : HAWK_ERROR_UNSUPPORTED, "zstd -d");
	expect_refusal_of("\x1f\x8b......", 8, HAWK_ERROR_FORMAT, "gzip -d");
	expect_refusal_of("\xfd\x37zXZ\0..", 8, HAWK_ERROR_FORMAT, "xz -d");
	expect_refusal_of("\x04\x22\x4d\x18....", 8,
			  HAWK_HAVE_LZ4 ? HAWK_ERROR_FORMAT : HAWK_ERROR_UNSUPPORTED, "lz4 -d");
	expect_refusal_of("BZh91AY", 7, HAWK_ERROR_UNSUPPORTED, "bzip2 -d");
}

/** One whose window is of 2 GiB. */
TEST(a_compressed_file_that_needs_much_memory_is_not_called_damaged)
{
	if (!HAWK_HAVE_ZSTD)
		skip();
	expect_refusal_of("\x28\xb5\x2f\xfd\0\xa8\x01\0\0", 9, HAWK_ERROR_FORMAT,
			  "too much memory");
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

static void change_to_executable(Elf64_Ehdr *header)
{
	header->e_type = ET_EXEC;
}

static void change_to_shared(Elf64_Ehdr *header)
{
	header->e_type = ET_DYN;
}

static void change_to_object(Elf64_Ehdr *header)
{
	header->e_type = ET_REL;
}

TEST(an_elf_file_that_is_no_core_is_named)
{
	expect_changed_refusal(change_to_executable, HAWK_ERROR_FORMAT, "ELF executable");
	expect_changed_refusal(change_to_shared, HAWK_ERROR_FORMAT, "shared object");
	expect_changed_refusal(change_to_object, HAWK_ERROR_FORMAT, "object file");
	expect_refusal("/proc/self/exe", HAWK_ERROR_FORMAT, "executable");
}

static void change_to_32_bit(Elf64_Ehdr *header)
{
	header->e_ident[EI_CLASS] = ELFCLASS32;
	header->e_machine = EM_386;
}

static void change_to_arm(Elf64_Ehdr *header)
{
	header->e_machine = EM_AARCH64;
}

static void change_to_s390(Elf64_Ehdr *header)
{
	header->e_ident[EI_DATA] = ELFDATA2MSB;
	header->e_type = __builtin_bswap16(ET_CORE);
	header->e_machine = __builtin_bswap16(EM_S390);
}

static void change_to_unknown(Elf64_Ehdr *header)
{
	header->e_machine = 0x1234;
}

TEST(a_foreign_architecture_is_named)
{
	expect_changed_refusal(change_to_32_bit, HAWK_ERROR_UNSUPPORTED, "32-bit");
	expect_changed_refusal(change_to_arm, HAWK_ERROR_UNSUPPORTED, "AArch64");
	expect_changed_refusal(change_to_s390, HAWK_ERROR_UNSUPPORTED, "big-endian core of S/390");
	expect_changed_refusal(change_to_unknown, HAWK_ERROR_UNSUPPORTED, "4660");
}

static void change_to_no_headers(Elf64_Ehdr *header)
{
	header->e_phnum = 0;
}

static void change_to_far_headers(Elf64_Ehdr *header)
{
	header->e_phoff = UINT64_MAX - 8;
}

static void change_to_odd_headers(Elf64_Ehdr *header)
{
	header->e_phentsize = 32;
}

TEST(a_core_without_usable_headers_is_refused)
{
	expect_changed_refusal(change_to_no_headers, HAWK_ERROR_FORMAT, "without program headers");
	expect_changed_refusal(change_to_far_headers, HAWK_ERROR_FORMAT, "cut off");
	expect_changed_refusal(change_to_odd_headers, HAWK_ERROR_FORMAT, "32 bytes");
}
