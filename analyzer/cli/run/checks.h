/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Warnings of `hawk-core run` before it starts a program: system settings that lose cores or the
 * heap in them, and programs and children that a preloaded library cannot reach. Each warning is
 * one line with the effect and the remedy. The checks change nothing.
 */
#ifndef HAWK_ANALYZER_CLI_RUN_CHECKS_H
#define HAWK_ANALYZER_CLI_RUN_CHECKS_H

#include <stdbool.h>
#include <stdint.h>

#include "hawk/base/text.h"

/**
 * Appends warnings about this system: the destination of cores, with this hard limit of their size
 * in bytes (UINT64_MAX: none); other users who cannot read the file `tracer` (an absolute path);
 * limits of the address space, with these options of the tracer (NULL: none) and those of the
 * environment.
 */
void hawk_run_check_system(uint64_t hard_limit, const char *tracer, const char *tracer_options,
			   struct hawk_text *warnings);

struct hawk_run_program {
	char *first;  /**< library to preload before the tracer, because the program ends itself
			 otherwise (AddressSanitizer's runtime); NULL = none; caller frees */
	bool refuses; /**< its loader would end it with the tracer preloaded */
	const char *unwatched; /**< why it cannot run under ptrace; NULL = it can */
};

/**
 * Appends warnings about the program that execvp(`arguments[0]`) would start, and programs that its
 * arguments name with a path; nothing if it is not found. `arguments` ends with NULL.
 */
void hawk_run_check_program(char *const *arguments, struct hawk_text *warnings,
			    struct hawk_run_program *ret);

#endif
