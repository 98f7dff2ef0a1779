/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Names of virtual tables without symbols. Private to symbols/.
 */
#ifndef HAWK_ANALYZER_SYMBOLS_CONTENTS_H
#define HAWK_ANALYZER_SYMBOLS_CONTENTS_H

#include "state.h"

/** Sets name and offset of `place` if the words before `table`, an address in the target, lead to
 * a type_info; else leaves them. */
struct hawk_error *hawk_symbols_name_vtable(struct hawk_symbols *symbols, uint64_t table,
					    struct hawk_symbol_place *place);

#endif
