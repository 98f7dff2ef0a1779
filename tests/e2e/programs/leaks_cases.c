/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Lost and kept blocks in C. See leaks_cases.h.
 */
#include "leaks_cases.h"

#include <pthread.h>
#include <sys/mman.h>

struct node {
	struct node *next;
	struct node *before;
	long value[3];
};

static void *g_static;
static struct node *g_list;
static void *g_middle;
static void *g_middle_parent;
static void *g_past_end;
static void *g_wrapped[8];
static void *g_length64;
static void *g_stdstring;
static void *g_newarray;
static void *g_grown;
static void *g_empty;
static void *g_aligned;
static char g_odd[32] __attribute__((aligned(16)));
static uintptr_t g_hidden;
static __thread void *t_main;
static __thread void *t_other;
static pthread_key_t g_key;
static void **g_mapped;
static volatile int g_waiting;
static void *g_behind_free[4];

#define SITE_MALLOC(name, bytes)                                                                   \
	SITE static void *name(void)                                                               \
	{                                                                                          \
		return malloc(bytes);                                                              \
	}
SITE_MALLOC(site_alone, 24)
SITE_MALLOC(site_static, 40)
SITE_MALLOC(site_child_of_middle, 48)
SITE_MALLOC(site_child_of_freed, 88)
SITE_MALLOC(site_hidden, 104)
SITE_MALLOC(site_thread_local, 112)
SITE_MALLOC(site_other_thread_local, 120)
SITE_MALLOC(site_other_stack, 136)
SITE_MALLOC(site_specific, 152)
SITE_MALLOC(site_mapped, 160)
SITE_MALLOC(site_empty, 0)
SITE_MALLOC(site_lost_empty, 0)
SITE_MALLOC(site_odd, 176)
SITE_MALLOC(site_array_element, 16)

#define SITE_CALLOC(name, bytes)                                                                   \
	SITE static void *name(void)                                                               \
	{                                                                                          \
		return calloc(1, bytes);                                                           \
	}
SITE_CALLOC(site_before_free, 72)
SITE_CALLOC(site_small_before_free, 8)
SITE_CALLOC(site_behind_free, 184)
SITE_CALLOC(site_ended_thread, 208)

SITE static struct node *site_list(struct node *next)
{
	struct node *node = calloc(1, sizeof(*node));

	node->next = next;
	return node;
}

SITE static struct node *site_kept_list(struct node *next)
{
	struct node *node = calloc(1, sizeof(*node));

	node->next = next;
	return node;
}

SITE static struct node *site_tree(int depth)
{
	struct node *node = calloc(1, sizeof(*node));

	if (depth) {
		node->next = site_tree(depth - 1);
		node->before = site_tree(depth - 1);
	}
	return node;
}

static inline __attribute__((always_inline)) struct node *make_ring(int count)
{
	struct node *first = calloc(1, sizeof(*first));
	struct node *last = first;

	while (--count) {
		last->next = calloc(1, sizeof(*last));
		last = last->next;
	}
	last->next = first;
	return first;
}

SITE static struct node *site_ring(int count)
{
	return make_ring(count);
}

SITE static struct node *site_double(int count)
{
	struct node *first = calloc(1, sizeof(*first));
	struct node *last = first;

	while (--count) {
		last->next = calloc(1, sizeof(*last));
		last->next->before = last;
		last = last->next;
	}
	return first;
}

/* Made behind the ring, so that it is higher; and it does not point to the ring's lowest member. */
SITE static struct node *site_tail_of_ring(void)
{
	return calloc(1, sizeof(struct node));
}

SITE static struct node *site_ring_with_tail(int count)
{
	return make_ring(count);
}

SITE static void *site_self(void)
{
	void **block = malloc(32);

	block[0] = block;
	return block;
}

SITE static char *site_middle(void)
{
	char *block = malloc(56);

	memset(block, 0x7f, 56);
	return block;
}

SITE static char **site_middle_parent(void)
{
	char **block = malloc(64);

	memset(block, 0x7f, 64);
	block[7] = site_child_of_middle();
	return block;
}

SITE static char *site_past_end(void)
{
	return malloc(64);
}

/* As by a library that keeps a header of its own in front of each block. */
SITE static char *site_wrapped(void)
{
	return (char *)malloc(200) + 48;
}

SITE static uint64_t *site_length64(void)
{
	uint64_t *block = calloc(1, 80);

	block[0] = 72;
	return block;
}

SITE static uint64_t *site_stdstring(void)
{
	uint64_t *block = calloc(1, 24 + 30 + 1);

	block[0] = 12;
	block[1] = 30;
	return block;
}

