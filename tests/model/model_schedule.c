/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The scheduler: depth first through all choices. An execution is repeated up to its last choice
 * that has an alternative left, which is then taken.
 *
 * Virtual threads are contexts on stacks of their own within one thread of the system. The
 * program's thread-local words are copied in and out when the scheduler switches.
 */
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "model.h"
#include "model_memory.h"

enum {
	STACK_BYTES = 256 << 10,
	LOCAL_BYTES_MAX = 4096,
	CHOICES_MAX = 100000,
	EVENTS_SHOWN = 200,
	HANDLER_AGENTS = 4, /**< agent of thread i's handler: i + 4 */
};

struct thread {
	ucontext_t context;
	void (*function)(void);
	char local[LOCAL_BYTES_MAX];
	bool alive;
	bool in_handler;
	bool lingers; /**< a store that others do not see yet */
	void *store_address;
	uint64_t store_value;
	size_t store_bytes;
};

static uint64_t current_pc;

static const struct model_scenario *scenario;
static struct thread threads[MODEL_THREADS_MAX];
static unsigned thread_count, self = MODEL_THREADS_MAX;
static char *stacks;
static ucontext_t scheduler;

static char *local_start, first_local[LOCAL_BYTES_MAX];
static size_t local_bytes;

static struct {
	unsigned chosen, count;
} choices[CHOICES_MAX];
static size_t choice_count, choice_at;

static struct {
	const char *what;
	unsigned from, to;
	uint64_t step, pc;
} events[EVENTS_SHOWN];
static size_t event_count;

/** Of this execution. */
static uint64_t steps;
static unsigned preemptions_left, signals_left, delays_left;
static bool dirty, checking;

static void note_event(const char *what, unsigned to)
{
	if (event_count == EVENTS_SHOWN)
		return;
	events[event_count].what = what;
	events[event_count].from = self;
	events[event_count].to = to;
	events[event_count].step = steps;
	events[event_count++].pc = current_pc;
}

void model_fail(const char *format, ...)
{
	va_list arguments;

	self = MODEL_THREADS_MAX;
	printf("model: %s: ", scenario ? scenario->name : "?");
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	printf("\n  at step %lu, pc %#lx; the schedule:\n", steps, current_pc);
	for (size_t i = 0; i < event_count; i++)
		printf("  step %lu: thread %u %s %u, pc %#lx\n", events[i].step, events[i].from,
		       events[i].what, events[i].to, events[i].pc);
	fflush(stdout);
	_exit(3);
}

void model_note_pc(uint64_t pc)
{
	if (self != MODEL_THREADS_MAX && !checking)
		current_pc = pc;
}

unsigned model_self(void)
{
	return self;
}

uint64_t model_local_word(unsigned number, const void *here)
{
	size_t offset = (size_t)((const char *)here - local_start);
	uint64_t word;

	if (offset > local_bytes - 8)
		model_fail("not a thread-local word of this program");
	model_copy(&word, number == self ? (const char *)here : threads[number].local + offset, 8);
	return word;
}

static unsigned choose(unsigned count)
{
	if (count < 2)
		return 0;
	if (choice_at == choice_count) {
		if (choice_count == CHOICES_MAX)
			model_fail("too many choices");
		choices[choice_count].chosen = 0;
		choices[choice_count++].count = count;
	}
	if (choices[choice_at].count != count)
		model_fail("an execution does not repeat: %u and %u choices",
			   choices[choice_at].count, count);
	return choices[choice_at++].chosen;
}

/** Returns true if another execution is left. */
static bool next_choices(void)
{
	while (choice_count &&
	       choices[choice_count - 1].chosen + 1 == choices[choice_count - 1].count)
		choice_count--;
	if (!choice_count)
		return false;
	choices[choice_count - 1].chosen++;
	return true;
}

/** Checks a step, unless it precedes the last choice: the previous execution was the same so far
 * and checked it. */
