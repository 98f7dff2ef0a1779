/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * How much thread-local storage lies below every thread pointer. Internal to graph/.
 */
#ifndef HAWK_ANALYZER_GRAPH_ROOTS_TLS_H
#define HAWK_ANALYZER_GRAPH_ROOTS_TLS_H

#include "hawk/target/target.h"

/**
 * Bytes of static TLS, as the dynamic loader of glibc lays it out: the blocks of all modules, and
 * room for later ones. Somewhat too many if modules that were loaded later have TLS. 0 = not known:
 * the core does not hold the modules' headers.
 */
uint64_t hawk_roots_static_tls_bytes(const struct hawk_target *target);

#endif
