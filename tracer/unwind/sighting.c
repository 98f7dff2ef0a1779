/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Looks modules up by _dl_find_object, which is lock-free and async-signal-safe; before glibc 2.35
 * in the loader's list, under its lock.
 */
#include "sighting.h"

#include <dlfcn.h>
#include <sys/auxv.h>

#include "loader.h"
#include "table/syscall.h"
#include "hawk_trace_table.h"

uint64_t hawk_loader_start;
uint64_t hawk_loader_end;

static int (*find_object)(void *address, struct dl_find_object *ret);

/** Start of the executable: its segments may have gaps, and _dl_find_object gives only the part
 * around the pc. */
static uint64_t main_start;
static uint64_t main_end;

/** Returns true if the four bytes at `at` equal `magic`. */
static bool is_magic(const void *at, const char *magic)
{
	uint32_t found, wanted;

	__builtin_memcpy(&found, at, sizeof(found));
	__builtin_memcpy(&wanted, magic, sizeof(wanted));
	return found == wanted;
}

/** Finds the GNU build-id in one mapped PT_NOTE segment. */
static void find_build_id(struct hawk_sighting *module, const Elf64_Phdr *note)
{
	uint64_t at = module->bias + note->p_vaddr;
	uint64_t end = at + note->p_memsz;
	uint64_t alignment = note->p_align == 8 ? 8 : 4;

	if (at < module->start || end > module->end || end < at)
		return;
	while (at + sizeof(Elf64_Nhdr) <= end) {
		const Elf64_Nhdr *header = (const Elf64_Nhdr *)at;
		uint64_t name = at + sizeof(*header);
		uint64_t value = name + ((header->n_namesz + alignment - 1) & -alignment);

		if (value + header->n_descsz > end || value < name)
			return;
		if (header->n_type == NT_GNU_BUILD_ID && header->n_namesz == 4 &&
		    is_magic((const void *)name, ELF_NOTE_GNU)) {
			module->build_id = (const uint8_t *)value;
			module->build_id_bytes = header->n_descsz < HAWK_BUILD_ID_MAX
							 ? header->n_descsz
							 : HAWK_BUILD_ID_MAX;
			return;
		}
		at = value + ((header->n_descsz + alignment - 1) & -alignment);
	}
}

void hawk_sighting_read_headers(struct hawk_sighting *module)
{
	const Elf64_Ehdr *elf = (const Elf64_Ehdr *)module->start;

	/* A stale return address may point into a module that another thread is unloading. */
	if (module->end - module->start < sizeof(*elf) || !hawk_readable(module->start) ||
	    !is_magic(elf->e_ident, ELFMAG))
		return;
	if (elf->e_phentsize != sizeof(Elf64_Phdr) || elf->e_phoff > 4096 ||
	    elf->e_phoff + elf->e_phnum * sizeof(Elf64_Phdr) > 4096)
		return;
	module->headers = (const Elf64_Phdr *)(module->start + elf->e_phoff);
	module->header_count = elf->e_phnum;
	for (unsigned i = 0; i < module->header_count && !module->build_id_bytes; i++)
		if (module->headers[i].p_type == PT_NOTE)
			find_build_id(module, &module->headers[i]);
}

/** Finds the lowest and highest address of the PT_LOADs, the start rounded down to its page. */
static void measure_segments(const Elf64_Phdr *headers, unsigned long count, uint64_t bias,
			     uint64_t *start, uint64_t *end)
{
	*start = UINT64_MAX;
	*end = 0;
	for (unsigned long i = 0; i < count; i++) {
		if (headers[i].p_type != PT_LOAD)
			continue;
		if (bias + headers[i].p_vaddr < *start)
			*start = bias + headers[i].p_vaddr;
		if (bias + headers[i].p_vaddr + headers[i].p_memsz > *end)
			*end = bias + headers[i].p_vaddr + headers[i].p_memsz;
	}
	*start &= -UINT64_C(4096);
	if (!*end)
		*start = 0;
}

/** State of a dl_iterate_phdr walk, used before glibc 2.35: the loader's list, under its lock. */
struct phdr_search {
	uint64_t pc;
	struct hawk_sighting *found;
	bool hit;
};

static int match_phdr(struct dl_phdr_info *info, size_t size, void *data)
{
	struct phdr_search *search = data;
	uint64_t start, end, eh_frame_hdr = 0;

	(void)size;
	measure_segments(info->dlpi_phdr, info->dlpi_phnum, info->dlpi_addr, &start, &end);
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME)
			eh_frame_hdr = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
	if (search->pc < start || search->pc >= end)
		return 0;
	*search->found = (struct hawk_sighting){.start = start,
						.end = end,
						.bias = info->dlpi_addr,
						.name = info->dlpi_name ? info->dlpi_name : "",
						.eh_frame_hdr = eh_frame_hdr};
	search->hit = true;
	return 1;
}

bool hawk_sighting_at(uint64_t pc, struct hawk_sighting *ret)
{
	struct dl_find_object object;

	if (!find_object) {
		struct phdr_search search = {.pc = pc, .found = ret};

		hawk_loader_iterate(match_phdr, &search);
		return search.hit;
	}
	if (find_object((void *)pc, &object))
		return false;
	*ret = (struct hawk_sighting){
		.start = (uint64_t)object.dlfo_map_start,
		.end = (uint64_t)object.dlfo_map_end,
		.bias = object.dlfo_link_map->l_addr,
		.name = object.dlfo_link_map->l_name ? object.dlfo_link_map->l_name : "",
		.eh_frame_hdr = (uint64_t)object.dlfo_eh_frame,
	};
	if (pc - main_start < main_end - main_start) {
		ret->start = main_start;
		ret->end = main_end;
	}
	return true;
}

static void measure_executable(void)
{
	const Elf64_Phdr *headers = (const Elf64_Phdr *)getauxval(AT_PHDR);
	unsigned long count = getauxval(AT_PHNUM);
	uint64_t bias = 0;

	if (!headers)
		return;
	for (unsigned long i = 0; i < count; i++)
		if (headers[i].p_type == PT_PHDR)
			bias = (uint64_t)headers - headers[i].p_vaddr;
	measure_segments(headers, count, bias, &main_start, &main_end);
}

/** Finds the loader's ELF header. The kernel tells its address, unless the loader itself was
 * started as the program. */
static const Elf64_Ehdr *loader_header(void)
{
	uint64_t base = getauxval(AT_BASE);

	return (const Elf64_Ehdr *)(base ? base : _r_debug.r_ldbase);
}

void hawk_sighting_init(void)
{
	const Elf64_Ehdr *loader = loader_header();

	find_object =
		(int (*)(void *, struct dl_find_object *))dlsym(RTLD_DEFAULT, "_dl_find_object");
	measure_executable();
	if (loader)
		measure_segments((const Elf64_Phdr *)((uint64_t)loader + loader->e_phoff),
				 loader->e_phnum, (uint64_t)loader, &hawk_loader_start,
				 &hawk_loader_end);
}
