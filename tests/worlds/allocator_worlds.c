/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Memories of allocators, word by word, as analyzer/heap/ describes their layouts.
 */
#include "allocator_worlds.h"

#define MODULE UINT64_C(0x7f0000001000)

#define WORDS(text, address, ...)                                                                  \
	sparse_add_words(text, address, (const uint64_t[]){__VA_ARGS__},                           \
			 sizeof((const uint64_t[]){__VA_ARGS__}) / 8)

enum { GLIBC_HEAP_BYTES = 0x21000, GLIBC_BINS = 127 };

static void glibc_arena(struct sparse_text *text, uint64_t arena, uint64_t top, uint64_t next)
{
	uint64_t bins = arena + 0x70, words[2 * GLIBC_BINS];

	for (unsigned i = 0; i < 2 * GLIBC_BINS; i++)
		words[i] = bins + 16 * (uint64_t)(i / 2) - 16;
	sparse_add_word(text, bins - 16, top);
	sparse_add_words(text, bins, words, GLIBC_BINS + 1);
	sparse_add_words(text, bins + 8 * (GLIBC_BINS + 1), words + GLIBC_BINS + 1, GLIBC_BINS - 1);
	WORDS(text, bins + 16 * GLIBC_BINS + 16, next, 0, 1, GLIBC_HEAP_BYTES, GLIBC_HEAP_BYTES);
}

static void glibc_parameters(struct sparse_text *text, uint64_t at)
{
	WORDS(text, at, 0x20000, 0x20000, 0x20000, 8);
	WORDS(text, at + 0x38, UINT64_C(1) << 32, 1 << 16 | UINT64_C(1) << 32, 0, 0x2000, 0x2000,
	      GLIBC_HEAP, GLIBC_HEAP);
	sparse_add_word(text, at + 0x78, 7);
}

void glibc_world(struct sparse_text *text)
{
	uint64_t chunk = GLIBC_HEAP + 0x290, top2 = GLIBC_ARENA2 + 0x8e0;

	sparse_add_module(text, MODULE, 4);
	sparse_add_memory(text, GLIBC_HEAP, GLIBC_HEAP_BYTES >> 12);
	sparse_add_memory(text, 0x7f1000000000, 2);
	sparse_add_memory(text, 0x7f2000000000, 1);
	sparse_add_memory(text, GLIBC_HEAP2, GLIBC_HEAP_BYTES >> 12);
	sparse_add_thread(text, 0x7f2000000800);
	glibc_arena(text, GLIBC_ARENA, chunk + 0x30 + 0x30 + 0x20, GLIBC_ARENA2);
	sparse_add_word(text, GLIBC_ARENA + 0x10, chunk + 0x60); /* a fast bin */
	glibc_parameters(text, GLIBC_ARENA - 0x200);
	WORDS(text, GLIBC_HEAP, 0, 0x291, UINT64_C(1) << 16); /* a cache: one block of 0x30 bytes */
	sparse_add_word(text, GLIBC_HEAP + 0x10 + 0x80 + 8, chunk + 0x10);
	WORDS(text, chunk, 0, 0x31, (chunk + 0x10) >> 12);
	WORDS(text, chunk + 0x30, 0, 0x31, GLIBC_HEAP);
	WORDS(text, chunk + 0x60, 0, 0x21, 0);
	WORDS(text, chunk + 0x80, 0, (GLIBC_HEAP_BYTES - 0x290 - 0x80) | 1);
	sparse_add_word(text, 0x7f2000000800 - 0x48, GLIBC_HEAP + 0x10);
	WORDS(text, 0x7f1000000000, 0, 0x2002);
	WORDS(text, GLIBC_HEAP2, GLIBC_ARENA2, 0, GLIBC_HEAP_BYTES, GLIBC_HEAP_BYTES);
	glibc_arena(text, GLIBC_ARENA2, top2, GLIBC_ARENA);
	WORDS(text, top2 - 0x40, 0, 0x45);
	WORDS(text, top2, 0, (GLIBC_HEAP2 + GLIBC_HEAP_BYTES - top2) | 1);
}

static void jemalloc_element(struct sparse_text *text, uint64_t page, uint64_t extent,
			     uint64_t class, bool slab)
{
	sparse_add_word(text, JEMALLOC_LEAF + 8 * (page >> 12 & 0x3ffff),
			class << 48 | extent | slab);
}

void jemalloc_world(struct sparse_text *text)
{
	uint64_t extents = JEMALLOC_LEAF + 0x200000, tls = 0x7f2000000000, stack = tls + 0x400;

	sparse_add_module(text, MODULE, 0x220);
	sparse_add_memory(text, JEMALLOC_PAGES, 16);
	sparse_add_memory(text, JEMALLOC_LEAF, 0x201);
	sparse_add_memory(text, tls, 4);
	sparse_add_thread(text, tls + 0x3000);
	sparse_add_word(text, JEMALLOC_ROOT + 8 * (JEMALLOC_PAGES >> 30), JEMALLOC_LEAF);
	jemalloc_element(text, JEMALLOC_PAGES, extents, 2, true);
	WORDS(text, extents, UINT64_C(2) << 20 | 1 << 12 | UINT64_C(3) << 28, JEMALLOC_PAGES,
	      0x1000);
	sparse_add_word(text, extents + 0x40, 7);
	for (unsigned i = 0; i < 4; i++)
		jemalloc_element(text, JEMALLOC_PAGES + 0x2000 + (i << 12), extents + 0x80, 32,
				 false);
	WORDS(text, extents + 0x80, UINT64_C(32) << 20, JEMALLOC_PAGES + 0x2000, 0x4000);
	for (uint64_t i = 0; i < 24; i++) {
		uint64_t end = stack + 64 * (i + 1);

		WORDS(text, tls + 0x1000 + 24 * i, i ? end : end - 8, 1,
		      ((end - 64) & 0xffff) << 16 | (end & 0xffff) << 32);
	}
	sparse_add_word(text, stack + 64 - 8, JEMALLOC_PAGES + 32 * 5);
}

