/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * An allocator that may be interrupted anywhere and entered again: lock-free stacks of free blocks,
 * one for each power of two. Lies under the tracer where a test interrupts it at any instruction.
 *
 * Every block has 16 bytes before it: its class, and a mark that says whether it is in use, so that
 * a block freed twice, or a pointer that was never given out, ends the program.
 */
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	CLASSES = 40,
	GRANULE = 16,
	OFFSET_SHIFT = 8, /**< above the class: bytes from the block's start, if it is aligned */
};

#define ARENA_BYTES (UINT64_C(1) << 34)
#define IN_USE      UINT64_C(0x1badb002600dcafe)
#define FREE        UINT64_C(0xdeadc0de0ddba11d)

struct block {
	uint64_t size_class;
	uint64_t mark;
};

/** Head of each stack: a number that grows (32) | granule in the arena (32). */
static uint64_t heads[CLASSES];
static uint64_t arena, used = GRANULE;

/** The block given out last, for those who look on. */
void *stress_latest_base;

static void die(const char *text)
{
	if (write(2, text, strlen(text)) < 0)
		_exit(98);
	abort();
}

static void *granule_at(uint64_t number)
{
	return (void *)(arena + (number & UINT32_MAX) * GRANULE);
}

static void ensure_arena(void)
{
	if (arena)
		return;
	void *memory = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		die("no arena\n");
	arena = (uint64_t)memory;
}

static struct block *pop(unsigned size_class)
{
	uint64_t head = __atomic_load_n(&heads[size_class], __ATOMIC_ACQUIRE);

	while ((uint32_t)head) {
		struct block *block = granule_at(head);
		/* may be somebody else's content by now: then the number has changed, too */
		uint64_t next = __atomic_load_n((uint64_t *)(block + 1), __ATOMIC_RELAXED);

		if (__atomic_compare_exchange_n(&heads[size_class], &head,
						((head >> 32) + 1) << 32 | (uint32_t)next, 0,
						__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			return block;
	}
	return NULL;
}

static void push(struct block *block)
{
	uint64_t number = ((uint64_t)block - arena) / GRANULE;
	uint64_t *head = &heads[block->size_class];
	uint64_t seen = __atomic_load_n(head, __ATOMIC_ACQUIRE);

	do {
		*(uint64_t *)(block + 1) = (uint32_t)seen;
	} while (!__atomic_compare_exchange_n(head, &seen, ((seen >> 32) + 1) << 32 | number, 0,
					      __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
}

static struct block *block_of(void *pointer)
{
	struct block *block = (struct block *)pointer - 1;

	if ((uint64_t)pointer - arena >= ARENA_BYTES || (uint64_t)pointer % GRANULE ||
	    block->mark != IN_USE)
		die("not a block in use\n");
	return block;
}

void *malloc(size_t size)
{
	unsigned size_class = 5;
	struct block *block;

	while (size_class < CLASSES && (UINT64_C(1) << size_class) < size)
		size_class++;
	if (size_class > 33) {
		errno = ENOMEM;
		return NULL;
	}
	ensure_arena();
	block = pop(size_class);
	if (!block) {
		uint64_t bytes = (UINT64_C(1) << size_class) + sizeof(*block);
		uint64_t at = __atomic_fetch_add(&used, bytes, __ATOMIC_RELAXED);

		if (at + bytes > ARENA_BYTES) {
			errno = ENOMEM;
			return NULL;
		}
		block = (struct block *)(arena + at);
	}
	block->size_class = size_class;
	block->mark = IN_USE;
	stress_latest_base = block + 1;
	return block + 1;
}

void free(void *pointer)
{
	struct block *block;
	uint64_t offset;

	if (!pointer)
		return;
	block = block_of(pointer);
	offset = block->size_class >> OFFSET_SHIFT;
	block->mark = FREE;
	if (offset) {
		block = block_of((char *)pointer - offset);
		block->mark = FREE;
	}
	push(block);
}

void *memalign(size_t alignment, size_t size)
{
	char *base = malloc(size + alignment);
	uint64_t offset = -(uint64_t)base & (alignment - 1);
	struct block *block = (struct block *)(base + offset) - 1;

	if (!base || offset < GRANULE)
		return base;
	block->size_class = offset << OFFSET_SHIFT | block_of(base)->size_class;
	block->mark = IN_USE;
	stress_latest_base = base + offset;
	return base + offset;
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return memalign(alignment, size);
}

int posix_memalign(void **pointer, size_t alignment, size_t size)
{
	*pointer = memalign(alignment, size);
	return *pointer ? 0 : ENOMEM;
}

void *calloc(size_t count, size_t size)
{
	size_t bytes;
	void *pointer;

	if (__builtin_mul_overflow(count, size, &bytes))
		return NULL;
	pointer = malloc(bytes);
	for (size_t i = 0; pointer && i < bytes; i++)
		((volatile char *)pointer)[i] = 0;
	return pointer;
}

void *realloc(void *pointer, size_t size)
{
	size_t old;
	void *copy;

	if (!pointer)
		return malloc(size);
	old = malloc_usable_size(pointer);
	copy = malloc(size);
	if (!copy)
		return NULL;
	memcpy(copy, pointer, old < size ? old : size);
	free(pointer);
	return copy;
}

size_t malloc_usable_size(void *pointer)
{
	uint64_t size_class = pointer ? block_of(pointer)->size_class : 0;

	return pointer ? (UINT64_C(1) << (size_class & 0xff)) - (size_class >> OFFSET_SHIFT) : 0;
}
