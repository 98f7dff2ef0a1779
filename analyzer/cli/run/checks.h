/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What `hawk-core run` warns about before it starts a program: settings of this system that lose
 * cores or the heap in them, and programs and children that a preloaded library cannot reach. Each
 * warning, one a line, says what will happen and how to change it. Nothing here changes anything.
 */
#ifndef HAWK_ANALYZER_CLI_RUN_CHECKS_H
#define HAWK_ANALYZER_CLI_RUN_CHECKS_H

#include <stdbool.h>
#include <stdint.h>

#include "hawk/base/text.h"

/**
 * Appends warnings about this system: where cores go, with this hard limit of their size in bytes
 * (UINT64_MAX: none); other users who cannot read the file `tracer` (an absolute path); limits of
 * the address space, with these options of the tracer (NULL: none) and those of the environment.
 */
void hawk_run_check_system(uint64_t hard_limit, const char *tracer, const char *tracer_options,
			   struct hawk_text *warnings);

/**
 * Appends warnings about the program that execvp(`arguments[0]`) would start, and those that its
 * arguments name with a path; nothing if it is not found. `arguments` ends with NULL.
 * `*first`: the library that has to be preloaded before the tracer, because the program ends itself
 * otherwise (AddressSanitizer's runtime); NULL = none. Caller frees. `*refuses`: its loader would
 * end it if the tracer were preloaded.
 */
void hawk_run_check_program(char *const *arguments, struct hawk_text *warnings, char **first,
			    bool *refuses);

#endif
