/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Symbols that a stripped program carries in itself: .gnu_debugdata ("MiniDebugInfo"), an ELF file
 * with a symbol table, compressed with xz. Fedora and its relatives ship all programs with it.
 */
#ifndef HAWK_SYMBOLS_EMBEDDED_H
#define HAWK_SYMBOLS_EMBEDDED_H

#include "symbols_elf.h"

/**
 * The embedded file, or NULL in `*ret` if there is none, it is damaged, or this build has no
 * liblzma. Errors: memory.
 */
struct hawk_error *hawk_elf_open_embedded(const struct hawk_elf *binary, struct hawk_elf **ret);

#endif
