/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Allocates on stacks that call frame information leads out of, as hand-written switches of
 * coroutines have them: into a neighbour that is unmapped and mapped again from call to call
 * ("neighbour"), into nothing ("nothing"), into words of every kind ("garbage"), into such a
 * neighbour full of those ("vanishing"), or into one that holds a stack of many frames with a
 * proper end, as a stack that nobody needs any more does ("stale"). usage: stack_top MODE ROUNDS
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "random.h"

enum { STACK_BYTES = 1 << 16, PAGE_BYTES = 4096 };

static uint64_t state = 12345;

__attribute__((noinline)) static void allocate(void)
{
	void *block = malloc(40);

	__asm__ volatile("" ::"r"(block) : "memory");
	free(block);
}

/** Over more than a page, so that rbp leads from frame to frame. */
__attribute__((noinline)) static void allocate_far_below(void)
{
	volatile char area[PAGE_BYTES + next_random(&state) % 64];

	area[0] = 1;
	allocate();
	area[1] = 1;
}

/** The frame of this function lies on another stack than the call frame information says. */
__attribute__((noinline)) static void run_on(char *top, char *bp, void (*function)(void))
{
	__asm__ volatile("push %%rbp\n\t"
			 "push %%rbx\n\t"
			 "mov %%rsp, %%r12\n\t"
			 "mov %0, %%rsp\n\t"
			 "mov %1, %%rbp\n\t"
			 "call *%2\n\t"
			 "mov %%r12, %%rsp\n\t"
			 "pop %%rbx\n\t"
			 "pop %%rbp"
			 :
			 : "r"(top), "r"(bp), "a"(function)
			 : "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "memory",
			   "cc");
}

static uint64_t garbage(const char *stack)
{
	uint64_t random = next_random(&state), rest = random / 8;

	switch (random % 8) {
	case 0:
		return (uint64_t)run_on + rest % 400;
	case 1:
		return (uint64_t)allocate + rest % 200;
	case 2:
		return (uint64_t)&malloc + rest % 4096;
	case 3:
		return (uint64_t)stack + rest % (3 * STACK_BYTES);
	case 4:
		return (uint64_t)&printf + rest % 65536;
	case 5:
		return (uint64_t)stack + 2 * STACK_BYTES - 8 * (rest % 32);
	case 6:
		return random;
	default:
		return random >> 40;
	}
}

static void fill(char *from, const char *to, const char *stack)
{
	for (; from < to; from += 8) {
		uint64_t word = garbage(stack);

		memcpy(from, &word, 8);
	}
}

static char stale[PAGE_BYTES / 2];
static size_t stale_bytes;

/** Keeps the words of this stack, from the return address of the innermost call on. */
__attribute__((noinline)) static int keep_stack(int depth, const char *end)
{
	const char *from = (const char *)__builtin_dwarf_cfa() - 8;
	volatile int result = depth;

	if (depth) {
		result += keep_stack(depth - 1, end);
	} else {
		stale_bytes = (size_t)(end - from);
		if (stale_bytes > sizeof(stale))
			abort();
		memcpy(stale, from, stale_bytes);
	}
	return result;
}

int main(int count, char **arguments)
{
	const char *mode = count > 2 ? arguments[1] : "";
	char *stack = mmap(NULL, 3 * STACK_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *end = stack + 2 * STACK_BYTES;

	keep_stack(20, (const char *)arguments);
	for (int i = 0; count > 2 && i < atoi(arguments[2]); i++) {
		void (*function)(void) = i & 2 ? allocate_far_below : allocate;
		char *top = end;

		mprotect(stack + STACK_BYTES, STACK_BYTES, PROT_READ | PROT_WRITE);
		if (!strcmp(mode, "neighbour")) {
			top = end - PAGE_BYTES;
			if (i & 1)
				mprotect(top, PAGE_BYTES, PROT_NONE);
		} else if (!strcmp(mode, "vanishing")) {
			top = end - PAGE_BYTES;
			if (i % 16 == 0)
				fill(top, top + 512, stack);
			if (i & 1)
				mprotect(top, PAGE_BYTES, PROT_NONE);
		} else if (!strcmp(mode, "stale")) {
			top = end - PAGE_BYTES;
			if (i & 1)
				mprotect(top, PAGE_BYTES, PROT_NONE);
			else
				memcpy(top + i / 4 % 20 * 8, stale, stale_bytes);
		} else if (!strcmp(mode, "garbage")) {
			top -= 512 + 16 * (next_random(&state) % 40);
			fill(top, end, stack);
		}
		run_on(top, top + 8 * (next_random(&state) % 20), function);
	}
	puts("ok");
	return 0;
}
