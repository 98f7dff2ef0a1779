/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Exact stacks without frame pointers, cheaply: verified reuse of the thread's previous stack, and
 * a CFI stepper with a global lock-free rule cache for the frames that are new.
 *
 * Unwinding is a deterministic function of (pc, sp, rbp) and the stack words that it reads. So
 * frames shared with the previous stack are not walked again. They are verified by re-reading those
 * words, from the inside outwards, up to the first difference. If all match, the frames are proven
 * the same.
 *
 * Invariants: never allocates, locks, calls the C library, sets errno or uses more than 1 KiB of
 * the host's stack. Reads only memory proven readable (a page at a time, by a system call,
 * remembered per stack). Safe in signal handlers, in forked and vforked children, on coroutine
 * stacks.
 */
#ifndef HAWK_TRACER_UNWIND_UNWIND_H
#define HAWK_TRACER_UNWIND_UNWIND_H

#include <stdbool.h>
#include <stdint.h>

enum {
	HAWK_STACK_FRAMES = 512, /**< upper limit on frames kept; `depth` is at most this */
	HAWK_STACK_WORDS = 3,    /**< upper limit on words used to find one frame */
	HAWK_STACK_TOPS = 256,   /**< tops of stacks remembered, see unwind/tops.h */
	HAWK_STACK_TOP_SETS = 128,
	HAWK_STACK_TOP_WAYS = 8,
	HAWK_STACK_TOP_SLOTS = HAWK_STACK_TOP_SETS * HAWK_STACK_TOP_WAYS,
	HAWK_STACK_TOP_WORDS = 28,  /**< words that prove the frames of one */
	HAWK_STACK_TOP_STEP = 4,    /**< their number's divisor: the last word is repeated */
	HAWK_STACK_SEEN_SETS = 128, /**< of four stacks each that were walked once */
};

/** The registers that nearly all of the world's CFI needs. */
struct hawk_frame_state {
	uint64_t pc; /**< return address, or the exact pc of an interrupted instruction */
	uint64_t sp; /**< value of rsp once control is back at pc */
	uint64_t bp; /**< value of rbp there */
};

/**
 * One remembered frame of the previous stack. One cache line.
 *
 * Records how the next outer frame was found: the word at the return slot is its pc (no slot, or 0,
 * for the outermost). With a bp slot, its rbp was read there, else rbp is unchanged. With a CFA
 * slot, the word there is its sp, which otherwise follows from this frame's state.
 */
struct hawk_stack_frame {
	struct hawk_frame_state state; /**< bp only if `needs_bp` */
	uint64_t hash;  /**< of this frame and all outer ones, seeded; see hawk_stack.generation */
	uint64_t check; /**< the same, another function */
	uint64_t bp_slot;       /**< address; 0 = none */
	uint32_t return_offset; /**< return slot - state.sp + 8; 0 = none */
	uint32_t cfa_offset;    /**< CFA slot - state.sp + 8; 0 = none */
	uint16_t words;   /**< hawk_stack.words[0 .. words-1] prove this frame and all outer ones */
	uint8_t needs_bp; /**< this frame or an outer one depends on state.bp */
	uint8_t exact;    /**< state.pc is not a return address */
	uint8_t uses_bp;  /**< finding the next frame from this one took state.bp */
	uint8_t unproven; /**< enum hawk_unproven: of this frame, and whether of outer ones */
	uint8_t guessed;  /**< enum hawk_guessed, likewise */
	uint8_t reserved;
};
_Static_assert(sizeof(struct hawk_stack_frame) == 64, "one cache line");

/** Facts that comparing words cannot prove. */
enum hawk_unproven {
	HAWK_UNPROVEN_STEP = 1 << 0,  /**< the step from this frame: it must be repeated */
	HAWK_UNPROVEN_OUTER = 1 << 1, /**< one of the others, for this frame or an outer one */
	HAWK_UNPROVEN_PAGE = 1 << 2,  /**< readability of its words: on another page than its return
					 address, on a foreign stack */
};

/** Marks a next frame found by an unconfirmed frame pointer. */
enum hawk_guessed {
	HAWK_GUESSED_STEP = 1 << 0,
	HAWK_GUESSED_OUTER = 1 << 1, /**< an outer frame was guessed */
};

/** A word of the host's stack, and its value. */
struct hawk_stack_word {
	uint64_t slot;
	uint64_t value;
};

