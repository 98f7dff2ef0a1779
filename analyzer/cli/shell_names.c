/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Names to complete: functions in the stacks of sites, types of blocks. Looked up when the user
 * first asks; of very large heaps the first blocks stand for all.
 */
#include <stdlib.h>
#include <string.h>

#include "hawk_shell.h"
#include "hawk_stack.h"

enum {
	BLOCKS_MAX = 1 << 20, /**< whose types are looked at */
	SITES_MAX = 20000,    /**< whose stacks are looked at: the largest */
};

struct names {
	char **items;
	size_t count;
	size_t capacity;
};

/** What has a meaning in a command or in a regular expression becomes '.', which matches it. */
static void make_pattern(char *name)
{
	for (; *name; name++)
		if (strchr(" \t\"'\\|>#$%()[]{}*+?^", *name))
			*name = '.';
}

static bool add(struct names *names, const char *name)
{
	if (names->count == names->capacity) {
		size_t capacity = names->capacity ? 2 * names->capacity : 256;
		char **items = reallocarray(names->items, capacity, sizeof(*items));

		if (!items)
			return false;
		names->items = items;
		names->capacity = capacity;
	}
	names->items[names->count] = strdup(name);
	if (!names->items[names->count])
		return false;
	make_pattern(names->items[names->count++]);
	return true;
}

static int compare(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

/** Sorted, each once. */
static char **finish(struct names *names, size_t *count)
{
	size_t kept = 0;

	if (names->count)
		qsort(names->items, names->count, sizeof(*names->items), compare);
	for (size_t i = 0; i < names->count; i++) {
		if (kept && !strcmp(names->items[kept - 1], names->items[i]))
			free(names->items[i]);
		else
			names->items[kept++] = names->items[i];
	}
	*count = kept;
	return names->items;
}

/** Up to where a name is still one word of a command: no parameters, no template arguments. */
static bool add_function(struct names *names, const char *function)
{
	char name[256];
	size_t length = strcspn(function, "(< ");

	if (!length || length >= sizeof(name))
		return true;
	memcpy(name, function, length);
	name[length] = '\0';
	return add(names, name);
}

char **hawk_shell_functions(struct hawk_session *session, size_t *count)
{
	const struct hawk_heap *heap = &session->heap;
	size_t end = heap->site_count < SITES_MAX ? heap->site_count : SITES_MAX;
	struct names names = {0};
	struct hawk_stack stack;

	hawk_stack_init(&stack);
	for (size_t i = 0; i < end && heap->table; i++) {
		hawk_stack_of_trace(session->symbols, heap->table, heap->sites[i].trace, &stack);
		for (size_t j = 0; j < stack.count; j++)
			if (stack.lines[j].name.function &&
			    !add_function(&names, stack.lines[j].name.function))
				break;
	}
	hawk_stack_deinit(&stack);
	return finish(&names, count);
}

char **hawk_shell_types(struct hawk_session *session, size_t *count)
{
	const struct hawk_heap *heap = &session->heap;
	uint32_t end = heap->index.count < BLOCKS_MAX ? heap->index.count : BLOCKS_MAX;
	struct hawk_block_types *types;
	struct names names = {0};
	const char *before = NULL;

	*count = 0;
	if (hawk_session_types(session, &types))
		return NULL;
	for (uint32_t i = 0; i < end; i++) {
		struct hawk_block block;
		const char *type;

		hawk_heap_block(heap, i, &block);
		type = hawk_block_type(types, &block);
		/* The same type is the same pointer, and neighbours are often of one. */
		if (!type || type == before)
			continue;
		before = type;
		if (!add(&names, type))
			break;
	}
	return finish(&names, count);
}
