/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Profiles made by hand: sums, signatures, groups, differences, rows of comparisons.
 */
#include "test.h"

#include <stdio.h>

#include <stdlib.h>
#include <string.h>

#include "hawk/profile/diff.h"
#include "hawk/profile/groups.h"
#include "hawk/profile/sources.h"

static const struct hawk_profile_column columns[] = {
	{"inuse_objects", "count"},
	{"inuse_space", "bytes"},
};

static struct hawk_profile *make_profile(void)
{
	struct hawk_profile *profile;

	assert_null(hawk_profile_create(columns, 2, &profile));
	profile->shown_column = 1;
	return profile;
}

/** A function of the module `path`, of the build `id`. */
static uint32_t call(struct hawk_profile *profile, uint32_t parent, const char *id,
		     const char *function, uint32_t line)
{
	const uint8_t build_id = (uint8_t)id[0];
	const struct hawk_symbol_module module = {
		.path = "/srv/app", .build_id = &build_id, .build_id_bytes = 1, .main = true};
	const struct hawk_profile_frame frame = {
		.function = hawk_profile_string(profile, function),
		.file = hawk_profile_string(profile, "/build/src/app.c"),
		.line = line,
		.module = hawk_profile_module(profile, &module),
	};

	return hawk_profile_frame_step(profile, parent, &frame);
}

static void add(struct hawk_profile *profile, uint32_t step, const char *site, int64_t objects,
		int64_t bytes)
{
	const struct hawk_profile_labels labels = {.site = hawk_profile_string(profile, site)};
	const int64_t values[] = {objects, bytes};

	hawk_profile_add(profile, step, &labels, values);
}

TEST(equal_parts_are_there_once)
{
	struct hawk_profile *profile = make_profile();
	uint32_t outer = call(profile, 0, "a", "main", 1);
	uint32_t leaf = call(profile, outer, "a", "leaf", 2);

	assert_int_equal(call(profile, outer, "a", "leaf", 2), leaf);
	assert_int_not_equal(call(profile, outer, "a", "leaf", 3), leaf);
	assert_int_equal(profile->steps[leaf].parent, outer);
	assert_int_equal(hawk_profile_string(profile, "main"),
			 hawk_profile_string(profile, "main"));
	assert_int_equal(hawk_profile_string(profile, NULL), 0);
	assert_int_equal(profile->module_count, 2);
	add(profile, leaf, "1", 1, 10);
	add(profile, leaf, "1", 2, 20);
	add(profile, leaf, "2", 4, 40);
	assert_int_equal(profile->sample_count, 2);
	assert_int_equal(hawk_profile_total(profile, 0), 7);
	assert_int_equal(hawk_profile_total(profile, 1), 70);
	assert_null(hawk_profile_finish(profile));
	hawk_profile_destroy(profile);
}

TEST(many_parts_are_found_again)
{
	struct hawk_profile *profile = make_profile();
	enum { COUNT = 5000 };
	static uint32_t steps[COUNT];
	char name[32];

	for (unsigned i = 0; i < COUNT; i++) {
		snprintf(name, sizeof(name), "function_%u", i);
		steps[i] = call(profile, i ? steps[i / 2] : 0, "a", name, i);
	}
	for (unsigned i = 0; i < COUNT; i++) {
		snprintf(name, sizeof(name), "function_%u", i);
		assert_int_equal(call(profile, i ? steps[i / 2] : 0, "a", name, i), steps[i]);
	}
	hawk_profile_destroy(profile);
}

TEST(sums_go_up_the_stack_and_end_at_the_largest_number)
{
	struct hawk_profile *profile = make_profile();
	uint32_t outer = call(profile, 0, "a", "main", 1);
	uint32_t leaf = call(profile, outer, "a", "leaf", 2);
	int64_t *flat, *cum;

	add(profile, outer, "1", 1, 5);
	add(profile, leaf, "2", 1, INT64_MAX);
	assert_null(hawk_profile_sums(profile, 1, &flat, &cum));
	assert_int_equal(flat[outer], 5);
	assert_true(cum[outer] == INT64_MAX && cum[0] == INT64_MAX && flat[0] == 0);
	assert_true(hawk_profile_total(profile, 1) == INT64_MAX);
	assert_true(hawk_profile_value(UINT64_MAX) == INT64_MAX);
	free(flat);
	free(cum);
	hawk_profile_destroy(profile);
}

