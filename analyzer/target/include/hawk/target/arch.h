/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Differences between machines, one struct each: registers and their places in notes, numbers of
 * call frame information, the frame of a signal handler, addresses, pages.
 *
 * Nothing above target/ names a register of one machine. A further machine is another row
 * (arch_NAME.c, arch.c); the limits below are those of the largest.
 */
#ifndef HAWK_ANALYZER_TARGET_ARCH_H
#define HAWK_ANALYZER_TARGET_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	HAWK_REGISTERS_MAX = 35,     /**< general registers */
	HAWK_CFI_REGISTERS_MAX = 33, /**< registers that call frame information can restore */
	HAWK_ARCH_VECTORS = 3,
	HAWK_ARCH_VECTORS_KEPT = 2,
	HAWK_CALL_ARGUMENTS = 6,
	HAWK_CALL_BYTES = 7, /**< the longest call instruction, without prefixes */
};

enum hawk_register_use {
	HAWK_REGISTER_DATA = 0, /**< any value of the program; may hold a pointer */
	HAWK_REGISTER_PLACE,    /**< an address of the thread's position */
	HAWK_REGISTER_STATE,    /**< flags, selectors: no address */
};

struct hawk_arch_register {
	const char *name; /**< as gdb calls it */
	enum hawk_register_use use;
};

/** Offsets in bytes, end exclusive. */
struct hawk_arch_range {
	uint32_t start;
	uint32_t end;
};

/** A run of vector registers in their note; a register each `bytes`. */
struct hawk_arch_vectors {
	const char *name; /**< name without the number: "xmm" */
	struct hawk_arch_range range;
	uint32_t bytes; /**< 0 = the run is not divided into registers */
};

/** struct ucontext, which the kernel puts on the stack to call a handler. Offsets in bytes. */
struct hawk_arch_context {
	uint16_t above_sp;    /**< its distance from the stack pointer behind the handler */
	uint64_t flags_max;   /**< upper limit on its first word */
	uint16_t link;        /**< 0 in the kernel's own */
	uint16_t stack;       /**< start of the alternate stack */
	uint16_t stack_bytes; /**< its size */
	uint16_t registers;   /**< the first saved register */
	uint16_t sp;          /**< the stack pointer among them */
	uint16_t mark;        /**< word that has a known value in every program */
	uint16_t bytes;       /**< up to and with `mark` */
	uint16_t count;       /**< saved registers */
	const uint8_t *cfi;   /**< number of each in call frame information */
	uint64_t mark_low;    /**< low 16 bits of `mark` */
	uint64_t mark_value;  /**< all of it; older kernels leave the upper bits 0 */
};

/** Registers by their numbers in call frame information (DWARF). */
struct hawk_arch_cfi {
	uint8_t count; /**< followed registers: 0 .. count - 1 */
	uint8_t pc;    /**< the return address */
	uint8_t sp;
	uint8_t fp;   /**< the frame pointer */
	uint8_t link; /**< has the return address at a function's start; `pc` = the stack has */
	uint64_t callee_saved;    /**< a bit for each register that a function must preserve */
	const uint8_t *registers; /**< index of each among the general ones */
};

enum hawk_tls_variant {
	HAWK_TLS_ABOVE = 1, /**< static TLS lies above the thread pointer */
	HAWK_TLS_BELOW = 2,
};

struct hawk_arch {
	const char *name;
	uint16_t machine;        /**< e_machine of ELF */
	uint8_t address_bits;    /**< of a program's addresses */
	uint8_t tls_variant;     /**< enum hawk_tls_variant */
	uint32_t page_bytes;     /**< the smallest pages */
	uint32_t page_bytes_max; /**< the largest ones that a kernel is built for */
	uint32_t red_zone_bytes; /**< below the stack pointer, used by leaf functions */
	uint32_t tls_head_bytes; /**< HAWK_TLS_ABOVE: between the thread pointer and the first block
				  */

	/* NT_PRSTATUS: offsets of struct elf_prstatus. */
	uint16_t status_signal;    /**< 16 bits */
	uint16_t status_tid;       /**< 32 bits */
	uint16_t status_times;     /**< times fill the rest up to the registers */
	uint16_t status_registers; /**< 64 bits each */
	uint8_t status_count;      /**< the first of the registers; other notes have the rest */
	uint8_t register_count;
	const struct hawk_arch_register *registers;
	uint8_t pc, sp, thread_pointer; /**< indices of registers */
	/* Notes of one thread each, whose owner is LINUX; 0 = the machine has none. */
	uint32_t thread_pointer_note; /**< type of the one that holds the thread pointer */
	uint32_t code_mask_note; /**< two masks: bits of data and of code pointers that sign them */
	/* System calls, by indices of registers. */
	uint8_t call;              /**< its number; negative outside of calls */
	uint32_t call_instruction; /**< at or before the pc of a thread in a call; 0 = `call` tells
				    */
	uint8_t call_arguments[HAWK_CALL_ARGUMENTS];
	/** Returns true if the instruction that ends these HAWK_CALL_BYTES bytes is a call. */
	bool (*ends_in_call)(const uint8_t *bytes);

	/* The note of vector registers. */
	uint32_t vectors_note;        /**< its type; its owner is LINUX; 0 = NT_FPREGSET has all */
	uint32_t vectors_layout_note; /**< type of a note that describes it; 0 = none */
	struct hawk_arch_vectors vectors[HAWK_ARCH_VECTORS]; /**< ascending */
	/** Its parts that describe its format and hold no data. */
	struct hawk_arch_range vectors_kept[HAWK_ARCH_VECTORS_KEPT];

	struct hawk_arch_cfi cfi;
	struct hawk_arch_context context;
};

/** Returns the row of the machine with this number in ELF headers; NULL = it is not supported. */
const struct hawk_arch *hawk_arch_of(uint16_t machine);

/** Returns the row of the machine that this program runs on. */
const struct hawk_arch *hawk_arch_host(void);

/** Returns one above the highest address. */
static inline uint64_t hawk_arch_address_end(const struct hawk_arch *arch)
{
	return UINT64_C(1) << arch->address_bits;
}

#endif
