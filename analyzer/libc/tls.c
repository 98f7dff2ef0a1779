/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Computes the size of static TLS from the PT_TLS headers of all modules, read from the target's
 * memory.
 *
 *     variant II: | ... block of module 2 | block of module 1 | descriptor: .. vector .. |
 *                                                             ^ thread pointer
 *     variant I:  | descriptor | block of module 1 | block of module 2 ... |
 *                              ^ thread pointer
 */
#include "hawk/libc/tls.h"

#include <elf.h>
#include <string.h>

enum {
	STATIC_BYTES = 64 << 10, /* if the size is not known */
	DESCRIPTOR_BYTES = 2560, /* 2304 in glibc 2.36 */
	PROGRAM_HEADERS_MAX = 64,
	TLS_BYTES_MAX = 16 << 20,
	ALIGNMENT_MAX = 1 << 16,
	THREAD_POINTER_ALIGNMENT = 64,
};

static uint64_t up(uint64_t bytes, uint64_t alignment)
{
	return (bytes + alignment - 1) / alignment * alignment;
}

/* Adds the block of one module. Returns false if the target does not hold its headers. */
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

uint64_t hawk_tls_static_bytes(const struct hawk_target *target)
{
	const struct hawk_arch *arch = hawk_target_arch(target);
	size_t count;
	const struct hawk_module *modules = hawk_target_modules(target, &count);
	uint64_t bytes = arch->tls_head_bytes;
	bool any = false;

	for (size_t i = 0; i < count && bytes < TLS_BYTES_MAX; i++)
		if (!modules[i].vdso)
			any |= add_module(target, &modules[i], &bytes);
	return any ? up(bytes + hawk_thread_layout_of(arch)->tls_surplus, THREAD_POINTER_ALIGNMENT)
		   : 0;
}

uint64_t hawk_tls_start(const struct hawk_arch *arch, uint64_t thread_pointer,
			uint64_t static_bytes)
{
	uint64_t below = arch->tls_variant == HAWK_TLS_BELOW ? static_bytes : DESCRIPTOR_BYTES;

	return thread_pointer > below ? thread_pointer - below : 0;
}

struct hawk_span hawk_tls_around(const struct hawk_arch *arch, uint64_t thread_pointer,
				 uint64_t static_bytes)
{
	uint64_t above;

	if (!static_bytes)
		static_bytes = STATIC_BYTES;
	above = arch->tls_variant == HAWK_TLS_BELOW ? DESCRIPTOR_BYTES : static_bytes;
	return (struct hawk_span){
		.start = hawk_tls_start(arch, thread_pointer, static_bytes),
		.end = thread_pointer < UINT64_MAX - above ? thread_pointer + above : UINT64_MAX,
	};
}

struct hawk_tls_vector hawk_tls_vector_of(const struct hawk_arch *arch, uint64_t thread_pointer)
{
	const struct hawk_thread_layout *layout = hawk_thread_layout_of(arch);

	return (struct hawk_tls_vector){.address = thread_pointer + layout->vector,
					.entry = layout->vector_entry};
}
