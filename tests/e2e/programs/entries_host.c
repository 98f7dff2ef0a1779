/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Loads the library LIBRARY late and becomes it: entries_host LIBRARY ARGUMENTS of entries.c.
 */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	void *library = argc > 1 ? dlopen(argv[1], RTLD_LAZY | RTLD_LOCAL) : NULL;
	int (*entries)(int, char **) = NULL;

	if (library)
		*(void **)&entries = dlsym(library, "entries_main");
	if (!entries) {
		fprintf(stderr, "%s\n", dlerror());
		return 2;
	}
	return entries(argc - 1, argv + 1);
}
