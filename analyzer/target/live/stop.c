/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The tracer thread: seizes and interrupts every thread, waits until each stops, reads registers,
 * waits for the release, detaches.
 *
 * The list of threads and `error` are written by the tracer thread alone, before `settled`.
 */
#include "process.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

#include "hawk/base/array.h"
#include "hawk/base/cleanup.h"
#include "hawk/base/numbers.h"

enum {
	PASSES_MAX = 1000,     /* over the list of threads; each stops all threads it finds */
	WAIT_NS_MAX = 5000000, /* between two checks of a thread that does not stop */
	VECTORS_BYTES_MAX = 64 << 10,
};
/* The other threads wait meanwhile. A thread blocked in the kernel may stay so for ever. One that
 * waits for a processor will get it, later on a busy machine. */
static const uint64_t patience_ns = 1000000000, starved_patience_ns = 5000000000;

struct hawk_stopper {
	pid_t pid;
	int directory; /* /proc/PID, of the owner */
	pthread_t thread;
	bool joined;
	sem_t settled; /* all threads are stopped, or `error` is set */
	sem_t release;
	struct hawk_error *error;
	struct hawk_stopped_thread *threads;
	size_t count;
	size_t capacity;
	uint64_t stop_ns;  /* when the first thread was interrupted */
	uint64_t pause_ns; /* 0 until the release */
};

static bool is_known(const struct hawk_stopper *stopper, pid_t tid)
{
	for (size_t i = 0; i < stopper->count; i++)
		if (stopper->threads[i].tid == tid && !stopper->threads[i].gone)
			return true;
	return false;
}

static struct hawk_stopped_thread *add_thread(struct hawk_stopper *stopper, pid_t tid)
{
	if (!hawk_array_reserve(&stopper->threads, stopper->count, &stopper->capacity,
				sizeof(*stopper->threads)))
		return NULL;
	stopper->threads[stopper->count] = (struct hawk_stopped_thread){.tid = tid};
	return &stopper->threads[stopper->count++];
}

/** Returns the state as in /proc; X if the thread is gone. */
static char state_of(const struct hawk_stopper *stopper, pid_t tid)
{
	struct hawk_proc_stat stat;
	char name[64];

	snprintf(name, sizeof(name), "task/%d/stat", tid);

	CLEANUP(error) struct hawk_error *error = hawk_proc_stat(stopper->directory, name, &stat);

	return error ? 'X' : stat.state;
}

/** Returns true for a thread that exited but was not waited for: the leader of a process whose
 * other threads go on. */
static bool is_dead(const struct hawk_stopper *stopper, pid_t tid)
{
	char state = state_of(stopper, tid);

	return state == 'Z' || state == 'X';
}

static struct hawk_error *interrupt_thread(struct hawk_stopper *stopper, pid_t tid, bool *found)
{
	struct hawk_stopped_thread *thread;
	int errnum;

	if (!stopper->stop_ns)
		stopper->stop_ns = hawk_now_ns(CLOCK_MONOTONIC);
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL)) {
		errnum = errno;
		if (errnum == ESRCH || is_dead(stopper, tid))
			return NULL;
		return hawk_proc_refusal(stopper->pid, stopper->directory, errnum);
	}
	*found = true;
	thread = add_thread(stopper, tid);
	if (!thread)
		return &hawk_enomem;
	if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL))
		thread->gone = true;
	return NULL;
}

/** Interrupts every listed thread that is not yet known. */
static struct hawk_error *interrupt_all(struct hawk_stopper *stopper, bool *found)
{
	int fd = openat(stopper->directory, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct hawk_error *error = NULL;
	struct dirent *entry;
	DIR *folder;

	*found = false;
	if (fd < 0)
		return hawk_error_os(errno, "cannot list the threads of", "the process");
	folder = fdopendir(fd);
	if (!folder) {
		close(fd);
		return &hawk_enomem;
	}
	while (!error && (entry = readdir(folder))) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (tid > 0 && !is_known(stopper, tid))
			error = interrupt_thread(stopper, tid, found);
	}
	closedir(folder);
	return error;
}

