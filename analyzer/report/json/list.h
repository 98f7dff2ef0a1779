/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Lists of JSON documents that --top and --depth may cut. Behind the number of entries shown
 * ("sites_shown") and of all ("sites_total") comes the list itself ("sites").
 */
#ifndef HAWK_ANALYZER_REPORT_JSON_LIST_H
#define HAWK_ANALYZER_REPORT_JSON_LIST_H

#include "hawk/heap/heap.h"
#include "hawk/output/json.h"

/** Cuts the document's lists to `top` entries, its stacks and paths to `depth` lines; 0 = not
 * given. Stacks and paths are cut with `top` alone, too. */
void hawk_json_limit(struct hawk_json *json, size_t top, size_t depth);

/** Begins the list `key` of `total` entries; returns how many to write. */
size_t hawk_json_put_list(struct hawk_json *json, const char *key, size_t total);

/** As hawk_json_put_list(), for the lines of a stack and the steps of a path. */
size_t hawk_json_put_stack_list(struct hawk_json *json, const char *key, size_t total);
size_t hawk_json_put_path_list(struct hawk_json *json, const char *key, size_t total);

/** As hawk_json_put_list(), for a list cut before: `shown` of `total` entries. */
void hawk_json_put_cut_list(struct hawk_json *json, const char *key, size_t shown, uint64_t total);

/** Writes null for a list that is not known, and for its numbers. */
void hawk_json_put_no_list(struct hawk_json *json, const char *key);

/** Begins a list of what is in `heap`. Writes null instead, and returns false, if that is unknown.
 * `*ret`: how many entries to write. */
bool hawk_json_put_known_list(struct hawk_json *json, const char *key, const struct hawk_heap *heap,
			      size_t total, size_t *ret);

#endif
