/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Takes all thread-specific keys that are left, prints how many they were, and runs threads that
 * allocate; compiled as a library with KEYS_HOG, its constructor takes the keys.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned take_keys(void)
{
	pthread_key_t key;
	unsigned count = 0;

	while (!pthread_key_create(&key, free))
		count++;
	return count;
}

#ifdef KEYS_HOG
__attribute__((constructor)) static void hog(void)
{
	take_keys();
}
#else
enum { THREADS = 300 };

static void *work(void *data)
{
	void *kept = malloc(100);

	free(realloc(malloc(10), 1000));
	*(void **)data = kept;
	return NULL;
}

int main(int argc, char **argv)
{
	void *blocks[THREADS];
	pthread_t thread;

	printf("%u\n", take_keys());
	fflush(stdout);
	for (unsigned i = 0; i < THREADS; i++)
		if (pthread_create(&thread, NULL, work, &blocks[i]) || pthread_join(thread, NULL))
			return 3;
	if (argc > 1)
		abort();
	(void)argv;
	return 0;
}
#endif
