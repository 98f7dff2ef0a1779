/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A dead or living process seen as memory, mappings, threads and modules. Backends: a core file
 * (core_*.c), a process (live_*.c). Everything above reads foreign memory through this header only.
 *
 * Invariant: nothing in the target is trusted. Opening clamps sizes, counts and names; findings say
 * what was clamped or missing. Files named inside a core are never opened here (see
 * symbols/symbols.h).
 */
#ifndef HAWK_ANALYZER_TARGET_TARGET_H
#define HAWK_ANALYZER_TARGET_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "hawk/base/error.h"
#include "hawk/base/findings.h"
#include "hawk/base/span.h"
#include "hawk/target/arch.h"

struct hawk_target;
struct hawk_snapshot;
struct hawk_snapshot_writer;

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
	 * Readable bytes from `start` on. Less than end - start if the core lacks the rest: never
	 * dumped (`dumped_bytes` is as small) or cut off (`dumped_bytes` is larger).
	 */
	uint64_t present_bytes;
	uint64_t dumped_bytes; /**< bytes that the core's header states */
	uint64_t core_offset;  /**< of the first byte in the core file; 0 for live processes */
	uint32_t flags;        /**< enum hawk_mapping_flag */
	bool data;             /**< in a module's writable segment, even if read-only now (RELRO) */
	uint64_t file_offset;  /**< of `start` in `path` */
	const char *path;      /**< mapped file as the target names it, NULL = anonymous or unknown;
				  owned by the target */
};

struct hawk_thread {
	uint32_t tid;
	int signal;    /**< signal that killed or stopped this thread, 0 = none */
	bool crashed;  /**< the process died of it: a kernel core's first PRSTATUS */
	char name[17]; /**< live processes: comm; else empty */
	uint64_t pc, sp, thread_pointer;
	uint64_t registers[HAWK_REGISTERS_MAX]; /**< general ones, in the order of the machine */
	/** Vector and floating-point registers as their note has them (x86-64: XSAVE, or FXSAVE if
	 * short); may be unaligned. NULL = not known. Owned by the target. */
	const uint8_t *vectors;
	uint32_t vectors_bytes;
};

enum { HAWK_MODULE_BUILD_ID_MAX = 64 };

/** What showed that a module is one. */
enum hawk_module_origin {
	HAWK_MODULE_BY_MAPPING = 0, /**< the path of a mapping: NT_FILE, /proc/PID/maps */
	HAWK_MODULE_BY_LINK,        /**< the dynamic linker's list (link_map) */
	HAWK_MODULE_BY_AUXV,        /**< the auxiliary vector: program, vdso */
	HAWK_MODULE_BY_HEADER,      /**< an ELF header at the start of a mapping, nothing else */
	HAWK_MODULE_ORIGINS,
};

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
	uint8_t origin;          /**< enum hawk_module_origin */
};

/** Returns true for a program that is not position-independent: nothing in it is relocated. */
static inline bool hawk_module_is_fixed(const struct hawk_module *module)
{
	return module->main && module->has_bias && !module->bias;
}

/** The process, and its end. */
enum { HAWK_END_NAMES = 4 };

/** Candidates for the time a process ended or was stopped. Nanoseconds of CLOCK_REALTIME unless
 * noted; 0 = unknown. Unverified. */
struct hawk_end_times {
	uint64_t monotonic_ns;            /**< live: its CLOCK_MONOTONIC */
	uint64_t realtime_ns;             /**< live: set if its CLOCK_MONOTONIC differs from ours */
	uint64_t attribute_ns;            /**< systemd-coredump's attribute of the core file */
	uint64_t name_ns[HAWK_END_NAMES]; /**< possible times in the file name */
	uint64_t file_ns;                 /**< the file's mtime, or a later touch */
	uint64_t present_ns;              /**< core: when it was opened */
};

struct hawk_process {
	uint32_t pid;
	char program[4096]; /**< path of the executable, "" if unknown */
	char name[17];      /**< comm */
	char arguments[81]; /**< the kernel keeps 80 bytes of them in a core */
	bool live;          /**< a running or stopped process, not a core */
	/** A tracer table file, or a running process of which only the table is read: holds the
	 * table's extents, no blocks. */
	bool table_file;
	/** Written by "hawk-core redact": pointers are kept, other contents are gone. */
	bool redacted;
	int signal;      /**< signal that killed it, 0 = none or unknown (gcore) */
	int signal_code; /**< si_code; valid if `has_siginfo` */
	bool has_siginfo;
	bool has_fault_address; /**< SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP raised by the CPU, not
				   by kill() */
	uint64_t fault_address;
	uint32_t sender_pid; /**< of a signal sent by kill(), else 0 */
	uint64_t page_bytes; /**< of the kernel; a power of two that the machine supports */
	/** Live process only: bytes as the kernel reported them at the stop; 0 = unknown. */
	uint64_t resident_bytes, peak_resident_bytes, swapped_bytes;
	struct hawk_end_times end;
};

