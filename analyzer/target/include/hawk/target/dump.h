/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Writes a core of a stopped process, as the kernel would: notes first, then the memory that
 * coredump_filter and madvise() leave in. Pages that were never touched are holes.
 *
 * Unlike the kernel, anonymous memory that was never written counts as stored (as a hole), unless
 * it is a reservation without rights: so readers know that it is zeros.
 */
#ifndef HAWK_ANALYZER_TARGET_DUMP_H
#define HAWK_ANALYZER_TARGET_DUMP_H

#include "hawk/output/file_sink.h"
#include "hawk/target/target.h"

struct hawk_dump {
	uint64_t memory_bytes; /**< touched pages: what is copied */
	bool held;             /**< there was no room for a copy: stopped until all was written */
};

/**
 * Writes a core of the live `target` to `sink`, and releases it as soon as a copy of its memory is
 * made. Findings say what could not be read. Fails if the process died meanwhile.
 */
struct hawk_error *hawk_target_dump(struct hawk_target *target, struct hawk_findings *findings,
				    struct hawk_file_sink *sink, struct hawk_dump *ret);

#endif
