/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * HAWK_OPTS: "name=value" pairs separated by ':' ("\:" stands for a colon in a value).
 *
 * Unknown names and bad values are reported on stderr, once each, and ignored. In a secure
 * execution (setuid program) the environment is not read. Parsing needs no C library, since it
 * happens inside the first malloc.
 */
#ifndef HAWK_TRACER_BASE_OPTIONS_H
#define HAWK_TRACER_BASE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

enum {
	HAWK_PROGNAME_BYTES = 256,
};

struct hawk_options {
	bool help;
	bool stacks;       /**< false: sizes and ages only ("header only") */
	bool selective;    /**< set by parsing if not every block gets a stack: stacks=0, sample= */
	bool only_scopes;  /**< record stacks inside scopes only */
	uint32_t unwind;   /**< enum hawk_unwind_mode */
	uint32_t depth;    /**< innermost frames to keep per stack */
	uint32_t collapse; /**< longest recursion cycle to collapse, in frames; 0 = none */
	uint64_t max_table; /**< bytes of address space for the tracer's tables, 0 = see table/cap.h
			     */
	uint64_t sample;    /**< mean bytes between two recorded stacks, 0 = record all */
	bool live;          /**< count frees by trace too; implied by `table` */
	bool stats;         /**< print counters to stderr at exit */
	char table[HAWK_PROGNAME_BYTES];    /**< see hawk_file_create(); "" = no file */
	char progname[HAWK_PROGNAME_BYTES]; /**< POSIX extended regular expression, "" = every
					       program */
};
extern struct hawk_options hawk_options __attribute__((visibility("hidden")));

/** Returns the value of HAWK_OPTS in this process, or NULL. It lives as long as the process. */
const char *hawk_options_environment(void);

/** Parses `text` (NULL = nothing given) into hawk_options. Prints complaints, and the help on
 * request. */
void hawk_options_parse(const char *text);

/**
 * Returns true if hawk_options.progname selects this program: the expression is searched in the
 * base names of the executable and of argv[0]. Call only from the library's constructor: it uses
 * the C library and its allocator.
 */
bool hawk_options_match_program(void);

#endif
