/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A report as one HTML file: a prebuilt page (report/html/page/) with answers in its middle. Each
 * answer is a part: a verb's unchanged JSON document, or a profile. Parts are gzip in base64, so
 * that a browser interprets none of their bytes. The page makes no request.
 */
#ifndef HAWK_ANALYZER_REPORT_HTML_H
#define HAWK_ANALYZER_REPORT_HTML_H

#include "hawk/analysis/object_links.h"
#include "hawk/output/json.h"
#include "hawk/base/findings.h"
#include "hawk/heap/heap.h"
#include "hawk/profile/source_lines.h"
#include "hawk/report/pointers.h"
#include "hawk/symbols/symbols.h"
#include "hawk/target/memory_map.h"

/** Writes the page up to its parts. */
void hawk_html_begin(struct hawk_output *output);

/** Begins the part `name`, plain ASCII letters and '-'; bytes written from now on are its contents.
 * Fails only if memory runs out. */
struct hawk_error *hawk_html_part_begin(struct hawk_output *output, const char *name);
void hawk_html_part_end(struct hawk_output *output);

/** Writes the rest of the page. */
void hawk_html_end(struct hawk_output *output);

/**
 * Writes a profile as the part "profile-NAME", about 10 bytes a step: a line of JSON with counts,
 * then columns of numbers, each in LEB128. docs/html.md describes it.
 */
struct hawk_error *hawk_html_profile(const struct hawk_profile *profile, const char *name,
				     struct hawk_output *output);

/**
 * Writes the source files of `listing`, whose units are files, as the part "sources", at most
 * 32 MiB of text. Files that allocated most come first. Adds findings about others.
 */
struct hawk_error *hawk_html_sources(const struct hawk_source_listing *listing,
				     struct hawk_output *output);

/** Writes chosen blocks as the part "objects". */
struct hawk_error *hawk_html_put_objects(const struct hawk_pointer_report *report,
					 const struct hawk_dominators *dominators,
					 const struct hawk_objects *objects,
					 struct hawk_output *output);

/** Writes "names": pairs of a name of C++ or Rust and its short form, of all functions and types
 * that were named by now. */
void hawk_html_put_names(const struct hawk_symbols *symbols, struct hawk_json *json);

/** Writes "missing" and "damage": all findings of all parts. */
void hawk_html_put_findings(const struct hawk_findings *findings, struct hawk_json *json);

/** The memory map with what each row is used for. */
struct hawk_html_map {
	struct hawk_memory_map map;
	struct hawk_html_use *uses; /**< by row */
	const struct hawk_heap *allocators;
	bool resident_known; /**< not of a snapshot, which lacks most contents */
};

/** Makes the map; `allocators` as for hawk_balance_make(). Reads; deinitialize `ret` also after an
 * error. */
struct hawk_error *hawk_html_map_make(const struct hawk_target *target,
				      const struct hawk_heap *allocators,
				      struct hawk_html_map *ret);
void hawk_html_map_deinit(struct hawk_html_map *map);

/** Writes "mappings": the rows of the memory map, and "mappings_left_out_bytes". */
void hawk_html_put_map(const struct hawk_html_map *map, struct hawk_json *json);

#endif
