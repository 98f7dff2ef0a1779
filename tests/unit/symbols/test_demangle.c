/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Mangled names, and names made to hurt.
 */
#include <stdio.h>

#include "test.h"
#include "symbols/demangle.h"

static void expect(const char *mangled, const char *readable)
{
	struct hawk_text text;

	hawk_text_init(&text);
	assert_true(hawk_demangle(mangled, &text));
	assert_string_equal(text.bytes, readable);
	assert_int_equal(text.size, strlen(readable));
	hawk_text_deinit(&text);
}

static void expect_refusal(const char *mangled)
{
	struct hawk_text text;

	hawk_text_init(&text);
	hawk_text_puts(&text, "left over");
	assert_false(hawk_demangle(mangled, &text));
	assert_int_equal(text.size, 0);
	assert_false(text.failed);
	hawk_text_deinit(&text);
}

TEST(cxx_and_both_kinds_of_rust_names_become_readable)
{
	expect("_ZN4deep3BoxIiE3getEi", "deep::Box<int>::get(int)");
	expect("_ZNK3foo3barEPKc", "foo::bar(char const*) const");
	expect("_Znwm", "operator new(unsigned long)");
	expect("_ZN4core3ptr13drop_in_place17h0123456789abcdefE", "core::ptr::drop_in_place");
	expect("_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar");
}

TEST(names_that_are_not_mangled_stay_as_they_are)
{
	expect_refusal("main");
	expect_refusal("");
	expect_refusal("_");
	expect_refusal("_start");
	expect_refusal("_Z");
	expect_refusal("_Zebra");
	expect_refusal("_R");
	expect_refusal("__libc_start_main");
}

TEST(a_template_name_of_three_thousand_bytes_becomes_readable)
{
	char mangled[HAWK_DEMANGLE_INPUT_MAX] = "_Z1fI";
	struct hawk_text text;

	for (int i = 0; i < 150; i++)
		strcat(mangled, "20a_rather_long_name_0");
	strcat(mangled, "Evv");
	hawk_text_init(&text);
	assert_true(hawk_demangle(mangled, &text));
	assert_true(text.size > 3000);
	hawk_text_deinit(&text);
}

TEST(a_name_that_doubles_with_every_substitution_is_left_alone)
{
	char mangled[HAWK_DEMANGLE_INPUT_MAX] = "_Z1f1AIiiE";
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

	strcat(mangled, "S_IS0_S0_E");
	for (int i = 1; i < 34; i++) {
		char part[32];

		snprintf(part, sizeof(part), "S_IS%c_S%c_E", digits[i], digits[i]);
		strcat(mangled, part);
	}
	expect_refusal(mangled);
}

TEST(deep_nesting_does_not_exhaust_the_stack)
{
	static const char *const repeated[] = {"P", "F", "1AI", "DTp", "n", "S_I", "Nv", "N1a"};

	for (size_t i = 0; i < COUNT_OF(repeated); i++) {
		char mangled[HAWK_DEMANGLE_INPUT_MAX + 1] = "_Z1f";
		struct hawk_text text;

		while (strlen(mangled) + strlen(repeated[i]) < HAWK_DEMANGLE_INPUT_MAX)
			strcat(mangled, repeated[i]);
		hawk_text_init(&text);
		hawk_demangle(mangled, &text);
		mangled[1] = 'R';
		hawk_demangle(mangled, &text);
		assert_false(text.failed);
		hawk_text_deinit(&text);
	}
}

TEST(an_endless_name_is_left_alone)
{
	size_t size = HAWK_DEMANGLE_INPUT_MAX + 100;
	char *mangled = malloc(size);

	assert_non_null(mangled);
	memset(mangled, 'i', size - 1);
	mangled[size - 1] = '\0';
	memcpy(mangled, "_Z1f", 4);
	expect_refusal(mangled);
	free(mangled);
}
