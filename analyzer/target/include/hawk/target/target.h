/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A dead or living process seen as memory, mappings, threads and modules. Backends: a core file
 * (core_*.c), a process (live_*.c). Everything above reads foreign memory through this header only.
 *
 * Invariant: nothing in the target is trusted. Sizes, counts and names are clamped when the target
 * is opened; what had to be clamped or was not there is in the findings. No file named inside a
 * core is opened here (see symbols/symbols.h).
 */
#ifndef HAWK_ANALYZER_TARGET_TARGET_H
#define HAWK_ANALYZER_TARGET_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "hawk/base/error.h"
#include "hawk/base/findings.h"

struct hawk_target;

enum hawk_mapping_flag {
	HAWK_MAPPING_READ = 1u << 0,
	HAWK_MAPPING_WRITE = 1u << 1,
	HAWK_MAPPING_EXEC = 1u << 2,
	HAWK_MAPPING_SHARED = 1u << 3, /**< known for live processes only */
};

/** One range of the target's address space with the same rights. Sorted by start, disjoint. */
struct hawk_mapping {
	uint64_t start; /**< address; not necessarily page-aligned */
	uint64_t end;
	/**
	 * Bytes from `start` on that can be read. Less than end - start when the core does not hold
	 * them: never dumped
	 * (`dumped_bytes` is as small) or cut off (`dumped_bytes` is larger).
	 */
	uint64_t present_bytes;
	uint64_t dumped_bytes; /**< bytes that the core says it holds */
	uint64_t core_offset;  /**< of the first byte in the core file; 0 for live processes */
	uint32_t flags;        /**< enum hawk_mapping_flag */
	bool data; /**< of a module's writable segment, whatever rights it has now (RELRO) */
	uint64_t file_offset; /**< of `start` in `path` */
	const char *path;     /**< mapped file as the target names it, NULL = anonymous or unknown;
				 owned by the target */
};

/** x86-64 general registers in the order of struct user_regs_struct, as NT_PRSTATUS has them. */
enum hawk_register {
	HAWK_R15,
	HAWK_R14,
	HAWK_R13,
	HAWK_R12,
	HAWK_RBP,
	HAWK_RBX,
	HAWK_R11,
	HAWK_R10,
	HAWK_R9,
	HAWK_R8,
	HAWK_RAX,
	HAWK_RCX,
	HAWK_RDX,
	HAWK_RSI,
	HAWK_RDI,
	HAWK_ORIG_RAX,
	HAWK_RIP,
	HAWK_CS,
	HAWK_EFLAGS,
	HAWK_RSP,
	HAWK_SS,
	HAWK_FS_BASE,
	HAWK_GS_BASE,
	HAWK_DS,
	HAWK_ES,
	HAWK_FS,
	HAWK_GS,
	HAWK_REGISTER_COUNT
};

struct hawk_thread {
	uint32_t tid;
	int signal;    /**< the signal that this thread died of or is stopped by, 0 = none */
	bool crashed;  /**< the process died of it: a kernel core's first PRSTATUS */
	char name[17]; /**< live processes: comm; else empty */
	uint64_t registers[HAWK_REGISTER_COUNT];
	/** Vector and floating-point registers as XSAVE writes them (FXSAVE, if short); may be
	 * unaligned. NULL = not known. Owned by the target. */
	const uint8_t *vectors;
	uint32_t vectors_bytes;
};

enum { HAWK_MODULE_BUILD_ID_MAX = 64 };

/** A mapped ELF file. Sorted by start. */
struct hawk_module {
	const char *path; /**< as the target names it; "" if unknown; owned by the target */
	uint64_t start;   /**< lowest address that belongs to it */
	uint64_t end;
	uint64_t bias; /**< address minus link-time vaddr; valid if `has_bias` */
	bool has_bias;
	bool main; /**< the executable */
	bool vdso;
	bool deleted; /**< the path ended in " (deleted)", which is cut off */
	uint8_t build_id[HAWK_MODULE_BUILD_ID_MAX];
	uint32_t build_id_bytes; /**< 0 = none found in the target's memory */
};

