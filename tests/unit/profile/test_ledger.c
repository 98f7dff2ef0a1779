/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Ledgers of profiles made by hand, against sums that are computed plainly.
 */
#include "test.h"

#include <math.h>
#include <stdio.h>

#include "hawk/profile/ledger.h"

static const struct hawk_profile_column columns[] = {
	{"inuse_objects", "count"},
	{"inuse_space", "bytes"},
};
static const uint64_t HOUR_NS = UINT64_C(3600) * 1000000000;

static uint32_t call(struct hawk_profile *profile, uint32_t parent, const char *function,
		     uint32_t line)
{
	const struct hawk_profile_frame frame = {
		.function = hawk_profile_string(profile, function),
		.file = hawk_profile_string(profile, "/src/shop.c"),
		.line = line,
	};

	return hawk_profile_frame_step(profile, parent, &frame);
}

/** A site of `function` with `bytes`; returns its step. */
static uint32_t keep(struct hawk_profile *profile, const char *function, uint32_t line,
		     const char *site, int64_t bytes)
{
	const struct hawk_profile_labels labels = {.site = hawk_profile_string(profile, site)};
	const int64_t values[] = {1, bytes};
	uint32_t step = call(profile, call(profile, 0, "main", line), function, line + 1);

	hawk_profile_add(profile, step, &labels, values);
	return step;
}

static struct hawk_profile *make_profile(void)
{
	struct hawk_profile *profile;

	assert_null(hawk_profile_create(columns, 2, &profile));
	profile->shown_column = 1;
	return profile;
}

static struct hawk_ledger *ledger;

static int close_ledger(void **state)
{
	(void)state;
	hawk_ledger_destroy(ledger);
	ledger = NULL;
	return 0;
}

#define LEDGER_TEST(name) TEST_WITH(void *nothing, NULL, close_ledger, name)

static void create(void)
{
	close_ledger(NULL);
	check(hawk_ledger_create(&ledger));
}

/** Adds snapshot `id`, in which make_cell() has `bytes` in a line of its own. */
static void add_cells(uint64_t id, uint64_t end_ns, uint64_t life_ns, const char *build,
		      const char *site, int64_t bytes)
{
	struct hawk_profile *profile = make_profile();
	const struct hawk_ledger_input input = {
		.profile = profile,
		.snapshot = id,
		.source = site,
		.build_id = build,
		.end_ns = end_ns,
		.life_ns = life_ns,
	};

	keep(profile, "make_cell", (uint32_t)id, site, bytes);
	check(hawk_ledger_add(ledger, &input));
	hawk_profile_destroy(profile);
}

static const struct hawk_ledger_row *only_row(void)
{
	check(hawk_ledger_finish(ledger, HAWK_LEDGER_MEDIAN));
	assert_int_equal(ledger->row_count, 1);
	return &ledger->rows[0];
}

LEDGER_TEST(nothing_at_all_is_a_ledger)
{
	create();
	check(hawk_ledger_finish(ledger, HAWK_LEDGER_SLOPE));
	assert_int_equal(ledger->row_count, 0);
	assert_int_equal(ledger->bug_count, 0);
}

LEDGER_TEST(the_median_of_an_even_count_is_the_upper_one)
{
	const struct hawk_ledger_row *row;

	create();
	add_cells(1, 0, 0, "a", "s", 10);
	add_cells(2, 0, 0, "a", "s", 40);
	assert_int_equal(only_row()->median, 40);
	create();
	add_cells(1, 0, 0, "a", "s", 30);
	add_cells(2, 0, 0, "a", "s", 10);
	add_cells(3, 0, 0, "a", "s", 20);
	row = only_row();
	assert_int_equal(row->median, 20);
	assert_int_equal(row->maximum, 30);
}

LEDGER_TEST(a_snapshot_given_twice_counts_once)
{
	create();
	add_cells(7, 0, 0, "a", "s", 10);
	add_cells(7, 0, 0, "a", "s", 10);
	assert_int_equal(only_row()->count, 1);
	assert_int_equal(ledger->snapshot_count, 1);
	assert_int_equal(ledger->repeated, 1);
}

LEDGER_TEST(first_and_latest_go_by_time_and_not_by_order)
{
	const struct hawk_ledger_row *row;

	create();
	add_cells(1, 300, 0, "new", "newest", 10);
	add_cells(2, 100, 0, "old", "oldest", 20);
	add_cells(3, 200, 0, "mid", "middle", 30);
	row = only_row();
	assert_string_equal(row->site, "newest");
	assert_string_equal(ledger->snapshots[row->latest].build_id, "new");
	assert_string_equal(ledger->snapshots[row->first].build_id, "old");
}

LEDGER_TEST(without_times_the_last_one_given_is_the_latest)
{
	const struct hawk_ledger_row *row;

	create();
	add_cells(1, 0, 0, "old", "one", 10);
	add_cells(2, 0, 0, "new", "two", 20);
	row = only_row();
	assert_string_equal(row->site, "two");
	assert_string_equal(ledger->snapshots[row->first].build_id, "old");
}

