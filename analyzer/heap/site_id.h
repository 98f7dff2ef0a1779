/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk_site_id() in two steps, for callers that name very many stacks. Internal to heap/.
 */
#ifndef HAWK_ANALYZER_HEAP_SITE_ID_H
#define HAWK_ANALYZER_HEAP_SITE_ID_H

#include "hawk/heap/heap.h"

/** Returns a module's contribution to ids: its build-id, or its base name without one. */
uint64_t hawk_site_module_identity(const struct hawk_table_module *module);

/** As hawk_site_id(). `identities` holds one value for each of the table's modules, or is NULL. */
uint64_t hawk_site_id_with(const struct hawk_table *table, const uint64_t *identities,
			   const struct hawk_trace *trace);

#endif
