/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A program that runs under ptrace until each of its processes is about to exit. The process then
 * stands still with its memory whole and can be read like any other. Nothing is written into it.
 *
 * ptrace binds a process to the thread that seized it: call all functions, and
 * hawk_target_open_watched(), from one thread. If that ends, the kernel lets every process go on.
 */
#ifndef HAWK_ANALYZER_TARGET_WATCH_H
#define HAWK_ANALYZER_TARGET_WATCH_H

#include "hawk/target/target.h"

struct hawk_watch;

enum hawk_watch_event {
	HAWK_WATCH_EXIT,    /**< a process is about to exit and may be opened */
	HAWK_WATCH_STOPPED, /**< the terminal stopped the first process (SIGTSTP and the like) */
	HAWK_WATCH_ENDED,   /**< the first process has ended; other ones go on unwatched */
};

/**
 * Watches `pid`, a child of the calling thread that waits before its exec; and the processes that
 * it starts, if `follow`. HAWK_ERROR_OS or _UNSUPPORTED if this system does not allow it; the child
 * is as before then.
 */
struct hawk_error *hawk_watch_create(pid_t pid, bool follow, struct hawk_watch **ret);

/**
 * Lets the process of the last event go on, and waits for the next event. `*pid` is its process;
 * for HAWK_WATCH_ENDED `*status` is the first process's, as of waitpid(2). There is no exit event
 * for a process that a signal kills, nor for one that has not called exec since its start by this
 * command or vfork(2).
 */
struct hawk_error *hawk_watch_next(struct hawk_watch *watch, enum hawk_watch_event *ret, pid_t *pid,
				   int *status);

/** Opens the process of the last event, HAWK_WATCH_EXIT, as hawk_target_open_pid() does. It stands
 * still until the next hawk_watch_next(), also if it is released. */
struct hawk_error *hawk_target_open_watched(struct hawk_watch *watch,
					    struct hawk_findings *findings,
					    struct hawk_target **ret);

/** Accepts NULL. */
void hawk_watch_destroy(struct hawk_watch *watch);

#endif
