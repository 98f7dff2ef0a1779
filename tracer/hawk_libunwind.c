/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * libunwind's interface for remote processes, by functions found by name. Its types are spelled out
 * here: building the tracer does not need its headers.
 */
#include "hawk_libunwind.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <time.h>

#include "hawk_syscall.h"
#include "hawk_unwind.h"
#include "hawk_unwind_full.h"

enum {
	AREA_BYTES = 64 << 10, /**< the walk, and above it the stack, of which 2 KiB are used */
	PAUSE_NS = 10000000,
	PAUSES_MAX = 100, /**< a second: whoever is in there does not come back */

	/* Of libunwind. */
	EBADREG = 3,
	EINVAL_UNW = 8,
	ENOINFO = 10,
	CACHE_NONE = 0,
	SAVED_IN_MEMORY = 1,
	FORMAT_REMOTE_TABLE = 2,
};

/** unw_save_loc_t. */
struct save_location {
	int type;
	uint64_t address;
	uint64_t extra;
};

/** unw_dyn_info_t with its unw_dyn_remote_table_info_t. */
struct table_info {
	void *next, *previous;
	uint64_t start, end; /**< program counters */
	uint64_t gp;
	int32_t format, padding;
	uint64_t load_offset;
	uint64_t name;
	uint64_t base; /**< of the entries' numbers */
	uint64_t words;
	uint64_t entries;
};

/** unw_accessors_t. */
struct accessors {
	int (*find_proc_info)(void *space, uint64_t pc, void *info, int needs_unwind_info,
			      void *walk);
	void (*put_unwind_info)(void *space, void *info, void *walk);
	int (*get_dyn_info_list_addr)(void *space, uint64_t *ret, void *walk);
	int (*access_mem)(void *space, uint64_t address, uint64_t *value, int write, void *walk);
	int (*access_reg)(void *space, int number, uint64_t *value, int write, void *walk);
	int (*access_fpreg)(void *space, int number, void *value, int write, void *walk);
	int (*resume)(void *space, void *cursor, void *walk);
	int (*get_proc_name)(void *space, uint64_t pc, char *name, size_t bytes, uint64_t *offset,
			     void *walk);
	void *reserved[8]; /**< later versions have more, all of them optional */
};

static struct {
	void *(*create_addr_space)(struct accessors *accessors, int byte_order);
	int (*set_caching_policy)(void *space, int policy);
	int (*init_remote)(void *cursor, void *space, void *walk);
	int (*step)(void *cursor);
	int (*get_reg)(void *cursor, int number, uint64_t *value);
	int (*get_save_loc)(void *cursor, int number, struct save_location *location);
	int (*search_unwind_table)(void *space, uint64_t pc, struct table_info *table, void *info,
				   int needs_unwind_info, void *walk);
} unw;

static void *space;
static struct hawk_libunwind *area; /**< AREA_BYTES */

static uint64_t owner;   /**< process id << 32 | thread id of who is in there; 0 = nobody */
static uint64_t lost;    /**< an owner that was waited for in vain */
static uint32_t waiters; /**< threads that sleep on `owner` */

static bool is_readable(struct hawk_libunwind *walk, uint64_t address)
{
	enum { PAGES = sizeof(walk->pages) / sizeof(walk->pages[0]) };
	uint64_t number = address / 4096;
	uint64_t key = number * 4096 | 1;
	uint64_t *page = &walk->pages[number % PAGES];

	if (!(address & 7) && *page == key)
		return true;
	if (!hawk_readable(address))
		return false;
	if (!(address & 7))
		*page = key;
	return true;
}

static int access_memory(void *in, uint64_t address, uint64_t *value, int write, void *walk)
{
	(void)in;
	if (write || !is_readable(walk, address))
		return -EINVAL_UNW;
	__builtin_memcpy(value, (const void *)address, sizeof(*value));
	return 0;
}

static bool is_known_register(int number)
{
	return number == HAWK_CFI_RBX || number == HAWK_CFI_RBP || number == HAWK_CFI_RSP ||
	       (number >= HAWK_CFI_R12 && number <= HAWK_CFI_RIP);
}