/** The top of a stack, see unwind/tops.h. */
struct hawk_stack_top {
	struct hawk_frame_state start;
	uint32_t trace;        /**< owner's id of the whole stack */
	uint16_t shared_words; /**< words of the previous stack that prove the shared frames */
	uint8_t word_count;    /**< of the others */
	uint8_t needs_bp;      /**< start.bp matters */
	/** As hawk_stack_word, innermost first: the value in the upper 48 bits; below it, the
	 * slot's distance above start.sp - 8 in words. */
	uint64_t words[HAWK_STACK_TOP_WORDS];
};
_Static_assert(sizeof(struct hawk_stack_top) == 256, "four lines of the cache");
_Static_assert(HAWK_STACK_TOP_WORDS % HAWK_STACK_TOP_STEP == 0, "room for the repeated word");

/** A thread's previous stack; lives in its slot of the trace table, all zeros at first. */
struct hawk_stack {
	uint32_t count; /**< setting it to 0 makes the walker forget everything */
	uint32_t flags; /**< enum hawk_trace_flag of the whole */
	uint32_t epoch; /**< hawk_unwind_epoch when the frames were found; forget them in another
			   epoch */
	uint32_t generation;     /**< module generation that seeded the hashes */
	uint32_t trace;          /**< owner's: trace id of these frames, 0 = not known */
	uint32_t era;            /**< hawk_unwind_era when epoch and generation were current */
	uint64_t readable_start; /**< [start, end) was proven readable: the pages of this stack seen
				    so far */
	uint64_t readable_end;

	/* Placed before the arrays, which are touched only as far as used: few pages in all. */

	/** Slots for tops, by hash. */
	struct hawk_stack_top_slot {
		uint16_t tag;
		uint16_t place; /**< 1 + where in tops[]; 0 = empty */
	} top_slots[HAWK_STACK_TOP_SLOTS];
	/** Outer frames that tops[i] shares with the previous stack; 0 = tops[i] is invalid. */
	uint16_t top_bases[HAWK_STACK_TOPS];
	uint16_t top_owners[HAWK_STACK_TOPS]; /**< the slot that owns, or owned, tops[i] */
	uint32_t top_base_max;                /**< upper limit on all bases */
	uint32_t tops_given;                  /**< places given out, round and round, in order */
	uint64_t tops_seen[HAWK_STACK_SEEN_SETS]; /**< four tags each, the last one lowest */
	struct hawk_stack_frame __attribute__((aligned(64)))
	frames[HAWK_STACK_FRAMES]; /**< outermost first: frames[count - 1] is the leaf */
	struct hawk_stack_frame fresh[HAWK_STACK_FRAMES]; /**< scratch: new frames, leaf first */
	/** Words that the frames were found from, outermost first; compared from the end. */
	struct hawk_stack_word words[HAWK_STACK_FRAMES * HAWK_STACK_WORDS];
	struct hawk_stack_top tops[HAWK_STACK_TOPS] __attribute__((aligned(64)));
};

enum hawk_unwind_mode {
	HAWK_UNWIND_CFI = 0,   /**< own stepper (default) */
	HAWK_UNWIND_LIBUNWIND, /**< libunwind, loaded by hawk_unwind_load_libunwind() */
	HAWK_UNWIND_FP,        /**< frame pointers */
};

/** Set once at start-up, before hawk_unwind_init() and the first walk. */
struct hawk_unwind_options {
	enum hawk_unwind_mode mode;
	uint32_t depth; /**< innermost frames to keep, 1 .. HAWK_STACK_FRAMES */
	/** Allocates zeroed pages for hawk_unwind_init(); NULL = hawk_map(). */
	void *(*map)(uint64_t bytes);
};
extern struct hawk_unwind_options hawk_unwind_options;

/** Bumped (by hawk_unwind_invalidate) whenever code may have been unmapped: all rules and stacks
 * are stale. */
extern uint32_t hawk_unwind_epoch __attribute__((visibility("hidden")));

/** Bumped after the epoch or the module generation: one word to check instead of two. */
extern uint32_t hawk_unwind_era __attribute__((visibility("hidden")));

/** Must be called once before the first walk; maps the rule cache. Returns false if there is no
 * memory for it. */
bool hawk_unwind_init(void);

/** Invalidates all rules after a module went away. Async-signal-safe, lock-free; concurrent walkers
 * never keep a stale rule. */
void hawk_unwind_invalidate(void);

/** Notes that the module generation was raised. */
void hawk_unwind_note_generation(void);

/** Loads libunwind (RTLD_LOCAL) for mode HAWK_UNWIND_LIBUNWIND. Call only from the library's
 * constructor. Returns false if it is missing. */
bool hawk_unwind_load_libunwind(void);

struct hawk_walk_result {
	uint64_t hash;  /**< of the whole stack and the generation: never 0 */
	uint32_t count; /**< frames */
	uint32_t kept;  /**< outermost frames verified as shared with the previous stack; == count:
			   nothing changed */
	uint32_t flags; /**< enum hawk_trace_flag */
	uint32_t generation; /**< that seeded the hashes */
	uint64_t check;      /**< as hash, another function: equal together = the same stack */
};

