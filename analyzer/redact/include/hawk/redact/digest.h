/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A hash of a report in JSON that is the same for a core and for its redacted copy, unless they
 * answer differently: names of files, arguments, and figures that depend on holes in the file are
 * left out. Reports are long: they are hashed while they are written.
 */
#ifndef HAWK_ANALYZER_TRAVEL_DIGEST_H
#define HAWK_ANALYZER_TRAVEL_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#include "hawk/base/error.h"

struct hawk_report_digest;

struct hawk_error *hawk_report_digest_create(struct hawk_report_digest **ret);

/** Takes the next bytes of the report, in pieces of any size. */
void hawk_report_digest_add(struct hawk_report_digest *digest, const char *bytes, size_t size);

uint64_t hawk_report_digest_value(const struct hawk_report_digest *digest);

/** Accepts NULL. */
void hawk_report_digest_destroy(struct hawk_report_digest *digest);

#endif