void tcmalloc_world(struct sparse_text *text)
{
	enum { CLASSES = 42, STRIDE = 0x4c0 };
	const uint64_t heap = 0x10000000, leaf = 0x7f6100000000, page = heap >> 13;
	const uint64_t lists = MODULE + 0x100, cache = TCMALLOC_SPAN + 0x8000;
	uint64_t head = lists + 2 * STRIDE + 0x40;

	sparse_add_module(text, MODULE, 0x40);
	sparse_add_memory(text, heap, 16);
	sparse_add_memory(text, leaf, 0x200);
	sparse_add_memory(text, TCMALLOC_SPAN, 16);
	for (uint64_t i = 0; i < CLASSES; i++) {
		uint64_t list = lists + i * STRIDE;

		sparse_add_word(text, list + 8, i);
		sparse_add_word(text, list + 0x20, list + 0x10);
		sparse_add_word(text, list + 0x50, list + 0x40);
		if (i)
			sparse_add_word(text, cache + 0x20 * i + 0x18,
					i < CLASSES - 1 ? 8 * i : 0x40000);
	}
	for (uint64_t i = 0; i < CLASSES / 2; i++)
		sparse_add_word(text, MODULE + 0x10000 + 8 * i,
				16 * i | (2 * i + 1 < CLASSES - 1 ? 16 * i + 8 : 0x40000) << 32);
	sparse_add_word(text, head + 0x10, TCMALLOC_SPAN);
	WORDS(text, TCMALLOC_SPAN, page, 1, head, head, heap + 0x20, 510 | 2 << 16);
	sparse_add_word(text, heap + 0x20, heap + 0x40);
	WORDS(text, TCMALLOC_SPAN + 0x40, page + 2, 2, 0, 0, 0, 1);
	sparse_add_word(text, MODULE + 0x20000, leaf);
	WORDS(text, leaf + 8 * page, TCMALLOC_SPAN, 0, TCMALLOC_SPAN + 0x40);
	sparse_add_word(text, cache + 0x20 * 2, heap + 0x80);
}

void mimalloc_world(struct sparse_text *text)
{
	const uint64_t heap = MIMALLOC_HEAP, page = MIMALLOC_PART + 0x20000, slice = heap >> 16;

	sparse_add_module(text, MODULE, 4);
	sparse_add_memory(text, heap, 16);
	sparse_add_memory(text, MIMALLOC_MAP, 0x200);
	sparse_add_memory(text, MIMALLOC_PART, 64);
	sparse_add_word(text, MODULE + 0x80, MIMALLOC_MAP);
	sparse_add_word(text, MIMALLOC_MAP + 8 * (slice >> 13), MIMALLOC_PART);
	sparse_add_word(text, MIMALLOC_PART + 8 * (slice & 0x1fff), page);
	WORDS(text, page, 0, heap + 0x100, 98 | 100 << 16, 0, 0, 64, heap + 0x40, 0, 0);
	sparse_add_word(text, heap + 0x100, heap + 0x140);
}

void mimalloc_segment_world(struct sparse_text *text)
{
	const uint64_t segment = 0x20000000000, key = 0x123456789abcdef1, page = segment + 0x158;
	const uint64_t start = segment + 0x10000 + 384;

	sparse_add_module(text, MODULE, 4);
	sparse_add_memory(text, segment, 64);
	sparse_add_word(text, MODULE + 0x80, key);
	WORDS(text, segment + 0xd8, key ^ segment, 2, 1);
	WORDS(text, page, 1, UINT64_C(100) << 16, start + 64, 98 | UINT64_C(32) << 32);
	sparse_add_word(text, start + 64, start + 96);
}

static void musl_slot(struct sparse_text *text, uint64_t block, uint64_t offset, uint64_t slot,
		      uint64_t code)
{
	sparse_add_word(text, block - 8, (slot | code << 5) << 40 | offset / 16 << 48);
}

void musl_world(struct sparse_text *text)
{
	const uint64_t secret = 0x1122334455667788, area = MUSL_AREA;
	const uint64_t inner = MUSL_GROUP + 16 + 3 * 240;

	sparse_add_module(text, MODULE, 4);
	sparse_add_memory(text, area, 1);
	sparse_add_memory(text, MUSL_GROUP - 0x1000, 4);
	WORDS(text, MODULE + 0x100, secret, 1, 0, 0, 0, 0, 0, area, area);
	WORDS(text, area, secret, 0, 2);
	WORDS(text, area + 0x28, MUSL_GROUP, UINT64_C(4) << 32, 4 | 11 << 6);
	WORDS(text, area + 0x50, inner, 0, 1 | 2 << 6);
	sparse_add_word(text, MUSL_GROUP, area + 0x18);
	for (uint64_t i = 0; i < 5; i++)
		musl_slot(text, MUSL_GROUP + 16 + 240 * i, 240 * i, i, i == 3 ? 6 : 0);
	sparse_add_word(text, inner, area + 0x40);
	for (uint64_t i = 0; i < 2; i++)
		musl_slot(text, inner + 16 + 48 * i, 48 * i, i, 0);
}