SITE static uint64_t *site_newarray(void)
{
	uint64_t *block = calloc(1, 8 + 6 * 24);

	block[0] = 6;
	return block;
}

SITE static void *site_freed(void)
{
	void **block = malloc(512);

	block[20] = site_child_of_freed();
	return block;
}

SITE static void *site_grown(void *block, size_t size)
{
	return realloc(block, size);
}

SITE static uintptr_t site_register(void)
{
	return HIDE(malloc(144));
}

SITE static void *site_aligned(void)
{
	void *block = NULL;

	return posix_memalign(&block, 256, 168) ? NULL : block;
}

SITE static void **site_array(int count)
{
	void **block = malloc(8 * (size_t)count);

	for (int i = 0; i < count; i++)
		block[i] = site_array_element();
	return block;
}

/* The C library's lists of free memory lead to the last word of the blocks before it. */
SITE static void lose_before_free(void)
{
	enum { COUNT = 2, FREE_BYTES = 3000 };
	void *gaps[2 * COUNT];

	for (int i = 0; i < COUNT; i++) {
		site_before_free();
		gaps[i] = malloc(FREE_BYTES);
		g_behind_free[i] = site_behind_free();
		site_small_before_free();
		gaps[COUNT + i] = malloc(2 * FREE_BYTES);
		g_behind_free[COUNT + i] = site_behind_free();
	}
	for (int i = 0; i < 2 * COUNT; i++)
		free(gaps[i]);
}

/* The pointer is in r12 only while this waits. */
SITE static void wait_with_register(uintptr_t hidden)
{
	uintptr_t key = 0x5555555555555555;

	__asm__ volatile("mov %1, %%r12\n\t"
			 "xor %2, %%r12\n\t"
			 "lock incl %0\n"
			 "1:\n\t"
			 "mov $34, %%eax\n\t" /* pause() */
			 "syscall\n\t"
			 "jmp 1b"
			 : "+m"(g_waiting)
			 : "r"(hidden), "r"(key)
			 : "rax", "rcx", "r11", "r12", "memory");
}

static void *wait_in_registers(void *argument)
{
	(void)argument;
	wait_with_register(site_register());
	return NULL;
}

/* Its stack is kept for the next thread, with all that lies in it. */
static void *end(void *argument)
{
	void *volatile locals[4];

	(void)argument;
	for (int i = 0; i < 4; i++)
		locals[i] = site_ended_thread();
	return (void *)(locals[0] == locals[1]);
}

static void *wait_with_locals(void *argument)
{
	void *volatile local = site_other_stack();

	(void)argument;
	t_other = site_other_thread_local();
	__atomic_fetch_add(&g_waiting, 1, __ATOMIC_SEQ_CST);
	for (;;)
		pause();
	return local;
}

SITE static void lose(void)
{
	struct node *list = NULL;
	struct node *tail;
	struct node *ring;

	site_alone();
	for (int i = 0; i < 10; i++)
		list = site_list(list);
	site_tree(3);
	site_ring(3);
	site_double(5);
	ring = site_ring_with_tail(3);
	tail = site_tail_of_ring();
	tail->next = ring->next;
	site_self();
	site_lost_empty();
	site_array(7);
	free(site_freed());
	g_hidden = HIDE(site_hidden());
	g_past_end = site_past_end() + 64;
	{
		void *odd = site_odd();

		memcpy(g_odd + 3, &odd, sizeof(odd));
	}
}

SITE static void keep(void)
{
	g_static = site_static();
	for (int i = 0; i < 4; i++)
		g_list = site_kept_list(g_list);
	g_middle = site_middle() + 16;
	g_middle_parent = (char *)site_middle_parent() + 24;
	for (int i = 0; i < 8; i++)
		g_wrapped[i] = site_wrapped();
	g_length64 = site_length64() + 1;
	g_stdstring = site_stdstring() + 3;
	g_newarray = site_newarray() + 1;
	g_grown = site_grown(NULL, 1000);
	g_grown = site_grown(g_grown, 30000);
	t_main = site_thread_local();
	g_empty = site_empty();
	g_aligned = site_aligned();
	pthread_key_create(&g_key, NULL);
	pthread_setspecific(g_key, site_specific());
	g_mapped = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	g_mapped[77] = site_mapped();
}

int main(void)
{
	pthread_t thread;

	lose();
	keep();
	pthread_create(&thread, NULL, wait_with_locals, NULL);
	pthread_create(&thread, NULL, wait_in_registers, NULL);
	while (__atomic_load_n(&g_waiting, __ATOMIC_SEQ_CST) < 2)
		usleep(1000);
	pthread_create(&thread, NULL, end, NULL);
	pthread_join(thread, NULL);
	lose_before_free();
	scrub();
	stop();
}
