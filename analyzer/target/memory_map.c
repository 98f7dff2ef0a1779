/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Makes the rows of the memory map, and finds the threads of stacks.
 */
#include "hawk/target/memory_map.h"

#include <stdlib.h>
#include <string.h>

#include "hawk/base/cleanup.h"

const struct hawk_thread **hawk_target_stacks(const struct hawk_target *target)
{
	size_t mapping_count, count;
	const struct hawk_mapping *mappings = hawk_target_mappings(target, &mapping_count);
	const struct hawk_thread *threads = hawk_target_threads(target, &count);
	const struct hawk_thread **stacks = calloc(mapping_count + 1, sizeof(*stacks));

	for (size_t i = stacks ? count : 0; i-- > 0;) {
		const struct hawk_mapping *mapping = hawk_target_mapping_at(
			target, hawk_target_stack_start(target, &threads[i]));

		if (mapping)
			stacks[mapping - mappings] = &threads[i];
	}
	return stacks;
}

static bool same_file(const char *a, const char *b)
{
	return a && b && !strcmp(a, b);
}

static size_t join(const struct hawk_target *target, const struct hawk_thread **stacks, bool every,
		   struct hawk_map_row *rows)
{
	size_t count, used = 0;
	const struct hawk_mapping *mappings = hawk_target_mappings(target, &count);

	for (size_t i = 0; i < count; i++) {
		const struct hawk_mapping *mapping = &mappings[i];
		struct hawk_map_row *last = used ? &rows[used - 1] : NULL;

		if (every || !last || !same_file(last->path, mapping->path)) {
			const struct hawk_module *module =
				hawk_target_module_at(target, mapping->start);

			last = &rows[used++];
			*last = (struct hawk_map_row){.start = mapping->start,
						      .path = mapping->path,
						      .flags = mapping->flags,
						      .vdso = module && module->vdso,
						      .stack = stacks[i]};
		}
		last->end = mapping->end;
		last->bytes += mapping->end - mapping->start;
		last->present_bytes += mapping->present_bytes;
		last->mixed |= last->flags != mapping->flags;
	}
	return used;
}

static int compare_sizes(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a > b ? -1 : a < b;
}

static struct hawk_error *keep_largest(size_t most, struct hawk_memory_map *map)
{
	CLEANUP(free_ptr) uint64_t *sizes = calloc(map->count + 1, sizeof(*sizes));
	size_t count = map->count;

	if (!sizes)
		return &hawk_enomem;
	if (count <= most)
		return NULL;
	for (size_t i = 0; i < count; i++)
		sizes[i] = map->rows[i].bytes;
	qsort(sizes, count, sizeof(*sizes), compare_sizes);
	map->count = 0;
	for (size_t i = 0; i < count; i++) {
		if (map->rows[i].bytes >= sizes[most - 1]) {
			map->rows[map->count++] = map->rows[i];
			continue;
		}
		map->left_out++;
		map->left_out_bytes += map->rows[i].bytes;
	}
	return NULL;
}

struct hawk_error *hawk_memory_map_make(const struct hawk_target *target, size_t most,
					struct hawk_memory_map *ret)
{
	CLEANUP(free_ptr) const struct hawk_thread **stacks = hawk_target_stacks(target);
	struct hawk_memory_map map = {0};
	struct hawk_error *err;

	(void)hawk_target_mappings(target, &map.count);
	map.rows = calloc(map.count + 1, sizeof(*map.rows));
	err = stacks && map.rows ? NULL : &hawk_enomem;
	if (!err) {
		map.count = join(target, stacks, most == SIZE_MAX, map.rows);
		err = keep_largest(most, &map);
	}
	if (err)
		hawk_memory_map_deinit(&map);
	else
		*ret = map;
	return err;
}

void hawk_memory_map_deinit(struct hawk_memory_map *map)
{
	free(map->rows);
	*map = (struct hawk_memory_map){0};
}
