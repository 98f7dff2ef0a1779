/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The table of versions. Each row is checked against real processes of its versions by
 * tests/e2e/c_libraries.py.
 */
#include "hawk/libc/version.h"

/* nptl/descr.h, struct pthread; the same where needed from 2.31 to 2.43. Surplus: dl-tls.c,
 * TLS_STATIC_SURPLUS with its default tunables. */
static const struct hawk_thread_layout glibc_threads = {
	.bytes = 2368,
	.alignment = 16,
	.self = 16,
	.vector = 8,
	.vector_entry = 16,
	.ring = 704,
	.tid = 720,
	.block = 728,
	.guard = 16,
	.tls_surplus = 1664,
};

const struct hawk_libc_version hawk_libc_versions[HAWK_LIBC_VERSIONS] = {
	{
		.name = "glibc 2.43",
		.threads = &glibc_threads,
		.malloc = {.mapped_uncounted = 16, .mapped_flags = 1},
	},
	{
		.name = "glibc 2.42",
		.threads = &glibc_threads,
	},
};
