/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * C++ (Itanium) and Rust (legacy, v0) names made readable. Names come from hostile files: input and
 * output are bounded, and a name that would grow beyond the bound stays mangled.
 */
#ifndef HAWK_ANALYZER_SYMBOLS_DEMANGLE_H
#define HAWK_ANALYZER_SYMBOLS_DEMANGLE_H

#include "hawk/base/text.h"

enum {
	HAWK_DEMANGLE_INPUT_MAX = 4096,
	HAWK_DEMANGLE_OUTPUT_MAX = 65536,
};

/**
 * Replaces `text` by the readable form of `mangled`. Returns false, with an empty text, if it is
 * not mangled, too long, or memory ran out (`text->failed`).
 */
bool hawk_demangle(const char *mangled, struct hawk_text *text);

#endif
