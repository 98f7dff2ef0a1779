/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Files from debuginfod servers, by libdebuginfod, which is loaded at the first question. It reads
 * DEBUGINFOD_URLS and keeps what it gets in its cache (XDG_CACHE_HOME). Without an object of this
 * type nothing is ever fetched.
 *
 * Servers are not trusted: time and bytes are limited here, and callers check the build-id.
 */
#ifndef HAWK_ANALYZER_SYMBOLS_DEBUGINFOD_H
#define HAWK_ANALYZER_SYMBOLS_DEBUGINFOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hawk/base/findings.h"

struct hawk_debuginfod;

struct hawk_debuginfod_settings {
	uint64_t bytes_max;   /**< of all files together */
	uint64_t patience_ns; /**< each such time must bring 64 KiB */
};

/** NULL = out of memory. */
struct hawk_debuginfod *hawk_debuginfod_create(const struct hawk_debuginfod_settings *settings);

/**
 * Gets the program or library with that build-id, or its debug file. Returns the path of the file
 * in the cache, from malloc; NULL = the servers do not have it, or a finding says why not. After a
 * failure the servers are not asked again.
 */
char *hawk_debuginfod_fetch(struct hawk_debuginfod *debuginfod, const uint8_t *id, size_t bytes,
			    bool debug, struct hawk_findings *findings);

/** Accepts NULL. */
void hawk_debuginfod_destroy(struct hawk_debuginfod *debuginfod);

#endif
