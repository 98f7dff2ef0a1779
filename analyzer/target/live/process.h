/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A stopped process: its files below /proc and its memory, read with process_vm_readv() or, where
 * that fails (PROT_NONE), /proc/PID/mem. Untouched pages are taken as zeros without reading them.
 *
 * After hawk_live_release() only captured memory can be read.
 */
#ifndef HAWK_ANALYZER_TARGET_LIVE_PROCESS_H
#define HAWK_ANALYZER_TARGET_LIVE_PROCESS_H

#include "hawk/target/target.h"
#include "hawk/base/text.h"

/*
 * live_proc.c: files below /proc/PID. All are opened relative to an open /proc/PID, which goes
 * stale when the process dies, so a reused pid is never mistaken for it.
 */

enum { HAWK_PROC_FILE_MAX = 256 << 20 };

/** Reads a small file whole; HAWK_ERROR_OS, or _UNSUPPORTED beyond HAWK_PROC_FILE_MAX. */
struct hawk_error *hawk_proc_read(int directory, const char *name, struct hawk_text *ret);

/** Reads such a file of one thread. */
struct hawk_error *hawk_proc_read_task(int directory, pid_t tid, const char *file,
				       struct hawk_text *ret);

/** Fields of /proc/PID/stat or task/TID/stat. */
struct hawk_proc_stat {
	char state; /**< R S D T t Z X I */
	bool kernel_thread;
	uint64_t thread_count;
	uint64_t start_ticks;
};
struct hawk_error *hawk_proc_stat(int directory, const char *name, struct hawk_proc_stat *ret);

/** Returns true if the last thread has ended; the leader alone may have exited. */
static inline bool hawk_proc_stat_ended(const struct hawk_proc_stat *stat)
{
	return (stat->state == 'Z' || stat->state == 'X') && stat->thread_count <= 1;
}

/** Returns true if the process has ended. */
bool hawk_proc_has_ended(int directory);

/** Returns the number in a line "key:\tvalue" of /proc/PID/status, or `fallback` if missing. */
uint64_t hawk_proc_status_number(int directory, const char *key, uint64_t fallback);

/** Parses /proc/PID/maps text into sorted mappings; `target` owns paths and mappings. */
struct hawk_error *hawk_proc_parse_maps(const char *text, struct hawk_target *target,
					uint64_t *vdso);

/** Explains ptrace's EPERM as far as possible. */
struct hawk_error *hawk_proc_refusal(pid_t pid, int directory, int errnum);

/*
 * live_stop.c: stops every thread of a process with ptrace, and resumes them.
 *
 * A thread of ours is the tracer: when it ends for any reason, even SIGKILL of the analyzer, the
 * kernel detaches the rest. PTRACE_O_EXITKILL is never set. So no failure of ours leaves the
 * process stopped. A thread that was stopped by SIGSTOP stays stopped afterwards; a signal that
 * arrived meanwhile is passed on.
 */

struct hawk_stopper;

struct hawk_stopped_thread {
	pid_t tid;
	bool stopped; /**< false: gone, or not stopped in time */
	bool gone;
	bool starved; /**< not stopped for lack of a processor; stops before it runs again */
	bool has_registers;
	int stop_signal; /**< group-stop: SIGSTOP, SIGTSTP ...; 0 = it was running */
	int signal;      /**< intercepted signal to pass on; 0 = none */
	uint64_t registers[HAWK_REGISTERS_MAX];
	uint8_t *vectors; /**< as their note has them; NULL = not known; lives as long as the
			     stopper */
	uint32_t vectors_bytes;
};

/**
 * Stops all threads of `pid`, whose /proc/PID is open as `directory`. HAWK_ERROR_OS with the
 * reason in words if ptrace is not allowed; then nothing stays stopped.
 */
struct hawk_error *hawk_stopper_create(pid_t pid, int directory, struct hawk_stopper **ret);

/**
 * Takes over threads that the calling thread has stopped already, by `tid` and `stopped`, and reads
 * their registers. The release leaves them to the caller.
 */
struct hawk_error *hawk_stopper_adopt(pid_t pid, int directory,
				      const struct hawk_stopped_thread *threads, size_t count,
				      struct hawk_stopper **ret);

const struct hawk_stopped_thread *hawk_stopper_threads(const struct hawk_stopper *stopper,
						       size_t *count);

/** Resumes all threads. A second call does nothing. */
void hawk_stopper_release(struct hawk_stopper *stopper);

