/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Living processes: stopped as a whole, read, captured, and let go in every case.
 *
 * The victims are forked children that count in memory shared with the test: a counter that moves
 * proves that they run, one that does not that they stand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "hawk_target.h"

enum { MEBIBYTE = 1 << 20, STRESS_ROUNDS = 30 };

/** Shared with the victim. */
struct shared {
	_Atomic uint64_t counter;
	_Atomic uint64_t signals;
	_Atomic uint64_t ready;
	_Atomic uint64_t threads; /* started so far */
	_Atomic uint64_t address; /* of something in the victim */
};

struct world {
	struct shared *shared;
	struct hawk_findings findings;
	struct hawk_target *target;
	pid_t victim;
};

static int set_up(void **state)
{
	struct world *world = calloc(1, sizeof(*world));

	hawk_findings_init(&world->findings);
	world->shared = mmap(NULL, sizeof(*world->shared), PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	*state = world;
	return world->shared == MAP_FAILED;
}

static int tear_down(void **state)
{
	struct world *world = *state;

	hawk_target_close(world->target);
	hawk_findings_deinit(&world->findings);
	if (world->victim > 0) {
		kill(world->victim, SIGKILL);
		waitpid(world->victim, NULL, 0);
	}
	munmap(world->shared, sizeof(*world->shared));
	free(world);
	return 0;
}

static void sleep_ms(long milliseconds)
{
	struct timespec pause = {milliseconds / 1000, milliseconds % 1000 * 1000000};

	while (nanosleep(&pause, &pause) && errno == EINTR)
		;
}

/** Starts `run` in a child that dies with the test, and waits until it says that it is ready. */
static void start(struct world *world, void (*run)(struct shared *shared))
{
	world->victim = fork();
	assert_true(world->victim >= 0);
	if (!world->victim) {
		alarm(60);
		run(world->shared);
		_exit(0);
	}
	for (int i = 0; i < 5000 && !atomic_load(&world->shared->ready); i++)
		sleep_ms(1);
	assert_int_equal(atomic_load(&world->shared->ready), 1);
}

static void open_victim(struct world *world)
{
	struct hawk_error *error =
		hawk_target_open_pid(world->victim, &world->findings, &world->target);

	if (!error)
		return;
	if (strstr(hawk_error_message(error), "may not be traced") ||
	    strstr(hawk_error_message(error), "ptrace_scope")) {
		print_message("skipped: %s\n", hawk_error_message(error));
		hawk_error_destroy(error);
		skip();
	}
	fail_msg("%s", hawk_error_message(error));
}

static bool counts(const struct world *world)
{
	uint64_t before = atomic_load(&world->shared->counter);

	for (int i = 0; i < 3000; i++) {
		if (atomic_load(&world->shared->counter) != before)
			return true;
		sleep_ms(1);
	}
	return false;
}

static bool stands(const struct world *world)
{
	uint64_t before = atomic_load(&world->shared->counter);

	sleep_ms(50);
	return atomic_load(&world->shared->counter) == before;
}

/** A number of /proc/PID/status, or the letter of State. */
static long status_of(pid_t pid, const char *key)
{
	char path[64], line[256];
	long value = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		size_t length = strlen(key);

		if (strncmp(line, key, length) || line[length] != ':')
			continue;
		value = strcmp(key, "State") ? strtol(line + length + 1, NULL, 10)
					     : line[length + 2];
	}
	if (file)
		fclose(file);
	return value;
}

static void count_for_ever(struct shared *shared)
{
	for (;;) {
		atomic_fetch_add(&shared->counter, 1);
		atomic_store(&shared->ready, 1);
		sleep_ms(1);
	}
}

static char secret[] = "before the fork";

static void change_and_count(struct shared *shared)
{
	memcpy(secret, "after the fork!", sizeof(secret));
	count_for_ever(shared);
}