/** Settings for cores that cannot be mapped in place: compressed, or in a pipe. */
struct hawk_unpack_settings {
	const char *folder; /**< for the core, an unnamed file; NULL = /var/tmp */
	bool dash;          /**< the path "-" is standard input */
};

/**
 * Maps the core, the tracer's table file or the snapshot at `path`; never reads it whole, unless it
 * is compressed (zstd, lz4, xz, gzip). HAWK_ERROR_FORMAT or _UNSUPPORTED messages say what the file
 * is. `settings` may be NULL.
 */
struct hawk_error *hawk_target_unpack_core(const char *path,
					   const struct hawk_unpack_settings *settings,
					   struct hawk_findings *findings,
					   struct hawk_target **ret);

/** As hawk_target_open_core(), for a look at the notes: of a `packed` core only the beginning is
 * there, and it looks cut off. */
struct hawk_error *hawk_target_peek_core(const char *path, struct hawk_findings *findings,
					 bool *packed, struct hawk_target **ret);

/** As hawk_target_unpack_core(), with settings of NULL. */
struct hawk_error *hawk_target_open_core(const char *path, struct hawk_findings *findings,
					 struct hawk_target **ret);

/**
 * Stops every thread of `pid` and reads mappings, registers and modules. It stays stopped until
 * hawk_target_release(), hawk_target_close() or the end of this process. A process that was already
 * stopped (SIGSTOP) stays stopped.
 */
struct hawk_error *hawk_target_open_pid(pid_t pid, struct hawk_findings *findings,
					struct hawk_target **ret);

/**
 * Opens a process that goes on, to read the tracer's table while it changes; it is a table file to
 * everyone else. Fails where hawk_target_open_pid() may not stop it.
 */
struct hawk_error *hawk_target_open_running(pid_t pid, struct hawk_findings *findings,
					    struct hawk_target **ret);

/** Such a process: forgets what was read, and all mappings that do not reach into `spans`. Returns
 * false if it has ended. */
bool hawk_target_look_again(struct hawk_target *target, const struct hawk_span *spans,
			    size_t count);

/**
 * Live: copies [address, address + bytes) into this process, so that it stays readable after the
 * release. Skips holes. Cores: does nothing.
 */
struct hawk_error *hawk_target_capture(struct hawk_target *target, uint64_t address,
				       uint64_t bytes);

/** Live: resumes the process; only captured ranges stay readable. Cores: does nothing. */
void hawk_target_release(struct hawk_target *target);

/** While `held` is set, hawk_target_release() does nothing: several answers read one process. */
void hawk_target_hold(struct hawk_target *target, bool held);

/**
 * Call when all reading is done. Live: returns HAWK_ERROR_FAULT if the process was killed while
 * stopped (by the OOM killer, say); the data read is then unreliable. Cores: returns NULL.
 */
struct hawk_error *hawk_target_verify(const struct hawk_target *target);

/** Live: returns how long the process was stopped, in nanoseconds; valid after the release. */
uint64_t hawk_target_pause_ns(const struct hawk_target *target);

/**
 * Makes `target` own `table`, a table file that holds its trace table. hawk_target_table() returns
 * the target to search for the table: `table` if attached, else `target`.
 */
void hawk_target_attach_table(struct hawk_target *target, struct hawk_target *table);
struct hawk_target *hawk_target_table(struct hawk_target *target);

/** Sets the program's path for a table file, which does not record it. Ignored unless
 * NUL-terminated. */
void hawk_target_name_program(struct hawk_target *target, const char *path);

/** Returns the bytes of the core file (unpacked, if it is compressed), or NULL for a live process.
 * Valid until the target is closed. */
const uint8_t *hawk_target_core_bytes(const struct hawk_target *target, size_t *size);

/** Returns the snapshot that the target was opened from, or NULL. In a snapshot only the trace
 * table's memory can be read, even if mappings are marked present. */
