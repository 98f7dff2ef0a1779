/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Follows a program's threads with ptrace up to the exit of each process.
 *
 * exit_group() sends every thread through its own exit stop. All are held there until the last
 * arrives, so that the registers and stacks of all threads are known as they were. A thread that
 * ends alone goes on at once: others may wait for it. So do threads that die because another one
 * calls execve(), which returns only when they are gone.
 */
#include "hawk/target/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "hawk/base/array.h"
#include "hawk/base/cleanup.h"
#include "hawk/base/numbers.h"
#include "process.h"

enum { TICK_NS = 1000000, SIGNAL_BITS = 0x7f };

/* Without any change for so long: a thread blocked in the kernel may never come to its exit, and is
 * then read as it is. */
static const uint64_t exit_patience_ns = 5000000000;
/* Likewise: a new thread is not announced if the one that started it was killed meanwhile. */
static const uint64_t announce_patience_ns = 100000000;

enum task_state {
	TASK_RUNS,
	TASK_WAITS,  /**< new and stopped; what it is will be announced */
	TASK_HELD,   /**< at its exit stop, with its process */
	TASK_LEAVES, /**< behind its exit stop */
};

struct task {
	pid_t tid;
	pid_t pid; /**< 0 = not known yet */
	enum task_state state;
	bool announced; /**< by the stop of the thread that started it */
	bool foreign;   /**< of a process that is not to be followed */
	/** Leaders only: the process runs a program in memory of its own. */
	bool readable;
};

struct hawk_watch {
	pid_t first;
	bool follow;
	pid_t current;      /**< the process of the last event; 0 = none */
	uint64_t change_ns; /**< when a thread last changed its state */
	struct task *tasks;
	size_t count;
	size_t capacity;
};

static struct task *find(const struct hawk_watch *watch, pid_t tid)
{
	for (size_t i = 0; i < watch->count; i++)
		if (watch->tasks[i].tid == tid)
			return &watch->tasks[i];
	return NULL;
}

static struct task *find_or_add(struct hawk_watch *watch, pid_t tid)
{
	struct task *task = find(watch, tid);

	if (task)
		return task;
	if (!hawk_array_reserve(&watch->tasks, watch->count, &watch->capacity,
				sizeof(*watch->tasks)))
		return NULL;
	task = &watch->tasks[watch->count++];
	*task = (struct task){.tid = tid};
	return task;
}

static void drop(struct hawk_watch *watch, struct task *task)
{
	*task = watch->tasks[--watch->count];
}

/* A failure means that the thread was killed; waitpid() tells. */
static void resume(struct task *task, int signal)
{
	if (task->state == TASK_WAITS || task->state == TASK_HELD)
		task->state = task->state == TASK_HELD ? TASK_LEAVES : TASK_RUNS;
	ptrace(PTRACE_CONT, task->tid, NULL, (void *)(long)signal);
}

/** Lets a thread run that is known now. */
static void start(struct hawk_watch *watch, struct task *task)
{
	if (!task->foreign) {
		resume(task, 0);
		return;
	}
	ptrace(PTRACE_DETACH, task->tid, NULL, NULL);
	drop(watch, task);
}

/** Returns the number of the system call that a stopped or blocked thread is in; -1 = none. */
static long system_call_of(pid_t tid)
{
	CLEANUP(text) struct hawk_text text = {0};
	char path[64];
	long number;

	snprintf(path, sizeof(path), "/proc/%d/syscall", tid);

	CLEANUP(error) struct hawk_error *error = hawk_proc_read(AT_FDCWD, path, &text);

	return error || sscanf(text.bytes, "%ld", &number) != 1 ? -1 : number;
}

static pid_t process_of(pid_t tid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", tid);

	CLEANUP(close_fd) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? 0 : (pid_t)hawk_proc_status_number(fd, "Tgid", 0);
}

/** Learns from the stop of a thread whom it started by fork(), vfork() or clone(). */
static struct hawk_error *announce(struct hawk_watch *watch, pid_t by, int event)
{
	unsigned long tid;
	struct task *task;

	if (ptrace(PTRACE_GETEVENTMSG, by, NULL, &tid))
		return NULL;
	task = find_or_add(watch, (pid_t)tid);
	if (!task)
		return &hawk_enomem;
	task->announced = true;
	task->pid = event == PTRACE_EVENT_CLONE ? process_of(task->tid) : task->tid;
	/* A process made by vfork() or a rare clone() may use the memory of the one that made it.
	 */
	task->readable = event == PTRACE_EVENT_FORK;
	task->foreign = task->pid == task->tid && !watch->follow;
	if (task->state == TASK_WAITS)
		start(watch, task);
	return NULL;
}

