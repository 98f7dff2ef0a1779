/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Objects shared by several JSON documents: stacks, sites, roots, sums, findings. Their prose twin
 * is docs/json.md; keys are added only.
 */
#ifndef HAWK_ANALYZER_REPORT_JSON_OBJECTS_H
#define HAWK_ANALYZER_REPORT_JSON_OBJECTS_H

#include "frames.h"
#include "list.h"
#include "hawk/base/findings.h"
#include "hawk/output/json.h"
#include "hawk/graph/reach.h"
#include "hawk/names/root_name.h"
#include "hawk/report/next.h"

enum { HAWK_JSON_VERSION = 3 };

/** Begins a document: "schema", "version"; `source` is the core's path, NULL for a process. */
void hawk_json_begin(struct hawk_json *json, struct hawk_output *output, const char *schema,
		     const char *source, unsigned lines);

/** Ends it: "next", "frames" (the table), "missing", "damage", "partial". `next` may be NULL. */
void hawk_json_end(struct hawk_json *json, const struct hawk_next *next,
		   const struct hawk_findings *findings, bool partial);

/** "missing" and "damage", first those that make the answer incomplete. */
void hawk_json_put_findings(struct hawk_json *json, const struct hawk_findings *findings);

/** "stack" of a site; left out if the site does not exist. */
void hawk_json_put_site_stack(struct hawk_json *json, struct hawk_symbols *symbols,
			      const struct hawk_heap *heap, uint32_t site);

/** Tags of a scope and those around it, outermost first; an empty array for label 0. */
void hawk_json_put_scope_path(struct hawk_json *json, const char *key,
			      const struct hawk_table *table, uint32_t label);

/** "traced" and "unknown". */
void hawk_json_put_knowledge(struct hawk_json *json, const struct hawk_heap *heap);

/** The id of a site; null if it does not exist. */
void hawk_json_put_site(struct hawk_json *json, const char *key, const struct hawk_heap *heap,
			uint32_t site);

/** An array of the ids of sites. */
void hawk_json_put_sites(struct hawk_json *json, const char *key, const struct hawk_heap *heap,
			 const uint32_t *sites, size_t count);

/** name (the text), kind, address, thread, register, frame, function, symbol, module, section,
 * mapping, offset; null where it does not apply. */
void hawk_json_put_root(struct hawk_json *json, const char *key, struct hawk_root_namer *namer,
			uint32_t root);

/** An object of "objects" and "bytes". */
void hawk_json_put_sum(struct hawk_json *json, const char *key, uint64_t objects, uint64_t bytes);

/** "still_reachable" ...; NULL for HAWK_REACH_NONE. */
const char *hawk_json_reach_key(enum hawk_reach_kind kind);

#endif