static void a_process_is_read_while_it_stands(void **state)
{
	struct world *world = *state;
	const struct hawk_process *process;
	const struct hawk_thread *threads;
	const struct hawk_mapping *mapping;
	const struct hawk_module *module;
	char bytes[sizeof(secret)];
	char program[4096] = {0};
	size_t count;

	start(world, change_and_count);
	open_victim(world);
	assert_true(stands(world));
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
	mapping = hawk_target_mapping_at(world->target, threads->registers[HAWK_RIP]);
	assert_non_null(mapping);
	assert_true(mapping->flags & HAWK_MAPPING_EXEC);
	assert_non_null(hawk_target_mapping_at(world->target, threads->registers[HAWK_RSP]));

	assert_null(hawk_target_read(world->target, (uintptr_t)secret, bytes, sizeof(bytes)));
	assert_string_equal(bytes, "after the fork!");

	module = hawk_target_module_at(world->target, (uintptr_t)secret);
	assert_non_null(module);
	assert_true(module->main);
	assert_string_equal(module->path, program);
	assert_true(module->has_bias);
	assert_false(hawk_findings_partial(&world->findings));
}

static void a_process_goes_on_after_close(void **state)
{
	struct world *world = *state;

	start(world, count_for_ever);
	open_victim(world);
	assert_true(stands(world));
	hawk_target_close(world->target);
	world->target = NULL;
	assert_true(counts(world));
	assert_int_equal(status_of(world->victim, "TracerPid"), 0);
}

static void after_the_release_only_captured_memory_is_left(void **state)
{
	struct world *world = *state;
	uintptr_t address = (uintptr_t)secret;
	struct hawk_error *error;
	const char *view;
	char bytes[8];

	start(world, change_and_count);
	open_victim(world);
	assert_null(hawk_target_view(world->target, address, 4));
	assert_null(hawk_target_capture(world->target, address + 2, 4));
	assert_null(hawk_target_capture(world->target, address + 1, 8));
	assert_null(hawk_target_capture(world->target, address + 1, 8));
	hawk_target_release(world->target);
	hawk_target_release(world->target);
	assert_true(counts(world));
	assert_true(hawk_target_pause_ns(world->target) > 0);

	assert_null(hawk_target_read(world->target, address + 1, bytes, 8));
	assert_memory_equal(bytes, "fter the", 8);
	view = hawk_target_view(world->target, address + 2, 4);
	assert_non_null(view);
	assert_memory_equal(view, "ter ", 4);
	assert_int_equal(hawk_target_read_some(world->target, address, bytes, 1), 0);
	assert_int_equal(hawk_target_read_some(world->target, address + 7, bytes, 8), 2);
	error = hawk_target_read(world->target, address + 9, bytes, 1);
	assert_non_null(error);
	assert_int_equal(hawk_error_code(error), HAWK_ERROR_FAULT);
	hawk_error_destroy(error);
}

static void a_stopped_process_stays_stopped(void **state)
{
	struct world *world = *state;
	int status;
	size_t count;

	start(world, count_for_ever);
	assert_int_equal(kill(world->victim, SIGSTOP), 0);
	assert_int_equal(waitpid(world->victim, &status, WUNTRACED), world->victim);
	open_victim(world);
	assert_int_equal(hawk_target_threads(world->target, &count)->signal, SIGSTOP);
	hawk_target_close(world->target);
	world->target = NULL;
	assert_true(stands(world));
	assert_int_equal(status_of(world->victim, "State"), 'T');
	assert_int_equal(kill(world->victim, SIGCONT), 0);
	assert_true(counts(world));
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
		atomic_store(&shared->ready, 1);
	}
	return NULL;
}

