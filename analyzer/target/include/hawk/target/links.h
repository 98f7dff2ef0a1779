/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The public part (<link.h>) of the loader's list of modules, equal in glibc and musl. DT_DEBUG of
 * the executable points to its head, struct r_debug.
 */
#ifndef HAWK_ANALYZER_TARGET_LINKS_H
#define HAWK_ANALYZER_TARGET_LINKS_H

#include "hawk/target/target.h"

/** struct link_map. */
struct hawk_link {
	uint64_t bias;
	uint64_t name;    /**< address of the path */
	uint64_t dynamic; /**< address of PT_DYNAMIC */
	uint64_t next;
	uint64_t previous;
};

enum {
	HAWK_LINKS_MAX = 8192,      /**< upper limit for a list, which may be circular */
	HAWK_LINKS_HEAD_BYTES = 40, /**< of struct r_debug */
	HAWK_LINK_NAME_BYTES_MAX = 4096,
};

/** Returns the address of the first link of the list whose head lies at `head`, or 0. */
uint64_t hawk_links_first(const struct hawk_target *target, uint64_t head);

/** Reads the link at `address`. Returns false at the end of a list, or if it cannot be read. */
bool hawk_link_read(const struct hawk_target *target, uint64_t address, struct hawk_link *ret);

#endif
