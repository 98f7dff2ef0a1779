/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * HAWK_OPTS: "name=value" pairs separated by ':' ("\:" stands for a colon in a value).
 *
 * Unknown names and bad values are reported on stderr, once each, and ignored. In a secure
 * execution (setuid program) the environment is not looked at. Parsing needs no C library, since it
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
	bool stacks;      /**< false: sizes and ages only ("header only") */
	bool selective;   /**< not every block gets a stack: stacks=0, sample=; set by parsing */
	bool only_scopes; /**< stacks inside of scopes only */
	uint32_t unwind;  /**< enum hawk_unwind_mode */
	uint32_t depth;   /**< innermost frames kept of a stack */
	uint32_t
		collapse; /**< longest cycle of recursion, in frames, that is collapsed; 0 = none */
	uint64_t max_table; /**< bytes of address space for the tracer's tables, 0 = see table/cap.h
			     */
	uint64_t sample;    /**< mean bytes between two stacks that are taken, 0 = take all */
	bool live;          /**< count frees by trace, too; implied by `table` */
	bool stats;         /**< print counters to stderr at exit */
	char table[HAWK_PROGNAME_BYTES];    /**< see hawk_file_create(); "" = no file */
	char progname[HAWK_PROGNAME_BYTES]; /**< POSIX extended regular expression, "" = every
					       program */
};
extern struct hawk_options hawk_options __attribute__((visibility("hidden")));

/** The value of HAWK_OPTS in this process, or NULL. The memory lives as long as the process. */
const char *hawk_options_environment(void);

/** Parses `text` (NULL = nothing given) into hawk_options; prints complaints, and the help if asked
 * for. */
void hawk_options_parse(const char *text);

/**
 * Whether this program is one that hawk_options.progname wants: the expression is searched in the
 * base names of the executable and of argv[0]. Uses the C library and its allocator: only from the
 * library's constructor.
 */
bool hawk_options_match_program(void);

#endif