static void take_exec(struct hawk_watch *watch, struct task *leader)
{
	const pid_t pid = leader->tid;

	leader->readable = true;
	leader->state = TASK_RUNS;
	for (size_t i = watch->count; i-- > 0;)
		if (watch->tasks[i].pid == pid && watch->tasks[i].tid != pid)
			drop(watch, &watch->tasks[i]);
	resume(find(watch, pid), 0);
}

static bool has_others(const struct hawk_watch *watch, const struct task *task)
{
	for (size_t i = 0; i < watch->count; i++)
		if (watch->tasks[i].pid == task->pid && &watch->tasks[i] != task &&
		    watch->tasks[i].state != TASK_LEAVES)
			return true;
	return false;
}

/**
 * Holds a thread at its exit stop, unless it ends alone or its process is not to be read. A process
 * that dies by a signal is not held: kernels before 5.16 write its core only when its other threads
 * are behind this stop.
 */
static void take_exit(struct hawk_watch *watch, struct task *task)
{
	const struct task *leader = find(watch, task->pid);
	unsigned long status = 0;

	ptrace(PTRACE_GETEVENTMSG, task->tid, NULL, &status);
	task->state = TASK_HELD;
	if (!leader || !leader->readable || status & SIGNAL_BITS ||
	    (has_others(watch, task) && system_call_of(task->tid) == SYS_exit))
		resume(task, 0);
}