static void start_threads_for_ever(struct shared *shared)
{
	pthread_t thread;

	for (int i = 0; i < 3; i++)
		pthread_create(&thread, NULL, start_threads, shared);
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

static void threads_that_start_all_the_time_are_all_stopped(void **state)
{
	struct world *world = *state;
	size_t count;

	start(world, start_threads_for_ever);
	for (int i = 0; i < STRESS_ROUNDS; i++) {
		open_victim(world);
		assert_true(stands(world));
		hawk_target_threads(world->target, &count);
		assert_true(count >= 4);
		assert_true(count <= count_tasks(world->victim));
		hawk_target_close(world->target);
		world->target = NULL;
		assert_true(counts(world));
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
	count_for_ever(shared);
}

static void no_signal_is_lost(void **state)
{
	struct world *world = *state;
	uint64_t sent = 0;

	start(world, count_signals);
	for (int i = 0; i < STRESS_ROUNDS; i++) {
		for (int k = 0; k < 3; k++, sent++)
			assert_int_equal(sigqueue(world->victim, SIGRTMIN, (union sigval){0}), 0);
		open_victim(world);
		for (int k = 0; k < 3; k++, sent++)
			assert_int_equal(sigqueue(world->victim, SIGRTMIN, (union sigval){0}), 0);
		hawk_target_close(world->target);
		world->target = NULL;
	}
	for (int i = 0; i < 3000 && atomic_load(&world->shared->signals) != sent; i++)
		sleep_ms(1);
	assert_int_equal(atomic_load(&world->shared->signals), sent);
}

/** In a child: opens the victim and waits to be killed. */
static pid_t start_analyzer(struct world *world, int *report)
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

static void killing_the_analyzer_lets_the_process_go(void **state)
{
	struct world *world = *state;
	char answer = 0;
	pid_t analyzer;
	int report;

	start(world, start_threads_for_ever);
	open_victim(world); /* skips where ptrace is not allowed */
	hawk_target_close(world->target);
	world->target = NULL;
	analyzer = start_analyzer(world, &report);
	assert_int_equal(read(report, &answer, 1), 1);
	assert_int_equal(answer, 'o');
	assert_true(stands(world));
	kill(analyzer, SIGKILL);
	waitpid(analyzer, NULL, 0);
	close(report);
	assert_true(counts(world));
	assert_int_equal(status_of(world->victim, "TracerPid"), 0);
}

static void killing_the_analyzer_while_it_stops_threads_lets_them_go(void **state)
{
	struct world *world = *state;

	start(world, start_threads_for_ever);
	open_victim(world);
	hawk_target_close(world->target);
	world->target = NULL;
	for (long i = 0; i < STRESS_ROUNDS; i++) {
		struct timespec pause = {.tv_nsec = i * 50000};
		int report;
		pid_t analyzer = start_analyzer(world, &report);

		nanosleep(&pause, NULL);
		kill(analyzer, SIGKILL);
		waitpid(analyzer, NULL, 0);
		close(report);
		assert_true(counts(world));
	}
	assert_int_equal(status_of(world->victim, "TracerPid"), 0);
	assert_int_not_equal(status_of(world->victim, "State"), 't');
}

static void a_process_that_is_killed_while_it_stands_is_a_fault(void **state)
{
	struct world *world = *state;
	struct hawk_error *error;
	char byte;

	start(world, count_for_ever);
	open_victim(world);
	kill(world->victim, SIGKILL);
	sleep_ms(20);
	error = hawk_target_read(world->target, (uintptr_t)secret, &byte, 1);
	assert_non_null(error);
	assert_int_equal(hawk_error_code(error), HAWK_ERROR_FAULT);
	hawk_error_destroy(error);
	hawk_target_close(world->target);
	world->target = NULL;
	assert_int_equal(waitpid(world->victim, NULL, 0), world->victim);
	world->victim = 0;
}

static void *outlive_the_leader(void *argument)
{
	sleep_ms(50);
	count_for_ever(argument);
	return NULL;
}

static void exit_the_leader(struct shared *shared)
{
	pthread_t thread;

	memcpy(secret, "after the fork!", sizeof(secret));
	pthread_create(&thread, NULL, outlive_the_leader, shared);
	pthread_exit(NULL);
}

static void a_process_whose_leader_has_exited_is_read(void **state)
{
	struct world *world = *state;
	char bytes[sizeof(secret)];
	size_t count;

	start(world, exit_the_leader);
	open_victim(world);
	assert_true(stands(world));
	hawk_target_threads(world->target, &count);
	assert_int_equal(count, 1);
	assert_null(hawk_target_read(world->target, (uintptr_t)secret, bytes, sizeof(bytes)));
	assert_string_equal(bytes, "after the fork!");
}

static void map_much_and_count(struct shared *shared)
{
	uint8_t *bytes = mmap(NULL, 512 * (size_t)MEBIBYTE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	madvise(bytes, 512 * (size_t)MEBIBYTE, MADV_NOHUGEPAGE);
	memset(bytes + 100 * (size_t)MEBIBYTE, 'x', 10000);
	atomic_store(&shared->address, (uintptr_t)bytes);
	count_for_ever(shared);
}

static void untouched_memory_is_neither_read_nor_allocated(void **state)
{
	struct world *world = *state;
	long resident_before, resident_after;
	uint64_t address, touched, start_address, end_address;
	uint8_t bytes[8192];

	start(world, map_much_and_count);
	address = atomic_load(&world->shared->address);
	touched = address + 100 * (uint64_t)MEBIBYTE;
	resident_before = status_of(world->victim, "VmRSS") + status_of(world->victim, "VmPTE");
	open_victim(world);
	assert_true(hawk_target_next_data(world->target, address, address + 512ull * MEBIBYTE,
					  &start_address, &end_address));
	assert_int_equal(start_address, touched);
	assert_int_equal(end_address, touched + 3 * 4096);
	assert_false(hawk_target_next_data(world->target, end_address, address + 512ull * MEBIBYTE,
					   &start_address, &end_address));
	assert_null(hawk_target_read(world->target, touched - 4096, bytes, sizeof(bytes)));
	assert_int_equal(bytes[0], 0);
	assert_int_equal(bytes[4095], 0);
	assert_int_equal(bytes[4096], 'x');
	assert_null(hawk_target_capture(world->target, address, 512ull * MEBIBYTE));
	resident_after = status_of(world->victim, "VmRSS") + status_of(world->victim, "VmPTE");
	hawk_target_release(world->target);
	assert_true(resident_after - resident_before < 256);
	assert_null(hawk_target_read(world->target, touched - 4096, bytes, sizeof(bytes)));
	assert_int_equal(bytes[4095], 0);
	assert_int_equal(bytes[4096], 'x');
	assert_true(hawk_target_next_data(world->target, address, address + 512ull * MEBIBYTE,
					  &start_address, &end_address));
	assert_int_equal(start_address, touched);
}

static void map_without_rights_and_count(struct shared *shared)
{
	char *bytes =
		mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	strcpy(bytes, "no rights");
	mprotect(bytes, 4096, PROT_NONE);
	atomic_store(&shared->address, (uintptr_t)bytes);
	count_for_ever(shared);
}

static void memory_without_rights_is_read_all_the_same(void **state)
{
	struct world *world = *state;
	char bytes[10];

	start(world, map_without_rights_and_count);
	open_victim(world);
	assert_null(hawk_target_read(world->target, atomic_load(&world->shared->address), bytes,
				     sizeof(bytes)));
	assert_string_equal(bytes, "no rights");
}

static void *count_in_a_thread(void *argument)
{
	count_for_ever(argument);
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

static void a_thread_that_cannot_be_stopped_is_reported_and_let_go(void **state)
{
	struct world *world = *state;
	const struct hawk_thread *threads;
	size_t count;

	start(world, block_in_vfork);
	sleep_ms(50);
	open_victim(world);
	assert_true(stands(world)); /* the other one */
	assert_true(hawk_findings_partial(&world->findings));
	assert_non_null(strstr(world->findings.items[0].text, "could not be stopped"));
	threads = hawk_target_threads(world->target, &count);
	assert_int_equal(count, 2);
	for (size_t i = 0; i < count; i++) {
		assert_non_null(
			hawk_target_module_at(world->target, threads[i].registers[HAWK_RIP]));
		assert_non_null(
			hawk_target_mapping_at(world->target, threads[i].registers[HAWK_RSP]));
	}
	hawk_target_release(world->target);
	assert_true(counts(world));
	assert_int_equal(status_of(world->victim, "TracerPid"), 0);
}

#define LIVE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LIVE_TEST(a_process_is_read_while_it_stands),
		LIVE_TEST(a_process_goes_on_after_close),
		LIVE_TEST(after_the_release_only_captured_memory_is_left),
		LIVE_TEST(a_stopped_process_stays_stopped),
		LIVE_TEST(threads_that_start_all_the_time_are_all_stopped),
		LIVE_TEST(no_signal_is_lost),
		LIVE_TEST(killing_the_analyzer_lets_the_process_go),
		LIVE_TEST(killing_the_analyzer_while_it_stops_threads_lets_them_go),
		LIVE_TEST(a_process_that_is_killed_while_it_stands_is_a_fault),
		LIVE_TEST(a_process_whose_leader_has_exited_is_read),
		LIVE_TEST(untouched_memory_is_neither_read_nor_allocated),
		LIVE_TEST(memory_without_rights_is_read_all_the_same),
		LIVE_TEST(a_thread_that_cannot_be_stopped_is_reported_and_let_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