static void check_step(void)
{
	if (!dirty || !scenario->at_step)
		return;
	dirty = false;
	if (choice_at < choice_count)
		return;
	checking = true;
	scenario->at_step();
	checking = false;
}

static void switch_to_scheduler(void)
{
	struct thread *thread = &threads[self];

	model_copy(thread->local, local_start, local_bytes);
	swapcontext(&thread->context, &scheduler);
}

static unsigned resume_next; /**< the thread that the scheduler is to run */

static void preempt(unsigned to)
{
	preemptions_left--;
	note_event("gives way to", to);
	resume_next = to;
	switch_to_scheduler();
}

void model_wait(void)
{
	if (self == MODEL_THREADS_MAX || checking)
		return;
	for (unsigned i = 1; i < thread_count; i++) {
		unsigned to = (self + i) % thread_count;

		if (!threads[to].alive)
			continue;
		note_event("waits for", to);
		resume_next = to;
		switch_to_scheduler();
		return;
	}
}

static void run_handler(void)
{
	struct thread *thread = &threads[self];

	signals_left--;
	note_event("is interrupted,", self);
	model_drain();
	thread->in_handler = true;
	scenario->handler();
	check_step();
	thread->in_handler = false;
	note_event("goes on,", self);
}

/** One of: go on, let another thread run first, take a signal. */
static void decide(void)
{
	unsigned others[MODEL_THREADS_MAX], count = 0, chosen;
	bool signal = signals_left && scenario->handler && !threads[self].in_handler;

	if (preemptions_left)
		for (unsigned i = 0; i < thread_count; i++)
			if (i != self && threads[i].alive)
				others[count++] = i;
	chosen = choose(1 + count + signal);
	if (!chosen)
		return;
	if (chosen <= count)
		preempt(others[chosen - 1]);
	else
		run_handler();
}

static bool on_a_stack(const void *address)
{
	return (size_t)((const char *)address - stacks) < (size_t)STACK_BYTES * MODEL_THREADS_MAX;
}

static bool is_local(const void *address)
{
	return (size_t)((const char *)address - local_start) < local_bytes;
}

bool model_step(enum model_access access, const void *address, size_t bytes)
{
	unsigned space, agent;

	if (self == MODEL_THREADS_MAX || checking)
		return false;
	if (on_a_stack(address) || !bytes)
		return true;
	if (++steps > MODEL_STEPS_MAX)
		model_fail("no end: a livelock");
	if (model_kernel_is_gone(address))
		model_fail("memory is used after munmap, at %p", address);
	check_step();
	space = is_local(address) ? self + 1 : 0;
	agent = self + (threads[self].in_handler ? HANDLER_AGENTS : 0);
	if ((scenario->private_accesses && access == MODEL_WRITE) ||
	    model_sharing_matters(address, bytes, space))
		decide();
	model_sharing_note(address, bytes, space, agent, access == MODEL_WRITE);
	if (access == MODEL_WRITE) {
		dirty = true;
		if (!space)
			model_journal_note(address, bytes);
	}
	return true;
}

void model_touch(const void *address, size_t bytes)
{
	model_step(MODEL_WRITE, address, bytes);
}

void model_drain(void)
{
	struct thread *thread = &threads[self];

	if (self == MODEL_THREADS_MAX || !thread->lingers)
		return;
	thread->lingers = false;
	model_journal_note(thread->store_address, thread->store_bytes);
	model_copy(thread->store_address, &thread->store_value, thread->store_bytes);
	dirty = true;
	check_step();
}

bool model_delay_store(void *address, uint64_t value, size_t bytes)
{
	struct thread *thread = &threads[self];

	if (self == MODEL_THREADS_MAX || checking || !delays_left || on_a_stack(address) ||
	    is_local(address) || !model_sharing_matters(address, bytes, 0) || !choose(2))
		return false;
	delays_left--;
	note_event("keeps a store for itself,", self);
	thread->lingers = true;
	thread->store_address = address;
	thread->store_value = value;
	thread->store_bytes = bytes;
	return true;
}

