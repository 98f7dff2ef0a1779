/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A profile: columns of values by stack, with labels. Every export, `analyze --by` and the HTML
 * page are made from one. profile/sources.h lists its sources.
 *
 * Stacks share their outer steps: a profile of a million samples is one tree. Strings, frames,
 * locations and steps occur once each and are numbered in the order in which they were met, so that
 * equal input gives equal bytes. Number 0 of each stands for none; a parent's number is below its
 * children's.
 *
 *     hawk_profile_create(columns, 2, &profile);
 *     step = hawk_profile_stack(profile, 0, &stack, first_line);
 *     hawk_profile_add(profile, step, &labels, values);
 *     err = hawk_profile_finish(profile);              // all errors, once
 */
#ifndef HAWK_ANALYZER_PROFILE_PROFILE_H
#define HAWK_ANALYZER_PROFILE_PROFILE_H

#include "hawk/base/text.h"
#include "hawk/names/stack.h"

enum { HAWK_PROFILE_COLUMNS_MAX = 8 };

/** Meaning of a value: in pprof's words, "inuse_space" in "bytes". */
struct hawk_profile_column {
	const char *name; /**< static */
	const char *unit; /**< "count", "bytes" */
};

enum hawk_profile_frame_kind {
	HAWK_PROFILE_FUNCTION = 0,
	HAWK_PROFILE_SCOPE, /**< a HAWK_SCOPE of the program */
	HAWK_PROFILE_ROOT,  /**< "`g_sessions` in server .bss", of retained and paths */
	HAWK_PROFILE_SITE,  /**< a site as one step: its first telling function, or its class */
	HAWK_PROFILE_NOTE,  /**< "(not sampled)": stands for unknown code */
};

/** Members are numbers of strings, 0 = not known. */
struct hawk_profile_frame {
	uint32_t kind;     /**< enum hawk_profile_frame_kind */
	uint32_t function; /**< demangled; text of a scope, root or note */
	uint32_t symbol;   /**< as in the file: mangled */
	uint32_t file;     /**< path as in DWARF */
	uint32_t line;
	uint32_t module;    /**< number of a module; 0 = none */
	uint64_t offset;    /**< in the module, of code without a name; else 0 */
	uint32_t directory; /**< that a relative `file` is relative to */
	uint32_t unused;    /**< 0: no padding, frames are compared as bytes */
};

/** A place in code, with the functions inlined there. */
struct hawk_profile_location {
	uint64_t address; /**< an address in the call; 0 = no code: see the frame's kind */
	uint32_t module;
	uint32_t first; /**< of its frames, in `frame_numbers`, the innermost first */
	uint32_t count; /**< at least 1 */
};

/** A location and those that led to it. Step 0 is the root of all. */
struct hawk_profile_step {
	uint32_t parent;
	uint32_t location;
};

struct hawk_profile_module {
	uint32_t path;     /**< string */
	uint32_t build_id; /**< string of hex digits */
	uint64_t start, end;
	uint64_t bias;
	bool main;
};

/** Labels of a sample besides its stack: strings, 0 = none. */
struct hawk_profile_labels {
	uint32_t site;  /**< 16 hex digits */
	uint32_t type;  /**< that the program declared */
	uint32_t scope; /**< innermost HAWK_SCOPE */
	uint32_t kind;  /**< of a leak */
};

struct hawk_profile_sample {
	uint32_t step;
	struct hawk_profile_labels labels;
};

/** Finds numbers of things by their contents; private to profile/. */
struct hawk_profile_index {
	struct hawk_profile_slot *slots;
	size_t size, used;
};

struct hawk_profile {
	struct hawk_profile_column columns[HAWK_PROFILE_COLUMNS_MAX];
	uint32_t column_count;
	uint32_t shown_column; /**< column that viewers show first */
	const char *what;      /**< static: "live", "retained" ...: for titles */
	bool difference;       /**< values are later ones less earlier ones */
	bool has_classes;      /**< blocks without stacks are grouped by class */
	bool estimated;        /**< values are estimates from samples */
	uint64_t sample_mean;  /**< bytes between samples; valid if `estimated` */
	bool failed;           /**< out of memory: hawk_profile_finish() */

	/* Each with its count; entry 0 is "", or zeros. Capacities and indices are private. */
	char **strings;
	struct hawk_profile_frame *frames;
	struct hawk_profile_location *locations;
	uint32_t *frame_numbers;
	struct hawk_profile_step *steps;
	struct hawk_profile_module *modules;
	struct hawk_profile_sample *samples; /**< a sample for each step and set of labels */
	int64_t *values;                     /**< `column_count` of each sample */
	uint32_t string_count, frame_count, location_count, frame_number_count;
	uint32_t step_count, module_count, sample_count;

