/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The note that "hawk-core redact" writes into its cores (docs/redact.md).
 *
 * The times are those of the original file, because an attachment keeps neither name nor time.
 */
#ifndef HAWK_ANALYZER_TARGET_REDACTED_NOTE_H
#define HAWK_ANALYZER_TARGET_REDACTED_NOTE_H

#include <assert.h>

#include "hawk/target/target.h"

#define HAWK_REDACTED_OWNER "hawk-core redacted"

enum { HAWK_REDACTED_TYPE = 1 };

/** The note's contents. Readers accept longer ones. */
struct hawk_redacted_note {
	uint64_t attribute_ns; /**< as in struct hawk_end_times */
	uint64_t name_ns[HAWK_END_NAMES];
	uint64_t file_ns;
};
static_assert(sizeof(struct hawk_redacted_note) == 48, "a format");

#endif
