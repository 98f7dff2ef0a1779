/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The line on a terminal that says how far a long piece of work is (base/progress.h):
 *
 *     following pointers [########            ]  41 %
 *
 * It is on standard error, the last line there, and only for work of more than a second. Whoever
 * writes to the terminal takes it away first: hawk_bar_clear(). So does SIGINT, SIGTERM or SIGHUP
 * on its way to ending the program.
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
	bool output_begun; /**< this question has written something of its answer */
	bool within_line;  /**< the last of that to a terminal was no whole line */
	uint64_t start_ns;
	uint64_t drawn_ns;
};

/** From now on this thread's work is shown after a second, if standard error is a terminal and not
 * `quiet`. `bar` must outlive hawk_bar_deinit(), and not move. */
void hawk_bar_begin(struct hawk_bar *bar, bool quiet);

/** Takes the line away, if it is there; it comes again when there is more to say. */
void hawk_bar_clear(struct hawk_bar *bar);

/** To be called before an answer's `bytes` are written to `fd`. */
void hawk_bar_before_output(struct hawk_bar *bar, int fd, const char *bytes, size_t size);

/** For a handler of signals that ends the program: takes the line away, whose ever it is. */
void hawk_bar_give_up(void);

/** Takes the line away, and listens no more. Accepts zeros. */
void hawk_bar_deinit(struct hawk_bar *bar);

#endif
