/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A document's table of frames. Stacks refer to frames by number, since a heap's stacks have few
 * different frames. Written at the end, when all are known.
 */
#ifndef HAWK_ANALYZER_REPORT_JSON_FRAMES_H
#define HAWK_ANALYZER_REPORT_JSON_FRAMES_H

#include "hawk/names/stack.h"
#include "hawk/output/json.h"

/** The list "stack": the numbers of the lines of `stack` in the table, innermost first. Lines are
 * left out if memory runs out. */
void hawk_json_put_stack(struct hawk_json *json, const struct hawk_stack *stack);

/** "frames": the table; frees it. */
void hawk_json_put_frame_table(struct hawk_json *json);

#endif
