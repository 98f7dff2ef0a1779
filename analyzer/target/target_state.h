/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The inside of struct hawk_target, shared by the core file and the live backend. Nothing outside
 * this folder includes it.
 *
 * Order of filling: process and auxiliary vector, mappings (sorted, disjoint), threads, modules
 * last, because those are found by reading the target's memory.
 */
#ifndef HAWK_ANALYZER_TARGET_TARGET_STATE_H
#define HAWK_ANALYZER_TARGET_TARGET_STATE_H

#include "hawk/target/target.h"

struct hawk_core_file;
struct hawk_live;
struct hawk_snapshot_memory;

/** The auxiliary vector's values; 0 = unknown. */
struct hawk_auxv {
	uint64_t program_headers;      /**< AT_PHDR */
	uint64_t program_header_count; /**< AT_PHNUM */
	uint64_t page_bytes;           /**< AT_PAGESZ */
	uint64_t entry;                /**< AT_ENTRY */
	uint64_t vdso;                 /**< AT_SYSINFO_EHDR */
	uint64_t linker;               /**< AT_BASE: start of the dynamic linker */
	uint64_t program_name;         /**< AT_EXECFN: address of a string */
};

struct hawk_target {
	const struct hawk_arch *arch; /**< never NULL: see hawk_target_create() */
	uint64_t code_mask;           /**< bits that sign code pointers; 0 = not known */
	struct hawk_process process;
	struct hawk_auxv auxv;
	struct hawk_mapping *mappings;
	size_t mapping_count;
	struct hawk_thread *threads;
	size_t thread_count;
	size_t thread_capacity;
	struct hawk_module *modules;
	size_t module_count;
	size_t module_capacity;
	bool incomplete;             /**< hawk_target_is_incomplete() */
	struct hawk_string *strings; /**< every path that mappings and modules point to */
	bool files_known;            /**< the mappings' paths are (NT_FILE, /proc/PID/maps) */
	struct hawk_core_file *core; /**< set for cores; `live` for processes */
	struct hawk_live *live;
	bool held; /**< hawk_target_release() does nothing: see hawk_target_hold() */
	struct hawk_snapshot *snapshot; /**< in the core file's bytes; NULL = no snapshot */
	/** A snapshot's memory, instead of the core file's; NULL = no snapshot. */
	struct hawk_snapshot_memory *memory;
	struct hawk_target *table; /**< target of its trace table, if separate; owned */
};

/** Creates an empty target of this program's own machine and page size; NULL = out of memory. */
struct hawk_target *hawk_target_create(void);

/** Sets the page size, or the machine's smallest if it cannot be `bytes`. */
void hawk_target_set_page_bytes(struct hawk_target *target, uint64_t bytes);

/** Names the registers of a thread that all machines have. */
void hawk_target_name_registers(const struct hawk_target *target, struct hawk_thread *thread);

/** Copies `length` bytes plus a NUL, owned by the target; NULL = out of memory. */
const char *hawk_target_string(struct hawk_target *target, const char *bytes, size_t length);

/** Appends a zeroed element; NULL = out of memory. */
struct hawk_thread *hawk_target_add_thread(struct hawk_target *target);
struct hawk_module *hawk_target_add_module(struct hawk_target *target);

/** Reads the auxiliary vector; stops at AT_NULL or at the end of `bytes`. */
void hawk_auxv_parse(struct hawk_auxv *auxv, const void *bytes, size_t size);

/** Returns the length of `path` without " (deleted)"; `*deleted` = the suffix was present. */
size_t hawk_path_length(const char *path, bool *deleted);

/** target_modules.c: fills modules, process.program if empty, and flags of mappings known only by
 * path. */
struct hawk_error *hawk_target_find_modules(struct hawk_target *target,
					    struct hawk_findings *findings);

/** target_modules.c: returns the end of the image of which `address` is a part, up to its
 * variables; 0 = nothing is mapped there. For images without headers. */
uint64_t hawk_target_image_end(const struct hawk_target *target, uint64_t address);

/** target_links.c: sorts modules by start. */
void hawk_target_sort_modules(struct hawk_target *target);

/** target_links.c: completes the modules found so far; sorts them. */
struct hawk_error *hawk_target_follow_links(struct hawk_target *target,
					    struct hawk_findings *findings);

/*
 * elf_image.c: the ELF header and program headers of a loaded file, read from the target's memory.
 * Hostile input like all memory of a target: counts and sizes are limited, and an image must be
 * consistent to be accepted.
 */

enum { HAWK_ELF_IMAGE_HEADERS_MAX = 128 };

/** One PT_LOAD, addresses with the bias added. */
struct hawk_elf_load {
	uint64_t start;       /**< rounded down to a page */
	uint64_t end;         /**< rounded up to a page */
	uint64_t file_end;    /**< the same, without .bss */
	uint64_t file_offset; /**< of `start` */
	uint32_t flags;       /**< enum hawk_mapping_flag */
};

struct hawk_elf_image {
	uint64_t bias;
	uint64_t start;   /**< of the lowest PT_LOAD */
	uint64_t end;     /**< of the highest PT_LOAD */
	uint64_t dynamic; /**< address of PT_DYNAMIC, 0 = none */
	uint8_t build_id[HAWK_MODULE_BUILD_ID_MAX];
	uint32_t build_id_bytes;
	uint32_t load_count;
	struct hawk_elf_load loads[HAWK_ELF_IMAGE_HEADERS_MAX];
};

/**
 * Reads the image whose ELF header is at `address`. Returns false unless the target's kernel
 * or dynamic linker could have loaded it there.
 */
bool hawk_elf_image_read(const struct hawk_target *target, uint64_t address,
			 struct hawk_elf_image *ret);

#endif
