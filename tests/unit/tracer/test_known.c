/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The cache of known stacks: it may forget, but it never takes one stack for another.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "table/arena.h"
#include "table/traces.h"

enum { STACKS = 20000 };

/** Two hashes of stack `i`; never 0. */
static uint64_t hash_of(uint64_t i)
{
	return ((i + 1) * UINT64_C(0x9e3779b97f4a7c15)) | 1;
}

static uint64_t check_of(uint64_t i)
{
	return (i + 7) * UINT64_C(0xa0761d6478bd642f);
}

static void what_was_added_is_found(void **state)
{
	(void)state;
	assert_int_equal(hawk_known_find(hash_of(1), check_of(1)), 0);
	hawk_known_add(hash_of(1), check_of(1), 4711);
	assert_int_equal(hawk_known_find(hash_of(1), check_of(1)), 4711);
}

static void one_hash_alone_names_no_stack(void **state)
{
	(void)state;
	hawk_known_add(hash_of(2), check_of(2), 12);
	assert_int_equal(hawk_known_find(hash_of(2), check_of(3)), 0);
	assert_int_equal(hawk_known_find(hash_of(2) + (UINT64_C(1) << 40), check_of(2)), 0);
}

/** A reader may see the first word of one entry and the second of another. */
static void halves_of_two_entries_do_not_fit(void **state)
{
	const uint64_t hash = hash_of(4), other = hash ^ UINT64_C(1) << 50;
	struct hawk_known_entry *set =
		&hawk_known.entries[(hash & hawk_known.set_mask) * HAWK_KNOWN_WAYS];

	(void)state;
	for (unsigned i = 0; i < HAWK_KNOWN_WAYS; i++)
		set[i] = (struct hawk_known_entry){{0, 0}};
	hawk_known_add(hash, check_of(4), 21);
	hawk_known_add(other, check_of(5), 22);
	assert_int_equal(hawk_known_find(other, check_of(5)), 22);
	set[0].words[1] = set[1].words[1];
	assert_int_equal(hawk_known_find(hash, check_of(4)), 0);
	assert_int_equal(hawk_known_find(hash, check_of(5)), 0);
	assert_int_equal(hawk_known_find(other, check_of(5)), 22);
}

static void it_grows_with_the_table_and_forgets_little(void **state)
{
	unsigned found = 0;

	(void)state;
	for (uint32_t i = 10; i < 10 + STACKS; i++) {
		hawk_table_header->trace_count = i;
		hawk_known_add(hash_of(i), check_of(i), i);
	}
	/* Those that were found by fewer bits are asked for again. */
	for (uint32_t i = 10; i < 10 + STACKS; i++)
		if (!hawk_known_find(hash_of(i), check_of(i)))
			hawk_known_add(hash_of(i), check_of(i), i);
	for (uint32_t i = 10; i < 10 + STACKS; i++) {
		uint32_t trace = hawk_known_find(hash_of(i), check_of(i));

		assert_true(!trace || trace == i);
		found += trace != 0;
	}
	assert_true(found > STACKS / 10 * 7);
	assert_true(hawk_known.set_mask + 1 >= STACKS / HAWK_KNOWN_WAYS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_added_is_found),
		cmocka_unit_test(one_hash_alone_names_no_stack),
		cmocka_unit_test(halves_of_two_entries_do_not_fit),
		cmocka_unit_test(it_grows_with_the_table_and_forgets_little),
	};

	if (!hawk_arena_init(0, "") || !hawk_known_init())
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
