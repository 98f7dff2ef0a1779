/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The last words of glibc: "free(): double free detected in tcache 2".
 */
#ifndef HAWK_ANALYZER_LIBC_ABORT_H
#define HAWK_ANALYZER_LIBC_ABORT_H

#include "hawk/target/target.h"

struct hawk_abort_message {
	char text[256]; /**< one line, shortened; "" = none */
};

/** Finds the message that glibc printed before it called abort(). Reads the target. */
void hawk_abort_message_find(const struct hawk_target *target, struct hawk_abort_message *ret);

#endif
