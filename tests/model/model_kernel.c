/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Stand-ins for the kernel, the thread keys and the dynamic loader: deterministic, and nothing that
 * an execution does to them outlives it.
 */
#include <dlfcn.h>
#include <errno.h>
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
};

#define MEMORY_BYTES (UINT64_C(1) << 30)

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

static void (*destructor)(void *);
static const void *key_values[MODEL_THREADS_MAX + 1];

static long map(size_t bytes)
{
	char *result;

	if (!memory)
		memory = mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		model_fail("no memory for the model");
	bytes = (bytes + PAGE_BYTES - 1) & -(size_t)PAGE_BYTES;
	if (model_kernel_no_memory || bytes > MEMORY_BYTES - memory_used)
		return -ENOMEM;
	result = memory + memory_used;
	memory_used += bytes; /* never used twice in one execution: a use after munmap shows */
	return (long)result;
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

uint64_t model_kernel_mapped_bytes(void)
{
	return memory_used - unmapped_bytes;
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
	(void)d;
	(void)e;
	(void)f;
	switch (number) {
	case SYS_mmap:
		return map((size_t)b);
	case SYS_mremap: /* one more mapping of a table file, which the model takes for new memory
			  */
		return map((size_t)c);
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
	module_first = model_kernel_module;
}

void model_kernel_reset(void)
{
	memory_used = memory_used_first;
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

int __wrap_clock_gettime(clockid_t clock, struct timespec *time);

int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
	(void)clock;
	*time = (struct timespec){.tv_sec = 1000};
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