	size_t string_capacity, frame_capacity, location_capacity, frame_number_capacity;
	size_t step_capacity, module_capacity, sample_capacity, value_capacity;
	struct hawk_profile_index string_index, frame_index, location_index, code_index, step_index,
		sample_index;
	struct hawk_profile_code *codes; /**< lines of stacks already seen, and their locations */
	uint32_t code_count;
	size_t code_capacity;
};

struct hawk_error *hawk_profile_create(const struct hawk_profile_column *columns, uint32_t count,
				       struct hawk_profile **ret);
/** Accepts NULL. */
void hawk_profile_destroy(struct hawk_profile *profile);

/* Building. These cannot fail: hawk_profile_finish() returns any error once. */

/** Returns the number of `text`, which is copied; 0 for NULL and "". */
uint32_t hawk_profile_string(struct hawk_profile *profile, const char *text);

/** Returns the step below `parent` that stands for `text`, which is no code. */
uint32_t hawk_profile_note(struct hawk_profile *profile, uint32_t parent,
			   enum hawk_profile_frame_kind kind, const char *text);

/** Returns the step below `parent` for `frame`, whose members are already strings of `profile`. */
uint32_t hawk_profile_frame_step(struct hawk_profile *profile, uint32_t parent,
				 const struct hawk_profile_frame *frame);

/** Returns the module with that path and bias. */
uint32_t hawk_profile_module(struct hawk_profile *profile, const struct hawk_symbol_module *module);

/** Returns the step of the innermost of the lines from `first` on, below `parent`; `parent` if
 * there are none. */
uint32_t hawk_profile_stack(struct hawk_profile *profile, uint32_t parent,
			    const struct hawk_stack *stack, size_t first);

/** Returns the sum, clamped to the range: a damaged core's counters can have any value. */
static inline int64_t hawk_profile_plus(int64_t a, int64_t b)
{
	int64_t sum;

	return !__builtin_add_overflow(a, b, &sum) ? sum : b < 0 ? INT64_MIN : INT64_MAX;
}

/** Returns `count` as a value. */
static inline int64_t hawk_profile_value(uint64_t count)
{
	return count > INT64_MAX ? INT64_MAX : (int64_t)count;
}

/** Adds `values`, one for each column, to the sample of `step` with `labels` (NULL = none). */
void hawk_profile_add(struct hawk_profile *profile, uint32_t step,
		      const struct hawk_profile_labels *labels, const int64_t *values);

/** Returns the first error so far. */
struct hawk_error *hawk_profile_finish(struct hawk_profile *profile);

/* Reading. */

static inline const char *hawk_profile_text(const struct hawk_profile *profile, uint32_t string)
{
	return profile->strings[string];
}

static inline const struct hawk_profile_frame *
hawk_profile_location_frame(const struct hawk_profile *profile, uint32_t location, uint32_t number)
{
	uint32_t at = profile->locations[location].first + number;

	return &profile->frames[profile->frame_numbers[at]];
}

/** Appends the function, or "libz.so.1+0x4712" of code without a name; not made safe for
 * terminals. */
void hawk_profile_append_frame(const struct hawk_profile *profile,
			       const struct hawk_profile_frame *frame, struct hawk_text *text);

/** Returns the sum of one column over all samples. */
int64_t hawk_profile_total(const struct hawk_profile *profile, uint32_t column);

/**
 * Sums a column by step. `*flat` (samples at the step itself) and `*cum` (with all steps below)
 * have `step_count` entries each; the caller frees both. `cum` may be NULL.
 */
struct hawk_error *hawk_profile_sums(const struct hawk_profile *profile, uint32_t column,
				     int64_t **flat, int64_t **cum);

/**
 * Fills `*ret` with the signature of each step (`step_count`; the caller frees it): a hash that
 * survives a rebuild of the program. Over functions and, with `files`, their files, the last folder
 * of these included; over neither lines, addresses nor build-ids; without the C library's frames
 * and standard libraries' functions, and without what compilers append to clones of functions.
 */
struct hawk_error *hawk_profile_signatures(const struct hawk_profile *profile, bool files,
					   uint64_t **ret);

/** The locations of a stack, the innermost first. */
struct hawk_profile_path {
	uint32_t *locations; /**< owned */
	size_t count, capacity;
};

/** Fills `path` anew with the stack that ends in `step`; false = out of memory. */
bool hawk_profile_path_of(const struct hawk_profile *profile, uint32_t step,
			  struct hawk_profile_path *path);
void hawk_profile_path_deinit(struct hawk_profile_path *path);

static inline void hawk_cleanup_profile_path(struct hawk_profile_path *path)
{
	hawk_profile_path_deinit(path);
}

/** Appends the innermost frame of `step` as a reader knows it, "make_cell  cells.c:30", in at most
 * `width` columns, safe for a terminal. */
void hawk_profile_append_step(const struct hawk_profile *profile, uint32_t step, size_t width,
			      struct hawk_text *text);

/** Returns the number of the column `name`, or UINT32_MAX. */
uint32_t hawk_profile_column(const struct hawk_profile *profile, const char *name);

#endif
