/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Two plugins loaded in turn, usually at the same address, over and over: stacks must name the
 * plugin that was there when the block was made. Keeps one block of each loading.
 *
 *     dlopen FOLDER-OF-THE-PLUGINS [abort]
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 20 };

static void *kept[2 * ROUNDS];

static void *make_block(const char *folder, const char *name, size_t size)
{
	char path[4096];
	void *library, *block = NULL;
	void *(*make)(size_t);

	snprintf(path, sizeof(path), "%s/plugin_%s.so", folder, name);
	library = dlopen(path, RTLD_NOW);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	*(void **)&make = dlsym(library, "plugin_make");
	if (make)
		block = make(size);
	dlclose(library);
	return block;
}

int main(int argc, char **argv)
{
	int count = 0;

	if (argc < 2)
		return 2;
	for (int i = 0; i < ROUNDS; i++) {
		kept[count++] = make_block(argv[1], "red", 1000 + (size_t)i);
		kept[count++] = make_block(argv[1], "blue", 2000 + (size_t)i);
	}
	printf("%d blocks\n", count);
	fflush(stdout);
	if (argc > 2 && !strcmp(argv[2], "abort"))
		abort();
	while (count > 0)
		free(kept[--count]);
	return 0;
}
