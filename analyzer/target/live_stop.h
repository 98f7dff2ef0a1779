/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Stops every thread of a process with ptrace, and lets them go.
 *
 * A thread of our own is the tracer: when it ends, for whatever reason (also SIGKILL of the whole
 * analyzer), the kernel detaches what is still attached. PTRACE_O_EXITKILL is never set. So nothing
 * that happens to us can leave the process stopped.
 *
 * A thread that was stopped by SIGSTOP stays stopped afterwards; a signal that arrived meanwhile is
 * passed on.
 */
#ifndef HAWK_LIVE_STOP_H
#define HAWK_LIVE_STOP_H

#include "hawk_target.h"

struct hawk_stopper;

struct hawk_stopped_thread {
	pid_t tid;
	bool stopped; /**< false: gone, or it did not stop in time */
	bool gone;
	bool starved; /**< not stopped: it had no processor. It will stop before it runs. */
	bool has_registers;
	int stop_signal; /**< group-stop: SIGSTOP, SIGTSTP ...; 0 = it was running */
	int signal;      /**< intercepted, to be passed on; 0 = none */
	uint64_t registers[HAWK_REGISTER_COUNT];
	uint8_t *vectors; /**< NT_X86_XSTATE; NULL = not known; lives as long as the stopper */
	uint32_t vectors_bytes;
};

/**
 * Stops all threads of `pid`, whose /proc/PID is open as `directory`. HAWK_ERROR_OS with the
 * reason in words if ptrace is not allowed; then nothing stays stopped.
 */
struct hawk_error *hawk_stopper_create(pid_t pid, int directory, struct hawk_stopper **ret);

const struct hawk_stopped_thread *hawk_stopper_threads(const struct hawk_stopper *stopper,
						       size_t *count);

/** Lets them go. A second call does nothing. */
void hawk_stopper_release(struct hawk_stopper *stopper);

/** From the first interrupt to the last detach; 0 before the release. */
uint64_t hawk_stopper_pause_ns(const struct hawk_stopper *stopper);

/** Releases first; accepts NULL. */
void hawk_stopper_destroy(struct hawk_stopper *stopper);

#endif
