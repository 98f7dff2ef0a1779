/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Makes a target from a pid: checks, stop, then mappings, registers, names and modules of the
 * stopped process.
 */
#include "hawk/target/watch.h"
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "hawk/base/cleanup.h"
#include "target_state.h"

static void cleanup_target(struct hawk_target **target)
{
	hawk_target_close(*target);
}

static struct hawk_error *open_process(pid_t pid, int *ret)
{
	char path[32];
	int fd;

	if (pid <= 0)
		return hawk_error_create(HAWK_ERROR_USAGE, "%d is no process id", pid);
	snprintf(path, sizeof(path), "/proc/%d", pid);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return hawk_error_create(HAWK_ERROR_NOT_FOUND, "there is no process %d", pid);
	if (fd < 0)
		return hawk_error_os(errno, "cannot open", path);
	*ret = fd;
	return NULL;
}

/** Refuses processes that cannot be stopped or have no memory. */
static struct hawk_error *check_process(pid_t pid, int directory, struct hawk_proc_stat *stat)
{
	uint64_t leader = hawk_proc_status_number(directory, "Tgid", (uint64_t)pid);
	struct hawk_error *error = hawk_proc_stat(directory, "stat", stat);

	if (error)
		return hawk_error_prefix(error, "process %d", pid);
	if (leader == (uint64_t)getpid())
		return hawk_error_create(HAWK_ERROR_UNSUPPORTED,
					 "process %d is this process itself", pid);
	if (leader != (uint64_t)pid)
		return hawk_error_create(HAWK_ERROR_UNSUPPORTED,
					 "%d is a thread of process %" PRIu64 ": give that id", pid,
					 leader);
	if (stat->kernel_thread)
		return hawk_error_create(HAWK_ERROR_UNSUPPORTED,
					 "process %d is a kernel thread: it has no heap", pid);
	if (hawk_proc_stat_ended(stat))
		return hawk_error_create(HAWK_ERROR_UNSUPPORTED,
					 "process %d is a zombie: it has died and its memory is "
					 "gone",
					 pid);
	return NULL;
}

/** Reads the first line of a short file of /proc, cut to `size` - 1 bytes; NULs become blanks. */
static void read_line(int directory, pid_t tid, const char *file, char *to, size_t size)
{
	CLEANUP(text) struct hawk_text text;
	size_t length = 0;

	hawk_text_init(&text);

	CLEANUP(error) struct hawk_error *error = hawk_proc_read_task(directory, tid, file, &text);

	for (; !error && length < text.size && length + 1 < size; length++) {
		if (text.bytes[length] == '\n' && length + 1 == text.size)
			break;
		to[length] = text.bytes[length] ? text.bytes[length] : ' ';
	}
	while (length && to[length - 1] == ' ')
		length--;
	to[length] = 0;
}

static void read_program(struct hawk_target *target, int directory, pid_t tid)
{
	char *program = target->process.program;
	char name[64];
	ssize_t length;
	bool deleted;

	snprintf(name, sizeof(name), "task/%d/exe", tid);
	length = readlinkat(directory, name, program, sizeof(target->process.program) - 1);
	program[length > 0 ? length : 0] = 0;
	program[hawk_path_length(program, &deleted)] = 0;
}

