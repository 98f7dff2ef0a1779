/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What `hawk-core run` warns about before it starts a program: settings of this system that lose
 * cores or the heap in them, and programs and children that a preloaded library cannot reach. Each
 * warning says what will happen and how to change it. Nothing here changes anything.
 */
#ifndef HAWK_RUN_CHECKS_H
#define HAWK_RUN_CHECKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hawk_text.h"

/**
 * Appends warnings, one a line, about core size limit (hard limit in bytes), core_pattern (without
 * its newline), core_uses_pid and coredump_filter. `writable` says whether the directory of an
 * absolute or relative pattern can be written to.
 */
struct hawk_core_settings {
	uint64_t hard_limit; /**< bytes; UINT64_MAX = unlimited */
	const char *pattern; /**< NULL = unknown */
	bool uses_pid;
	bool has_filter;
	uint64_t filter;
};
void hawk_run_check_core(const struct hawk_core_settings *settings, struct hawk_text *warnings);

/** The same for the settings of this system and process. */
void hawk_run_check_system(uint64_t hard_limit, struct hawk_text *warnings);

/** Appends a warning if other users cannot read the tracer's file `tracer` (an absolute path), and
 * this process may start children that are other users'. */
void hawk_run_check_tracer(const char *tracer, struct hawk_text *warnings);

/** The same for limits of the address space, with these options of the tracer (NULL: none) and
 * those of the environment. */
void hawk_run_check_memory(const char *tracer_options, struct hawk_text *warnings);

/**
 * Warnings about the program that execvp(`name`) would start; nothing if it is not found. `*first`:
 * the library that has to be preloaded before the tracer, because the program ends itself otherwise
 * (AddressSanitizer's runtime); NULL = none. Caller frees. `*refuses`: its loader would end it if
 * the tracer were preloaded.
 */
void hawk_run_check_program(const char *name, struct hawk_text *warnings, char **first,
			    bool *refuses);

/**
 * The same for an open ELF file: a sanitizer in it has an allocator of its own. `*first` is kept if
 * there is one already.
 */
void hawk_run_check_sanitizer(const char *path, int fd, struct hawk_text *warnings, char **first);

#endif
