/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Living processes: stopped as a whole, and let go in every case.
 */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test.h"
#include "synthetic_victim.h"

enum { STRESS_ROUNDS = 30 };

static char secret[] = "before the fork";

static void change_and_count(struct shared *shared)
{
	memcpy(secret, "after the fork!", sizeof(secret));
	victim_count_for_ever(shared);
}

LIVE_TEST(a_process_is_read_while_it_stands)
{
	const struct hawk_process *process;
	const struct hawk_thread *threads;
	const struct hawk_mapping *mapping;
	const struct hawk_module *module;
	char bytes[sizeof(secret)];
	char program[4096] = {0};
	size_t count;

	victim_start(world, change_and_count);
	victim_open(world);
	assert_true(victim_stands(world));
	process = hawk_target_process(world->target);
	assert_true(readlink("/proc/self/exe", program, sizeof(program) - 1) > 0);
	assert_string_equal(process->program, program);
	assert_true(process->live);
	assert_int_equal(process->pid, world->victim);
	assert_int_equal(process->signal, 0);
	assert_non_null(strstr(program, process->name));

	threads = hawk_target_threads(world->target, &count);
	assert_int_equal(count, 1);
	assert_int_equal(threads->tid, world->victim);
	mapping = hawk_target_mapping_at(world->target, threads->pc);
	assert_non_null(mapping);
	assert_true(mapping->flags & HAWK_MAPPING_EXEC);
	assert_non_null(hawk_target_mapping_at(world->target, threads->sp));

	assert_null(hawk_target_read(world->target, (uintptr_t)secret, bytes, sizeof(bytes)));
	assert_string_equal(bytes, "after the fork!");

	module = hawk_target_module_at(world->target, (uintptr_t)secret);
	assert_non_null(module);
	assert_true(module->main);
	assert_string_equal(module->path, program);
	assert_true(module->has_bias);
	assert_false(hawk_findings_partial(&world->findings));
	assert_false(hawk_target_is_incomplete(world->target));
}

static void *count_once(void *argument)
{
	struct shared *shared = argument;

	for (int i = 0; i < 20; i++) {
		atomic_fetch_add(&shared->counter, 1);
		sched_yield();
	}
	return NULL;
}

static atomic_bool all_start; /* in the victim: each of its threads that start others is there */

static void *start_threads(void *argument)
{
	struct shared *shared = argument;

	for (;;) {
		pthread_t threads[4];
		size_t count = 0;

		while (count < 4 && !pthread_create(&threads[count], NULL, count_once, shared))
			count++;
		atomic_fetch_add(&shared->threads, count);
		while (count)
			pthread_join(threads[--count], NULL);
		if (atomic_load(&all_start))
			atomic_store(&shared->ready, 1);
	}
	return NULL;
}

static void start_threads_for_ever(struct shared *shared)
{
	pthread_t thread;

	for (int i = 0; i < 3; i++)
		pthread_create(&thread, NULL, start_threads, shared);
	atomic_store(&all_start, true);
	start_threads(shared);
}

static size_t count_tasks(pid_t pid)
{
	char path[64];
	size_t count = 0;
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	folder = opendir(path);
	assert_non_null(folder);
	while (readdir(folder))
		count++;
	closedir(folder);
	return count - 2;
}

LIVE_TEST(threads_that_start_all_the_time_are_all_stopped)
{
	size_t count;

	victim_start(world, start_threads_for_ever);
	for (int i = 0; i < STRESS_ROUNDS; i++) {
		victim_open(world);
		assert_true(victim_stands(world));
		hawk_target_threads(world->target, &count);
		assert_true(count >= 4);
		assert_true(count <= count_tasks(world->victim));
		victim_close(world);
		assert_true(victim_counts(world));
	}
}

static struct shared *signal_shared;

static void count_signal(int signal)
{
	(void)signal;
	atomic_fetch_add(&signal_shared->signals, 1);
}

static void count_signals(struct shared *shared)
{
	signal_shared = shared;
	signal(SIGRTMIN, count_signal);
	victim_count_for_ever(shared);
}

LIVE_TEST(no_signal_is_lost)
{
	uint64_t sent = 0;

	victim_start(world, count_signals);
	for (int i = 0; i < STRESS_ROUNDS; i++) {
		for (int k = 0; k < 3; k++, sent++)
			assert_int_equal(sigqueue(world->victim, SIGRTMIN, (union sigval){0}), 0);
		victim_open(world);
		for (int k = 0; k < 3; k++, sent++)
			assert_int_equal(sigqueue(world->victim, SIGRTMIN, (union sigval){0}), 0);
		victim_close(world);
	}
	for (int i = 0; i < 3000 && atomic_load(&world->shared->signals) != sent; i++)
		victim_sleep_ms(1);
	assert_int_equal(atomic_load(&world->shared->signals), sent);
}

/** In a child: opens the victim and waits to be killed. */
static pid_t start_analyzer(struct victim_world *world, int *report)
{
	int ends[2];
	pid_t analyzer;

	assert_int_equal(pipe(ends), 0);
	analyzer = fork();
	assert_true(analyzer >= 0);
	if (!analyzer) {
		struct hawk_error *error =
			hawk_target_open_pid(world->victim, &world->findings, &world->target);
		char answer = error ? 'e' : 'o';

		if (write(ends[1], &answer, 1) == 1)
			pause();
		_exit(0);
	}
	close(ends[1]);
	*report = ends[0];
	return analyzer;
}

