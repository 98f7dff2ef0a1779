/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Frames that no call frame information describes: copies of CPython's perf trampoline, code that
 * keeps no frame pointer, a call through a null pointer, a second mapping of the program's text.
 * Each way allocates SIZE bytes inside and aborts there.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SIZE = 70001, PAGE = 4096 };

typedef void *(*function)(void *argument);
typedef void *(*caller)(void *argument, long second, long third, function call);

/** No frame pointer leads on from there. */
#if KEEP_FRAME_POINTERS
#define LOSE_FRAME_POINTER() (void)0
#else
#define LOSE_FRAME_POINTER() __asm__ volatile("xorl %%ebp, %%ebp" ::: "rbp")
#endif

static volatile int sink;
static void *volatile held;

__attribute__((noinline)) static void *allocate_and_die(void *argument)
{
	held = malloc(SIZE);
	memset(held, 1, SIZE);
	if (!argument)
		abort();
	sink++;
	return held;
}

/** Executable copies of `code`, one of them across the border of two pages. */
static uint8_t *make_code(const uint8_t *code, size_t bytes, size_t offset)
{
	uint8_t *pages =
		mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(pages + offset, code, bytes);
	if (mprotect(pages, 2 * PAGE, PROT_READ | PROT_EXEC) != 0)
		abort();
	return pages + offset;
}

static const uint8_t trampoline[] = {0x48, 0x83, 0xec, 8, 0xff, 0xd1, 0x48, 0x83, 0xc4, 8, 0xc3};
static const uint8_t marked_trampoline[] = {0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x83, 0xec, 8,
					    0xff, 0xd1, 0x48, 0x83, 0xc4, 8,    0xc3};
static const uint8_t no_frame_pointer[] = {0x48, 0x83, 0xec, 24, 0xff, 0xd1,
					   0x48, 0x83, 0xc4, 24, 0xc3};
static caller first_copy, second_copy;

__attribute__((noinline)) static void *between(void *argument)
{
	void *result;

	LOSE_FRAME_POINTER();
	result = second_copy(argument, 0, 0, allocate_and_die);
	sink++;
	return result;
}

__attribute__((noinline)) static void by_trampolines(void)
{
	first_copy = (caller)make_code(trampoline, sizeof(trampoline), 11);
	second_copy = (caller)make_code(marked_trampoline, sizeof(marked_trampoline), PAGE - 7);
	first_copy(NULL, 0, 0, between);
	sink++;
}

__attribute__((noinline)) static void jumped_over(void)
{
	first_copy(NULL, 0, 0, allocate_and_die);
	sink++;
}

__attribute__((noinline)) static void over_unknown_code(void)
{
	first_copy = (caller)make_code(no_frame_pointer, sizeof(no_frame_pointer), 64);
	jumped_over();
	sink++;
}

/** Nothing leads from the unknown code to its caller. */
__attribute__((noinline)) static void into_the_dark(void)
{
	first_copy = (caller)make_code(no_frame_pointer, sizeof(no_frame_pointer), 64);
	LOSE_FRAME_POINTER();
	first_copy(NULL, 0, 0, allocate_and_die);
	sink++;
}

static void handler(int number)
{
	(void)number;
	allocate_and_die(NULL);
	sink++;
}

static void (*volatile nothing)(void);

__attribute__((noinline)) static void call_null(void)
{
	nothing();
	sink++;
}

__attribute__((noinline)) static void through_null(void)
{
	signal(SIGSEGV, handler);
	call_null();
	sink++;
}

/** Works at any address. */
__attribute__((noinline)) static void *copied(void *argument, function call)
{
	void *result = call(argument);

	__asm__ volatile("" ::: "memory");
	return result;
}

__attribute__((noinline)) static void by_second_mapping(void)
{
	char line[512];
	uint64_t start, end, offset, address = (uint64_t)copied;
	FILE *maps = fopen("/proc/self/maps", "r");
	FILE *file = fopen("/proc/self/exe", "r");
	uint8_t *copy = MAP_FAILED;

	while (fgets(line, sizeof(line), maps))
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64, &start, &end, &offset) ==
			    3 &&
		    address >= start && address < end) {
			copy = mmap(NULL, end - start, PROT_READ | PROT_EXEC, MAP_PRIVATE,
				    fileno(file), (off_t)offset);
			copy += address - start;
		}
	fclose(maps);
	((void *(*)(void *, function))copy)(NULL, allocate_and_die);
	sink++;
}

int main(int count, char **arguments)
{
	const char *way = arguments[count - 1];

	if (!strcmp(way, "trampolines"))
		by_trampolines();
	else if (!strcmp(way, "dark"))
		into_the_dark();
	else if (!strcmp(way, "unknown"))
		over_unknown_code();
	else if (!strcmp(way, "null"))
		through_null();
	else
		by_second_mapping();
	return 0;
}
