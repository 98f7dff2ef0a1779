/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Frames as Valgrind's tools write them, and as their readers parse them.
 */
#ifndef HAWK_ANALYZER_EXPORT_VALGRIND_FRAME_H
#define HAWK_ANALYZER_EXPORT_VALGRIND_FRAME_H

#include "hawk/profile/profile.h"

/**
 * Appends frame `number` of `location`: "0x4711: serve (server.c:12)" or "0x4711: serve (in
 * /lib/libz.so.1)", safe for a terminal.
 */
void hawk_export_append_valgrind_frame(const struct hawk_profile *profile, uint32_t location,
				       uint32_t number, struct hawk_text *text);

#endif
