/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The dynamic section of the C library and of this program: symbols are found as dlsym() finds
 * them, and a word on a read-only page is written without making it writable for good.
 */
#include "test.h"

#include <dlfcn.h>
#include <link.h>

#include "unwind/elf.h"
#include "table/syscall.h"

struct search {
	const char *part;
	struct hawk_elf found;
	bool hit;
};

static int match(struct dl_phdr_info *info, size_t size, void *data)
{
	struct search *search = data;

	(void)size;
	if (!strstr(info->dlpi_name, search->part) || !hawk_elf_open(info, &search->found))
		return 0;
	search->hit = true;
	return 1;
}

static struct hawk_elf open_module(const char *part)
{
	struct search search = {.part = part};

	dl_iterate_phdr(match, &search);
	assert_true(search.hit);
	return search.found;
}

TEST(functions_are_found_where_dlsym_finds_them)
{
	static const char *const names[] = {"malloc", "free", "qsort", "__libc_free", "dlsym"};
	struct hawk_elf libc = open_module("libc.so.6");

	for (unsigned i = 0; i < COUNT_OF(names); i++) {
		const Elf64_Sym *symbol = hawk_elf_find(&libc, names[i]);
		void *handle = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);

		assert_non_null(symbol);
		assert_ptr_equal((void *)(libc.bias + symbol->st_value), dlsym(handle, names[i]));
		assert_true((uint64_t)(symbol - libc.symbols) < hawk_elf_symbol_count(&libc));
		dlclose(handle);
	}
}

TEST(what_is_no_defined_function_is_not_found)
{
	struct hawk_elf libc = open_module("libc.so.6");

	assert_null(hawk_elf_find(&libc, "mallocx"));
	assert_null(hawk_elf_find(&libc, ""));
	assert_null(hawk_elf_find(&libc, "environ"));         /* data */
	assert_null(hawk_elf_find(&libc, "_rtld_global"));    /* imported */
	assert_null(hawk_elf_find(&libc, "malloc_and_more")); /* a longer name */
}

TEST(the_vdso_is_left_alone)
{
	struct search search = {.part = "linux-vdso"};

	dl_iterate_phdr(match, &search);
	assert_false(search.hit);
}

/** Lies on a page that the loader makes read-only, as it holds an address. */
static const void *const relocated[] = {&open_module, NULL};

TEST(a_word_of_a_read_only_page_is_written)
{
	struct hawk_elf program = open_module("");
	uint64_t *word = (uint64_t *)(uintptr_t)&relocated[1];

	assert_true(hawk_elf_owns(&program, (uint64_t)word));
	assert_true(hawk_elf_write(&program, word, 42));
	assert_int_equal(*(volatile uint64_t *)word, 42);
}

TEST(a_word_of_code_is_not_written)
{
	struct hawk_elf program = open_module("");

	assert_false(hawk_elf_write(&program, (uint64_t *)(uintptr_t)&match, 42));
}
