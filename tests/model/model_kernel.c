/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Stand-ins for the kernel, the thread keys and the dynamic loader: deterministic, and nothing that
 * an execution does to them outlives it.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include "model.h"

enum {
	PAGE_BYTES = 4096,
	TID_FIRST = 1000,
	DESTRUCTOR_ROUNDS = 4,
	GONE_MAX = 64,
	EXACT_MAX = 64,
};

#define MEMORY_BYTES (UINT64_C(1) << 30)
/** Of it, for mappings at addresses that the tracer chooses. */
#define EXACT_BYTES (UINT64_C(512) << 20)

bool model_kernel_no_memory;
struct model_module model_kernel_module;

static char *memory;
static size_t memory_used, memory_used_first;
static struct model_module module_first;

/** Unmapped in this execution. */
static struct {
	uint64_t start, end;
} gone[GONE_MAX];
static unsigned gone_count;
static uint64_t unmapped_bytes;

/** Mapped at an address that was asked for; stays taken when it is unmapped. */
static struct {
	uint64_t start, end;
} exact[EXACT_MAX];
static unsigned exact_count, exact_count_first;
static uint64_t exact_bytes, exact_bytes_first;

static void (*destructor)(void *);
static const void *key_values[MODEL_THREADS_MAX + 1];

static void make_memory(void)
{
	if (!memory)
		memory = mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		model_fail("no memory for the model");
}

static size_t page_up(size_t bytes)
{
	return (bytes + PAGE_BYTES - 1) & -(size_t)PAGE_BYTES;
}

static long map(size_t bytes)
{
	char *result;

	make_memory();
	bytes = page_up(bytes);
	if (model_kernel_no_memory || bytes > MEMORY_BYTES - EXACT_BYTES - memory_used)
		return -ENOMEM;
	result = memory + EXACT_BYTES + memory_used;
	memory_used += bytes; /* never used twice in one execution: a use after munmap shows */
	return (long)result;
}

/** The tracer's own choice of addresses is moved here as a whole; behind what lies here already it
 * asks for the very address. */
static long map_exactly(uint64_t hint, size_t bytes)
{
	uint64_t first, start, end;

	make_memory();
	first = (uint64_t)memory;
	start = hint - first < EXACT_BYTES ? hint : first + hint % EXACT_BYTES;
	end = start + page_up(bytes);
	if (model_kernel_no_memory || end > first + EXACT_BYTES)
		return -ENOMEM;
	for (unsigned i = 0; i < exact_count; i++)
		if (start < exact[i].end && exact[i].start < end)
			return -EEXIST;
	if (exact_count == EXACT_MAX)
		model_fail("too many mappings");
	exact[exact_count].start = start;
	exact[exact_count++].end = end;
	exact_bytes += end - start;
	return (long)start;
}

static long unmap(uint64_t address, uint64_t bytes)
{
	if (gone_count == GONE_MAX)
		model_fail("too many calls of munmap");
	gone[gone_count].start = address;
	gone[gone_count++].end = address + bytes;
	unmapped_bytes += bytes;
	return 0;
}

bool model_kernel_is_gone(const void *address)
{
	for (unsigned i = 0; i < gone_count; i++)
		if ((uint64_t)address >= gone[i].start && (uint64_t)address < gone[i].end)
			return true;
	return false;
}

static bool is_exactly_mapped(uint64_t start, uint64_t end)
{
	for (unsigned i = 0; i < exact_count && start < end; i++)
		if (start >= exact[i].start && start < exact[i].end) {
			start = exact[i].end;
			i = UINT_MAX; /* what adjoins may be anywhere in the list */
		}
	return start >= end;
}

bool model_kernel_is_mapped(const void *address, size_t bytes)
{
	uint64_t start = (uint64_t)address, first = (uint64_t)memory;

	if (model_kernel_is_gone(address))
		return false;
	if (start - first < EXACT_BYTES)
		return is_exactly_mapped(start, start + bytes);
	return start - first + bytes <= EXACT_BYTES + memory_used;
}

uint64_t model_kernel_mapped_bytes(void)
{
	return memory_used + exact_bytes - unmapped_bytes;
}

/** Everything that is mapped in this process can be read, but what a scenario has unloaded. */
static long probe(uint64_t address)
{
	uint64_t word;

	if (!address)
		return -EFAULT;
	memcpy(&word, (const void *)address, sizeof(word));
	return -EINVAL;
}

long hawk_syscall6(long number, long a, long b, long c, long d, long e, long f);

long hawk_syscall6(long number, long a, long b, long c, long d, long e, long f)
{
	(void)f;
	switch (number) {
	case SYS_mmap:
		return d & MAP_FIXED_NOREPLACE ? map_exactly((uint64_t)a, (size_t)b)
					       : map((size_t)b);
	case SYS_mremap: /* one more mapping of a table file, which the model takes for new memory;
			    or its move to memory that is there */
		if (!(d & MREMAP_FIXED))
			return map((size_t)c);
		unmap((uint64_t)a, (uint64_t)b);
		return e;
	case SYS_munmap:
		return unmap((uint64_t)a, (uint64_t)b);
	case SYS_getpid:
		return TID_FIRST;
	case SYS_gettid:
		return TID_FIRST + model_self();
	case SYS_getrandom:
		memset((void *)a, 0x5c, (size_t)b);
		return b;
	case SYS_clock_gettime:
		*(struct timespec *)b = (struct timespec){.tv_sec = 1000};
		return 0;
	case SYS_madvise:
		return 0;
	case SYS_futex:
		if (b == FUTEX_WAIT_PRIVATE)
			model_wait();
		return 0;
	case SYS_rt_sigprocmask:
		return probe((uint64_t)b);
	default:
		return -ENOSYS;
	}
}

void model_kernel_keep(void)
{
	memory_used_first = memory_used;
	exact_count_first = exact_count;
	exact_bytes_first = exact_bytes;
	module_first = model_kernel_module;
}

void model_kernel_reset(void)
{
	memory_used = memory_used_first;
	exact_count = exact_count_first;
	exact_bytes = exact_bytes_first;
	gone_count = 0;
	unmapped_bytes = 0;
	model_kernel_module = module_first;
	memset(key_values, 0, sizeof(key_values));
}

/* Reached by the linker's --wrap. One key is all that the tracer makes. */
int __wrap_pthread_key_create(pthread_key_t *key, void (*function)(void *));
int __wrap_pthread_setspecific(pthread_key_t key, const void *value);

int __wrap_pthread_key_create(pthread_key_t *key, void (*function)(void *))
{
	destructor = function;
	*key = 0;
	return 0;
}

int __wrap_pthread_setspecific(pthread_key_t key, const void *value)
{
	(void)key;
	key_values[model_self()] = value;
	return 0;
}

void model_kernel_exit_thread(void)
{
	for (int round = 0; round < DESTRUCTOR_ROUNDS; round++) {
		void *value = (void *)key_values[model_self()];

		key_values[model_self()] = NULL;
		if (value && destructor)
			destructor(value);
	}
}

/** Found by the tracer's dlsym() before the C library's. */
__attribute__((visibility("default"))) int _dl_find_object(void *address,
							   struct dl_find_object *ret)
{
	const struct model_module *module = &model_kernel_module;

	if ((size_t)((char *)address - (char *)module->start) >= module->bytes)
		return -1;
	*ret = (struct dl_find_object){
		.dlfo_map_start = module->start,
		.dlfo_map_end = (char *)module->start + module->bytes,
		.dlfo_link_map = module->link_map,
	};
	return 0;
}
