/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Static thread-local storage on machines that have it below the thread pointer, and above.
 */
#include "test.h"
#include "hawk/libc/tls.h"

enum { STATIC = 4096, MORE_THAN_A_DESCRIPTOR = 2304 };

#define THREAD UINT64_C(0x7f0000100000)

static struct hawk_arch machine(enum hawk_tls_variant variant)
{
	struct hawk_arch arch = *hawk_arch_host();

	arch.tls_variant = variant;
	return arch;
}

TEST(storage_below_the_thread_pointer_has_the_descriptor_above)
{
	struct hawk_arch arch = machine(HAWK_TLS_BELOW);
	struct hawk_span around = hawk_tls_around(&arch, THREAD, STATIC);

	assert_int_equal(around.start, THREAD - STATIC);
	assert_true(around.end >= THREAD + MORE_THAN_A_DESCRIPTOR);
	assert_true(around.end < THREAD + STATIC);
	assert_int_equal(hawk_tls_start(&arch, THREAD, STATIC), THREAD - STATIC);
	assert_int_equal(hawk_tls_start(&arch, THREAD, 0), THREAD);
}

TEST(storage_above_the_thread_pointer_has_the_descriptor_below)
{
	struct hawk_arch arch = machine(HAWK_TLS_ABOVE);
	struct hawk_span around = hawk_tls_around(&arch, THREAD, STATIC);

	assert_int_equal(around.end, THREAD + STATIC);
	assert_true(around.start <= THREAD - MORE_THAN_A_DESCRIPTOR);
	assert_int_equal(hawk_tls_start(&arch, THREAD, STATIC), around.start);
}

TEST(storage_at_either_end_of_the_address_space_does_not_wrap)
{
	for (unsigned variant = HAWK_TLS_ABOVE; variant <= HAWK_TLS_BELOW; variant++) {
		struct hawk_arch arch = machine(variant);

		assert_int_equal(hawk_tls_around(&arch, 16, STATIC).start, 0);
		assert_int_equal(hawk_tls_around(&arch, UINT64_MAX - 16, STATIC).end, UINT64_MAX);
	}
}

TEST(storage_of_unknown_size_is_taken_as_large)
{
	struct hawk_arch arch = machine(HAWK_TLS_BELOW);

	assert_true(hawk_tls_around(&arch, THREAD, 0).start <= THREAD - (64 << 10));
}
