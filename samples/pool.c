/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A pool that hands out objects of one request and drops them all at once, annotated so that each
 * is a block with its own stack. "pool abort" dies with one request open.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hawk_annotate.h"

struct pool {
	char *start, *at, *end;
	size_t header; /* bytes for the tracer before each object; 0 without it */
};

static int pool_create(struct pool *pool, size_t size)
{
	pool->start = pool->at = malloc(size);
	pool->end = pool->start + size;
	pool->header = hawk_pool_header_bytes();
	return pool->start != NULL;
}

static void *pool_allocate(struct pool *pool, size_t size)
{
	size_t whole = pool->header + (size + 15) / 16 * 16;
	char *object = pool->at + pool->header;

	if (whole > (size_t)(pool->end - pool->at))
		return NULL;
	pool->at += whole;
	hawk_block_begin(object, size);
	return object;
}

static void pool_reset(struct pool *pool)
{
	hawk_pool_reset(pool->start, pool->end);
	pool->at = pool->start;
}

static void pool_destroy(struct pool *pool)
{
	pool_reset(pool);
	free(pool->start);
}

static char *parse_header(struct pool *pool, int number)
{
	char *text = pool_allocate(pool, 40);

	if (text)
		snprintf(text, 40, "header %d", number);
	return text;
}

static char *make_answer(struct pool *pool)
{
	char *text = pool_allocate(pool, 2000);

	if (text)
		memset(text, 'x', 2000);
	return text;
}

int main(int argc, char **argv)
{
	struct pool pool;

	if (!pool_create(&pool, 64 << 10))
		return 1;
	for (int request = 0; request < 1000; request++) {
		pool_reset(&pool);
		for (int i = 0; i < 100; i++)
			parse_header(&pool, i);
		make_answer(&pool);
	}
	puts("1000 requests");
	fflush(stdout);
	if (argc > 1 && !strcmp(argv[1], "abort"))
		abort();
	pool_destroy(&pool);
	return 0;
}
