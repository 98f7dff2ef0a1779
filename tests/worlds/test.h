/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A unit test: `TEST(name_as_a_sentence) { ... }`. Tests register themselves; worlds/test.c has the
 * main() that runs them. Fixtures are cmocka's: see TEST_WITH().
 */
#ifndef TEST_H
#define TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "hawk/base/error.h"
#include "hawk/base/findings.h"

/** Adds a test to those that main() runs. `set_up` and `tear_down` may be NULL. */
void test_add(const char *name, CMUnitTestFunction run, CMFixtureFunction set_up,
	      CMFixtureFunction tear_down);

/** Adds functions that run once before and after all tests of the program. */
void test_add_group(CMFixtureFunction set_up, CMFixtureFunction tear_down);

/** Fails the test with the message of `err`, unless it is NULL. */
void check(struct hawk_error *err);

/** Fails the test unless `err` is an error of `code` whose message contains `words`. Frees it. */
void check_fails(struct hawk_error *err, enum hawk_error_code code, const char *words);

/** The finding with `key`, or NULL. */
const struct hawk_finding *finding_of(const struct hawk_findings *findings, const char *key);

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

#define TEST(name)                                                                                 \
	static void name(void);                                                                    \
	static void run_##name(void **state)                                                       \
	{                                                                                          \
		(void)state;                                                                       \
		name();                                                                            \
	}                                                                                          \
	__attribute__((constructor)) static void add_##name(void)                                  \
	{                                                                                          \
		test_add(#name, run_##name, NULL, NULL);                                           \
	}                                                                                          \
	static void name(void)

/** A test whose body sees `world`, a declaration such as "struct x *x": what `set_up` stored. */
#define TEST_WITH(world, set_up, tear_down, name)                                                  \
	static void name(world);                                                                   \
	static void run_##name(void **state)                                                       \
	{                                                                                          \
		name(*state);                                                                      \
	}                                                                                          \
	__attribute__((constructor)) static void add_##name(void)                                  \
	{                                                                                          \
		test_add(#name, run_##name, set_up, tear_down);                                    \
	}                                                                                          \
	static void name(world __attribute__((unused)))

#endif