/** What the process was, and how it ended. */
enum { HAWK_END_NAMES = 4 };

/** What there is to know of when a process ended, or stood still. Nanoseconds, of CLOCK_REALTIME
 * unless said; 0 = not known. Nothing was checked. */
struct hawk_end_times {
	uint64_t monotonic_ns;            /**< live: its CLOCK_MONOTONIC */
	uint64_t realtime_ns;             /**< live: if it has another CLOCK_MONOTONIC than we */
	uint64_t attribute_ns;            /**< systemd-coredump's attribute of the core file */
	uint64_t name_ns[HAWK_END_NAMES]; /**< numbers in the file's name that may be times */
	uint64_t file_ns;                 /**< the file's last change, or somebody's touch */
	uint64_t present_ns;              /**< core: when it was opened */
};

struct hawk_process {
	uint32_t pid;
	char program[4096]; /**< path of the executable, "" if unknown */
	char name[17];      /**< comm */
	char arguments[81]; /**< the kernel keeps 80 bytes of them in a core */
	bool live;          /**< a running or stopped process, not a core */
	/** Not a core but the tracer's table file: the extents of the table are all that is there.
	 */
	bool table_file;
	int signal;      /**< that killed it, 0 = none or unknown (gcore) */
	int signal_code; /**< si_code; valid if `has_siginfo` */
	bool has_siginfo;
	bool has_fault_address; /**< SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP raised by the CPU, not
				   by kill() */
	uint64_t fault_address;
	uint32_t sender_pid; /**< of a signal sent by kill(), else 0 */
	uint64_t page_bytes;
	/** Of a living process when it was stopped, in bytes, as the kernel reports them; 0 = not
	 * known. A core holds none of these. */
	uint64_t resident_bytes, peak_resident_bytes, swapped_bytes;
	struct hawk_end_times end;
};

/** How a compressed core is unpacked. */
struct hawk_unpack_settings {
	const char *folder; /**< for the unpacked core, a file without a name; NULL = /var/tmp */
};

/**
 * Maps the core, or the tracer's table file, at `path`; never reads it whole, unless it is
 * compressed (zstd, lz4, xz, gzip). HAWK_ERROR_FORMAT or _UNSUPPORTED say plainly what the file is.
 * `settings` may be NULL.
 */
struct hawk_error *hawk_target_unpack_core(const char *path,
					   const struct hawk_unpack_settings *settings,
					   struct hawk_findings *findings,
					   struct hawk_target **ret);

/** The same with settings of NULL. */
struct hawk_error *hawk_target_open_core(const char *path, struct hawk_findings *findings,
					 struct hawk_target **ret);

/**
 * Stops every thread of `pid` and reads mappings, registers and modules. The process stays stopped
 * until hawk_target_release(), hawk_target_close() or the death of this process, whichever comes
 * first; a process that was stopped before (SIGSTOP) stays so.
 */
struct hawk_error *hawk_target_open_pid(pid_t pid, struct hawk_findings *findings,
					struct hawk_target **ret);

/**
 * Live: copies [address, address + bytes) into this process, so that it can be read after the
 * release. Holes are left out. Cores: does nothing.
 */
struct hawk_error *hawk_target_capture(struct hawk_target *target, uint64_t address,
				       uint64_t bytes);

/** Live: lets the process go on; afterwards only captured ranges can be read. Cores: does nothing.
 */
void hawk_target_release(struct hawk_target *target);

/**
 * To be called when all reading is done. Live: HAWK_ERROR_FAULT if the process was killed while it
 * stood still, as the kernel does where memory runs out: then what was read is not whole, and says
 * nothing. Cores: NULL.
 */
