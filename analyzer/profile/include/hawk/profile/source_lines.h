/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The values of a profile by source line, within functions or within files.
 *
 * flat = samples whose stack begins at the line: in a profile without plumbing, its own
 * allocations. cum = samples with the line anywhere in their stack, so including its callees; a
 * recursive line counts once per sample. The sum of flat over all lines is that of all samples
 * whose first function is taken in.
 */
#ifndef HAWK_ANALYZER_PROFILE_SOURCE_LINES_H
#define HAWK_ANALYZER_PROFILE_SOURCE_LINES_H

#include <regex.h>

#include "hawk/profile/profile.h"
#include "hawk/symbols/source_file.h"

/** One for each column of the profile. */
struct hawk_source_values {
	int64_t flat[HAWK_PROFILE_COLUMNS_MAX];
	int64_t cum[HAWK_PROFILE_COLUMNS_MAX];
};

struct hawk_source_line {
	uint32_t number; /**< 0 = not known */
	struct hawk_source_values values;
};

/** A function of a module, or a file: neighbours in `lines`. Strings are numbers of the
 * profile's. */
struct hawk_source_unit {
	uint32_t function;  /**< 0 for a file */
	uint32_t file;      /**< path as in DWARF; 0 = not known */
	uint32_t directory; /**< base of a relative file */
	uint32_t module;    /**< of a file, one of those that it is part of */
	size_t first, count;
	struct hawk_source_values values; /**< cum is less than the sum of the lines' if one line
					     calls another of the same unit */
};

struct hawk_source_lines {
	struct hawk_source_unit *units; /**< most cum of the shown column first */
	size_t unit_count;
	struct hawk_source_line *lines; /**< of each unit, ascending */
	size_t line_count;
};

/** Fills `*ret` with a unit for each function whose name matches `functions`; with NULL, one for
 * each file. */
struct hawk_error *hawk_source_lines_make(const struct hawk_profile *profile,
					  const regex_t *functions, struct hawk_source_lines *ret);
void hawk_source_lines_deinit(struct hawk_source_lines *lines);

/** Appends the path of a unit's file: below its directory if it is relative. */
void hawk_source_append_path(const struct hawk_profile *profile,
			     const struct hawk_source_unit *unit, struct hawk_text *text);

/** Text of a unit's file, and whether the program was built from it. */
struct hawk_source_text {
	struct hawk_source_file file;
	bool newer;     /**< the file is newer than the program */
	bool too_short; /**< some line of the unit lies behind its end */
};

/** Lines, and all that their texts are read with. Owns nothing. */
struct hawk_source_listing {
	const struct hawk_profile *profile;
	const struct hawk_source_lines *lines; /**< of it */
	struct hawk_symbols *symbols;
	struct hawk_source_directories directories;
	struct hawk_findings *findings; /**< gets "source-not-found", "-newer", "-differs" */
};

/** Opens the file of a unit. Adds findings. */
struct hawk_error *hawk_source_text_open(const struct hawk_source_listing *listing,
					 const struct hawk_source_unit *unit,
					 struct hawk_source_text *ret);

#endif
