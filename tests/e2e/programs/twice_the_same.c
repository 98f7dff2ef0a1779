/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Builds the same graph of blocks in every run, then prints each living block's number and address,
 * and dies. Blocks are of many sizes, full of zeros and pointers, and held by variables, each
 * other, or nothing; some were freed, and their memory is used again. With the argument "exact"
 * none is, and glibc makes no block larger than it was asked for.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"

enum { BLOCKS = 20000, ROOTS = 300, WORDS_MAX = 40 };

/* Where the numbers are, hidden from the search for pointers. */
static uintptr_t hidden[BLOCKS];
static size_t counts[BLOCKS];
static bool is_exact;
uint64_t *variables[ROOTS];

static uint64_t *words_of(size_t number)
{
	return (uint64_t *)~hidden[number];
}

static void make(size_t number, uint64_t *state)
{
	size_t count = 1 + next_random(state) % WORDS_MAX;

	if (is_exact)
		count = count / 2 * 2 + 3;
	counts[number] = count;
	hidden[number] = ~(uintptr_t)calloc(count, sizeof(uint64_t));
	if (!words_of(number))
		abort();
}

/* Lets the block point to some of those made before it, and now and then into their middle. */
static void fill(size_t number, uint64_t *state)
{
	size_t pointers = number ? next_random(state) % 3 : 0;

	for (size_t i = 0; i < pointers; i++) {
		size_t target = next_random(state) % number;
		size_t inside = next_random(state) % 20 ? 0 : counts[target] / 2;

		words_of(number)[next_random(state) % counts[number]] =
			(uint64_t)(words_of(target) + inside);
	}
}

int main(int argc, char **argv)
{
	uint64_t state = 7;

	is_exact = argc > 1 && !strcmp(argv[1], "exact");
	for (size_t i = 0; i < BLOCKS; i++)
		make(i, &state);
	for (size_t i = 0; i < BLOCKS && !is_exact; i += 7) {
		free(words_of(i));
		make(i, &state);
	}
	for (size_t i = 0; i < BLOCKS; i++)
		fill(i, &state);
	for (size_t i = 0; i < ROOTS; i++)
		variables[i] = words_of(next_random(&state) % BLOCKS);
	setvbuf(stdout, NULL, _IOFBF, 1 << 16);
	for (size_t i = 0; i < BLOCKS; i++)
		printf("%zu %zu\n", i, (size_t)hidden[i]);
	fflush(stdout);
	abort();
}
