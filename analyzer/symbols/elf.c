/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Opens, checks and maps ELF files. libelf gets the file as memory, so that no descriptor stays
 * open: a process often has more modules than RLIMIT_NOFILE allows.
 */
#include "elf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <elfutils/libdwelf.h>

#include "hawk/base/cleanup.h"

enum {
	SEGMENTS_MAX = 4096,
};

void hawk_elf_close(struct hawk_elf *elf)
{
	if (!elf)
		return;
	if (elf->elf)
		elf_end(elf->elf);
	if (elf->mapped)
		munmap(elf->image, elf->image_bytes);
	else
		free(elf->image);
	free(elf->segments);
	free(elf->path);
	free(elf);
}

static const char *check_header(struct hawk_elf *elf)
{
	Elf64_Ehdr header;

	if (elf->image_bytes < SELFMAG || memcmp(elf->image, ELFMAG, SELFMAG) != 0)
		return "is not an ELF file";
	if (elf->image_bytes < sizeof(header))
		return "is an ELF file without a complete header";
	memcpy(&header, elf->image, sizeof(header));
	if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
	    !(elf->arch = hawk_arch_of(header.e_machine)))
		return "is an ELF file of another architecture";
	elf->relocatable = header.e_type == ET_REL;
	if (header.e_type != ET_EXEC && header.e_type != ET_DYN && !elf->relocatable)
		return "is neither a program nor a shared object";
	return NULL;
}

/** Returns the segment of `header`, cut to the bytes that the file holds. */
static struct hawk_elf_segment clamp_segment(const struct hawk_elf *elf, const GElf_Phdr *header)
{
	struct hawk_elf_segment segment = {.start = header->p_vaddr,
					   .executable = header->p_flags & PF_X};
	uint64_t size = header->p_memsz;

	if (size > UINT64_MAX - segment.start)
		size = UINT64_MAX - segment.start;
	segment.end = segment.start + size;
	if (header->p_offset < elf->image_bytes) {
		uint64_t left = elf->image_bytes - header->p_offset;

		segment.bytes = elf->image + header->p_offset;
		segment.present_bytes = header->p_filesz < left ? header->p_filesz : left;
		if (segment.present_bytes > size)
			segment.present_bytes = size;
	}
	return segment;
}

static struct hawk_error *read_segments(struct hawk_elf *elf)
{
	size_t count;

	if (elf_getphdrnum(elf->elf, &count) != 0)
		return NULL;
	if (count > SEGMENTS_MAX)
		count = SEGMENTS_MAX;
	elf->segments = calloc(count + 1, sizeof(*elf->segments));
	if (!elf->segments)
		return &hawk_enomem;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr header;

		if (!gelf_getphdr(elf->elf, (int)i, &header))
			continue;
		if (header.p_type == PT_LOAD && header.p_memsz)
			elf->segments[elf->segment_count++] = clamp_segment(elf, &header);
		else if (header.p_type == PT_GNU_EH_FRAME)
			elf->unwind_table = clamp_segment(elf, &header);
		if (header.p_type == PT_TLS && !elf->tls_bytes) {
			elf->tls_bytes = header.p_memsz;
			elf->tls_alignment = header.p_align ? header.p_align : 1;
		}
	}
	return NULL;
}

static void read_build_id(struct hawk_elf *elf)
{
	const void *id;
	ssize_t size = dwelf_elf_gnu_build_id(elf->elf, &id);

	if (size <= 0 || size > HAWK_MODULE_BUILD_ID_MAX)
		return;
	memcpy(elf->build_id, id, (size_t)size);
	elf->build_id_bytes = (uint32_t)size;
}

/** Parses `image`, mapped or from malloc, and takes ownership. */
static struct hawk_error *parse(const char *name, uint8_t *image, size_t bytes, bool mapped,
				const char **why, struct hawk_elf **ret)
{
	struct hawk_elf *created = calloc(1, sizeof(*created));
	struct hawk_error *err;

	*why = NULL;
	if (!created) {
		if (mapped)
			munmap(image, bytes);
		else
			free(image);
		return &hawk_enomem;
	}
	CLEANUP(elf) struct hawk_elf *elf = created;
	*elf = (struct hawk_elf){.image = image, .image_bytes = bytes, .mapped = mapped};
	elf->path = strdup(name);
	if (!elf->path)
		return &hawk_enomem;
	*why = check_header(elf);
	if (*why)
		return NULL;
	elf->elf = elf_memory((char *)image, bytes);
	if (!elf->elf || elf_kind(elf->elf) != ELF_K_ELF) {
		*why = "is a damaged ELF file";
		return NULL;
	}
	err = read_segments(elf);
	if (err)
		return err;
	read_build_id(elf);
	*ret = take_ptr(&elf);
	return NULL;
}

