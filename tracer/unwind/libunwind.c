/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Walks by libunwind, for comparison: option unwind=libunwind. The library is loaded privately,
 * never linked: it exports _Unwind_* and would take over the host's exceptions. Its types are
 * spelled out here, so that building the tracer needs no headers of it. Our own unwinder still
 * decides whether a stack is known.
 *
 * It walks this process as a remote one: our functions supply registers, memory and call frame
 * information, and read only readable memory. It runs on its own stack, one thread at a time, with
 * all signals blocked. So an interrupted thread never holds one of its locks, and a forked child
 * never uses state that the fork left behind.
 */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>

#include "hawk_trace_table.h"
#include "unwind_full.h"
#include "walk.h"

enum {
	AREA_BYTES = 64 << 10, /**< the walk, and above it the stack, which uses 2 KiB */
	PAGES = 64,
	YIELDS_MAX = 100000,                /**< a thread inside for this long does not return */
	STEPS_MAX = HAWK_STACK_FRAMES + 64, /**< the stack's frames and the tracer's own */

	/* Constants of libunwind. */
	EBADREG = 3,
	EINVAL_UNW = 8,
	ENOINFO = 10,
	CACHE_NONE = 0,
	FORMAT_REMOTE_TABLE = 2,
	ACCESSORS = 16, /**< unw_accessors_t: eight, and in later versions optional ones */
};

/** In the order of find_functions(). */
static struct {
	void *(*create_addr_space)(void **accessors, int byte_order);
	int (*set_caching_policy)(void *space, int policy);
	int (*init_remote)(void *cursor, void *space, void *walk);
	int (*step)(void *cursor);
	int (*get_reg)(void *cursor, int number, uint64_t *value);
	int (*search_unwind_table)(void *space, uint64_t pc, const uint64_t *table, void *info,
				   int needs_unwind_info, void *walk);
} unw;

/** A walk in progress. */
struct walk {
	uint64_t registers[HAWK_CFI_REGISTERS]; /**< of the tracer's own frame, where the walk
						   begins */
	uint64_t cursor[128 + 64];              /**< unw_cursor_t is 127 words */
	uint64_t pages[PAGES];                  /**< readable pages: number << 1 | 1 */
	struct hawk_frame_state start;
	uint64_t *pcs;
	uint32_t max;
	uint32_t count;
	uint32_t flags;
	bool exact; /**< the frame at hand was interrupted */
};

static void *space;
static struct walk *area; /**< AREA_BYTES */
static uint64_t owner;    /**< process id << 32 | thread id of the walking thread; 0 = none */

/** Asks the kernel once for each page of a walk. */
static bool is_readable(struct walk *walk, uint64_t address)
{
	uint64_t number = address / 4096, key = number << 1 | 1;
	uint64_t *page = &walk->pages[number % PAGES];

	if (address & 7)
		return hawk_readable(address);
	if (*page != key && hawk_readable(address))
		*page = key;
	return *page == key;
}

static int access_memory(void *in, uint64_t address, uint64_t *value, int write, void *walk)
{
	(void)in;
	if (write || !is_readable(walk, address))
		return -EINVAL_UNW;
	__builtin_memcpy(value, (const void *)address, sizeof(*value));
	return 0;
}

static int access_register(void *in, int number, uint64_t *value, int write, void *walk)
{
	(void)in;
	if (write || (number != HAWK_CFI_RBX && number != HAWK_CFI_RBP && number != HAWK_CFI_RSP &&
		      (number < HAWK_CFI_R12 || number > HAWK_CFI_RIP)))
		return -EBADREG;
	*value = ((const struct walk *)walk)->registers[number];
	return 0;
}

static int find_procedure(void *in, uint64_t pc, void *info, int needs_unwind_info, void *walk)
{
	struct hawk_code_range module;
	struct hawk_cfi_table table;

	if (!hawk_modules_find(pc, &module) || !hawk_cfi_find_table(&module, &table))
		return -ENOINFO;
	/* unw_dyn_info_t: next, previous, start, end, gp, format; then its remote table: load
	 * offset, name, what the entries are relative to, words, entries */
	const uint64_t found[] = {0,
				  0,
				  module.start,
				  module.end,
				  0,
				  FORMAT_REMOTE_TABLE,
				  0,
				  0,
				  module.eh_frame_hdr,
				  table.count,
				  (uint64_t)table.entries};

	return unw.search_unwind_table(in, pc, found, info, needs_unwind_info, walk);
}

/** Refuses callbacks that are not needed: names, other registers, code registered at run time. */
static int refuse(void)
{
	return -ENOINFO;
}

/** Returns true for a signal frame. unw_is_signal_frame() means this frame in some versions, the
 * next in others. */
static bool is_signal_frame(uint64_t pc, bool exact)
{
	uint32_t rule = hawk_rules_lookup(pc, exact);

	return hawk_rule_kind(rule ? rule : hawk_rules_make(pc, exact)) == HAWK_RULE_SIGNAL;
}

/** Steps outwards and fills `ret`, which already holds the current frame if it is one of ours. */
static enum hawk_step step(struct walk *walk, struct hawk_frame_state *ret)
{
	bool signal = ret->pc && is_signal_frame(ret->pc, walk->exact);
	int result = unw.step(walk->cursor);