static bool is_stop_signal(int signal)
{
	return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

static void take_status(struct hawk_stopped_thread *thread, int status)
{
	if (!WIFSTOPPED(status)) {
		thread->gone = true;
		return;
	}
	thread->stopped = true;
	if (status >> 16 == 0)
		thread->signal = WSTOPSIG(status);
	else if (status >> 16 == PTRACE_EVENT_STOP && is_stop_signal(WSTOPSIG(status)))
		thread->stop_signal = WSTOPSIG(status);
}

/** Returns true if `thread` did not stop in time; its process was asked to stop at `start_ns`. */
static bool is_late(const struct hawk_stopper *stopper, struct hawk_stopped_thread *thread,
		    uint64_t start_ns)
{
	uint64_t waited_ns = hawk_now_ns(CLOCK_MONOTONIC) - start_ns;
	char state;

	if (waited_ns < patience_ns)
		return false;
	state = state_of(stopper, thread->tid);
	thread->gone = state == 'Z' || state == 'X';
	/* Its tracer may not have been notified yet. */
	thread->starved = state == 'R' || state == 't' || state == 'T';
	return thread->gone || !thread->starved || waited_ns >= starved_patience_ns;
}

static void wait_for_thread(const struct hawk_stopper *stopper, struct hawk_stopped_thread *thread,
			    uint64_t start_ns)
{
	struct timespec pause = {.tv_nsec = 20000};
	int status;

	while (!thread->stopped && !thread->gone) {
		pid_t got = waitpid(thread->tid, &status, __WALL | WNOHANG);

		if (got == thread->tid) {
			take_status(thread, status);
		} else if (got < 0 && errno != EINTR) {
			thread->gone = true;
		} else if (is_late(stopper, thread, start_ns)) {
			return;
		} else {
			nanosleep(&pause, NULL);
			if (pause.tv_nsec < WAIT_NS_MAX)
				pause.tv_nsec *= 2;
		}
	}
}

/* Reads vector registers. A failure is no error: the result is hardly poorer without them. */
static void read_vectors(struct hawk_stopped_thread *thread)
{
	struct iovec iov = {.iov_base = malloc(VECTORS_BYTES_MAX), .iov_len = VECTORS_BYTES_MAX};
	uint8_t *bytes;

	if (!iov.iov_base)
		return;
	if (ptrace(PTRACE_GETREGSET, thread->tid, (int)hawk_arch_host()->vectors_note, &iov) ||
	    !iov.iov_len) {
		free(iov.iov_base);
		return;
	}
	bytes = realloc(iov.iov_base, iov.iov_len);
	thread->vectors = bytes ? bytes : iov.iov_base;
	thread->vectors_bytes = (uint32_t)iov.iov_len;
}

static struct hawk_error *read_registers(struct hawk_stopper *stopper,
					 struct hawk_stopped_thread *thread)
{
	struct iovec iov = {.iov_base = thread->registers, .iov_len = sizeof(thread->registers)};

	if (!thread->stopped)
		return NULL;
	if (ptrace(PTRACE_GETREGSET, thread->tid, NT_PRSTATUS, &iov)) {
		thread->gone = errno == ESRCH; /* killed while stopped */
		return NULL;
	}
	if (iov.iov_len != hawk_arch_host()->status_count * sizeof(*thread->registers))
		return hawk_error_create(HAWK_ERROR_UNSUPPORTED,
					 "process %d is a 32-bit process; only 64-bit x86_64 is "
					 "supported",
					 stopper->pid);
	thread->has_registers = true;
	read_vectors(thread);
	return NULL;
}

/** Repeats until no new threads appear; stopped threads cannot create more. */
static struct hawk_error *stop_all(struct hawk_stopper *stopper)
{
	const uint64_t start_ns = hawk_now_ns(CLOCK_MONOTONIC);
	bool found = true;
	size_t waited = 0;

	for (int pass = 0; found; pass++) {
		struct hawk_error *error;

		if (pass == PASSES_MAX)
			return hawk_error_create(HAWK_ERROR_UNSUPPORTED,
						 "process %d starts threads faster than they can "
						 "be stopped",
						 stopper->pid);
		error = interrupt_all(stopper, &found);
		if (error)
			return error;
		for (; waited < stopper->count; waited++)
			wait_for_thread(stopper, &stopper->threads[waited], start_ns);
	}
	for (size_t i = 0; i < stopper->count; i++) {
		struct hawk_error *error = read_registers(stopper, &stopper->threads[i]);

		if (error)
			return error;
	}
	return NULL;
}

/** Detaches from stopped threads. The kernel releases the others when this thread ends. */
static void detach_all(struct hawk_stopper *stopper)
{
	for (size_t i = 0; i < stopper->count; i++) {
		const struct hawk_stopped_thread *thread = &stopper->threads[i];

		if (thread->stopped)
			ptrace(PTRACE_DETACH, thread->tid, NULL, (void *)(long)thread->signal);
	}
	if (stopper->stop_ns)
		stopper->pause_ns = hawk_now_ns(CLOCK_MONOTONIC) - stopper->stop_ns;
}

static void wait_for(sem_t *semaphore)
{
	while (sem_wait(semaphore) && errno == EINTR)
		;
}

static void *trace(void *argument)
{
	struct hawk_stopper *stopper = argument;

	stopper->error = stop_all(stopper);
	sem_post(&stopper->settled);
	wait_for(&stopper->release);
	detach_all(stopper);
	return NULL;
}

/** Starts the tracer thread with all signals blocked: they are for the threads it serves. */
static int start_tracer(struct hawk_stopper *stopper)
{
	sigset_t all, before;
	int errnum;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	errnum = pthread_create(&stopper->thread, NULL, trace, stopper);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return errnum;
}

static struct hawk_stopper *new_stopper(pid_t pid, int directory)
{
	struct hawk_stopper *stopper = calloc(1, sizeof(*stopper));

	if (!stopper)
		return NULL;
	stopper->pid = pid;
	stopper->directory = directory;
	sem_init(&stopper->settled, 0, 0);
	sem_init(&stopper->release, 0, 0);
	return stopper;
}

struct hawk_error *hawk_stopper_create(pid_t pid, int directory, struct hawk_stopper **ret)
{
	struct hawk_stopper *stopper = new_stopper(pid, directory);
	struct hawk_error *error;
	int errnum;

	if (!stopper)
		return &hawk_enomem;
	errnum = start_tracer(stopper);
	if (errnum) {
		free(stopper);
		return hawk_error_os(errnum, "cannot start the tracer thread", NULL);
	}
	wait_for(&stopper->settled);
	error = take_ptr(&stopper->error);
	if (error)
		hawk_stopper_destroy(stopper);
	else
		*ret = stopper;
	return error;
}

struct hawk_error *hawk_stopper_adopt(pid_t pid, int directory,
				      const struct hawk_stopped_thread *threads, size_t count,
				      struct hawk_stopper **ret)
{
	struct hawk_stopper *stopper = new_stopper(pid, directory);
	struct hawk_error *error = NULL;

	if (!stopper)
		return &hawk_enomem;
	stopper->joined = true; /* there is no thread of ours, and nothing to release */
	for (size_t i = 0; i < count && !error; i++) {
		struct hawk_stopped_thread *thread = add_thread(stopper, threads[i].tid);

		if (!thread) {
			error = &hawk_enomem;
			break;
		}
		thread->stopped = threads[i].stopped;
		error = read_registers(stopper, thread);
	}
	if (error)
		hawk_stopper_destroy(stopper);
	else
		*ret = stopper;
	return error;
}

const struct hawk_stopped_thread *hawk_stopper_threads(const struct hawk_stopper *stopper,
						       size_t *count)
{
	*count = stopper->count;
	return stopper->threads;
}

void hawk_stopper_release(struct hawk_stopper *stopper)
{
	if (stopper->joined)
		return;
	sem_post(&stopper->release);
	pthread_join(stopper->thread, NULL);
	stopper->joined = true;
}

uint64_t hawk_stopper_pause_ns(const struct hawk_stopper *stopper)
{
	return stopper->joined ? stopper->pause_ns : 0;
}

void hawk_stopper_destroy(struct hawk_stopper *stopper)
{
	if (!stopper)
		return;
	hawk_stopper_release(stopper);
	sem_destroy(&stopper->settled);
	sem_destroy(&stopper->release);
	for (size_t i = 0; i < stopper->count; i++)
		free(stopper->threads[i].vectors);
	free(stopper->threads);
	free(stopper);
}
