/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A model checker for the tracer's lock-free parts: every interleaving of two or three virtual
 * threads and a signal handler, up to a bound of preemptions (as CHESS does), over the real
 * sources.
 *
 * The tracer's files are compiled with -fsanitize=thread and linked to a runtime of our own
 * (model_hooks.c) instead of the sanitizer's: the compiler itself calls us before every access of
 * memory and for every atomic operation, so there is nothing that could drift from the code. The
 * kernel and the dynamic loader are stand-ins (model_kernel.c), so executions repeat exactly.
 *
 * After each step the scenario may look at what an analyzer would see if the process died there.
 */
#ifndef MODEL_H
#define MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	MODEL_THREADS_MAX = 3,
	MODEL_STEPS_MAX = 200000, /**< of one execution: more is a livelock */
};

/** The subject of an exploration, and its invariants. */
struct model_scenario {
	const char *name;
	const char *properties; /**< in words, for --list */
	/** Called once, before the exploration: its result is the first state of every run. */
	void (*set_up)(void);
	void (*threads[MODEL_THREADS_MAX])(void);
	/** May come at any step of any thread, `signals` times in one execution; NULL = never. */
	void (*handler)(void);
	void (*at_step)(void); /**< invariants after each step that writes; may be NULL */
	void (*at_end)(void);  /**< invariants when all threads are done */
	unsigned preemptions;
	unsigned signals;
	unsigned delays;       /**< atomic stores that may linger in a store buffer (x86 TSO) */
	bool private_accesses; /**< preempt before each access, not only before those that matter */
};

/** Explores the scenario; returns the number of executions. Ends the process with exit code 3 at
 * the first violation. */
uint64_t model_explore(const struct model_scenario *scenario);

/** A property does not hold: prints the text and the schedule, ends the process with exit code 3.
 */
__attribute__((format(printf, 1, 2), noreturn)) void model_fail(const char *format, ...);

#define MODEL_CHECK(condition, ...)                                                                \
	do {                                                                                       \
		if (!(condition))                                                                  \
			model_fail(__VA_ARGS__);                                                   \
	} while (0)

/** Returns the number of the running virtual thread; MODEL_THREADS_MAX outside of all. */
unsigned model_self(void);

/** Returns thread `number`'s value of a thread-local word of this program. */
uint64_t model_local_word(unsigned number, const void *here);

/** Announces a write that the compiler does not show, as by inline assembly. */
void model_touch(const void *address, size_t bytes);

/* Between the parts of the model. */

/** memcpy(), which would be taken for the tracer's. */
static inline void model_copy(void *to, const void *from, size_t bytes)
{
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
}

enum model_access {
	MODEL_READ,
	MODEL_WRITE,
};

/** Makes a step of the running thread; others may come first. Returns false outside of
 * explorations. */
bool model_step(enum model_access access, const void *address, size_t bytes);

/** Returns true if an atomic store of the running thread, not sequentially consistent, lingers in
 * its store buffer instead of happening now. */
bool model_delay_store(void *address, uint64_t value, size_t bytes);

/** Reads the running thread's lingering store at `address`; returns false if none. */
bool model_lingering(const void *address, size_t bytes, uint64_t *value);

/** Makes the running thread's stores visible. */
void model_drain(void);

/** Notes the origin of the current step's access: a return address. */
void model_note_pc(uint64_t pc);

/** Lets the next thread run: the running one can do nothing until others have run. */
void model_wait(void);

/** Takes the state of the kernel's stand-in as the first one of every execution. */
void model_kernel_keep(void);

/** Restores that state. */
void model_kernel_reset(void);

/** Runs the destructors of this thread's keys as the C library does. */
void model_kernel_exit_thread(void);

/** Returns true if munmap has been called for this address. */
bool model_kernel_is_gone(const void *address);

/** Returns true if the tracer mapped the whole range and has not unmapped it. */
bool model_kernel_is_mapped(const void *address, size_t bytes);

/** Bytes mapped and not unmapped since the program started. */
uint64_t model_kernel_mapped_bytes(void);

/** Makes mmap fail, for scenarios without memory. */
extern bool model_kernel_no_memory;

/** A made-up module for _dl_find_object; NULL name = none. */
struct model_module {
	void *start;
	size_t bytes;
	void *link_map;
};
extern struct model_module model_kernel_module;

#endif
