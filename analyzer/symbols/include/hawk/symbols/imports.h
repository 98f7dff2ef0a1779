/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What modules import: functions that they may call in other modules.
 */
#ifndef HAWK_ANALYZER_SYMBOLS_IMPORTS_H
#define HAWK_ANALYZER_SYMBOLS_IMPORTS_H

#include "hawk/symbols/symbols.h"

/** Returns true if no module imports `function`. Returns false if a module's file is missing, or if
 * the C library is no module of its own: a static program imports nothing. */
bool hawk_symbols_never_import(struct hawk_symbols *symbols, const char *function);

#endif