static uint64_t read_clock(clockid_t clock)
{
	struct timespec now;

	return clock_gettime(clock, &now)
		       ? 0
		       : (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Another time namespace has another CLOCK_MONOTONIC. Kernels before 5.6 have no such namespaces.
 */
static void read_times(struct hawk_target *target, int directory, pid_t tid)
{
	char name[64], ours[64] = "", theirs[64] = "";

	snprintf(name, sizeof(name), "task/%d/ns/time", tid);
	if (readlink("/proc/self/ns/time", ours, sizeof(ours) - 1) < 0 ||
	    readlinkat(directory, name, theirs, sizeof(theirs) - 1) < 0 || !strcmp(ours, theirs))
		target->process.end.monotonic_ns = read_clock(CLOCK_MONOTONIC);
	else
		target->process.end.realtime_ns = read_clock(CLOCK_REALTIME);
}

static void read_sizes(struct hawk_process *process, int directory)
{
	const uint64_t kib = 1024;

	process->resident_bytes = hawk_proc_status_number(directory, "VmRSS", 0) * kib;
	process->peak_resident_bytes = hawk_proc_status_number(directory, "VmHWM", 0) * kib;
	process->swapped_bytes = hawk_proc_status_number(directory, "VmSwap", 0) * kib;
}

static struct hawk_error *read_process(struct hawk_target *target, int directory, pid_t pid,
				       pid_t tid)
{
	CLEANUP(text) struct hawk_text text;
	struct hawk_process *process = &target->process;
	struct hawk_error *error;
	uint64_t vdso;

	process->pid = (uint32_t)pid;
	process->live = true;
	hawk_target_set_page_bytes(target, (uint64_t)sysconf(_SC_PAGESIZE));
	read_line(directory, tid, "comm", process->name, sizeof(process->name));
	read_line(directory, tid, "cmdline", process->arguments, sizeof(process->arguments));
	read_program(target, directory, tid);
	read_times(target, directory, tid);
	read_sizes(process, directory);

	hawk_text_init(&text);
	error = hawk_proc_read_task(directory, tid, "auxv", &text);
	if (error)
		return error;
	hawk_auxv_parse(&target->auxv, text.bytes, text.size);
	error = hawk_proc_read_task(directory, tid, "maps", &text);
	if (!error)
		error = hawk_proc_parse_maps(text.bytes, target, &vdso);
	if (error)
		return error;
	if (!target->auxv.vdso)
		target->auxv.vdso = vdso;
	target->files_known = true;
	return hawk_live_use_mappings(target->live, target->mappings, target->mapping_count);
}

/**
 * Reads program counter and stack pointer of a thread that sleeps in the kernel, enough for its
 * stack. Returns false if the kernel does not show them.
 */
static bool read_blocked_thread(const struct hawk_arch *arch, int directory, pid_t tid,
				uint64_t *registers)
{
	CLEANUP(text) struct hawk_text text;
	unsigned long long sp, pc;

	hawk_text_init(&text);

	CLEANUP(error)
	struct hawk_error *error = hawk_proc_read_task(directory, tid, "syscall", &text);

	if (error || sscanf(text.bytes, "%*d %*x %*x %*x %*x %*x %*x 0x%llx 0x%llx", &sp, &pc) != 2)
		return false;
	registers[arch->sp] = sp;
	registers[arch->pc] = pc;
	return true;
}

/** Returns a clause about a thread that did not stop. */
static const char *why_not_stopped(const struct hawk_stopped_thread *thread)
{
	return thread->starved ? "no processor was free for it" : "it is blocked in the kernel";
}

static struct hawk_error *add_thread(struct hawk_target *target, int directory,
				     const struct hawk_stopped_thread *stopped,
				     struct hawk_findings *findings)
{
	struct hawk_thread thread = {
		.tid = (uint32_t)stopped->tid,
		.signal = stopped->stop_signal ? stopped->stop_signal : stopped->signal,
	};
	struct hawk_thread *added;

	if (stopped->gone)
		return NULL;
	memcpy(thread.registers, stopped->registers, sizeof(thread.registers));
	thread.vectors = stopped->vectors;
	thread.vectors_bytes = stopped->vectors_bytes;
	if (!stopped->has_registers) {
		bool known = read_blocked_thread(target->arch, directory, stopped->tid,
						 thread.registers);

		target->incomplete = true;
		hawk_findings_add(findings, HAWK_FINDING_MISSING, true, "thread-not-stopped*",
				  "thread %d could not be stopped (%s): %s", stopped->tid,
				  why_not_stopped(stopped),
				  known ? "only its stack is known, not its registers"
					: "its registers and stack are not known");
		if (!known)
			return NULL;
	}
	hawk_target_name_registers(target, &thread);
	read_line(directory, stopped->tid, "comm", thread.name, sizeof(thread.name));
	added = hawk_target_add_thread(target);
	if (!added)
		return &hawk_enomem;
	*added = thread;
	return NULL;
}

static struct hawk_error *add_threads(struct hawk_target *target, int directory,
				      const struct hawk_stopper *stopper,
				      struct hawk_findings *findings)
{
	size_t count;
	const struct hawk_stopped_thread *threads = hawk_stopper_threads(stopper, &count);

	for (size_t i = 0; i < count; i++) {
		struct hawk_error *error = add_thread(target, directory, &threads[i], findings);

		if (error)
			return error;
	}
	if (target->thread_count)
		return NULL;
	if (!target->incomplete)
		return hawk_error_create(HAWK_ERROR_NOT_FOUND,
					 "process %u ended before it could be stopped",
					 target->process.pid);
	while (threads->gone) /* one is not gone: it made the target incomplete */
		threads++;
	return hawk_error_create(HAWK_ERROR_NOT_FOUND, "process %u could not be stopped: %s",
				 target->process.pid, why_not_stopped(threads));
}

/** Returns a thread whose memory can be read: the leader may have exited. */
static pid_t living_thread(const struct hawk_stopper *stopper, pid_t pid)
{
	size_t count;
	const struct hawk_stopped_thread *threads = hawk_stopper_threads(stopper, &count);

	for (size_t i = 0; i < count; i++)
		if (threads[i].has_registers)
			return threads[i].tid;
	return pid;
}

/** Refuses a pid that was another process at first. */
static struct hawk_error *check_same(pid_t pid, int directory, const struct hawk_proc_stat *before)
{
	struct hawk_proc_stat after;
	struct hawk_error *error = hawk_proc_stat(directory, "stat", &after);

	if (!error && after.start_ticks == before->start_ticks && !hawk_proc_stat_ended(&after))
		return NULL;
	hawk_error_destroy(error);
	return hawk_error_create(HAWK_ERROR_NOT_FOUND,
				 "process %d ended before it could be stopped", pid);
}

/** Returns an error in words unless the memory of `pid` may be read. */
static struct hawk_error *check_right(pid_t pid, int directory)
{
	CLEANUP(close_fd) int fd = openat(directory, "mem", O_RDONLY | O_CLOEXEC);

	return fd < 0 ? hawk_proc_refusal(pid, directory, errno) : NULL;
}

/** What the process does while it is read. */
struct manner {
	const struct hawk_watch *watch; /**< which has stopped it; NULL = it is to be stopped */
	bool runs;                      /**< it goes on */
};

static struct hawk_error *stop(pid_t pid, int directory, const struct manner *manner,
			       struct hawk_stopper **ret)
{
	struct hawk_error *error;

	if (manner->watch)
		return hawk_watch_stopper(manner->watch, directory, ret);
	if (!manner->runs)
		return hawk_stopper_create(pid, directory, ret);
	error = check_right(pid, directory);
	return error ? error : hawk_stopper_adopt(pid, directory, NULL, 0, ret);
}

static struct hawk_error *open_pid(pid_t pid, const struct manner *manner,
				   struct hawk_findings *findings, struct hawk_target **ret)
{
	__attribute__((cleanup(cleanup_target))) struct hawk_target *target = NULL;
	CLEANUP(close_fd) int directory = -1;
	struct hawk_stopper *stopper;
	struct hawk_proc_stat stat;
	struct hawk_error *error;
	pid_t tid;

	error = open_process(pid, &directory);
	if (!error)
		error = check_process(pid, directory, &stat);
	if (error)
		return error;
	target = hawk_target_create();
	if (!target)
		return &hawk_enomem;
	error = stop(pid, directory, manner, &stopper);
	if (error)
		return error;
	tid = living_thread(stopper, pid);
	error = hawk_live_create(directory, tid, stopper, &target->live);
	if (error) {
		take_fd(&directory);
		return error;
	}

	int opened = take_fd(&directory); /* `live` owns it now */

	error = check_same(pid, opened, &stat);
	if (!error)
		error = read_process(target, opened, pid, tid);
	target->process.table_file = manner->runs;
	if (!error && !manner->runs)
		error = add_threads(target, opened, stopper, findings);
	if (!error)
		error = hawk_target_find_modules(target, findings);
	if (error) {
		struct hawk_error *ended = check_same(pid, opened, &stat);

		if (!ended)
			return error;
		hawk_error_destroy(error);
		return ended;
	}
	*ret = take_ptr(&target);
	return NULL;
}

struct hawk_error *hawk_target_open_pid(pid_t pid, struct hawk_findings *findings,
					struct hawk_target **ret)
{
	return open_pid(pid, &(struct manner){0}, findings, ret);
}

struct hawk_error *hawk_target_open_running(pid_t pid, struct hawk_findings *findings,
					    struct hawk_target **ret)
{
	return open_pid(pid, &(struct manner){.runs = true}, findings, ret);
}

static bool is_kept(const struct hawk_mapping *mapping, const struct hawk_span *spans, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (spans[i].start < mapping->end && mapping->start < spans[i].end)
			return true;
	return false;
}

bool hawk_target_look_again(struct hawk_target *target, const struct hawk_span *spans, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < target->mapping_count; i++)
		if (is_kept(&target->mappings[i], spans, count))
			target->mappings[kept++] = target->mappings[i];
	target->mapping_count = kept;
	hawk_live_forget(target->live, kept);
	read_sizes(&target->process, hawk_live_directory(target->live));
	return !hawk_live_ended(target->live);
}

struct hawk_error *hawk_target_open_watched(struct hawk_watch *watch,
					    struct hawk_findings *findings,
					    struct hawk_target **ret)
{
	return open_pid(hawk_watch_current(watch), &(struct manner){.watch = watch}, findings, ret);
}
