/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * PT_TLS of all modules, read from their headers in the target's memory.
 */
#include "roots_tls.h"

#include <elf.h>
#include <string.h>

enum {
	SURPLUS_BYTES = 1664, /* glibc, dl-tls.c: TLS_STATIC_SURPLUS with its default tunables */
	PROGRAM_HEADERS_MAX = 64,
	TLS_BYTES_MAX = 16 << 20,
	ALIGNMENT_MAX = 1 << 16,
	THREAD_POINTER_ALIGNMENT = 64,
};

static uint64_t up(uint64_t bytes, uint64_t alignment)
{
	return (bytes + alignment - 1) / alignment * alignment;
}

/* Adds the block of one module; false = its headers are not there. */
static bool add_module(const struct hawk_target *target, const struct hawk_module *module,
		       uint64_t *bytes)
{
	Elf64_Phdr headers[PROGRAM_HEADERS_MAX];
	Elf64_Ehdr header;
	size_t count;

	if (hawk_target_read_some(target, module->start, &header, sizeof(header)) !=
		    sizeof(header) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phoff > UINT16_MAX ||
	    header.e_phentsize != sizeof(headers[0]) || header.e_phnum > PROGRAM_HEADERS_MAX)
		return false;
	count = hawk_target_read_some(target, module->start + header.e_phoff, headers,
				      header.e_phnum * sizeof(headers[0])) /
		sizeof(headers[0]);
	for (size_t i = 0; i < count; i++) {
		uint64_t alignment = headers[i].p_align ? headers[i].p_align : 1;

		if (headers[i].p_type != PT_TLS || headers[i].p_memsz > TLS_BYTES_MAX ||
		    alignment > ALIGNMENT_MAX)
			continue;
		*bytes = up(*bytes + headers[i].p_memsz, alignment);
	}
	return count == header.e_phnum;
}

uint64_t hawk_roots_static_tls_bytes(const struct hawk_target *target)
{
	size_t count;
	const struct hawk_module *modules = hawk_target_modules(target, &count);
	uint64_t bytes = 0;
	bool any = false;

	for (size_t i = 0; i < count && bytes < TLS_BYTES_MAX; i++)
		if (!modules[i].vdso)
			any |= add_module(target, &modules[i], &bytes);
	return any ? up(bytes + SURPLUS_BYTES, THREAD_POINTER_ALIGNMENT) : 0;
}