static uint64_t signature_of(const char *function, const char *file, uint32_t line, bool files)
{
	struct hawk_profile *profile = make_profile();
	const struct hawk_profile_frame frame = {
		.function = hawk_profile_string(profile, function),
		.file = hawk_profile_string(profile, file),
		.line = line,
	};
	uint32_t step = hawk_profile_frame_step(profile, 0, &frame);
	uint64_t *signatures, ret;

	assert_null(hawk_profile_signatures(profile, files, &signatures));
	ret = signatures[step];
	free(signatures);
	hawk_profile_destroy(profile);
	return ret;
}

TEST(signatures_survive_a_rebuild)
{
	uint64_t signature = signature_of("grow", "/build/1.0/src/list.c", 10, true);

	assert_true(signature == signature_of("grow", "/build/1.1/src/list.c", 12, true));
	assert_true(signature == signature_of("grow.constprop.0", "/b/src/list.c", 1, true));
	assert_true(signature == signature_of("grow [clone .part.0]", "/b/src/list.c", 1, true));
	assert_true(signature != signature_of("grow", "/build/1.0/lib/list.c", 10, true));
	assert_true(signature != signature_of("shrink", "/build/1.0/src/list.c", 10, true));
	assert_true(signature_of("grow", "/a/list.c", 1, false) ==
		    signature_of("grow", "/b/other.c", 2, false));
	/* Nothing but the standard library: no signature. */
	assert_true(signature_of("std::vector<int>::push_back(int)", "/usr/v.h", 1, true) == 0);
}

static struct hawk_profile_groups groups_of(const struct hawk_profile *profile,
					    enum hawk_profile_by by, uint32_t column, bool by_cum)
{
	struct hawk_profile_groups groups;

	assert_null(hawk_profile_groups_make(profile, by, column, by_cum, &groups));
	return groups;
}

static const char *group_name(const struct hawk_profile *profile,
			      const struct hawk_profile_groups *groups, size_t number)
{
	return hawk_profile_text(profile, groups->items[number].name);
}

TEST(groups_count_recursion_once)
{
	struct hawk_profile *profile = make_profile();
	uint32_t outer = call(profile, 0, "a", "main", 1);
	uint32_t walk = call(profile, call(profile, outer, "a", "walk", 2), "a", "walk", 3);
	struct hawk_profile_groups groups;

	add(profile, call(profile, walk, "a", "leaf", 4), "1", 1, 100);
	add(profile, walk, "2", 1, 10);
	groups = groups_of(profile, HAWK_PROFILE_BY_FUNCTION, 1, false);
	assert_int_equal(groups.count, 3);
	assert_string_equal(group_name(profile, &groups, 0), "leaf");
	assert_string_equal(group_name(profile, &groups, 1), "walk");
	assert_int_equal(groups.items[1].flat[1], 10);
	assert_int_equal(groups.items[1].cum[1], 110);
	assert_int_equal(groups.items[1].cum[0], 2);
	assert_int_equal(groups.items[1].flat_samples, 1);
	assert_int_equal(groups.items[1].cum_samples, 2);
	assert_int_equal(groups.items[2].cum[1], 110);
	hawk_profile_groups_deinit(&groups);
	groups = groups_of(profile, HAWK_PROFILE_BY_MODULE, 1, false);
	assert_int_equal(groups.count, 1);
	assert_string_equal(group_name(profile, &groups, 0), "/srv/app");
	assert_int_equal(groups.items[0].flat[1], 110);
	assert_int_equal(groups.items[0].cum[1], 110);
	hawk_profile_groups_deinit(&groups);
	hawk_profile_destroy(profile);
}

/** `function` (NULL = code without a name) of the module `path`. */
static uint32_t call_of(struct hawk_profile *profile, uint32_t parent, const char *path,
			const char *function)
{
	const struct hawk_symbol_module module = {.path = path};
	const struct hawk_profile_frame frame = {
		.function = hawk_profile_string(profile, function),
		.module = hawk_profile_module(profile, &module),
	};

	return hawk_profile_frame_step(profile, parent, &frame);
}

TEST(equal_names_in_two_modules_are_two_functions)
{
	struct hawk_profile *profile = make_profile();
	struct hawk_profile_groups groups;

	add(profile, call_of(profile, 0, "/srv/app", "leaf"), "1", 1, 3);
	add(profile, call_of(profile, 0, "/srv/plugin.so", "leaf"), "2", 1, 4);
	groups = groups_of(profile, HAWK_PROFILE_BY_FUNCTION, 1, false);
	assert_int_equal(groups.count, 2);
	assert_string_equal(hawk_profile_text(profile, groups.items[0].module), "/srv/plugin.so");
	hawk_profile_groups_deinit(&groups);
	/* Two builds may lie in two folders. */
	profile->difference = true;
	groups = groups_of(profile, HAWK_PROFILE_BY_FUNCTION, 1, false);
	assert_int_equal(groups.count, 1);
	assert_int_equal(groups.items[0].flat[1], 7);
	hawk_profile_groups_deinit(&groups);
	hawk_profile_destroy(profile);
}

