/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The table of versions. Each row is checked against real processes of its versions by
 * tests/e2e/c_libraries.py.
 */
#include "hawk/libc/version.h"

#include <elf.h>

/* nptl/descr.h, struct pthread; the same where needed from 2.31 to 2.43. Surplus: dl-tls.c,
 * TLS_STATIC_SURPLUS with its default tunables. */
static const struct hawk_thread_layout glibc_threads[] = {
	{
		.machine = EM_X86_64,
		.bytes = 2368,
		.alignment = 16,
		.own = {{0, 0}, {16, 0}}, /* tcb, self */
		.vector = 8,
		.vector_entry = 16,
		.ring = 704,
		.tid = 720,
		.block = 728,
		.guard = 16,
		.tls_surplus = 1664,
	},
	{
		.machine = EM_AARCH64,
		.bytes = 2048,
		.alignment = 16,
		.below_step = 16,
		.own = {{784, 272}, {784, 272}}, /* specific[0], specific_1stblock */
		.vector = 0,
		.vector_entry = 16,
		.ring = 192,
		.tid = 208,
		.block = 216,
		.guard = 16,
		.tls_surplus = 1664,
	},
};

const struct hawk_thread_layout *hawk_thread_layout_of(const struct hawk_arch *arch)
{
	const struct hawk_thread_layout *layout = glibc_threads;

	while (layout->machine != arch->machine)
		layout++;
	return layout;
}

const struct hawk_libc_version hawk_libc_versions[HAWK_LIBC_VERSIONS] = {
	{
		.name = "glibc 2.43",
		.malloc = {.mapped_uncounted = 16, .mapped_flags = 1},
	},
	{
		.name = "glibc 2.42",
	},
};
