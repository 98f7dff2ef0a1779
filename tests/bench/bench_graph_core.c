/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Makes the core in place, without a copy of its heap: it may take most of the memory there is.
 */
#include "bench_graph_core.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void die(const char *message)
{
	fprintf(stderr, "%s\n", message);
	exit(EXIT_FAILURE);
}

static Elf64_Phdr segment(uint64_t address, uint64_t offset, uint64_t bytes)
{
	return (Elf64_Phdr){
		.p_type = PT_LOAD,
		.p_flags = PF_R | PF_W,
		.p_offset = offset,
		.p_vaddr = address,
		.p_filesz = bytes,
		.p_memsz = bytes,
		.p_align = 4096,
	};
}

static void write_headers(struct bench_core *core)
{
	Elf64_Ehdr header = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = ET_CORE,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(Elf64_Ehdr),
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 2,
	};
	const Elf64_Phdr segments[] = {
		segment(SYNTHETIC_HEAP, BENCH_GLOBALS_OFFSET + core->globals_bytes,
			core->heap_bytes),
		segment(GRAPH_GLOBALS, BENCH_GLOBALS_OFFSET, core->globals_bytes),
	};

	memcpy(core->bytes, &header, sizeof(header));
	memcpy(core->bytes + sizeof(header), segments, sizeof(segments));
}

static void add_blocks(struct bench_core *core)
{
	uint64_t seed = 1;
	uint64_t at = 16;

	for (uint64_t i = 0; i < core->blocks; i++) {
		uint64_t r = synthetic_random(&seed);
		uint64_t size = 8 + r % 135;

		core->starts[i] = SYNTHETIC_HEAP + at;
		/* Its site is known when it has a place in a chain. */
		synthetic_heap_add_block(core->heap, (struct synthetic_block){
							     .start = core->starts[i],
							     .size = size,
							     .trace = 1,
						     });
		at += ((size + 8 + 15) & ~UINT64_C(15)) + 16;
	}
}

/* Blocks are in chains of 64, in the order of addresses or of this permutation; the last 2 % keep
 * to themselves, and nothing leads to them. */
static uint64_t place(const struct bench_core *core, uint64_t i, bool local)
{
	uint64_t limit = core->blocks - core->blocks / 50;
	uint64_t first = i < limit ? 0 : limit;
	uint64_t count = i < limit ? limit : core->blocks - limit;

	if (local)
		return core->starts[i];
	while (count % 1000003 == 0)
		count--;
	/* A prime that does not divide it: one to one. */
	return core->starts[i - first < count ? first + (i - first) * 1000003 % count : i];
}

static uint64_t choose(const struct bench_core *core, uint64_t i, uint64_t at, bool local)
{
	uint64_t limit = core->blocks - core->blocks / 50;

	if (at == 0)
		return i + 1 == core->blocks || i % BENCH_CHAIN == BENCH_CHAIN - 1 || i + 1 == limit
			       ? 0
			       : place(core, i + 1, local);
	/* Back along the chain. */
	return place(core, i - i % BENCH_CHAIN < limit && i >= limit ? i : i - i % BENCH_CHAIN,
		     local);
}

/* Chains are of one of 1,000 kinds, some much more frequent than others; heads, elements and ends
 * have sites of their own. */
static uint32_t site_of(uint64_t i)
{
	uint64_t seed = i / BENCH_CHAIN;
	uint64_t kind = synthetic_random(&seed) % 1000 * (synthetic_random(&seed) % 1000) / 1000;
	uint64_t position = i % BENCH_CHAIN;

	return 1 + 4 * (uint32_t)kind + (position == 0 ? 0 : position + 1 == BENCH_CHAIN ? 2 : 1);
}

static void add_pointers(struct bench_core *core, bool local)
{
	uint64_t seed = 2;

	for (uint64_t i = 0; i < core->blocks; i++) {
		uint8_t *bytes = core->heap->bytes + (place(core, i, local) - SYNTHETIC_HEAP);
		uint64_t header;
		uint64_t size;

		memcpy(&header, bytes - 16, 8);
		size = hawk_header_size(header);
		synthetic_heap_add_block(core->heap, (struct synthetic_block){
							     .start = place(core, i, local),
							     .size = size,
							     .trace = site_of(i),
						     });
		for (uint64_t at = 0; at + 8 <= size; at += 8) {
			uint64_t r = synthetic_random(&seed);
			uint64_t word = r >> (r % 61); /* numbers, text, doubles */

			if (at == 0 || (at < 24 && (r >> 32) % 8 == 0))
				word = choose(core, i, at, local) +
				       (at && r >> 40 & 127 ? 0 : 8 * !!at);
			memcpy(bytes + at, &word, 8);
		}
	}
}

struct bench_core bench_core_make(uint64_t blocks, bool local, bool interior)
{
	struct bench_core core = {
		.blocks = blocks,
		.globals_bytes = (blocks / BENCH_CHAIN * 8 + 2 * 4096) & ~UINT64_C(4095),
		.heap_bytes = (blocks * 176 + 8192) & ~UINT64_C(4095),
		.heap = synthetic_heap_create(0),
		.starts = calloc(blocks, sizeof(uint64_t)),
	};

	core.size = BENCH_GLOBALS_OFFSET + core.globals_bytes + core.heap_bytes;
	core.fd = memfd_create("bench", MFD_CLOEXEC);
	if (core.fd < 0 || ftruncate(core.fd, (off_t)core.size) || !core.starts)
		die("no memory");
	core.bytes = mmap(NULL, core.size, PROT_READ | PROT_WRITE, MAP_SHARED, core.fd, 0);
	if (core.bytes == MAP_FAILED)
		die("no memory");
	free(core.heap->bytes);
	core.heap->bytes = core.bytes + BENCH_GLOBALS_OFFSET + core.globals_bytes;
	core.heap->size = core.heap_bytes;
	add_blocks(&core);
	/* Only now it is known how much of the heap is used. */
	core.heap_bytes = (core.starts[blocks - 1] - SYNTHETIC_HEAP + 8192) & ~UINT64_C(4095);
	core.size = BENCH_GLOBALS_OFFSET + core.globals_bytes + core.heap_bytes;
	write_headers(&core);
	add_pointers(&core, local);
	for (uint64_t i = 0; i < blocks - blocks / 50; i += BENCH_CHAIN) {
		uint64_t word =
			place(&core, i, local) + (interior && i / BENCH_CHAIN % 512 == 7 ? 8 : 0);

		memcpy(core.bytes + BENCH_GLOBALS_OFFSET + i / BENCH_CHAIN * 8, &word, 8);
	}
	free(core.starts);
	core.starts = NULL;
	if (ftruncate(core.fd, (off_t)core.size))
		die("cannot cut the core");
	return core;
}

void bench_core_deinit(struct bench_core *core)
{
	core->heap->bytes = NULL;
	synthetic_heap_destroy(core->heap);
	munmap(core->bytes, core->size);
	close(core->fd);
}