TEST(code_without_a_file_is_grouped_by_its_module)
{
	struct hawk_profile *profile = make_profile();
	uint32_t outer = call(profile, 0, "a", "main", 1);
	struct hawk_profile_groups groups;

	add(profile, call_of(profile, outer, "/srv/plugin.so", NULL), "1", 1, 9);
	groups = groups_of(profile, HAWK_PROFILE_BY_FILE, 1, false);
	assert_int_equal(groups.count, 2);
	assert_int_equal(groups.items[0].name, 0);
	assert_string_equal(hawk_profile_text(profile, groups.items[0].module), "/srv/plugin.so");
	assert_string_equal(group_name(profile, &groups, 1), "/build/src/app.c");
	assert_int_equal(groups.items[1].flat[1], 0);
	assert_int_equal(groups.items[1].cum[1], 9);
	hawk_profile_groups_deinit(&groups);
	hawk_profile_destroy(profile);
}

TEST(notes_are_groups_only_where_they_stand_for_a_whole_stack)
{
	struct hawk_profile *profile = make_profile();
	uint32_t outer = call(profile, 0, "a", "main", 1);
	uint32_t scope = hawk_profile_note(profile, outer, HAWK_PROFILE_SCOPE, "request");
	uint32_t cut = hawk_profile_note(profile, scope, HAWK_PROFILE_NOTE, "(9 frames left out)");
	struct hawk_profile_groups groups;

	add(profile, call(profile, cut, "a", "leaf", 4), "1", 1, 100);
	add(profile, hawk_profile_note(profile, 0, HAWK_PROFILE_NOTE, "(no stack)"), "2", 1, 10);
	add(profile, scope, "3", 1, 1);
	groups = groups_of(profile, HAWK_PROFILE_BY_MODULE, 1, false);
	assert_int_equal(groups.count, 2);
	assert_int_equal(groups.items[0].flat[1], 101);
	assert_string_equal(group_name(profile, &groups, 1), "(no stack)");
	hawk_profile_groups_deinit(&groups);
	hawk_profile_destroy(profile);
}

TEST(each_order_of_groups_puts_its_largest_first)
{
	struct hawk_profile *profile = make_profile();
	uint32_t outer = call(profile, 0, "a", "main", 1);
	struct hawk_profile_groups groups;

	add(profile, call(profile, outer, "a", "leaf", 2), "1", 1, 10);
	add(profile, call(profile, outer, "a", "loop", 3), "2", 1, -20);
	add(profile, call(profile, 0, "a", "start", 4), "3", 1, 1);
	groups = groups_of(profile, HAWK_PROFILE_BY_FUNCTION, 1, false);
	assert_string_equal(group_name(profile, &groups, 0), "loop");
	hawk_profile_groups_deinit(&groups);
	groups = groups_of(profile, HAWK_PROFILE_BY_FUNCTION, 1, true);
	assert_string_equal(group_name(profile, &groups, 0), "loop");
	assert_string_equal(group_name(profile, &groups, 1), "leaf"); /* before main: flat */
	hawk_profile_groups_deinit(&groups);
	/* Equal counts: the larger cum first, then by name. */
	groups = groups_of(profile, HAWK_PROFILE_BY_FUNCTION, 0, true);
	assert_string_equal(group_name(profile, &groups, 0), "main");
	assert_string_equal(group_name(profile, &groups, 1), "leaf");
	assert_string_equal(group_name(profile, &groups, 2), "loop");
	assert_string_equal(group_name(profile, &groups, 3), "start");
	hawk_profile_groups_deinit(&groups);
	/* A column that is not there orders by name. */
	groups = groups_of(profile, HAWK_PROFILE_BY_FUNCTION, UINT32_MAX, false);
	assert_string_equal(group_name(profile, &groups, 0), "leaf");
	hawk_profile_groups_deinit(&groups);
	hawk_profile_destroy(profile);
}

TEST(thousands_of_groups_keep_their_sums)
{
	enum { COUNT = 5000 };
	struct hawk_profile *profile = make_profile();
	struct hawk_profile_groups groups;

	for (int round = 0; round < 2; round++)
		for (int i = 0; i < COUNT; i++) {
			char name[16];

			snprintf(name, sizeof(name), "f%d", i);
			add(profile, call(profile, 0, "a", name, (uint32_t)round), name, 1, i);
		}
	groups = groups_of(profile, HAWK_PROFILE_BY_FUNCTION, 1, false);
	assert_int_equal(groups.count, COUNT);
	for (int i = 0; i < COUNT; i++)
		assert_int_equal(groups.items[i].flat[1], 2 * (COUNT - 1 - i));
	hawk_profile_groups_deinit(&groups);
	hawk_profile_destroy(profile);
}

