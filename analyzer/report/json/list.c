/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Lists that say how much of them is shown.
 */
#include "list.h"

#include <stdio.h>

/** With --top alone: lines of each stack, the allocator's and enough of the program's; steps of
 * each path, which may be as long as a list. */
enum { STACK_LINES = 8, PATH_STEPS = 32 };

enum { KEY_BYTES = 40 };

void hawk_json_limit(struct hawk_json *json, size_t top, size_t depth)
{
	json->list_max = top;
	json->stack_max = depth || !top ? depth : STACK_LINES;
	json->path_max = depth || !top ? depth : PATH_STEPS;
}

static const char *numbered(char key[KEY_BYTES], const char *list, const char *number)
{
	snprintf(key, KEY_BYTES, "%s_%s", list, number);
	return key;
}

void hawk_json_put_cut_list(struct hawk_json *json, const char *key, size_t shown, uint64_t total)
{
	char name[KEY_BYTES];

	hawk_json_put_integer(json, numbered(name, key, "shown"), shown);
	hawk_json_put_integer(json, numbered(name, key, "total"), total);
	hawk_json_put_array(json, key);
}

static size_t put_list(struct hawk_json *json, const char *key, size_t total, size_t most)
{
	size_t shown = most && most < total ? most : total;

	hawk_json_put_cut_list(json, key, shown, total);
	return shown;
}

size_t hawk_json_put_list(struct hawk_json *json, const char *key, size_t total)
{
	return put_list(json, key, total, json->list_max);
}

size_t hawk_json_put_stack_list(struct hawk_json *json, const char *key, size_t total)
{
	return put_list(json, key, total, json->stack_max);
}

size_t hawk_json_put_path_list(struct hawk_json *json, const char *key, size_t total)
{
	return put_list(json, key, total, json->path_max);
}

void hawk_json_put_no_list(struct hawk_json *json, const char *key)
{
	char name[KEY_BYTES];

	hawk_json_put_null(json, numbered(name, key, "shown"));
	hawk_json_put_null(json, numbered(name, key, "total"));
	hawk_json_put_null(json, key);
}

bool hawk_json_put_known_list(struct hawk_json *json, const char *key, const struct hawk_heap *heap,
			      size_t total, size_t *ret)
{
	*ret = 0;
	if (heap->knows)
		*ret = hawk_json_put_list(json, key, total);
	else
		hawk_json_put_no_list(json, key);
	return heap->knows;
}
