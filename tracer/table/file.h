/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * table=FILE keeps the parts of the table that readers need in a named, shared file, which outlives
 * SIGKILL and the OOM killer.
 *
 * No descriptor is kept: the file is opened once, made as large as it may ever get (a hole), and
 * grows by mapping more of itself. Invariant: mapped parts have their pages; they never raise
 * SIGBUS for want of space. A forked child never writes into its parent's file: the kernel wipes
 * the threads' holds and `hawk_file_mark` in the child, every way into the table checks one of
 * them, and the child gets its own copy.
 *
 * A handler may interrupt the tracer and fork past the C library (_Fork, clone); the child may then
 * return to the interrupted call. It leaves its parent's file at the next call at the latest, and
 * before adding anything. Steps that cost system calls anyway (growing the file, taking a thread's
 * hold) run between hawk_file_enter() and hawk_file_exit(). Nothing else may: in some sandboxes
 * rt_sigprocmask is deadly.
 */
#ifndef HAWK_TRACER_TABLE_FILE_H
#define HAWK_TRACER_TABLE_FILE_H

#include <stdbool.h>

#include "syscall.h"
#include "hawk_trace_table.h"

/** Apparent size of the file unless the user, or little memory, says otherwise. */
enum { HAWK_FILE_BYTES_DEFAULT = 256 << 20 };

/** Pointer to a mark that is 0 in a forked child still using its parent's file. NULL without a
 * table file. */
extern volatile uint32_t *hawk_file_mark;

/** True in a forked child without memory for its copy: it has no table, and makes none. */
extern bool hawk_file_lost;

/**
 * Makes the file `name`: %p is the process id, %t the time in seconds, %% a %. Leaves an existing
 * file alone, unless this process made it before an exec. Its apparent size is `limit` bytes. On
 * failure complains on stderr and returns false; the table then goes into anonymous memory. Needs
 * no C library.
 */
bool hawk_file_create(const char *name, uint64_t limit);

bool hawk_file_active(void);

/** Returns the first HAWK_TABLE_HEADER_BYTES of the file. */
struct hawk_table_header *hawk_file_header(void);

/** Returns the bytes left in the file. */
uint64_t hawk_file_room(void);

/** Maps the next `bytes` (whole pages, zeroed) of the file. They are never given back. Returns NULL
 * if none are left. */
void *hawk_file_map(size_t bytes, uint64_t *offset);

/** With a file: makes private memory read as zeros in a forked child. Returns false if
 * impossible. */
bool hawk_file_wipe_on_fork(void *memory, size_t bytes);

/** Registers the fork handlers. Called by the library's constructor. */
void hawk_file_watch_forks(void);

/** Removes the file's name in a program that is not traced; no child makes another. */
void hawk_file_discard(void);

/** Leaves the parent's file in a forked child: see hawk_file_check_fork(). */
void hawk_file_leave(void);

/** Leaves the parent's file if necessary. Call before writing to the table, except through a slot
 * that is not wiped. */
static inline void hawk_file_check_fork(void)
{
	if (__builtin_expect(hawk_file_mark && !*hawk_file_mark, 0))
		hawk_file_leave();
}

/** Owner of a table file: values that stay when a process executes another program. */
struct hawk_file_owner {
	uint32_t pid;
	uint64_t start_ticks; /**< 0 = not known */
	uint64_t pid_namespace;
};
void hawk_file_owner_self(struct hawk_file_owner *ret);

/** Returns true if the file open as `fd` holds the table of an earlier program of this process. */
bool hawk_file_owner_is_self(int fd);

/** The signal mask before hawk_file_enter(). */
struct hawk_file_pause {
	uint64_t mask;
	bool blocked;
};

/** The parts of hawk_file_enter() and hawk_file_exit() needed with a file. */
void hawk_file_block(struct hawk_file_pause *pause);
void hawk_file_unblock(const struct hawk_file_pause *pause);

/** With a file: makes sure that it is the process's own, and blocks the calling thread's signals
 * until hawk_file_exit(). Pairs may nest. */
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
