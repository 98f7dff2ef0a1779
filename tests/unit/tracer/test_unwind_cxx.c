/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Stacks of C++ code, compared frame by frame with libunwind: templates, inlining, destructors and
 * handlers while an exception is in flight. The code itself is in test_unwind_cxx_frames.cpp.
 */
#include "unwind_oracle.h"

#if HAWK_HAVE_LIBUNWIND

#include "test_unwind_cxx.h"

void check_from_cxx(void)
{
	check_here();
}

static void templates_and_inlined_frames_are_exact(void **state)
{
	uint64_t before = checks_done;

	(void)state;
	assert_int_equal(cxx_templates(), 55);
	assert_true(checks_done >= before + 10);
}

static void algorithms_and_closures_are_exact(void **state)
{
	uint64_t before = checks_done;

	(void)state;
	assert_int_equal(cxx_algorithms(), 1);
	assert_true(checks_done > before + 20);
}

static void virtual_calls_through_thunks_are_exact(void **state)
{
	(void)state;
	assert_int_equal(cxx_virtual_calls(), 3);
}

static void exceptions_in_flight_are_exact(void **state)
{
	uint64_t before = checks_done;

	(void)state;
	for (int depth = 0; depth < 12; depth++)
		assert_int_equal(cxx_exceptions(depth), depth);
	assert_true(checks_done > before + 100);
}

static void frames_of_the_exception_machinery_are_exact(void **state)
{
	(void)state;
	assert_true(cxx_backtrace() > 3);
}

static void static_initialisation_on_demand_is_exact(void **state)
{
	(void)state;
	assert_int_equal(cxx_static_initialisation(), 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(templates_and_inlined_frames_are_exact),
		cmocka_unit_test(algorithms_and_closures_are_exact),
		cmocka_unit_test(virtual_calls_through_thunks_are_exact),
		cmocka_unit_test(exceptions_in_flight_are_exact),
		cmocka_unit_test(frames_of_the_exception_machinery_are_exact),
		cmocka_unit_test(static_initialisation_on_demand_is_exact),
	};

	return cmocka_run_group_tests(tests, set_up_unwinder, NULL);
}

#else

void check_from_cxx(void);
void check_from_cxx(void)
{
}

int main(void)
{
	fputs("skipped: built without libunwind, the oracle\n", stderr);
	return 77;
}

#endif
