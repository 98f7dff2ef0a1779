/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Loads the libraries argv[2 ..] in turn, argv[1] times in all, calls make() of each and unloads it
 * again: they come to lie at the same addresses. Prints the time of the processor, in milliseconds.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char **argv)
{
	long count = argc > 2 ? strtol(argv[1], NULL, 10) : 0;
	struct timespec spent;

	for (long i = 0; i < count; i++) {
		void *library = dlopen(argv[2 + i % (argc - 2)], RTLD_NOW);
		void *(*make)(void) = library ? (void *(*)(void))dlsym(library, "make") : NULL;

		if (!make)
			return 1;
		free(make());
		dlclose(library);
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
	printf("%ld\n", (long)spent.tv_sec * 1000 + spent.tv_nsec / 1000000);
	return 0;
}