LEDGER_TEST(a_slope_needs_three_different_uptimes)
{
	const struct hawk_ledger_row *row;

	create();
	add_cells(1, 0, HOUR_NS, "a", "s", 10);
	add_cells(2, 0, 2 * HOUR_NS, "a", "s", 20);
	add_cells(3, 0, 0, "a", "s", 1000); /* not known: is not in it */
	assert_false(only_row()->has_slope);
	create();
	for (uint64_t i = 1; i < 5; i++)
		add_cells(i, 0, HOUR_NS, "a", "s", (int64_t)i);
	assert_false(only_row()->has_slope);
	create();
	for (uint64_t i = 1; i < 5; i++)
		add_cells(i, 0, i * HOUR_NS, "a", "s", 1000 - 30 * (int64_t)i);
	add_cells(9, 0, 0, "a", "s", 1000000);
	row = only_row();
	assert_true(row->has_slope);
	assert_true(fabs(row->slope + 30) < 1e-6);
}

LEDGER_TEST(many_rows_agree_with_plain_sums)
{
	enum { SITES = 40, SNAPSHOTS = 50 };
	static int64_t bytes[SITES][SNAPSHOTS];
	uint32_t counts[SITES] = {0};

	create();
	for (unsigned i = 0; i < SNAPSHOTS; i++) {
		struct hawk_profile *profile = make_profile();
		const struct hawk_ledger_input input = {
			.profile = profile, .snapshot = i, .source = "s", .build_id = ""};

		for (unsigned j = 0; j < SITES; j++) {
			int64_t size = (int64_t)((i * 7919 + j * 104729) % 1009);
			char name[16];

			if ((i + j) % 3 == 0 || !size)
				continue;
			snprintf(name, sizeof(name), "f%u", j);
			/* Two sites, one signature: lines differ. */
			keep(profile, name, i, "a", size);
			keep(profile, name, 1000 + i, "b", 1);
			bytes[j][counts[j]++] = size + 1;
		}
		check(hawk_ledger_add(ledger, &input));
		hawk_profile_destroy(profile);
	}
	check(hawk_ledger_finish(ledger, HAWK_LEDGER_MEDIAN));
	assert_int_equal(ledger->row_count, SITES);
	for (size_t i = 0; i < SITES; i++) {
		const struct hawk_ledger_row *row = &ledger->rows[i];
		const struct hawk_profile *stacks = ledger->stacks;
		const struct hawk_profile_frame *frame =
			hawk_profile_location_frame(stacks, stacks->steps[row->step].location, 0);
		unsigned site = (unsigned)atoi(hawk_profile_text(stacks, frame->function) + 1);
		uint32_t below = 0, equal = 0;
		int64_t maximum = 0;

		for (uint32_t j = 0; j < counts[site]; j++) {
			below += bytes[site][j] < row->median;
			equal += bytes[site][j] == row->median;
			maximum = bytes[site][j] > maximum ? bytes[site][j] : maximum;
		}
		assert_int_equal(row->count, counts[site]);
		assert_int_equal(row->maximum, maximum);
		assert_true(below <= counts[site] / 2 && counts[site] / 2 < below + equal);
		assert_true(!i || ledger->rows[i - 1].median >= row->median);
	}
}

static void add_suspect(uint64_t id, uint64_t end_ns, const char *function, const char *holder)
{
	struct hawk_profile *profile = make_profile();
	struct hawk_ledger_input input = {
		.profile = profile,
		.snapshot = id,
		.source = "core",
		.build_id = "",
		.end_ns = end_ns,
		.holder = holder,
	};

	input.suspect = keep(profile, function, (uint32_t)id, "s", 10);
	check(hawk_ledger_add(ledger, &input));
	hawk_profile_destroy(profile);
}

LEDGER_TEST(suspects_with_one_stack_and_one_holder_are_one_bug)
{
	create();
	add_suspect(1, 100, "make_cell", "`cells`");
	add_suspect(2, 300, "make_name", "`cells`");
	add_suspect(3, 200, "make_cell", "`cells`");
	add_suspect(4, 400, "make_cell", "`others`");
	add_suspect(5, 50, "make_cell", "`cells`");
	add_cells(6, 0, 0, "", "s", 10); /* none */
	check(hawk_ledger_finish(ledger, HAWK_LEDGER_COUNT));
	assert_int_equal(ledger->bug_count, 3);
	assert_int_equal(ledger->bugs[0].count, 3);
	assert_string_equal(ledger->bugs[0].holder, "`cells`");
	assert_int_equal(ledger->snapshots[ledger->bugs[0].example].id, 3);
	assert_int_equal(ledger->snapshots[ledger->bugs[0].first].id, 5);
	assert_int_not_equal(ledger->bugs[0].step, 0);
	assert_int_equal(ledger->snapshots[ledger->bugs[1].example].id, 4);
	assert_int_equal(ledger->rows[0].count, 5);
}

LEDGER_TEST(each_order_puts_its_largest_first)
{
	struct hawk_profile *profile;

	create();
	for (uint64_t i = 1; i < 4; i++) {
		const struct hawk_ledger_input input = {
			.profile = profile = make_profile(),
			.snapshot = i,
			.source = "s",
			.build_id = "",
			.life_ns = i * HOUR_NS,
		};

		keep(profile, "steady", 1, "a", 100);
		keep(profile, "grows", 1, "b", (int64_t)i);
		if (i == 1)
			keep(profile, "once", 1, "c", 1000);
		check(hawk_ledger_add(ledger, &input));
		hawk_profile_destroy(profile);
	}
	check(hawk_ledger_finish(ledger, HAWK_LEDGER_SLOPE));
	assert_int_equal(ledger->rows[0].maximum, 3);
	assert_int_equal(ledger->rows[1].maximum, 100);
	assert_false(ledger->rows[2].has_slope);
}