static int access_register(void *in, int number, uint64_t *value, int write, void *walk)
{
	(void)in;
	if (write || !is_known_register(number))
		return -EBADREG;
	*value = ((const struct hawk_libunwind *)walk)->registers[number];
	return 0;
}

static int access_float_register(void *in, int number, void *value, int write, void *walk)
{
	(void)in, (void)number, (void)value, (void)write, (void)walk;
	return -EBADREG;
}

static int find_procedure(void *in, uint64_t pc, void *info, int needs_unwind_info, void *walk)
{
	struct hawk_code_range module;
	struct hawk_cfi_table table;
	struct table_info found;

	if (!hawk_modules_find(pc, &module) || !hawk_cfi_find_table(&module, &table))
		return -ENOINFO;
	found = (struct table_info){
		.start = module.start,
		.end = module.end,
		.format = FORMAT_REMOTE_TABLE,
		.base = module.eh_frame_hdr,
		.words = table.count,
		.entries = (uint64_t)table.entries,
	};
	return unw.search_unwind_table(in, pc, &found, info, needs_unwind_info, walk);
}

/** Code that was registered at run time: libunwind's own interface for it, which nobody uses. */
static int find_registered(void *in, uint64_t *ret, void *walk)
{
	(void)in, (void)ret, (void)walk;
	return -ENOINFO;
}

static void give_procedure(void *in, void *info, void *walk)
{
	(void)in, (void)info, (void)walk;
}

static int resume(void *in, void *cursor, void *walk)
{
	(void)in, (void)cursor, (void)walk;
	return -EINVAL_UNW;
}

static int name_procedure(void *in, uint64_t pc, char *name, size_t bytes, uint64_t *offset,
			  void *walk)
{
	(void)in, (void)pc, (void)name, (void)bytes, (void)offset, (void)walk;
	return -ENOINFO;
}

bool hawk_libunwind_start(struct hawk_libunwind *walk)
{
	return unw.init_remote(walk->cursor, space, walk) >= 0;
}

int hawk_libunwind_step(struct hawk_libunwind *walk)
{
	return unw.step(walk->cursor);
}

bool hawk_libunwind_get(struct hawk_libunwind *walk, int number, uint64_t *ret)
{
	return unw.get_reg(walk->cursor, number, ret) >= 0;
}

uint64_t hawk_libunwind_slot(struct hawk_libunwind *walk, int number)
{
	struct save_location location = {0};

	if (unw.get_save_loc(walk->cursor, number, &location) < 0 ||
	    location.type != SAVED_IN_MEMORY)
		return 0;
	return location.address;
}

static uint64_t set_signal_mask(uint64_t mask)
{
	uint64_t before = 0;

	hawk_syscall6(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, (long)&before, sizeof(mask), 0,
		      0);
	return before;
}

static uint64_t self(void)
{
	return (uint64_t)hawk_syscall3(SYS_getpid, 0, 0, 0) << 32 |
	       (uint32_t)hawk_syscall3(SYS_gettid, 0, 0, 0);
}

static void pause_for(uint64_t now)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};

	/* The word's first half is the thread. */
	__atomic_fetch_add(&waiters, 1, __ATOMIC_SEQ_CST);
	hawk_syscall6(SYS_futex, (long)&owner, FUTEX_WAIT_PRIVATE, (uint32_t)now, (long)&pause, 0,
		      0);
	__atomic_fetch_sub(&waiters, 1, __ATOMIC_SEQ_CST);
}

/** Whether an owner may still come back: in a forked child its parent's threads never do. */
static bool is_worth_waiting(uint64_t now, uint64_t me)
{
	return now != me && now >> 32 == me >> 32 &&
	       now != __atomic_load_n(&lost, __ATOMIC_RELAXED);
}

/** False: somebody is in there for good. */
static bool enter(void)
{
	uint64_t me = self(), last = 0;
	unsigned pauses = 0;

	for (;;) {
		uint64_t now = 0;

		if (__atomic_compare_exchange_n(&owner, &now, me, false, __ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED))
			return true;
		if (!is_worth_waiting(now, me))
			return false;
		if (now != last)
			pauses = 0;
		last = now;
		if (pauses++ == PAUSES_MAX)
			break;
		pause_for(now);
	}
	__atomic_store_n(&lost, last, __ATOMIC_RELAXED);
	return false;
}