/**
 * Brings `stack` up to date with the caller's stack: `start` is the state of the innermost frame
 * wanted. Afterwards stack->frames[0..count-1] is exact. Leaves `stack->trace` alone: the caller's
 * id for the previous stack. Returns true if that id is still right: kept == count == the previous
 * count, and the generation did not change.
 */
bool hawk_walk(struct hawk_stack *stack, const struct hawk_frame_state *start,
	       struct hawk_walk_result *ret);

/**
 * Compares words[0 .. count-1] from the end, the innermost: each proves that the next one's place
 * exists. Returns 0 if all are unchanged, else 1 + the index of the first changed one. About 0.3 ns
 * per word.
 */
static inline __attribute__((always_inline)) uint32_t
hawk_walk_compare(const struct hawk_stack_word *words, uint32_t count)
{
	const struct hawk_stack_word *word = words + count;

	for (; word - words >= 4; word -= 4) {
		if (*(const uint64_t *)word[-1].slot != word[-1].value)
			return (uint32_t)(word - words);
		if (*(const uint64_t *)word[-2].slot != word[-2].value)
			return (uint32_t)(word - words) - 1;
		if (*(const uint64_t *)word[-3].slot != word[-3].value)
			return (uint32_t)(word - words) - 2;
		if (*(const uint64_t *)word[-4].slot != word[-4].value)
			return (uint32_t)(word - words) - 3;
	}
	for (; word != words; word--)
		if (*(const uint64_t *)word[-1].slot != word[-1].value)
			return (uint32_t)(word - words);
	return 0;
}

static inline bool hawk_walk_is_current(const struct hawk_stack *stack)
{
	return stack->era == __atomic_load_n(&hawk_unwind_era, __ATOMIC_ACQUIRE);
}

/**
 * Returns true if `stack` is provably still the caller's whole stack. Same result as hawk_walk(),
 * but writes nothing. Budget: 2 ns and 0.6 ns per frame.
 */
static inline __attribute__((always_inline)) bool
hawk_walk_holds(const struct hawk_stack *stack, const struct hawk_frame_state *start)
{
	const struct hawk_stack_frame *leaf = &stack->frames[stack->count - 1u];

	/* One branch for pc and sp: stacks that change often differ in either. */
	return hawk_walk_is_current(stack) && stack->count &&
	       !((leaf->state.pc ^ start->pc) | (leaf->state.sp ^ start->sp)) && !leaf->exact &&
	       !leaf->unproven && (!leaf->needs_bp || leaf->state.bp == start->bp) &&
	       !hawk_walk_compare(stack->words, leaf->words);
}

/**
 * Walks without memory of earlier stacks and without per-thread state: for signal handlers that
 * interrupted the tracer. Fills `pcs` leaf first, HAWK_PC_EXACT set where due. `ret->kept` is 0.
 */
void hawk_walk_stateless(const struct hawk_frame_state *start, uint64_t *pcs, uint32_t max,
			 struct hawk_walk_result *ret);

/** Counters for tests and stats=1, updated without atomics on slow paths only: approximate. */
struct hawk_unwind_stats {
	uint64_t rule_misses;   /**< cold program counters: a rule was made from .eh_frame */
	uint64_t complex_rules; /**< frames that needed the full stepper */
	uint64_t no_rule;       /**< program counters without CFI: frame pointer tried */
	uint64_t probes;        /**< pages probed by system call */
};
extern struct hawk_unwind_stats hawk_unwind_stats;

/** Counts one event. Of two simultaneous counts one may be lost, but no word is torn. */
static inline void hawk_unwind_count(uint64_t *counter)
{
	__atomic_store_n(counter, __atomic_load_n(counter, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
}

/* Provided by the tracer's module log (table/modules.c), called by the stepper when a rule is
 * made. */

/** The code that covers a pc. */
struct hawk_code_range {
	uint64_t start, end;   /**< of the module */
	uint64_t eh_frame_hdr; /**< address, 0 = none */
};

/**
 * Finds the module of `pc` and makes sure that it is in the module log (which may raise the module
 * generation). Lock-free, async-signal-safe. Returns false if `pc` is in no module (JIT code).
 */
bool hawk_modules_find(uint64_t pc, struct hawk_code_range *ret);

/** Logs every loaded module. Called by the library's constructor. */
void hawk_modules_log_all(void);

/** Returns the current module generation, seed of all stack hashes. */
uint32_t hawk_modules_generation(void);

#endif
