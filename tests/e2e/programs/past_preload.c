/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Blocks of malloc, strdup, posix_memalign ... are freed, resized and measured by functions that
 * were found past any preloaded library. Contents and sizes are checked at each step.
 *
 *     past_preload deepbind PLUGIN ...   libraries loaded with RTLD_DEEPBIND
 *     past_preload takes PLUGIN ...      the same, but they make no blocks themselves
 *     past_preload namespace PLUGIN ...  libraries loaded with dlmopen, again and again
 *     past_preload handle LIBRARY ...    dlsym() on handles
 *     past_preload again PLUGIN TIMES    a library loaded and unloaded so many times
 *
 * A last argument "abort" ends it with some blocks alive: "live ADDRESS SIZE" names each of them.
 */
#include <dlfcn.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "past_preload.h"

enum { BLOCKS = 400, KEPT = 50, NAMESPACES = 20 /* more than glibc has at once */ };

static void fail(const char *what)
{
	fprintf(stderr, "past_preload: %s\n", what);
	exit(3);
}

static size_t size_of(unsigned i)
{
	return i % 50 == 49 ? 200000 + i : 1 + i * 7 % 1500;
}

static char *make(unsigned i)
{
	size_t size = size_of(i);
	void *pointer = NULL;

	switch (i % 4) {
	case 0:
		pointer = malloc(size);
		break;
	case 1:
		pointer = calloc(1, size);
		break;
	case 2:
		if (posix_memalign(&pointer, (size_t)16 << i % 9, size))
			fail("posix_memalign");
		break;
	default:
		pointer = realloc(malloc(size / 2), size);
		break;
	}
	if (!pointer)
		fail("no memory");
	return memset(pointer, (int)(i % 251), size);
}

static void check(const char *pointer, unsigned i, size_t size)
{
	for (size_t at = 0; at < size; at++)
		if (pointer[at] != (char)(i % 251))
			fail("content has changed");
}

static char *resize(const struct takers *takers, char *pointer, unsigned i)
{
	size_t size = 2 * size_of(i) + 1;

	if (i % 3 == 0 && takers->realloc)
		pointer = takers->realloc(pointer, size);
	else if (i % 3 == 1 && takers->reallocarray)
		pointer = takers->reallocarray(pointer, size, 1);
	else
		return pointer;
	if (!pointer)
		fail("could not be resized");
	check(pointer, i, size_of(i));
	if (malloc_usable_size(pointer) < size)
		fail("too small");
	memset(pointer, (int)(i % 251), size);
	return pointer;
}

static void measure(const struct takers *takers, char *pointer)
{
	if (takers->malloc_usable_size &&
	    takers->malloc_usable_size(pointer) != malloc_usable_size(pointer))
		fail("another size");
}

static void release(const struct takers *takers, char *pointer, unsigned i)
{
	if (i % 3 == 1 && takers->delete)
		takers->delete (pointer);
	else if (i % 3 == 2 && takers->delete_sized)
		takers->delete_sized(pointer, malloc_usable_size(pointer));
	else if (takers->free)
		takers->free(pointer);
	else
		free(pointer);
}

/** What the library makes itself, it and we can free. */
static void exchange(const struct takers *takers, unsigned i)
{
	char *pointer = takers->malloc ? takers->malloc(size_of(i)) : NULL;

	if (!pointer)
		return;
	memset(pointer, (int)(i % 251), size_of(i));
	pointer = resize(takers, pointer, i);
	measure(takers, pointer);
	check(pointer, i, size_of(i));
	if (i % 2)
		takers->free(pointer);
	else
		free(pointer);
}

static void round_of(const struct takers *takers, bool exchanges)
{
	char *blocks[BLOCKS], *text;

	for (unsigned i = 0; i < BLOCKS; i++)
		blocks[i] = make(i);
	for (unsigned i = 0; i < BLOCKS; i++) {
		measure(takers, blocks[i]);
		blocks[i] = resize(takers, blocks[i], i);
		if (exchanges)
			exchange(takers, i);
	}
	for (unsigned i = 0; i < BLOCKS; i++) {
		check(blocks[i], i, size_of(i));
		release(takers, blocks[i], i);
	}
	text = strdup("made by the C library");
	takers->free(text);
	takers->free(NULL);
	takers->free(takers->realloc(NULL, 10));
}

static void find_takers(void *library, struct takers *takers)
{
	if (!library)
		fail(dlerror());
	*(void **)&takers->free = dlsym(library, "free");
	*(void **)&takers->realloc = dlsym(library, "realloc");
	*(void **)&takers->reallocarray = dlsym(library, "reallocarray");
	*(void **)&takers->malloc_usable_size = dlsym(library, "malloc_usable_size");
	*(void **)&takers->delete = dlsym(library, "_ZdlPv");
	*(void **)&takers->delete_sized = dlsym(library, "_ZdlPvm");
	if (!takers->free || !takers->realloc)
		fail("the library has no free");
}

static void open_takers(void *library, struct takers *takers)
{
	void (*fill)(struct takers *) = NULL;

	if (library)
		*(void **)&fill = dlsym(library, "fill_takers");
	if (!fill)
		fail(dlerror());
	fill(takers);
}

static void print_live(const struct takers *takers)
{
	for (unsigned i = 0; i < KEPT; i++) {
		char *pointer = takers->realloc(malloc(100 + i), 1000 + i);

		printf("live %p %u\n", (void *)pointer, 1000 + i);
	}
	fflush(stdout);
	abort();
}

static void use_namespaces(const char *plugin)
{
	struct takers takers;

	for (unsigned i = 0; i < NAMESPACES; i++) {
		void *library = dlmopen(LM_ID_NEWLM, plugin, RTLD_NOW);

		open_takers(library, &takers);
		round_of(&takers, false);
		dlclose(library);
	}
}

static void load_again(const char *plugin, long times)
{
	while (times-- > 0) {
		void *library = dlopen(plugin, RTLD_NOW);
		struct takers takers;

		open_takers(library, &takers);
		takers.free(malloc(1));
		dlclose(library);
	}
}

int main(int argc, char **argv)
{
	struct takers takers = {0};

	if (argc < 3)
		return 2;
	if (!strcmp(argv[1], "again") && argc > 3) {
		load_again(argv[2], strtol(argv[3], NULL, 10));
		return 0;
	}
	free(realloc(malloc(1), 2)); /* a wrapper looks its functions up now */
	for (int i = 2; i < argc && strcmp(argv[i], "abort") != 0; i++) {
		if (!strcmp(argv[1], "namespace")) {
			use_namespaces(argv[i]);
			continue;
		}
		if (!strcmp(argv[1], "handle"))
			find_takers(dlopen(argv[i], RTLD_NOW), &takers);
		else
			open_takers(dlopen(argv[i], RTLD_NOW | RTLD_DEEPBIND), &takers);
		round_of(&takers, !strcmp(argv[1], "deepbind"));
	}
	if (!strcmp(argv[argc - 1], "abort"))
		print_live(&takers);
	puts("done");
	return 0;
}