bool model_lingering(const void *address, size_t bytes, uint64_t *value)
{
	struct thread *thread = &threads[self];

	if (self == MODEL_THREADS_MAX || !thread->lingers)
		return false;
	if (thread->store_address != address || thread->store_bytes != bytes) {
		if ((uint64_t)address / 8 == (uint64_t)thread->store_address / 8)
			model_drain();
		return false;
	}
	*value = thread->store_value;
	return true;
}

static void thread_main(void)
{
	threads[self].function();
	model_kernel_exit_thread();
	if (threads[self].lingers)
		decide(); /* others may come before the store buffer is empty */
	model_drain();
	check_step();
	threads[self].alive = false;
	switch_to_scheduler();
}

static unsigned choose_alive(void)
{
	unsigned alive[MODEL_THREADS_MAX], count = 0;

	for (unsigned i = 0; i < thread_count; i++)
		if (threads[i].alive)
			alive[count++] = i;
	return count ? alive[choose(count)] : MODEL_THREADS_MAX;
}

static void prepare_execution(void)
{
	model_journal_undo();
	model_kernel_reset();
	steps = event_count = choice_at = 0;
	preemptions_left = scenario->preemptions;
	signals_left = scenario->signals;
	delays_left = scenario->delays;
	dirty = false;
	for (unsigned i = 0; i < thread_count; i++) {
		struct thread *thread = &threads[i];

		model_copy(thread->local, first_local, local_bytes);
		thread->alive = true;
		thread->in_handler = thread->lingers = false;
		getcontext(&thread->context);
		thread->context.uc_stack.ss_sp = stacks + (size_t)i * STACK_BYTES;
		thread->context.uc_stack.ss_size = STACK_BYTES;
		makecontext(&thread->context, thread_main, 0);
	}
}

static void execute(void)
{
	unsigned next;

	prepare_execution();
	next = choose_alive();
	while (next != MODEL_THREADS_MAX) {
		self = next;
		model_copy(local_start, threads[next].local, local_bytes);
		resume_next = MODEL_THREADS_MAX;
		swapcontext(&scheduler, &threads[next].context);
		self = MODEL_THREADS_MAX;
		next = resume_next != MODEL_THREADS_MAX ? resume_next : choose_alive();
	}
	model_copy(local_start, first_local, local_bytes);
	if (scenario->at_end)
		scenario->at_end();
}

static int find_locals(struct dl_phdr_info *info, size_t size, void *data)
{
	(void)size;
	(void)data;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_TLS) {
			local_start = info->dlpi_tls_data;
			local_bytes = info->dlpi_phdr[i].p_memsz;
		}
	return 1; /* the program comes first, and is the only one that matters */
}

static void prepare_scenario(void)
{
	dl_iterate_phdr(find_locals, NULL);
	if (!local_start || local_bytes < 8 || local_bytes > LOCAL_BYTES_MAX)
		model_fail("unexpected thread-local data");
	if (!stacks)
		stacks = mmap(NULL, (size_t)STACK_BYTES * MODEL_THREADS_MAX, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stacks == MAP_FAILED)
		model_fail("no memory for stacks");
	for (thread_count = 0; thread_count < MODEL_THREADS_MAX && scenario->threads[thread_count];)
		thread_count++;
	for (unsigned i = 0; i < thread_count; i++)
		threads[i].function = scenario->threads[i];
	scenario->set_up();
	model_copy(first_local, local_start, local_bytes);
	model_kernel_keep();
	model_sharing_clear();
}

uint64_t model_explore(const struct model_scenario *explored)
{
	uint64_t executions;

	scenario = explored;
	prepare_scenario();
	do {
		executions = choice_count = 0;
		do {
			execute();
			executions++;
		} while (next_choices());
	} while (model_sharing_grew());
	return executions;
}