	if (result < 0 || (result > 0 && (unw.get_reg(walk->cursor, HAWK_CFI_RIP, &ret->pc) < 0 ||
					  unw.get_reg(walk->cursor, HAWK_CFI_RSP, &ret->sp) < 0 ||
					  unw.get_reg(walk->cursor, HAWK_CFI_RBP, &ret->bp) < 0)))
		return HAWK_STEP_STUCK;
	if (result == 0 || !ret->pc)
		return HAWK_STEP_OUTERMOST;
	walk->exact = signal;
	return HAWK_STEP_NEXT;
}

/** Steps from the tracer's own frame to the requesting frame. */
static bool find_start(struct walk *walk)
{
	struct hawk_frame_state state = {0};

	if (unw.init_remote(walk->cursor, space, walk) < 0)
		return false;
	for (unsigned i = 0; i < STEPS_MAX && step(walk, &state) == HAWK_STEP_NEXT; i++)
		if (state.pc == walk->start.pc && state.sp == walk->start.sp)
			return true;
	return false;
}

/** Walks. Runs on the private stack. */
static void walk_here(struct walk *walk)
{
	struct hawk_frame_state state = walk->start;
	enum hawk_step result = find_start(walk) ? HAWK_STEP_NEXT : HAWK_STEP_STUCK;

	walk->exact = false;
	walk->pcs[walk->count++] = state.pc;
	while (result == HAWK_STEP_NEXT) {
		result = step(walk, &state);
		if (result == HAWK_STEP_NEXT && walk->count == walk->max)
			break;
		if (result == HAWK_STEP_NEXT)
			walk->pcs[walk->count++] = state.pc | (walk->exact ? HAWK_PC_EXACT : 0);
	}
	walk->flags = hawk_walk_flags(result);
}

/** Calls walk_here(area) on the stack that ends at `top`. */
static void call_there(char *top)
{
	void (*function)(struct walk *) = walk_here;
	struct walk *walk = area;

	__asm__ volatile("movq %%rsp, %%rbx\n\t"
			 "movq %0, %%rsp\n\t"
			 "call *%1\n\t"
			 "movq %%rbx, %%rsp"
			 : "+r"(top), "+r"(function), "+D"(walk)
			 :
			 : "rax", "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "xmm0",
			   "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
			   "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "memory", "cc");
}

/** Enters the exclusive section. Returns false if a thread never left it; in a forked child that
 * may be a thread of the parent. */
static bool enter(void)
{
	uint64_t pid = (uint64_t)hawk_syscall3(SYS_getpid, 0, 0, 0);
	uint64_t me = pid << 32 | (uint32_t)hawk_syscall3(SYS_gettid, 0, 0, 0);

	for (unsigned i = 0; i < YIELDS_MAX; i++) {
		uint64_t now = 0;

		if (__atomic_compare_exchange_n(&owner, &now, me, false, __ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED))
			return true;
		if (now >> 32 != pid)
			return false;
		hawk_syscall3(SYS_sched_yield, 0, 0, 0);
	}
	return false;
}

/* Not inlined: libunwind begins at this frame. */
__attribute__((noinline)) uint32_t hawk_libunwind_walk(const struct hawk_frame_state *start,
						       uint64_t *pcs, uint32_t max, uint32_t *flags)
{
	uint64_t registers[HAWK_CFI_REGISTERS] = {0}, every_signal = ~UINT64_C(0), mask = 0;
	int saved_errno = errno;
	uint32_t count = 0;

	HAWK_CAPTURE_REGISTERS(registers);
	hawk_syscall6(SYS_rt_sigprocmask, SIG_SETMASK, (long)&every_signal, (long)&mask,
		      sizeof(mask), 0, 0);
	if (enter()) {
		*area = (struct walk){.start = *start, .pcs = pcs, .max = max};
		__builtin_memcpy(area->registers, registers, sizeof(registers));
		call_there((char *)area + AREA_BYTES);
		count = area->count;
		*flags = area->flags;
		__atomic_store_n(&owner, 0, __ATOMIC_RELEASE);
	}
	errno = saved_errno;
	hawk_syscall6(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, 0, sizeof(mask), 0, 0);
	return count;
}

static bool find_functions(void *library)
{
	static const char *const names[] = {
		"_Ux86_64_create_addr_space", "_Ux86_64_set_caching_policy",
		"_Ux86_64_init_remote",       "_Ux86_64_step",
		"_Ux86_64_get_reg",           "_Ux86_64_dwarf_search_unwind_table",
	};
	void **functions = (void **)&unw;

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		functions[i] = dlsym(library, names[i]);
		if (!functions[i])
			return false;
	}
	return true;
}

bool hawk_unwind_load_libunwind(void)
{
	void *accessors[ACCESSORS] = {find_procedure,  refuse, refuse, access_memory,
				      access_register, refuse, refuse, refuse};
	struct hawk_frame_state caller = {
		.pc = (uint64_t)__builtin_return_address(0),
		.sp = (uint64_t)__builtin_frame_address(0) + 16,
	};
	uint64_t first;
	uint32_t flags;
	void *library;

	if (space)
		return true;
	library = dlopen("libunwind-x86_64.so.8", RTLD_NOW | RTLD_LOCAL);
	if (!library || !find_functions(library))
		return false;
	area = hawk_unwind_options.map ? hawk_unwind_options.map(AREA_BYTES)
				       : hawk_map(0, AREA_BYTES, false);
	space = area ? unw.create_addr_space(accessors, 0) : NULL;
	if (!space || unw.set_caching_policy(space, CACHE_NONE) < 0)
		return false;
	/* Check now that its types match ours; also makes it map its memory now. */
	hawk_libunwind_walk(&caller, &first, 1, &flags);
	if (flags & HAWK_TRACE_INCOMPLETE)
		space = NULL;
	return space;
}
