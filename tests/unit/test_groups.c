/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Flat and cumulative sums by function, file and module.
 */
#include <stdio.h>

#include "test.h"
#include "hawk_groups.h"

static const struct hawk_group_frame NEW = {"operator new", NULL, "libstdc++.so.6", true};
static const struct hawk_group_frame LEAF = {"leaf", "leaf.c", "app", false};
static const struct hawk_group_frame LOOP = {"loop", "loop.c", "app", false};
static const struct hawk_group_frame MAIN = {"main", "main.c", "app", false};
static const struct hawk_group_frame PLUGIN = {NULL, NULL, "plugin.so", false};

static struct hawk_group_counts bytes(uint64_t size)
{
	return (struct hawk_group_counts){
		.sites = 1,
		.inuse_objects = 1,
		.inuse_bytes = size,
		.alloc_objects = 10,
		.alloc_bytes = 1000 - size,
	};
}

static void add(struct hawk_groups *groups, uint64_t size, size_t count,
		const struct hawk_group_frame *frames)
{
	struct hawk_group_counts counts = bytes(size);

	assert_null(hawk_groups_add(groups, frames, count, &counts));
}

static struct hawk_groups *create(enum hawk_group_by by)
{
	struct hawk_groups *groups;

	assert_null(hawk_groups_create(by, &groups));
	return groups;
}

static const struct hawk_group *find(struct hawk_groups *groups, const char *name)
{
	const struct hawk_group *sorted;
	size_t count;

	assert_null(hawk_groups_sorted(groups, HAWK_GROUP_SORT_SIZE, false, &sorted, &count));
	for (size_t i = 0; i < count; i++)
		if (name ? sorted[i].name && !strcmp(sorted[i].name, name) : !sorted[i].name)
			return &sorted[i];
	fail_msg("no group %s", name ? name : "(nameless)");
	return NULL;
}

TEST(flat_skips_allocator_plumbing)
{
	struct hawk_groups *groups = create(HAWK_GROUP_BY_FUNCTION);

	add(groups, 100, 3, (struct hawk_group_frame[]){NEW, LEAF, MAIN});
	assert_int_equal(find(groups, "operator new")->flat.inuse_bytes, 0);
	assert_int_equal(find(groups, "operator new")->cum.inuse_bytes, 100);
	assert_false(find(groups, "operator new")->own);
	assert_true(find(groups, "leaf")->own);
	assert_int_equal(find(groups, "leaf")->flat.inuse_bytes, 100);
	assert_int_equal(find(groups, "main")->flat.inuse_bytes, 0);
	assert_int_equal(find(groups, "main")->cum.inuse_bytes, 100);
	hawk_groups_destroy(groups);
}

TEST(nothing_but_plumbing_is_attributed_to_the_innermost_frame)
{
	struct hawk_groups *groups = create(HAWK_GROUP_BY_FUNCTION);

	add(groups, 100, 1, &NEW);
	assert_int_equal(find(groups, "operator new")->flat.inuse_bytes, 100);
	hawk_groups_destroy(groups);
}

TEST(recursion_counts_once_in_cum)
{
	struct hawk_groups *groups = create(HAWK_GROUP_BY_FUNCTION);

	add(groups, 7, 5, (struct hawk_group_frame[]){LOOP, LOOP, LEAF, LOOP, MAIN});
	add(groups, 5, 2, (struct hawk_group_frame[]){LEAF, MAIN});
	assert_int_equal(find(groups, "loop")->cum.inuse_bytes, 7);
	assert_int_equal(find(groups, "loop")->cum.sites, 1);
	assert_int_equal(find(groups, "loop")->flat.inuse_bytes, 7);
	assert_int_equal(find(groups, "leaf")->cum.inuse_bytes, 12);
	assert_int_equal(find(groups, "leaf")->cum.alloc_objects, 20);
	assert_int_equal(find(groups, "main")->cum.inuse_bytes, 12);
	assert_int_equal(find(groups, "main")->cum.sites, 2);
	hawk_groups_destroy(groups);
}

