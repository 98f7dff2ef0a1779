/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Flat and cumulative sums by function, file and module.
 */
#include <stdio.h>

#include "test.h"
#include "hawk/analysis/groups.h"

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

static struct hawk_groups *groups;

static void add(uint64_t size, size_t count, const struct hawk_group_frame *frames)
{
	struct hawk_group_counts counts = bytes(size);

	assert_null(hawk_groups_add(groups, frames, count, &counts));
}

static int close_groups(void **state)
{
	(void)state;
	hawk_groups_destroy(groups);
	groups = NULL;
	return 0;
}

static void create(enum hawk_group_by by)
{
	close_groups(NULL);
	check(hawk_groups_create(by, &groups));
}

#define GROUPS_TEST(name) TEST_WITH(void *nothing, NULL, close_groups, name)

static const struct hawk_group *find(const char *name)
{
	const struct hawk_group *sorted;
	size_t count;

	assert_null(hawk_groups_sorted(groups, HAWK_SITE_SORT_SIZE, false, &sorted, &count));
	for (size_t i = 0; i < count; i++)
		if (name ? sorted[i].name && !strcmp(sorted[i].name, name) : !sorted[i].name)
			return &sorted[i];
	fail_msg("no group %s", name ? name : "(nameless)");
	return NULL;
}

GROUPS_TEST(flat_skips_allocator_plumbing)
{
	create(HAWK_GROUP_BY_FUNCTION);
	add(100, 3, (struct hawk_group_frame[]){NEW, LEAF, MAIN});
	assert_int_equal(find("operator new")->flat.inuse_bytes, 0);
	assert_int_equal(find("operator new")->cum.inuse_bytes, 100);
	assert_false(find("operator new")->own);
	assert_true(find("leaf")->own);
	assert_int_equal(find("leaf")->flat.inuse_bytes, 100);
	assert_int_equal(find("main")->flat.inuse_bytes, 0);
	assert_int_equal(find("main")->cum.inuse_bytes, 100);
}

GROUPS_TEST(nothing_but_plumbing_is_attributed_to_the_innermost_frame)
{
	create(HAWK_GROUP_BY_FUNCTION);
	add(100, 1, &NEW);
	assert_int_equal(find("operator new")->flat.inuse_bytes, 100);
}

GROUPS_TEST(recursion_counts_once_in_cum)
{
	create(HAWK_GROUP_BY_FUNCTION);
	add(7, 5, (struct hawk_group_frame[]){LOOP, LOOP, LEAF, LOOP, MAIN});
	add(5, 2, (struct hawk_group_frame[]){LEAF, MAIN});
	assert_int_equal(find("loop")->cum.inuse_bytes, 7);
	assert_int_equal(find("loop")->cum.sites, 1);
	assert_int_equal(find("loop")->flat.inuse_bytes, 7);
	assert_int_equal(find("leaf")->cum.inuse_bytes, 12);
	assert_int_equal(find("leaf")->cum.alloc_objects, 20);
	assert_int_equal(find("main")->cum.inuse_bytes, 12);
	assert_int_equal(find("main")->cum.sites, 2);
}

GROUPS_TEST(modules_and_files_are_groups_too)
{
	const struct hawk_group_frame stack[] = {PLUGIN, LEAF, MAIN};

	create(HAWK_GROUP_BY_MODULE);
	add(9, 3, stack);
	assert_int_equal(find("plugin.so")->flat.inuse_bytes, 9);
	assert_int_equal(find("app")->flat.inuse_bytes, 0);
	assert_int_equal(find("app")->cum.inuse_bytes, 9);
	create(HAWK_GROUP_BY_FILE);
	add(9, 3, stack);
	assert_string_equal(find(NULL)->module, "plugin.so");
	assert_int_equal(find(NULL)->flat.inuse_bytes, 9);
	assert_int_equal(find("main.c")->cum.inuse_bytes, 9);
}

GROUPS_TEST(blocks_without_a_stack_are_a_nameless_group)
{
	create(HAWK_GROUP_BY_FUNCTION);
	add(3, 0, NULL);
	assert_null(find(NULL)->module);
	assert_int_equal(find(NULL)->flat.inuse_bytes, 3);
}

GROUPS_TEST(equal_names_in_two_modules_are_two_functions)
{
	const struct hawk_group_frame other = {"leaf", "leaf.c", "plugin.so", false};
	const struct hawk_group *sorted;
	size_t count;

	create(HAWK_GROUP_BY_FUNCTION);
	add(3, 1, &LEAF);
	add(4, 1, &other);
	assert_null(hawk_groups_sorted(groups, HAWK_SITE_SORT_SIZE, false, &sorted, &count));
	assert_int_equal(count, 2);
	assert_string_equal(sorted[0].module, "plugin.so");
}

GROUPS_TEST(each_order_puts_its_largest_first)
{
	const struct hawk_group *sorted;
	size_t count;

	create(HAWK_GROUP_BY_FUNCTION);
	add(10, 2, (struct hawk_group_frame[]){LEAF, MAIN});
	add(20, 2, (struct hawk_group_frame[]){LOOP, MAIN});
	add(1, 1, &PLUGIN);
	assert_null(hawk_groups_sorted(groups, HAWK_SITE_SORT_SIZE, false, &sorted, &count));
	assert_int_equal(count, 4);
	assert_string_equal(sorted[0].name, "loop");
	assert_null(hawk_groups_sorted(groups, HAWK_SITE_SORT_SIZE, true, &sorted, &count));
	assert_string_equal(sorted[0].name, "main");
	assert_null(hawk_groups_sorted(groups, HAWK_SITE_SORT_TOTAL, false, &sorted, &count));
	assert_string_equal(sorted[0].module, "plugin.so");
	/* Equal counts: the larger cum first, then by name. */
	assert_null(hawk_groups_sorted(groups, HAWK_SITE_SORT_COUNT, true, &sorted, &count));
	assert_string_equal(sorted[0].name, "main");
	assert_string_equal(sorted[1].name, "leaf");
	assert_string_equal(sorted[2].name, "loop");
}

GROUPS_TEST(thousands_of_groups_keep_their_sums)
{
	enum { COUNT = 5000 };
	static char names[COUNT][16];
	const struct hawk_group *sorted;
	size_t count;

	create(HAWK_GROUP_BY_FUNCTION);
	for (int round = 0; round < 2; round++)
		for (size_t i = 0; i < COUNT; i++) {
			snprintf(names[i], sizeof(names[i]), "f%zu", i);
			add(i, 1, &(struct hawk_group_frame){.function = names[i]});
		}
	assert_null(hawk_groups_sorted(groups, HAWK_SITE_SORT_SIZE, false, &sorted, &count));
	assert_int_equal(count, COUNT);
	for (size_t i = 0; i < COUNT; i++)
		assert_int_equal(sorted[i].flat.inuse_bytes, 2 * (COUNT - 1 - i));
}