static void leave(void)
{
	__atomic_store_n(&owner, 0, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&waiters, __ATOMIC_SEQ_CST))
		hawk_syscall3(SYS_futex, (long)&owner, FUTEX_WAKE_PRIVATE, 1);
}

/** Calls function(walk, data) on a stack that ends at `top`. */
static void call_on(char *top, void (*function)(struct hawk_libunwind *, void *),
		    struct hawk_libunwind *walk, void *data)
{
	__asm__ volatile("movq %%rsp, %%rbx\n\t"
			 "movq %0, %%rsp\n\t"
			 "call *%1\n\t"
			 "movq %%rbx, %%rsp"
			 : "+r"(top), "+r"(function), "+D"(walk), "+S"(data)
			 :
			 : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "xmm0", "xmm1",
			   "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
			   "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "memory", "cc");
}

bool hawk_libunwind_run(const uint64_t *registers,
			void (*function)(struct hawk_libunwind *walk, void *data), void *data)
{
	uint64_t mask = set_signal_mask(~UINT64_C(0));
	int saved_errno = errno;
	bool entered = enter();

	if (entered) {
		*area = (struct hawk_libunwind){0};
		__builtin_memcpy(area->registers, registers, sizeof(area->registers));
		call_on((char *)area + AREA_BYTES, function, area, data);
		leave();
	}
	errno = saved_errno;
	set_signal_mask(mask);
	return entered;
}

static bool find_functions(void *library)
{
	*(void **)&unw.create_addr_space = dlsym(library, "_Ux86_64_create_addr_space");
	*(void **)&unw.set_caching_policy = dlsym(library, "_Ux86_64_set_caching_policy");
	*(void **)&unw.init_remote = dlsym(library, "_Ux86_64_init_remote");
	*(void **)&unw.step = dlsym(library, "_Ux86_64_step");
	*(void **)&unw.get_reg = dlsym(library, "_Ux86_64_get_reg");
	*(void **)&unw.get_save_loc = dlsym(library, "_Ux86_64_get_save_loc");
	*(void **)&unw.search_unwind_table = dlsym(library, "_Ux86_64_dwarf_search_unwind_table");
	return unw.create_addr_space && unw.set_caching_policy && unw.init_remote && unw.step &&
	       unw.get_reg && unw.get_save_loc && unw.search_unwind_table;
}

static bool create_space(void)
{
	struct accessors accessors = {
		.find_proc_info = find_procedure,
		.put_unwind_info = give_procedure,
		.get_dyn_info_list_addr = find_registered,
		.access_mem = access_memory,
		.access_reg = access_register,
		.access_fpreg = access_float_register,
		.resume = resume,
		.get_proc_name = name_procedure,
	};

	space = unw.create_addr_space(&accessors, 0);
	return space && unw.set_caching_policy(space, CACHE_NONE) >= 0;
}

/** Of the caller of can_step(), as libunwind sees it. */
static void find_caller(struct hawk_libunwind *walk, void *data)
{
	if (!hawk_libunwind_start(walk) || hawk_libunwind_step(walk) <= 0 ||
	    !hawk_libunwind_get(walk, HAWK_CFI_RIP, data))
		*(uint64_t *)data = 0;
}

/** Whether its types are what we think; and what it maps for itself, it maps now. */
static __attribute__((noinline)) bool can_step(void)
{
	uint64_t registers[HAWK_CFI_REGISTERS] = {0}, found = 0;

	HAWK_CAPTURE_REGISTERS(registers);
	hawk_libunwind_run(registers, find_caller, &found);
	return found == (uint64_t)__builtin_return_address(0);
}

bool hawk_libunwind_load(void)
{
	void *library;

	if (space)
		return true;
	library = dlopen("libunwind-x86_64.so.8", RTLD_NOW | RTLD_LOCAL);
	if (!library || !find_functions(library))
		return false;
	area = hawk_unwind_options.map ? hawk_unwind_options.map(AREA_BYTES)
				       : hawk_map(0, AREA_BYTES, false);
	if (!area || !create_space())
		return false;
	if (!can_step())
		space = NULL;
	return space;
}