TEST(modules_and_files_are_groups_too)
{
	struct hawk_groups *modules = create(HAWK_GROUP_BY_MODULE);
	struct hawk_groups *files = create(HAWK_GROUP_BY_FILE);
	const struct hawk_group_frame stack[] = {PLUGIN, LEAF, MAIN};

	add(modules, 9, 3, stack);
	add(files, 9, 3, stack);
	assert_int_equal(find(modules, "plugin.so")->flat.inuse_bytes, 9);
	assert_int_equal(find(modules, "app")->flat.inuse_bytes, 0);
	assert_int_equal(find(modules, "app")->cum.inuse_bytes, 9);
	assert_string_equal(find(files, NULL)->module, "plugin.so");
	assert_int_equal(find(files, NULL)->flat.inuse_bytes, 9);
	assert_int_equal(find(files, "main.c")->cum.inuse_bytes, 9);
	hawk_groups_destroy(modules);
	hawk_groups_destroy(files);
}

TEST(blocks_without_a_stack_are_a_nameless_group)
{
	struct hawk_groups *groups = create(HAWK_GROUP_BY_FUNCTION);

	add(groups, 3, 0, NULL);
	assert_null(find(groups, NULL)->module);
	assert_int_equal(find(groups, NULL)->flat.inuse_bytes, 3);
	hawk_groups_destroy(groups);
}

TEST(equal_names_in_two_modules_are_two_functions)
{
	struct hawk_groups *groups = create(HAWK_GROUP_BY_FUNCTION);
	const struct hawk_group_frame other = {"leaf", "leaf.c", "plugin.so", false};
	const struct hawk_group *sorted;
	size_t count;

	add(groups, 3, 1, &LEAF);
	add(groups, 4, 1, &other);
	assert_null(hawk_groups_sorted(groups, HAWK_GROUP_SORT_SIZE, false, &sorted, &count));
	assert_int_equal(count, 2);
	assert_string_equal(sorted[0].module, "plugin.so");
	hawk_groups_destroy(groups);
}

TEST(each_order_puts_its_largest_first)
{
	struct hawk_groups *groups = create(HAWK_GROUP_BY_FUNCTION);
	const struct hawk_group *sorted;
	size_t count;

	add(groups, 10, 2, (struct hawk_group_frame[]){LEAF, MAIN});
	add(groups, 20, 2, (struct hawk_group_frame[]){LOOP, MAIN});
	add(groups, 1, 1, &PLUGIN);
	assert_null(hawk_groups_sorted(groups, HAWK_GROUP_SORT_SIZE, false, &sorted, &count));
	assert_int_equal(count, 4);
	assert_string_equal(sorted[0].name, "loop");
	assert_null(hawk_groups_sorted(groups, HAWK_GROUP_SORT_SIZE, true, &sorted, &count));
	assert_string_equal(sorted[0].name, "main");
	assert_null(hawk_groups_sorted(groups, HAWK_GROUP_SORT_TOTAL, false, &sorted, &count));
	assert_string_equal(sorted[0].module, "plugin.so");
	/* Equal counts: the larger cum first, then by name. */
	assert_null(hawk_groups_sorted(groups, HAWK_GROUP_SORT_COUNT, true, &sorted, &count));
	assert_string_equal(sorted[0].name, "main");
	assert_string_equal(sorted[1].name, "leaf");
	assert_string_equal(sorted[2].name, "loop");
	hawk_groups_destroy(groups);
}

TEST(thousands_of_groups_keep_their_sums)
{
	enum { COUNT = 5000 };
	static char names[COUNT][16];
	struct hawk_groups *groups = create(HAWK_GROUP_BY_FUNCTION);
	const struct hawk_group *sorted;
	size_t count;

	for (int round = 0; round < 2; round++)
		for (size_t i = 0; i < COUNT; i++) {
			snprintf(names[i], sizeof(names[i]), "f%zu", i);
			add(groups, i, 1, &(struct hawk_group_frame){.function = names[i]});
		}
	assert_null(hawk_groups_sorted(groups, HAWK_GROUP_SORT_SIZE, false, &sorted, &count));
	assert_int_equal(count, COUNT);
	for (size_t i = 0; i < COUNT; i++)
		assert_int_equal(sorted[i].flat.inuse_bytes, 2 * (COUNT - 1 - i));
	hawk_groups_destroy(groups);
}