LIVE_TEST(killing_the_analyzer_while_it_stops_threads_lets_them_go)
{
	victim_start(world, start_threads_for_ever);
	victim_open(world);
	victim_close(world);
	for (long i = 0; i < STRESS_ROUNDS; i++) {
		struct timespec pause = {.tv_nsec = i * 50000};
		int report;
		pid_t analyzer = start_analyzer(world, &report);

		nanosleep(&pause, NULL);
		kill(analyzer, SIGKILL);
		waitpid(analyzer, NULL, 0);
		close(report);
		assert_true(victim_counts(world));
	}
	assert_int_equal(victim_status(world->victim, "TracerPid"), 0);
	assert_int_not_equal(victim_status(world->victim, "State"), 't');
}

LIVE_TEST(a_process_that_is_killed_while_it_stands_is_a_fault)
{
	char byte;

	victim_start(world, victim_count_for_ever);
	victim_open(world);
	assert_null(hawk_target_verify(world->target));
	kill(world->victim, SIGKILL);
	assert_true(victim_comes_to(world->victim, 'Z'));
	check_fails(hawk_target_read(world->target, (uintptr_t)secret, &byte, 1), HAWK_ERROR_FAULT,
		    "");
	for (unsigned i = 0; i < 2; i++) {
		check_fails(hawk_target_verify(world->target), HAWK_ERROR_FAULT,
			    "ended while it was read");
		hawk_target_release(world->target);
	}
	victim_close(world);
	assert_int_equal(waitpid(world->victim, NULL, 0), world->victim);
	world->victim = 0;
}

static void *outlive_the_leader(void *argument)
{
	if (!victim_comes_to(getpid(), 'Z'))
		_exit(1);
	victim_count_for_ever(argument);
	return NULL;
}

static void exit_the_leader(struct shared *shared)
{
	pthread_t thread;

	memcpy(secret, "after the fork!", sizeof(secret));
	pthread_create(&thread, NULL, outlive_the_leader, shared);
	pthread_exit(NULL);
}

LIVE_TEST(a_process_whose_leader_has_exited_is_read)
{
	char bytes[sizeof(secret)];
	size_t count;

	victim_start(world, exit_the_leader);
	victim_open(world);
	assert_true(victim_stands(world));
	hawk_target_threads(world->target, &count);
	assert_int_equal(count, 1);
	assert_null(hawk_target_read(world->target, (uintptr_t)secret, bytes, sizeof(bytes)));
	assert_string_equal(bytes, "after the fork!");
}

static void *count_in_a_thread(void *argument)
{
	victim_count_for_ever(argument);
	return NULL;
}

/** The parent of a vfork() sleeps in the kernel and cannot be stopped until the child execs. */
static void block_in_vfork(struct shared *shared)
{
	pthread_t thread;

	pthread_create(&thread, NULL, count_in_a_thread, shared);
	if (!vfork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		alarm(60);
		for (;;)
			pause();
	}
}

LIVE_TEST(a_thread_that_cannot_be_stopped_is_reported_and_let_go)
{
	const struct hawk_thread *threads;
	size_t count;

	victim_start(world, block_in_vfork);
	assert_true(victim_comes_to(world->victim, 'D'));
	victim_open(world);
	assert_true(victim_stands(world)); /* the other one */
	assert_true(hawk_findings_partial(&world->findings));
	assert_non_null(strstr(world->findings.items[0].text, "could not be stopped"));
	assert_true(hawk_target_is_incomplete(world->target));
	threads = hawk_target_threads(world->target, &count);
	assert_int_equal(count, 2);
	for (size_t i = 0; i < count; i++) {
		assert_non_null(hawk_target_module_at(world->target, threads[i].pc));
		assert_non_null(hawk_target_mapping_at(world->target, threads[i].sp));
	}
	hawk_target_release(world->target);
	assert_true(victim_counts(world));
	assert_int_equal(victim_status(world->victim, "TracerPid"), 0);
}

enum { HOGS = 3 };

static pid_t hogs[HOGS];

static bool stay_on_first_processor(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	return !sched_setaffinity(0, sizeof(set), &set);
}

static int kill_hogs(void **state)
{
	for (int i = 0; i < HOGS; i++) {
		if (hogs[i] > 0) {
			kill(hogs[i], SIGKILL);
			waitpid(hogs[i], NULL, 0);
		}
	}
	return victim_tear_down(state);
}

/** What the processor has left when others want it, and on that of the hogs. */
static void run_when_idle(struct shared *shared)
{
	struct sched_param parameter = {0};

	if (!stay_on_first_processor() || sched_setscheduler(0, SCHED_IDLE, &parameter))
		_exit(1);
	atomic_store(&shared->ready, 1);
	for (;;)
		atomic_fetch_add(&shared->counter, 1);
}

static void start_hogs(void)
{
	for (int i = 0; i < HOGS; i++) {
		hogs[i] = fork();
		assert_true(hogs[i] >= 0);
		if (hogs[i])
			continue;
		alarm(60);
		stay_on_first_processor();
		for (volatile unsigned long turns = 0;; turns++)
			;
	}
	victim_sleep_ms(300);
}

TEST_WITH(struct victim_world *world, victim_set_up, kill_hogs,
	  a_thread_without_a_processor_is_waited_for)
{
	size_t count;

	victim_start(world, run_when_idle);
	victim_open(world); /* skips where ptrace is not allowed */
	victim_close(world);
	start_hogs();
	for (int i = 0; i < 3; i++) {
		struct hawk_error *error =
			hawk_target_open_pid(world->victim, &world->findings, &world->target);

		if (error) { /* for long, but not for ever */
			assert_non_null(strstr(hawk_error_message(error), "no processor"));
			assert_non_null(strstr(world->findings.items[0].text, "no processor"));
			hawk_error_destroy(error);
			continue;
		}
		assert_false(hawk_target_is_incomplete(world->target));
		hawk_target_threads(world->target, &count);
		assert_int_equal(count, 1);
		victim_close(world);
	}
}
