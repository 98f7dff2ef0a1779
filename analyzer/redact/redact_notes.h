/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Notes of a core without the process's inputs and results. Internal to redact/.
 */
#ifndef HAWK_ANALYZER_REDACT_REDACT_NOTES_H
#define HAWK_ANALYZER_REDACT_REDACT_NOTES_H

#include "redactor.h"

/**
 * Copies the notes of one PT_NOTE, `alignment` 4 or 8, to `to`, which is as large. Kept: signals
 * and ids of threads and process, addresses in registers, the auxiliary vector, the list of mapped
 * files. Zero: other registers, arguments, times, values sent with signals, notes that are not
 * known.
 */
void hawk_redact_notes(struct hawk_redactor *redactor, const uint8_t *from, size_t size,
		       size_t alignment, uint8_t *to);

#endif
