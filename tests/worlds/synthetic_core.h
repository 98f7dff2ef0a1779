/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Builds small x86_64 core files for tests: segments with chosen bytes, threads with chosen
 * registers, any note, and the odd layouts that real producers write (notes at the end, unaligned
 * offsets, PN_XNUM, truncation).
 *
 * Test code: runs out of patience with abort(), never with an error. Bytes are copied when added.
 */
#ifndef SYNTHETIC_CORE_H
#define SYNTHETIC_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct synthetic_core;

enum synthetic_flag {
	SYNTHETIC_EXEC = 1, /**< as PF_X, PF_W, PF_R */
	SYNTHETIC_WRITE = 2,
	SYNTHETIC_READ = 4,
};

/** One PT_LOAD. */
struct synthetic_segment {
	uint64_t address;
	const void *bytes;     /**< what the core holds of it; NULL = zeros */
	uint64_t dumped_bytes; /**< p_filesz */
	uint64_t memory_bytes; /**< p_memsz; 0 = dumped_bytes */
	uint32_t flags;        /**< enum synthetic_flag */
	const char *path;      /**< listed in NT_FILE; NULL = anonymous */
	uint64_t file_offset;  /**< of `address` in `path`, in bytes, page-aligned */
	bool omitted;          /**< in NT_FILE only, no PT_LOAD (gcore does that) */
};

/** Layout of the file; all zero = like the kernel's. */
struct synthetic_layout {
	bool notes_last;        /**< NOTE data and its program header after everything else */
	bool unaligned;         /**< segment data at offsets that are multiples of 8 only */
	bool extended_count;    /**< PN_XNUM: the real count is in section header 0 at the end */
	bool descending;        /**< program headers with the highest address first */
	bool without_file_note; /**< no NT_FILE */
	uint16_t machine;       /**< e_machine; 0 = x86-64 */
};

struct synthetic_core *synthetic_core_create(void);
void synthetic_core_destroy(struct synthetic_core *core);

void synthetic_core_set_layout(struct synthetic_core *core, struct synthetic_layout layout);

void synthetic_core_add_segment(struct synthetic_core *core, struct synthetic_segment segment);

/** Short form: `size` bytes at `address`, all of them dumped, anonymous, readable and writable. */
void synthetic_core_add_memory(struct synthetic_core *core, uint64_t address, const void *bytes,
			       size_t size);

/** NT_PRSTATUS. `registers` are 27 words in the order of enum hawk_x86_64_register; NULL = zeros.
 */
void synthetic_core_add_thread(struct synthetic_core *core, uint32_t tid, int signal,
			       const uint64_t *registers);

/** Any note, owner "CORE" if NULL; kept in the order in which notes and threads were added. */
void synthetic_core_add_note(struct synthetic_core *core, const char *owner, uint32_t type,
			     const void *bytes, size_t size);

/** NT_PRPSINFO. */
void synthetic_core_add_process(struct synthetic_core *core, uint32_t pid, const char *name,
				const char *arguments);

/** NT_SIGINFO; `value` is the fault address, or for `code` <= 0 the sender's pid. */
void synthetic_core_add_siginfo(struct synthetic_core *core, int signal, int code, uint64_t value);

/** NT_AUXV from `count` pairs (type, value); AT_NULL is put behind them. */
void synthetic_core_add_auxv(struct synthetic_core *core, const uint64_t (*pairs)[2], size_t count);

/** The file's bytes; free() them. Program header i is at 64 + 56 * i. */
uint8_t *synthetic_core_build(const struct synthetic_core *core, size_t *size);

/**
 * Writes the file, cut to at most `cut_bytes` (SIZE_MAX = whole), below $TMPDIR or /tmp. The path
 * is to be passed to synthetic_core_remove().
 */
char *synthetic_core_write(const struct synthetic_core *core, size_t cut_bytes);

/** The same for bytes of any kind. */
char *synthetic_file_write(const void *bytes, size_t size);

/** Unlinks and frees `path`. */
void synthetic_core_remove(char *path);

/** Contents of the ELF header page of a shared object or executable. */
struct synthetic_elf {
	uint64_t vaddr;       /**< of the first PT_LOAD: 0 = position-independent */
	uint64_t bytes;       /**< memory size of the one PT_LOAD; 0 = one page */
	const void *build_id; /**< NULL = none */
	uint32_t build_id_bytes;
	bool executable; /**< ET_EXEC rather than ET_DYN */
};

enum { SYNTHETIC_PAGE_BYTES = 4096 };

/** Fills one page with the ELF header, program headers and build-id note of `elf`. */
void synthetic_elf_page(uint8_t page[SYNTHETIC_PAGE_BYTES], struct synthetic_elf elf);

#endif
