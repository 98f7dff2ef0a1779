/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Cores from compact descriptions: headers by synthetic_core, memory written where there is any.
 */
#include "sparse_core.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "synthetic_core.h"
#include "target/arch_x86_64.h"

enum { SEGMENTS_MAX = 64, THREADS_MAX = 64, PAGE = SYNTHETIC_PAGE_BYTES };

struct piece {
	uint64_t address, bytes, offset;
};

struct sparse {
	struct synthetic_core *core;
	struct piece pieces[SEGMENTS_MAX];
	size_t piece_count;
	unsigned thread_count;
	int fd;
};

static void append(struct sparse_text *text, const void *bytes, size_t size)
{
	text->bytes = realloc(text->bytes, text->size + size);
	if (!text->bytes)
		abort();
	memcpy(text->bytes + text->size, bytes, size);
	text->size += size;
}

static void append_segment(struct sparse_text *text, char kind, uint64_t address, uint16_t pages)
{
	uint64_t word = address / PAGE | (uint64_t)pages << 48;

	append(text, &kind, 1);
	append(text, &word, sizeof(word));
}

void sparse_add_memory(struct sparse_text *text, uint64_t address, uint16_t pages)
{
	append_segment(text, 'M', address, pages);
}

void sparse_add_module(struct sparse_text *text, uint64_t address, uint16_t pages)
{
	append_segment(text, 'D', address, pages);
}

void sparse_add_thread(struct sparse_text *text, uint64_t pointer)
{
	append(text, "T", 1);
	append(text, &pointer, sizeof(pointer));
}

void sparse_add_words(struct sparse_text *text, uint64_t address, const uint64_t *words,
		      uint8_t count)
{
	append(text, "W", 1);
	append(text, &address, sizeof(address));
	append(text, &count, 1);
	append(text, words, 8 * (size_t)count);
}

void sparse_add_word(struct sparse_text *text, uint64_t address, uint64_t word)
{
	sparse_add_words(text, address, &word, 1);
}

static void add_segment(struct sparse *sparse, uint64_t address, uint64_t bytes, uint32_t flags,
			const char *path, uint64_t file_offset)
{
	if (sparse->piece_count == SEGMENTS_MAX)
		return;
	sparse->pieces[sparse->piece_count++] = (struct piece){.address = address, .bytes = bytes};
	synthetic_core_add_segment(sparse->core, (struct synthetic_segment){
							 .address = address,
							 .memory_bytes = bytes,
							 .flags = SYNTHETIC_READ | flags,
							 .path = path,
							 .file_offset = file_offset,
						 });
}

static void take_segment(struct sparse *sparse, char kind, uint64_t word)
{
	uint64_t address = (word & ~(UINT64_C(0xffff) << 48)) * PAGE;
	uint64_t bytes = (word >> 48) * PAGE;
	char path[32];

	if (!bytes || address < PAGE)
		return;
	if (kind == 'M') {
		add_segment(sparse, address, bytes, SYNTHETIC_WRITE, NULL, 0);
		return;
	}
	/* CPython is looked for in modules of such a name. */
	snprintf(path, sizeof(path), "/lib/python%zu.so", sparse->piece_count);
	add_segment(sparse, address - PAGE, PAGE, SYNTHETIC_EXEC, path, 0);
	add_segment(sparse, address, bytes, SYNTHETIC_WRITE, path, PAGE);
}

static void take_thread(struct sparse *sparse, uint64_t pointer)
{
	uint64_t registers[27] = {0};

	if (sparse->thread_count == THREADS_MAX)
		return;
	registers[HAWK_FS_BASE] = pointer;
	synthetic_core_add_thread(sparse->core, ++sparse->thread_count, 6, registers);
}

static void write_words(const struct sparse *sparse, uint64_t address, const uint8_t *bytes,
			size_t size)
{
	for (size_t i = 0; i < sparse->piece_count; i++) {
		const struct piece *piece = &sparse->pieces[i];

		if (address >= piece->address && address - piece->address < piece->bytes &&
		    size <= piece->bytes - (address - piece->address) &&
		    pwrite(sparse->fd, bytes, size,
			   (off_t)(piece->offset + address - piece->address)) != (ssize_t)size)
			abort();
	}
}

static void take_all(struct sparse *sparse, const uint8_t *at, size_t size, bool words)
{
	const uint8_t *end = at + size;

	while (end - at >= 9) {
		uint8_t kind = *at;
		uint64_t word;

		memcpy(&word, at + 1, sizeof(word));
		at += 9;
		if (kind == 'W' && at < end) {
			size_t room = (size_t)(end - at) - 1, bytes = 8 * (size_t)*at++;

			bytes = bytes < room ? bytes : room;
			if (words)
				write_words(sparse, word, at, bytes);
			at += bytes;
		} else if (kind == 'T' && !words) {
			take_thread(sparse, word);
		} else if (!words) {
			take_segment(sparse, kind == 'D' ? 'D' : 'M', word);
		}
	}
}

/* The header of a module of one load, which is code and data. */
static void write_header(const struct sparse *sparse, const struct piece *piece, uint64_t data)
{
	_Alignas(16) uint8_t page[PAGE];

	synthetic_elf_page(page, (struct synthetic_elf){.bytes = PAGE + data});
	((Elf64_Phdr *)(page + sizeof(Elf64_Ehdr)))->p_flags = PF_R | PF_W | PF_X;
	write_words(sparse, piece->address, page, sizeof(page));
}

/* Gives segments room in the file, which holes fill. */
static void lay_out(struct sparse *sparse, uint8_t *bytes, size_t size)
{
	uint64_t offset = (size + PAGE - 1) / PAGE * PAGE;

	for (size_t i = 0; i < sparse->piece_count; i++) {
		Elf64_Phdr *header =
			(Elf64_Phdr *)(bytes + sizeof(Elf64_Ehdr) + (i + 1) * sizeof(*header));

		header->p_offset = sparse->pieces[i].offset = offset;
		header->p_filesz = header->p_memsz;
		offset += header->p_memsz;
	}
	if (pwrite(sparse->fd, bytes, size, 0) != (ssize_t)size ||
	    ftruncate(sparse->fd, (off_t)offset))
		abort();
	for (size_t i = 1; i < sparse->piece_count; i++)
		if (sparse->pieces[i - 1].bytes == PAGE &&
		    sparse->pieces[i - 1].address + PAGE == sparse->pieces[i].address)
			write_header(sparse, &sparse->pieces[i - 1], sparse->pieces[i].bytes);
}

struct hawk_target *sparse_core_open(const void *bytes, size_t size, struct hawk_findings *findings)
{
	struct sparse sparse = {.core = synthetic_core_create(),
				.fd = memfd_create("sparse", MFD_CLOEXEC)};
	struct hawk_target *target;
	uint8_t *file;
	size_t file_bytes;
	char path[64];

	if (sparse.fd < 0)
		abort();
	take_all(&sparse, bytes, size, false);
	if (!sparse.thread_count)
		take_thread(&sparse, 0);
	file = synthetic_core_build(sparse.core, &file_bytes);
	synthetic_core_destroy(sparse.core);
	lay_out(&sparse, file, file_bytes);
	free(file);
	take_all(&sparse, bytes, size, true);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", sparse.fd);
	if (hawk_target_open_core(path, findings, &target))
		abort();
	close(sparse.fd);
	return target;
}
