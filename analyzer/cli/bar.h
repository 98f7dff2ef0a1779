/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The progress line on a terminal for long work (base/progress.h):
 *
 *     following pointers [########            ]  41 %
 *
 * It is the last line on standard error, shown only for work of more than a second. Call
 * hawk_bar_clear() before writing to the terminal. SIGINT, SIGTERM and SIGHUP clear it before they
 * end the program.
 */
#ifndef HAWK_ANALYZER_CLI_BAR_H
#define HAWK_ANALYZER_CLI_BAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hawk/base/progress.h"

struct hawk_bar {
	struct hawk_progress_listener listener;
	bool wanted;
	bool shown;
	bool output_begun; /**< part of this question's answer is written */
	bool within_line;  /**< the last bytes written to a terminal ended within a line */
	uint64_t start_ns;
	uint64_t drawn_ns;
};

/** Shows this thread's work from now on, after a second, if standard error is a terminal and not
 * `quiet`. `bar` must stay in place until hawk_bar_deinit(). */
void hawk_bar_begin(struct hawk_bar *bar, bool quiet);

/** Clears the line if shown; it returns with further progress. */
void hawk_bar_clear(struct hawk_bar *bar);

/** Must be called before an answer's `bytes` are written to `fd`. */
void hawk_bar_before_output(struct hawk_bar *bar, int fd, const char *bytes, size_t size);

/** Clears any bar's line; for a signal handler that ends the program. */
void hawk_bar_give_up(void);

/** Clears the line and stops listening. Accepts zeros. */
void hawk_bar_deinit(struct hawk_bar *bar);

#endif