struct hawk_error *hawk_target_verify(const struct hawk_target *target);

/** Live: how long the process stood still, in nanoseconds; valid after the release. */
uint64_t hawk_target_pause_ns(const struct hawk_target *target);

/**
 * The trace table of `target` is in `table`, another target (a table file), which it owns from now
 * on. hawk_target_table() is where to look for the table: that one, or `target` itself.
 */
void hawk_target_attach_table(struct hawk_target *target, struct hawk_target *table);
struct hawk_target *hawk_target_table(struct hawk_target *target);

/** For a table file, which does not say itself: the path of its program. NUL-terminated, else
 * ignored. */
void hawk_target_name_program(struct hawk_target *target, const char *path);

/** Accepts NULL; releases first. */
void hawk_target_close(struct hawk_target *target);

const struct hawk_process *hawk_target_process(const struct hawk_target *target);
const struct hawk_mapping *hawk_target_mappings(const struct hawk_target *target, size_t *count);
const struct hawk_thread *hawk_target_threads(const struct hawk_target *target, size_t *count);

/** An address on the stack that the kernel gave the program, above all frames; 0 = not known. */
uint64_t hawk_target_stack_top(const struct hawk_target *target);

/** There were more threads, not all of their registers are known, or headers of memory are damaged,
 * as findings say: what is not there, and whether pointers were, nobody knows. */
bool hawk_target_is_incomplete(const struct hawk_target *target);

const struct hawk_module *hawk_target_modules(const struct hawk_target *target, size_t *count);

/** How much memory of the process there is, in all mappings. */
uint64_t hawk_target_present_bytes(const struct hawk_target *target);

/** Index of the first mapping that ends above `address`; the number of mappings if there is none.
 */
size_t hawk_target_mapping_index(const struct hawk_target *target, uint64_t address);

/** The mapping, module that contains `address`, or NULL. */
const struct hawk_mapping *hawk_target_mapping_at(const struct hawk_target *target,
						  uint64_t address);
const struct hawk_module *hawk_target_module_at(const struct hawk_target *target, uint64_t address);

/** True if the thread died because it needed more stack than it had. */
bool hawk_target_stack_overflowed(const struct hawk_target *target,
				  const struct hawk_thread *thread);

/**
 * Where the live part of the thread's stack begins: at its stack pointer, or, if the thread died of
 * an overflow that has moved the stack pointer below the stack, at the start of the stack's
 * mapping.
 */
uint64_t hawk_target_stack_start(const struct hawk_target *target,
				 const struct hawk_thread *thread);

/** All of `bytes` or HAWK_ERROR_FAULT; crosses mappings that touch. */
struct hawk_error *hawk_target_read(const struct hawk_target *target, uint64_t address, void *to,
				    size_t bytes);

/** As above without an error object: how many bytes could be read from `address` on, up to `bytes`.
 */
size_t hawk_target_read_some(const struct hawk_target *target, uint64_t address, void *to,
			     size_t bytes);

/**
 * `bytes` at `address` in place, if they lie in one mapping of a core (or a captured range), else
 * NULL. Valid until the target is closed. The pointer may be unaligned (gcore).
 */
const void *hawk_target_view(const struct hawk_target *target, uint64_t address, size_t bytes);

/**
 * The first stretch of [address, end) that may hold other bytes than zero and can be read: holes of
 * a sparse core and memory that is not there are left out. False = none. A sweep that asks first
 * does not fault in gigabytes of zeros. Stretches do not cross mappings.
 */
bool hawk_target_next_data(const struct hawk_target *target, uint64_t address, uint64_t end,
			   uint64_t *data_start, uint64_t *data_end);

/**
 * To be called once when all reading is done: adds what went wrong meanwhile, which reading itself
 * could not report (the core file shrank under us, pages of a process could not be captured).
 */
void hawk_target_check(const struct hawk_target *target, struct hawk_findings *findings);

#endif
