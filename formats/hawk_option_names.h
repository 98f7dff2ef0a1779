/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The names of the options in HAWK_OPTS, so that `hawk-core run` can refuse unknown ones. The
 * tracer defines their meanings and ranges (docs/tracer.md).
 */
#ifndef HAWK_OPTION_NAMES_H
#define HAWK_OPTION_NAMES_H

/** In the order of the tracer's table. */
#define HAWK_OPTION_NAMES                                                                          \
	"help", "progname", "stacks", "sample", "only", "unwind", "depth", "collapse",             \
		"max_table", "live", "table", "stats"

#endif
