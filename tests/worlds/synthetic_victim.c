/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Victims for tests of living processes.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test.h"
#include "synthetic_victim.h"

int victim_set_up(void **state)
{
	struct victim_world *world = calloc(1, sizeof(*world));

	hawk_findings_init(&world->findings);
	world->shared = mmap(NULL, sizeof(*world->shared), PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	*state = world;
	return world->shared == MAP_FAILED;
}

void victim_end(struct victim_world *world)
{
	if (world->victim > 0) {
		kill(world->victim, SIGKILL);
		waitpid(world->victim, NULL, 0);
	}
	world->victim = 0;
}

int victim_tear_down(void **state)
{
	struct victim_world *world = *state;

	hawk_target_close(world->target);
	hawk_findings_deinit(&world->findings);
	victim_end(world);
	munmap(world->shared, sizeof(*world->shared));
	free(world);
	return 0;
}

void victim_sleep_ms(long milliseconds)
{
	struct timespec pause = {milliseconds / 1000, milliseconds % 1000 * 1000000};

	while (nanosleep(&pause, &pause) && errno == EINTR)
		;
}

void victim_start(struct victim_world *world, void (*run)(struct shared *shared))
{
	world->victim = fork();
	assert_true(world->victim >= 0);
	if (!world->victim) {
		alarm(110); /* near the end of the test's time */
		run(world->shared);
		_exit(0);
	}
	for (int i = 0; i < 20000 && !atomic_load(&world->shared->ready); i++)
		victim_sleep_ms(1);
	assert_int_equal(atomic_load(&world->shared->ready), 1);
}

void victim_open(struct victim_world *world)
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

void victim_close(struct victim_world *world)
{
	hawk_target_close(world->target);
	world->target = NULL;
}

bool victim_counts(const struct victim_world *world)
{
	uint64_t before = atomic_load(&world->shared->counter);

	for (int i = 0; i < 3000; i++) {
		if (atomic_load(&world->shared->counter) != before)
			return true;
		victim_sleep_ms(1);
	}
	return false;
}

bool victim_stands(const struct victim_world *world)
{
	uint64_t before = atomic_load(&world->shared->counter);

	victim_sleep_ms(50);
	return atomic_load(&world->shared->counter) == before;
}

long victim_status(pid_t pid, const char *key)
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

bool victim_comes_to(pid_t pid, char state)
{
	for (int i = 0; i < 10000; i++) {
		if (victim_status(pid, "State") == state)
			return true;
		victim_sleep_ms(1);
	}
	return false;
}

void victim_count_for_ever(struct shared *shared)
{
	for (;;) {
		atomic_fetch_add(&shared->counter, 1);
		atomic_store(&shared->ready, 1);
		victim_sleep_ms(1);
	}
}
