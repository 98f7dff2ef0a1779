/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * table=FILE: the parts of the table that readers need in a named, shared file, which outlives
 * SIGKILL and the OOM killer.
 *
 * No descriptor is kept: the file is opened once, made as large as it may ever get (a hole), and
 * grows by mapping more of itself. Invariant: what is mapped here has its pages; nothing of it ever
 * raises SIGBUS for want of space. A forked child never writes into its parent's file: the threads'
 * holds on it and `hawk_file_mark` are wiped by the kernel in it, every way into the table checks
 * one of them, and the child gets a copy of its own.
 *
 * A handler may interrupt the tracer and fork past the C library (_Fork, clone), and the child come
 * back to the call. It leaves its parent's file with the next call at the latest, and before it
 * adds anything. What costs system calls anyway, growth of the file and a thread's taking its hold,
 * is done between hawk_file_enter() and hawk_file_exit(); nothing else may be, since a sandbox can
 * be such that rt_sigprocmask is deadly.
 */
#ifndef HAWK_TRACER_TABLE_FILE_H
#define HAWK_TRACER_TABLE_FILE_H

#include <stdbool.h>

#include "syscall.h"
#include "hawk_trace_table.h"

/** Apparent size of the file unless the user, or little memory, says otherwise. */
enum { HAWK_FILE_BYTES_DEFAULT = 256 << 20 };

/** NULL: the table is in no file. *hawk_file_mark is 0 in a forked child that still has its
 * parent's. */
extern volatile uint32_t *hawk_file_mark;

/** There was no memory for a forked child's copy: it has no table, and makes none. */
extern bool hawk_file_lost;

/**
 * Makes the file that `name` says: %p is the process id, %t the time in seconds, %% a %. An
 * existing file is left as it is, unless this process itself made it before an exec. False, after a
 * complaint on stderr: there is none, the table goes into anonymous memory. `limit`: its apparent
 * size in bytes. Needs nothing of the C library.
 */
bool hawk_file_create(const char *name, uint64_t limit);

bool hawk_file_active(void);

/** The first HAWK_TABLE_HEADER_BYTES of the file. */
struct hawk_table_header *hawk_file_header(void);

/** Bytes that are left of the file. */
uint64_t hawk_file_room(void);

/** Maps the next `bytes` (whole pages, zeroed) of the file. They are never given back. NULL: none
 * left. */
void *hawk_file_map(size_t bytes, uint64_t *offset);

/** For a file: private memory that is to read as zeros in a forked child. False: cannot be had. */
bool hawk_file_wipe_on_fork(void *memory, size_t bytes);

/** Registers the fork handlers. From the library's constructor. */
void hawk_file_watch_forks(void);

/** The program is not to be traced: the file's name goes, and no child makes another. */
void hawk_file_discard(void);

/** In a forked child that still has its parent's file: see hawk_file_check_fork(). */
void hawk_file_leave(void);

/** Before anything is written into the table other than by way of a slot that is not wiped. */
static inline void hawk_file_check_fork(void)
{
	if (__builtin_expect(hawk_file_mark && !*hawk_file_mark, 0))
		hawk_file_leave();
}

/** Whose a table file is: these stay when a process executes another program. */
struct hawk_file_owner {
	uint32_t pid;
	uint64_t start_ticks; /**< 0 = not known */
	uint64_t pid_namespace;
};
void hawk_file_owner_self(struct hawk_file_owner *ret);

/** Whether the file open as `fd` holds the table of an earlier program of this very process. */
bool hawk_file_owner_is_self(int fd);

/** Signals that were blocked before. */
struct hawk_file_pause {
	uint64_t mask;
	bool blocked;
};

/** The halves of hawk_file_enter() and hawk_file_exit() that are for a file. */
void hawk_file_block(struct hawk_file_pause *pause);
void hawk_file_unblock(const struct hawk_file_pause *pause);

/** With a file: what follows is done in the process's own one, and no handler of the calling thread
 * comes in between. Pairs may lie within each other. */
static inline void hawk_file_enter(struct hawk_file_pause *pause)
{
	pause->blocked = false;
	if (__builtin_expect(hawk_file_mark != NULL, 0))
		hawk_file_block(pause);
}

static inline void hawk_file_exit(const struct hawk_file_pause *pause)
{
	if (__builtin_expect(pause->blocked, 0))
		hawk_file_unblock(pause);
}

#endif