const struct hawk_snapshot *hawk_target_snapshot(const struct hawk_target *target);

/**
 * Writes the target, without memory, arguments and most registers, for hawk_target_open_core() to
 * read. Includes the first `opened` of `findings`, which opening the target added.
 */
struct hawk_error *hawk_target_save(const struct hawk_target *target,
				    const struct hawk_findings *findings, size_t opened,
				    struct hawk_snapshot_writer *writer);

/** Accepts NULL; releases first. */
void hawk_target_close(struct hawk_target *target);

const struct hawk_process *hawk_target_process(const struct hawk_target *target);
const struct hawk_arch *hawk_target_arch(const struct hawk_target *target);

/** Returns a code pointer without the bits that sign it (pointer authentication). */
uint64_t hawk_target_code_address(const struct hawk_target *target, uint64_t pointer);

/** Sets a thread pointer that the core does not hold. `thread` is an index. */
void hawk_target_set_thread_pointer(struct hawk_target *target, size_t thread, uint64_t pointer);

const struct hawk_mapping *hawk_target_mappings(const struct hawk_target *target, size_t *count);
const struct hawk_thread *hawk_target_threads(const struct hawk_target *target, size_t *count);
/** Returns the thread whose stack shows how the process died: the one that took the signal, or else
 * the first. NULL = threads are not known. */
const struct hawk_thread *hawk_target_crashed_thread(const struct hawk_target *target);

/** Returns an address on the main stack, above all frames; 0 = unknown. */
uint64_t hawk_target_stack_top(const struct hawk_target *target);

/** Returns true if threads, registers or memory headers are missing or damaged (findings say
 * which), so that pointers may be missing too. */
bool hawk_target_is_incomplete(const struct hawk_target *target);

const struct hawk_module *hawk_target_modules(const struct hawk_target *target, size_t *count);

/** Returns the readable bytes of all mappings. */
uint64_t hawk_target_present_bytes(const struct hawk_target *target);

/** Returns the readable bytes from `start` up to `end` or the first gap between mappings: a
 * truncated core lacks some. */
uint64_t hawk_target_present_between(const struct hawk_target *target, uint64_t start,
				     uint64_t end);

/** Returns the index of the first mapping that ends above `address`, or the mapping count. */
size_t hawk_target_mapping_index(const struct hawk_target *target, uint64_t address);

/** Return the mapping or module that contains `address`, or NULL. */
const struct hawk_mapping *hawk_target_mapping_at(const struct hawk_target *target,
						  uint64_t address);
const struct hawk_module *hawk_target_module_at(const struct hawk_target *target, uint64_t address);

/** Returns true if the thread died of a stack overflow. */
bool hawk_target_stack_overflowed(const struct hawk_target *target,
				  const struct hawk_thread *thread);

/**
 * Returns the start of the thread's live stack: its stack pointer, or the start of the stack's
 * mapping if an overflow moved the stack pointer below it.
 */
uint64_t hawk_target_stack_start(const struct hawk_target *target,
				 const struct hawk_thread *thread);

/** Reads all of `bytes` or returns HAWK_ERROR_FAULT; crosses adjacent mappings. */
struct hawk_error *hawk_target_read(const struct hawk_target *target, uint64_t address, void *to,
				    size_t bytes);

/** Reads up to `bytes` from `address` and returns the number read. */
size_t hawk_target_read_some(const struct hawk_target *target, uint64_t address, void *to,
			     size_t bytes);

/**
 * Returns `bytes` at `address` in place if they lie in one mapping of a core (or a captured range),
 * else NULL. Valid until the target is closed. The pointer may be unaligned (gcore).
 */
const void *hawk_target_view(const struct hawk_target *target, uint64_t address, size_t bytes);

/**
 * Finds the first readable range in [address, end) that may hold nonzero bytes, skipping a sparse
 * core's holes and missing memory. Returns false if none. Sweeps use it to avoid faulting in
 * gigabytes of zeros. Ranges do not cross mappings.
 */
bool hawk_target_next_data(const struct hawk_target *target, uint64_t address, uint64_t end,
			   uint64_t *data_start, uint64_t *data_end);

/**
 * Call once when all reading is done. Adds findings that reads could not report: the core file
 * shrank, or pages of a process could not be captured.
 */
void hawk_target_check(const struct hawk_target *target, struct hawk_findings *findings);

#endif