/** Returns an error if this machine lacks descriptors or memory, NULL if the file is at fault. */
static struct hawk_error *shortage(int errnum, const char *operation, const char *path)
{
	if (errnum == EMFILE || errnum == ENFILE || errnum == ENOMEM)
		return hawk_error_os(errnum, operation, path);
	return NULL;
}

struct hawk_error *hawk_elf_open(const char *path, const char **why, struct hawk_elf **ret)
{
	struct stat status;
	void *image;

	/* Opening a device can have effects (a tape rewinds), so check the path before opening too.
	 */
	*why = "is not a regular file";
	if (stat(path, &status) == 0 && !S_ISREG(status.st_mode))
		return NULL;
	/* O_NONBLOCK: a FIFO must not hang. */
	CLEANUP(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0) {
		*why = NULL;
		return shortage(errno, "cannot open", path);
	}
	if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
		return NULL;
	*why = "is empty";
	if (status.st_size <= 0)
		return NULL;
	/* Writable copies of pages: libelf changes section headers when it decompresses. */
	image = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_NORESERVE, fd, 0);
	if (image == MAP_FAILED) {
		*why = "cannot be mapped";
		return shortage(errno, "cannot map", path);
	}
	return parse(path, image, (size_t)status.st_size, true, why, ret);
}

struct hawk_error *hawk_elf_from_image(const char *name, uint8_t *image, size_t bytes,
				       const char **why, struct hawk_elf **ret)
{
	return parse(name, image, bytes, false, why, ret);
}

Elf_Scn *hawk_elf_section(const struct hawk_elf *elf, const char *name, GElf_Shdr *header)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf->elf, &names) != 0)
		return NULL;
	while ((section = elf_nextscn(elf->elf, section))) {
		const char *found;

		if (!gelf_getshdr(section, header) || header->sh_type == SHT_NOBITS)
			continue;
		found = elf_strptr(elf->elf, names, header->sh_name);
		if (found && strcmp(found, name) == 0)
			return section;
	}
	return NULL;
}

bool hawk_elf_is_debug_only(const struct hawk_elf *elf)
{
	Elf_Scn *section = NULL;
	bool found = false;
	GElf_Shdr header;

	while ((section = elf_nextscn(elf->elf, section))) {
		if (!gelf_getshdr(section, &header) || !(header.sh_flags & SHF_EXECINSTR))
			continue;
		if (header.sh_type != SHT_NOBITS)
			return false;
		found = true;
	}
	return found;
}

const uint8_t *hawk_elf_bytes(const struct hawk_elf *elf, uint64_t address, uint64_t *available)
{
	for (size_t i = 0; i < elf->segment_count; i++) {
		const struct hawk_elf_segment *segment = &elf->segments[i];

		if (address < segment->start || address - segment->start >= segment->present_bytes)
			continue;
		*available = segment->present_bytes - (address - segment->start);
		return segment->bytes + (address - segment->start);
	}
	*available = 0;
	return NULL;
}

bool hawk_elf_is_code(const struct hawk_elf *elf, uint64_t address)
{
	for (size_t i = 0; i < elf->segment_count; i++) {
		const struct hawk_elf_segment *segment = &elf->segments[i];

		if (segment->executable && address >= segment->start && address < segment->end)
			return true;
	}
	return elf->segment_count == 0;
}

uint64_t hawk_elf_first_page(const struct hawk_elf *elf)
{
	uint64_t first = elf->segment_count ? elf->segments[0].start : 0;

	for (size_t i = 1; i < elf->segment_count; i++)
		if (elf->segments[i].start < first)
			first = elf->segments[i].start;
	return first & ~(uint64_t)(elf->arch->page_bytes - 1);
}

/* The first block of static TLS: it ends at the thread pointer (variant II), or begins behind the
 * words there (variant I). */
bool hawk_elf_tls_block(const struct hawk_elf *elf, uint64_t thread_pointer, struct hawk_span *ret)
{
	uint64_t alignment = elf->tls_alignment ? elf->tls_alignment : 1;

	if (elf->tls_alignment & (elf->tls_alignment - 1) || elf->tls_bytes > INT32_MAX ||
	    elf->tls_alignment > INT32_MAX)
		return false;
	if (elf->arch->tls_variant == HAWK_TLS_BELOW) {
		ret->start = thread_pointer - ((elf->tls_bytes + alignment - 1) & -alignment);
		ret->end = thread_pointer;
	} else {
		ret->start =
			thread_pointer + ((elf->arch->tls_head_bytes + alignment - 1) & -alignment);
		ret->end = ret->start + elf->tls_bytes;
	}
	return ret->start < ret->end;
}