static bool is_job_stop(int signal)
{
	return signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

/** Takes the stop of a new thread, of a process that a signal stops, or of one that goes on. */
static void take_plain_stop(struct hawk_watch *watch, struct task *task, int signal)
{
	if (signal != SIGTRAP) {
		ptrace(PTRACE_LISTEN, task->tid, NULL, NULL);
	} else if (task->announced) {
		start(watch, task);
	} else {
		task->state = TASK_WAITS;
	}
}

/** Takes a stop; `*stopped` is true if the terminal stopped the first process. */
static struct hawk_error *take_stop(struct hawk_watch *watch, pid_t tid, int status, bool *stopped)
{
	struct task *task = find_or_add(watch, tid);
	int signal = WSTOPSIG(status), event = status >> 16;
	struct hawk_error *error;

	if (!task)
		return &hawk_enomem;
	switch (event) {
	case 0:
		resume(task, signal);
		return NULL;
	case PTRACE_EVENT_EXIT:
		take_exit(watch, task);
		return NULL;
	case PTRACE_EVENT_EXEC:
		take_exec(watch, task);
		return NULL;
	case PTRACE_EVENT_STOP:
		*stopped = tid == watch->first && is_job_stop(signal);
		take_plain_stop(watch, task, signal);
		return NULL;
	default:
		error = announce(watch, tid, event);
		resume(find(watch, tid), 0);
		return error;
	}
}

/** Returns true if no thread of the process is short of its exit stop, and some are held there. */
static bool is_whole(const struct hawk_watch *watch, pid_t pid)
{
	bool held = false;

	for (size_t i = 0; i < watch->count; i++) {
		if (watch->tasks[i].pid != pid)
			continue;
		if (watch->tasks[i].state < TASK_HELD)
			return false;
		held = held || watch->tasks[i].state == TASK_HELD;
	}
	return held;
}

static void release(struct hawk_watch *watch, pid_t pid)
{
	for (size_t i = 0; i < watch->count; i++)
		if (watch->tasks[i].pid == pid && watch->tasks[i].state == TASK_HELD)
			resume(&watch->tasks[i], 0);
}

static bool calls_exec(const struct hawk_watch *watch, pid_t pid)
{
	for (size_t i = 0; i < watch->count; i++) {
		const struct task *task = &watch->tasks[i];
		long call = task->pid == pid && task->state == TASK_RUNS ? system_call_of(task->tid)
									 : -1;

		if (call == SYS_execve || call == SYS_execveat)
			return true;
	}
	return false;
}

/** Returns true if a thread waits for something that no event may tell. */
static bool is_undecided(const struct hawk_watch *watch)
{
	for (size_t i = 0; i < watch->count; i++)
		if (watch->tasks[i].state == TASK_WAITS || watch->tasks[i].state == TASK_HELD)
			return true;
	return false;
}

/** Decides about threads for which no event comes. Returns the process to be read as it is; 0 =
 * none. */
static pid_t look_again(struct hawk_watch *watch)
{
	const uint64_t waited_ns = hawk_now_ns(CLOCK_MONOTONIC) - watch->change_ns;
	pid_t asked = 0;

	for (size_t i = 0; i < watch->count; i++) {
		struct task *task = &watch->tasks[i];

		if (task->state == TASK_HELD && task->pid != asked) {
			asked = task->pid;
			if (calls_exec(watch, asked))
				release(watch, asked);
			else if (waited_ns > exit_patience_ns)
				return asked;
		} else if (task->state == TASK_WAITS && waited_ns > announce_patience_ns) {
			task->announced = true;
			task->pid = process_of(task->tid);
			start(watch, task);
			return 0;
		}
	}
	return 0;
}

/** Takes one change of a thread's state; `*found` is true if it is an event. */
static struct hawk_error *take(struct hawk_watch *watch, pid_t tid, int status, bool *found,
			       enum hawk_watch_event *ret, pid_t *pid)
{
	struct task *task = find(watch, tid);
	struct hawk_error *error = NULL;
	bool stopped = false;

	watch->change_ns = hawk_now_ns(CLOCK_MONOTONIC);
	*pid = task ? task->pid : tid;
	if (WIFSTOPPED(status))
		error = take_stop(watch, tid, status, &stopped);
	else if (task)
		drop(watch, task);
	*found = true;
	if (!WIFSTOPPED(status) && tid == watch->first)
		*ret = HAWK_WATCH_ENDED;
	else if (stopped)
		*ret = HAWK_WATCH_STOPPED;
	else if (is_whole(watch, *pid))
		*ret = HAWK_WATCH_EXIT;
	else
		*found = false;
	return error;
}

struct hawk_error *hawk_watch_next(struct hawk_watch *watch, enum hawk_watch_event *ret, pid_t *pid,
				   int *status)
{
	const struct timespec tick = {.tv_nsec = TICK_NS};
	struct hawk_error *error = NULL;
	bool found = false;

	release(watch, watch->current);
	watch->current = 0;
	while (!error && !found) {
		pid_t tid = waitpid(-1, status, __WALL | (is_undecided(watch) ? WNOHANG : 0));

		if (tid > 0) {
			error = take(watch, tid, *status, &found, ret, pid);
		} else if (tid < 0 && errno != EINTR) {
			error = hawk_error_os(errno, "waitpid", NULL);
		} else if (!tid) {
			nanosleep(&tick, NULL);
			*pid = look_again(watch);
			*ret = HAWK_WATCH_EXIT;
			found = *pid;
		}
	}
	if (!error && *ret == HAWK_WATCH_EXIT)
		watch->current = *pid;
	return error;
}

struct hawk_error *hawk_watch_create(pid_t pid, bool follow, struct hawk_watch **ret)
{
	CLEANUP(close_fd) int directory = -1;
	long options = PTRACE_O_TRACEEXIT | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC;
	struct hawk_watch *watch;
	struct task *task;
	char path[32];

	if (follow)
		options |= PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK;
	if (access("/proc/self/syscall", R_OK) != 0)
		return hawk_error_os(errno, "cannot read", "/proc/self/syscall");
	if (ptrace(PTRACE_SEIZE, pid, NULL, (void *)options)) {
		int errnum = errno;

		snprintf(path, sizeof(path), "/proc/%d", pid);
		directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		return hawk_proc_refusal(pid, directory, errnum);
	}
	watch = calloc(1, sizeof(*watch));
	task = watch ? find_or_add(watch, pid) : NULL;
	if (!task) {
		free(watch);
		return &hawk_enomem;
	}
	watch->first = pid;
	watch->follow = follow;
	task->pid = pid;
	task->announced = true;
	*ret = watch;
	return NULL;
}

pid_t hawk_watch_current(const struct hawk_watch *watch)
{
	return watch->current;
}

struct hawk_error *hawk_watch_stopper(const struct hawk_watch *watch, int directory,
				      struct hawk_stopper **ret)
{
	CLEANUP(free_ptr)
	struct hawk_stopped_thread *threads = calloc(watch->count + 1, sizeof(*threads));
	size_t count = 0;

	if (!threads)
		return &hawk_enomem;
	for (size_t i = 0; i < watch->count; i++)
		if (watch->tasks[i].pid == watch->current && watch->tasks[i].state != TASK_LEAVES)
			threads[count++] = (struct hawk_stopped_thread){
				.tid = watch->tasks[i].tid,
				.stopped = watch->tasks[i].state == TASK_HELD,
			};
	return hawk_stopper_adopt(watch->current, directory, threads, count, ret);
}

void hawk_watch_destroy(struct hawk_watch *watch)
{
	if (!watch)
		return;
	free(watch->tasks);
	free(watch);
}
