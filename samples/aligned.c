/* SPDX-License-Identifier: Apache-2.0 */
/** @file Every aligned entry point, every power of two up to 1 MiB: alignment, usable size, errors
 * and the content after realloc. */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int failures;

static void check(int ok, const char *what, size_t alignment)
{
	if (!ok) {
		printf("%s fails at alignment %zu\n", what, alignment);
		failures++;
	}
}

static void check_block(unsigned char *block, size_t alignment, size_t size, const char *what)
{
	check(block && (uintptr_t)block % alignment == 0, what, alignment);
	if (!block)
		return;
	check(malloc_usable_size(block) >= size, "malloc_usable_size", alignment);
	memset(block, 0x5a, malloc_usable_size(block));
	block = realloc(block, 3 * size);
	check(block && block[0] == 0x5a && block[size - 1] == 0x5a, "realloc", alignment);
	free(block);
}

int main(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	for (size_t alignment = 8; alignment <= 1 << 20; alignment *= 2) {
		void *block = NULL;

		check(!posix_memalign(&block, alignment, 100), "posix_memalign", alignment);
		check_block(block, alignment, 100, "posix_memalign");
		check_block(aligned_alloc(alignment, 2 * alignment), alignment, 2 * alignment,
			    "aligned_alloc");
		check_block(memalign(alignment, 77), alignment, 77, "memalign");
	}
	check_block(valloc(10), page, 10, "valloc");
	/* jemalloc leaves pvalloc to the C library, whose blocks its free() does not know */
	if (!dlsym(RTLD_DEFAULT, "mallctl"))
		check_block(pvalloc(10), page, page, "pvalloc");

	void *untouched = &failures;
	int error = posix_memalign(&untouched, 24, 100);

	check(error == EINVAL && untouched == &failures, "posix_memalign's refusal", 24);
	puts(failures ? "bad" : "all aligned");
	return failures != 0;
}
