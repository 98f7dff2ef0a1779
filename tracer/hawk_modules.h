/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The module log: which ELF file lay where, so that frames still resolve after dlclose, and without
 * a core.
 *
 * A module is logged when the unwinder first meets code of it (hawk_modules_find() of
 * hawk_unwind.h), never by hooking dlopen. The module generation grows when a range of addresses
 * turns out to belong to another module than the log says; generations seed the stack hashes, so
 * equal program counters of two libraries never merge.
 */
#ifndef HAWK_MODULES_H
#define HAWK_MODULES_H

#include <stdbool.h>
#include <stdint.h>

#include "hawk_unwind.h"

/** Logs every module that is loaded now. From the library's constructor. */
void hawk_modules_log_all(void);

#endif
