/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The names of the options in HAWK_OPTS: `hawk-core run` refuses what the tracer would not know.
 * What they mean, and in which range, is the tracer's (docs/tracer.md).
 */
#ifndef HAWK_OPTION_NAMES_H
#define HAWK_OPTION_NAMES_H

/** In the order of the tracer's table. */
#define HAWK_OPTION_NAMES                                                                          \
	"help", "progname", "stacks", "sample", "only", "unwind", "depth", "collapse",             \
		"max_table", "live", "table", "stats"

#endif
