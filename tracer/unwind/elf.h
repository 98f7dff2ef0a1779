/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The dynamic section of a mapped module: symbols by name, relocations, and writing a word that the
 * loader may have made read-only.
 *
 * For start-up only: modules must not be unloaded meanwhile. Needs no C library.
 */
#ifndef HAWK_TRACER_UNWIND_ELF_H
#define HAWK_TRACER_UNWIND_ELF_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

struct hawk_elf {
	uint64_t bias;
	uint64_t start, end; /**< of all its segments */
	const Elf64_Phdr *headers;
	unsigned header_count;
	Elf64_Dyn *symbols_entry; /**< DT_SYMTAB itself: the loader reads it at every lookup */
	const Elf64_Sym *symbols;
	const char *names;
	uint64_t names_bytes;
	const uint32_t *gnu_hash; /**< NULL: none */
	const uint32_t *hash;     /**< NULL: none */
	const Elf64_Rela *relocations;
	uint64_t relocation_count;
	uint64_t relative_count; /**< number of leading relocations that name no symbol */
	const Elf64_Rela *calls; /**< relocations of the procedure linkage table */
	uint64_t call_count;
	bool unrelocated; /**< the loader may still have to write to RELRO pages */
};

/** Opens a module. Returns false if it has no symbols, or a read-only dynamic section (the
 * vDSO). */
bool hawk_elf_open(const struct dl_phdr_info *info, struct hawk_elf *ret);

/** Opens the vDSO, whose ELF header lies at `start`, for hawk_elf_find() only. */
bool hawk_elf_open_vdso(uint64_t start, struct hawk_elf *ret);

/** Opens a module of the loader's list, for hawk_elf_find() too. Returns false for the vDSO, or
 * without symbols.
 */
bool hawk_elf_open_map(const struct link_map *map, struct hawk_elf *ret);

/** Returns the symbol of a function that the module exports, or NULL. */
const Elf64_Sym *hawk_elf_find(const struct hawk_elf *self, const char *name);

/** Returns the number of dynamic symbols; 0 if unknown. */
uint32_t hawk_elf_symbol_count(const struct hawk_elf *self);

/**
 * Makes the pages of [start, end), of one segment, writable. Returns false and changes nothing if
 * they hold code, which could be running, or if the kernel refuses.
 */
bool hawk_elf_unlock(const struct hawk_elf *self, const void *start, const void *end);

/** Restores the pages' protection; but RELRO pages of a module that may be unrelocated stay
 * writable. */
void hawk_elf_lock(const struct hawk_elf *self, const void *start, const void *end);

/** Stores `value` at `at`, which lies in the module. Returns false if the kernel refuses. */
bool hawk_elf_write(const struct hawk_elf *self, uint64_t *at, uint64_t value);

static inline bool hawk_elf_owns(const struct hawk_elf *self, uint64_t address)
{
	return address - self->start < self->end - self->start;
}

#endif
