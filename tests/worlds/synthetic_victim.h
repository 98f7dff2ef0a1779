/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The fixture of tests that look at living processes. The victims are forked children that count in
 * memory shared with the test: a counter that moves proves that they run, one that does not that
 * they stand.
 */
#ifndef SYNTHETIC_VICTIM_H
#define SYNTHETIC_VICTIM_H

#include <stdatomic.h>
#include <sys/types.h>

#include "hawk/target/target.h"
#include "test.h"

/** Shared with the victim. */
struct shared {
	_Atomic uint64_t counter;
	_Atomic uint64_t signals;
	_Atomic uint64_t ready;
	_Atomic uint64_t threads; /* started so far */
	_Atomic uint64_t address; /* of something in the victim */
};

struct victim_world {
	struct shared *shared;
	struct hawk_findings findings;
	struct hawk_target *target;
	pid_t victim;
};

/** For cmocka_unit_test_setup_teardown(): `*state` becomes a struct victim_world. */
int victim_set_up(void **state);
int victim_tear_down(void **state);

void victim_sleep_ms(long milliseconds);

/** Starts `run` in a child that dies with the test, and waits until it says that it is ready. */
void victim_start(struct victim_world *world, void (*run)(struct shared *shared));

/** Stops and opens it; skips the test where ptrace is not allowed. */
void victim_open(struct victim_world *world);

/** Kills and reaps it. */
void victim_end(struct victim_world *world);

/** Lets it go on. */
void victim_close(struct victim_world *world);

/** The counter moves within seconds; it does not move for a while. */
bool victim_counts(const struct victim_world *world);
bool victim_stands(const struct victim_world *world);

/** A number of /proc/PID/status, or the letter of State. */
long victim_status(pid_t pid, const char *key);

/** False: its State is another letter for seconds. */
bool victim_comes_to(pid_t pid, char state);

/** For `run`: says that it is ready, counts, never returns. */
void victim_count_for_ever(struct shared *shared);

#define LIVE_TEST(name) TEST_WITH(struct victim_world *world, victim_set_up, victim_tear_down, name)

#endif