/** Returns the time from the first interrupt to the last detach; 0 before the release. */
uint64_t hawk_stopper_pause_ns(const struct hawk_stopper *stopper);

/** Releases first; accepts NULL. */
void hawk_stopper_destroy(struct hawk_stopper *stopper);

/* watch.c: the process of the last event, and its threads, which stand still. */

struct hawk_watch;

pid_t hawk_watch_current(const struct hawk_watch *watch);
struct hawk_error *hawk_watch_stopper(const struct hawk_watch *watch, int directory,
				      struct hawk_stopper **ret);

/*
 * live_pages.c: finds the pages of a private anonymous mapping that were ever touched. All others
 * are zeros and must not be read: that is slow, and would allocate page tables in the process.
 */

struct hawk_page_run {
	uint64_t start; /**< address */
	uint64_t end;
};

struct hawk_pages {
	struct hawk_page_run *runs; /**< sorted, disjoint, not touching */
	size_t count;
	size_t capacity;
	bool known; /**< false: any page may hold data */
};

/** Asks the open /proc/PID/pagemap about [start, end); `ret->known` is false if that failed. */
void hawk_pages_read(int pagemap, uint64_t start, uint64_t end, struct hawk_pages *ret);
void hawk_pages_deinit(struct hawk_pages *pages);

/** Narrows [*start, *end) to its first run of touched pages; returns false if none. */
bool hawk_pages_next(const struct hawk_pages *pages, uint64_t *start, uint64_t *end);

/* live_memory.c: the memory of the stopped process, and the captured copies. */

struct hawk_live;

/**
 * Creates the memory of a stopped process. Consumes `directory` (an open /proc/PID) and `stopper`,
 * also on failure. `tid` is any living thread of the process: a leader that has exited has no
 * memory.
 */
struct hawk_error *hawk_live_create(int directory, pid_t tid, struct hawk_stopper *stopper,
				    struct hawk_live **ret);

/**
 * Sets the mappings, which the caller owns, and finds their touched pages. Call once, while the
 * process is stopped, before reading through a mapping.
 */
struct hawk_error *hawk_live_use_mappings(struct hawk_live *live,
					  const struct hawk_mapping *mappings, size_t count);

/** A process that runs: forgets its touched pages, all copies, and the mappings from number `count`
 * on. */
void hawk_live_forget(struct hawk_live *live, size_t count);

/** Returns the open /proc/PID. */
int hawk_live_directory(const struct hawk_live *live);

/** Returns true if the process ended before the release or has ended now: the data read may be
 * incomplete. */
bool hawk_live_ended(const struct hawk_live *live);

/** Reads a file of /proc/PID/task/TID. */
struct hawk_error *hawk_live_read_file(const struct hawk_live *live, const char *name,
				       struct hawk_text *ret);

/** Returns the first number of a line of its status; 0 = unknown. */
uint64_t hawk_live_status_number(const struct hawk_live *live, const char *key);

/** Releases first; accepts NULL. */
void hawk_live_close(struct hawk_live *live);

/** Resumes the process. A second call does nothing. */
void hawk_live_release(struct hawk_live *live);
uint64_t hawk_live_pause_ns(const struct hawk_live *live);

/** Reads from `address`, within `mapping`; returns the bytes read. */
size_t hawk_live_read(const struct hawk_live *live, const struct hawk_mapping *mapping,
		      uint64_t address, void *to, size_t bytes);

/**
 * Narrows [*start, *end), addresses within `mapping`, to the first readable range that was ever
 * touched; returns false if none.
 */
bool hawk_live_data(const struct hawk_live *live, const struct hawk_mapping *mapping,
		    uint64_t *start, uint64_t *end);

/** Copies [start, end) of `mapping`; skips and counts unreadable parts. */
struct hawk_error *hawk_live_capture(struct hawk_live *live, const struct hawk_mapping *mapping,
				     uint64_t start, uint64_t end);

/** Counts memory that could not be read. */
void hawk_live_count_lost(struct hawk_live *live, uint64_t bytes);

/** Returns captured bytes in place, or NULL. */
const void *hawk_live_view(const struct hawk_live *live, uint64_t address, size_t bytes);

/** Adds the finding "live-unreadable" if parts of the memory to capture could not be read. */
void hawk_live_check(const struct hawk_live *live, struct hawk_findings *findings);

#endif
