/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The package that a module came from, by the note .note.package in its memory
 * (https://systemd.io/COREDUMP_PACKAGE_METADATA/). Fedora and Ubuntu have it in every program.
 */
#ifndef HAWK_ANALYZER_SYMBOLS_PACKAGE_NOTE_H
#define HAWK_ANALYZER_SYMBOLS_PACKAGE_NOTE_H

#include "hawk/base/text.h"
#include "hawk/symbols/symbols.h"

/** Appends "libfoo 1.2-3 (deb)"; returns false if there is no such note. `target` may be NULL. */
bool hawk_package_note_append(const struct hawk_target *target,
			      const struct hawk_symbol_module *module, struct hawk_text *to);

#endif