/** main calls first() at `line` and second() one line below; each keeps so many bytes. */
static struct hawk_profile *make_run(const char *build, uint32_t line, int64_t first,
				     int64_t second)
{
	struct hawk_profile *profile = make_profile();
	uint32_t one = call(profile, 0, build, "main", line);
	uint32_t two = call(profile, 0, build, "main", line + 1);
	char site[32];

	snprintf(site, sizeof(site), "%s-first", build);
	add(profile, call(profile, one, build, "first", line + 7), site, 1, first);
	snprintf(site, sizeof(site), "%s-second", build);
	add(profile, call(profile, two, build, "second", line + 9), site, 1, second);
	return profile;
}

static int64_t flat_of(const struct hawk_profile *profile, const char *function)
{
	struct hawk_profile_groups groups;
	int64_t ret = 0;

	assert_null(hawk_profile_groups_make(profile, HAWK_PROFILE_BY_FUNCTION, 1, false, &groups));
	for (size_t i = 0; i < groups.count; i++)
		if (!strcmp(hawk_profile_text(profile, groups.items[i].name), function))
			ret = groups.items[i].flat[1];
	hawk_profile_groups_deinit(&groups);
	return ret;
}

static void check_difference(const char *build, uint32_t line, unsigned steps)
{
	struct hawk_profile *before = make_run("a", 1, 100, 50), *difference;
	struct hawk_profile *after = make_run(build, line, 400, 20);

	assert_null(hawk_profile_difference(after, before, &difference));
	assert_true(difference->difference);
	assert_int_equal(hawk_profile_total(difference, 1), 270);
	assert_int_equal(flat_of(difference, "first"), 300);
	assert_int_equal(flat_of(difference, "second"), -30);
	assert_int_equal(difference->step_count, steps + 1);
	hawk_profile_destroy(difference);
	hawk_profile_destroy(after);
	hawk_profile_destroy(before);
}

TEST(a_difference_keeps_the_lines_of_one_build)
{
	check_difference("a", 1, 4); /* two lines of main */
}

/* Line 2 is that of first()'s call in the later build, of second()'s in the earlier one. */
TEST(a_difference_joins_two_builds_by_functions)
{
	check_difference("b", 2, 3);
}

TEST(rows_are_joined_by_site_then_by_signature)
{
	struct hawk_profile *before = make_run("a", 1, 100, 50), *after = make_run("a", 1, 400, 50);
	struct hawk_profile *rebuilt = make_run("b", 5, 100, 0);
	struct hawk_diff diff;

	assert_null(hawk_diff_make(before, after, &diff));
	assert_int_equal(diff.count, 2);
	assert_int_equal(diff.kinds[HAWK_DIFF_SITE], 2);
	assert_int_equal(diff.rows[0].bytes, 300);
	assert_true(diff.rows[0].significant && !diff.rows[1].bytes);
	assert_int_equal(diff.whole.bytes, 300);
	hawk_diff_deinit(&diff);
	assert_null(hawk_diff_make(before, rebuilt, &diff));
	assert_int_equal(diff.kinds[HAWK_DIFF_SIGNATURE], 2);
	assert_int_equal(diff.rows[0].bytes, -50);
	assert_int_equal(diff.whole.bytes, -50);
	hawk_diff_deinit(&diff);
	hawk_profile_destroy(before);
	hawk_profile_destroy(after);
	hawk_profile_destroy(rebuilt);
}

TEST(sites_of_one_side_are_new_or_gone)
{
	struct hawk_profile *before = make_profile(), *after = make_profile();
	struct hawk_diff diff;

	add(before, call(before, 0, "a", "old", 1), "1", 3, 30);
	add(after, call(after, 0, "a", "young", 1), "2", 1, 10);
	add(after, call(after, 0, "a", "freed", 1), "3", 0, 0); /* all of it */
	assert_null(hawk_diff_make(before, after, &diff));
	assert_int_equal(diff.count, 2);
	assert_int_equal(diff.rows[0].match, HAWK_DIFF_GONE);
	assert_int_equal(diff.rows[0].bytes, -30);
	assert_int_equal(diff.rows[1].match, HAWK_DIFF_NEW);
	assert_int_equal(diff.whole.objects, -2);
	hawk_diff_deinit(&diff);
	hawk_profile_destroy(before);
	hawk_profile_destroy(after);
}
