/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A report as one HTML file: a prebuilt page (report/html/page/) with answers in its middle. Each
 * answer is a part: a verb's unchanged JSON document, or a profile. Parts are gzip in base64, so
 * that a browser interprets none of their bytes. The page makes no request.
 */
#ifndef HAWK_ANALYZER_REPORT_HTML_H
#define HAWK_ANALYZER_REPORT_HTML_H

#include "hawk/output/json.h"
#include "hawk/base/findings.h"
#include "hawk/profile/source_lines.h"
#include "hawk/target/target.h"

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

/** Writes "missing" and "damage": all findings of all parts. */
void hawk_html_put_findings(const struct hawk_findings *findings, struct hawk_json *json);

/** Writes "mappings": the rows of the memory map, and "mappings_left_out_bytes". */
struct hawk_error *hawk_html_put_map(const struct hawk_target *target, struct hawk_json *json);

#endif
