/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * One ELF file of this machine (or the vdso's image), opened without trust: a regular file, 64-bit
 * little-endian, of a supported machine, executable, shared or relocatable object. Nothing else is
 * ever opened, so that a FIFO or a device at a path that a core names cannot hang or disturb
 * anything.
 *
 * Addresses here are link-time addresses: the module's bias is already taken off.
 */
#ifndef HAWK_ANALYZER_SYMBOLS_ELF_H
#define HAWK_ANALYZER_SYMBOLS_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <elfutils/libdw.h>
#include <gelf.h>

#include "hawk/base/error.h"
#include "hawk/base/span.h"
#include "hawk/target/target.h"

/** A PT_LOAD or PT_GNU_EH_FRAME header, clamped to the file. */
struct hawk_elf_segment {
	uint64_t start, end;    /**< link-time addresses */
	const uint8_t *bytes;   /**< contents from `start` on; NULL if the file holds none */
	uint64_t present_bytes; /**< bytes from `start` on that the file holds */
	bool executable;
};

struct hawk_elf {
	Elf *elf;
	char *path;
	uint8_t *image; /**< the whole file; never written back */
	size_t image_bytes;
	bool mapped; /**< `image` is mapped, else from malloc */
	const struct hawk_arch *arch;
	bool relocatable; /**< ET_REL: the type of files that dwz shares between programs */
	struct hawk_elf_segment *segments;
	size_t segment_count;
	struct hawk_elf_segment unwind_table; /**< PT_GNU_EH_FRAME; empty if absent */
	uint64_t tls_bytes;                   /**< PT_TLS; 0 = none */
	uint64_t tls_alignment;
	uint8_t build_id[HAWK_MODULE_BUILD_ID_MAX];
	uint32_t build_id_bytes; /**< 0 = none */
};

/**
 * Opens `path`. HAWK_ERROR_OS if descriptors or memory run out. If the file is unusable, leaves
 * `*ret` unset; `*why` is a static phrase ("is not a regular file"), or NULL if the file is missing
 * or unreadable.
 */
struct hawk_error *hawk_elf_open(const char *path, const char **why, struct hawk_elf **ret);

/** As above for an image in memory; takes ownership of `image` (from malloc) in any case. */
struct hawk_error *hawk_elf_from_image(const char *name, uint8_t *image, size_t bytes,
				       const char **why, struct hawk_elf **ret);

/** Makes a copy of the file in memory whose debug sections are not compressed with zstd, which
 * libdw may not read. `*ret` stays unset if none is compressed so, or if they cannot be unpacked:
 * then
 * `*why` is a static phrase. */
struct hawk_error *hawk_elf_unpack(const struct hawk_elf *elf, const char **why,
				   struct hawk_elf **ret);

/** Finds the main module's thread-local storage of the thread with that thread pointer; false = it
 * has none, or a damaged one. */
bool hawk_elf_tls_block(const struct hawk_elf *elf, uint64_t thread_pointer, struct hawk_span *ret);

/** Accepts NULL. */
void hawk_elf_close(struct hawk_elf *elf);

/** Returns true if the file has code segments without contents (objcopy --only-keep-debug). */
bool hawk_elf_is_debug_only(const struct hawk_elf *elf);

/** Returns the file's bytes loaded at `address`, and the number available in the same segment. */
const uint8_t *hawk_elf_bytes(const struct hawk_elf *elf, uint64_t address, uint64_t *available);

/** Returns true if `address` is in an executable segment or the file has no segments. */
bool hawk_elf_is_code(const struct hawk_elf *elf, uint64_t address);

/** Returns the page address of the first PT_LOAD, which is the module's lowest mapping. */
uint64_t hawk_elf_first_page(const struct hawk_elf *elf);

/** Returns the section `name` and its header if the file has its contents; else NULL. */
Elf_Scn *hawk_elf_section(const struct hawk_elf *elf, const char *name, GElf_Shdr *header);

static inline void hawk_cleanup_elf(struct hawk_elf **elf)
{
	hawk_elf_close(*elf);
}

#endif
