/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The list of a program's tests, and its main().
 */
#include "test.h"

#include <errno.h>

enum { TESTS_MAX = 128 };

static struct CMUnitTest tests[TESTS_MAX];
static size_t test_count;
static CMFixtureFunction group_set_up, group_tear_down;

void test_add(const char *name, CMUnitTestFunction run, CMFixtureFunction set_up,
	      CMFixtureFunction tear_down)
{
	if (test_count == TESTS_MAX)
		abort();
	tests[test_count++] = (struct CMUnitTest){
		.name = name,
		.test_func = run,
		.setup_func = set_up,
		.teardown_func = tear_down,
	};
}

void test_add_group(CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
	group_set_up = set_up;
	group_tear_down = tear_down;
}

void check(struct hawk_error *err)
{
	if (err)
		fail_msg("%s", hawk_error_message(err));
}

void check_fails(struct hawk_error *err, enum hawk_error_code code, const char *words)
{
	assert_non_null(err);
	if (!strstr(hawk_error_message(err), words))
		fail_msg("\"%s\" does not say \"%s\"", hawk_error_message(err), words);
	assert_int_equal(hawk_error_code(err), code);
	hawk_error_destroy(err);
}

const struct hawk_finding *finding_of(const struct hawk_findings *findings, const char *key)
{
	for (size_t i = 0; i < findings->count; i++)
		if (!strcmp(findings->items[i].key, key))
			return &findings->items[i];
	return NULL;
}

int main(void)
{
	return _cmocka_run_group_tests(program_invocation_short_name, tests, test_count,
				       group_set_up, group_tear_down);
}
