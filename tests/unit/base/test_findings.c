/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The list of findings: what is counted, what is listed, and in which order.
 */
#include "test.h"
#include "hawk/base/findings.h"

static void add(struct hawk_findings *findings, bool partial, const char *key, unsigned number)
{
	hawk_findings_add(findings, HAWK_FINDING_MISSING, partial, key, "number %u", number);
}

TEST(equal_keys_are_counted_and_lists_are_kept)
{
	struct hawk_findings findings;

	hawk_findings_init(&findings);
	add(&findings, false, "counted", 1);
	assert_false(hawk_findings_partial(&findings));
	add(&findings, true, "counted", 2);
	for (unsigned i = 0; i < 70; i++)
		add(&findings, false, "listed*", i);
	assert_true(hawk_findings_partial(&findings));
	assert_int_equal(findings.count, 1 + 64);
	assert_string_equal(findings.items[0].text, "number 1");
	assert_int_equal(findings.items[0].count, 2);
	assert_string_equal(findings.items[64].text, "number 63");
	assert_int_equal(findings.items[64].count, 7); /* those that there was no room for */
	hawk_findings_deinit(&findings);
}

TEST(what_is_found_in_no_order_is_put_into_one)
{
	static const unsigned numbers[] = {5, 3, 4};
	struct hawk_findings findings;

	hawk_findings_init(&findings);
	hawk_findings_sort(NULL, 0);
	hawk_findings_sort(&findings, 0);
	add(&findings, false, "z", 1);
	for (size_t i = 0; i < 3; i++)
		add(&findings, false, "listed*", numbers[i]);
	add(&findings, false, "a", 1);
	hawk_findings_sort(&findings, 5);
	assert_string_equal(findings.items[1].text, "number 5");
	hawk_findings_sort(&findings, 1);
	assert_string_equal(findings.items[0].key, "z"); /* that was there before stays */
	assert_string_equal(findings.items[1].key, "a");
	assert_string_equal(findings.items[2].text, "number 3");
	assert_string_equal(findings.items[4].text, "number 5");
	assert_string_equal(findings.items[3].text, "number 4");
	hawk_findings_deinit(&findings);
}

TEST(what_one_question_added_is_dropped_for_the_next)
{
	static const char *const keys[] = {"first", "third", NULL};
	struct hawk_findings findings;
	size_t mark = 2;

	hawk_findings_init(&findings);
	add(&findings, false, "first", 1);
	add(&findings, false, "second", 2);
	add(&findings, true, "third", 3);
	hawk_findings_drop(&findings, keys, &mark);
	assert_int_equal(findings.count, 1);
	assert_string_equal(findings.items[0].key, "second");
	assert_int_equal(mark, 1);
	assert_false(hawk_findings_partial(&findings));
	hawk_findings_deinit(&findings);
}
