/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Opening, checking and mapping. The file is mapped by us and given to libelf as memory, so that no
 * descriptor stays open: a process has more modules than RLIMIT_NOFILE often allows.
 */
#include "symbols_elf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <elfutils/libdwelf.h>
#include <gelf.h>

#include "hawk_cleanup.h"

enum {
	SEGMENTS_MAX = 4096,
	PAGE_BYTES = 4096,
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
	    header.e_machine != EM_X86_64)
		return "is an ELF file of another architecture";
	elf->relocatable = header.e_type == ET_REL;
	if (header.e_type != ET_EXEC && header.e_type != ET_DYN && !elf->relocatable)
		return "is neither a program nor a shared object";
	return NULL;
}

/** `header` cut to what the file really holds. */
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

/** Takes `elf` with its image; on success it is in `*ret`. */
static struct hawk_error *parse(struct hawk_elf *taken, enum hawk_elf_state *state,
				const char **why, struct hawk_elf **ret)
{
	CLEANUP(elf) struct hawk_elf *elf = taken;
	struct hawk_error *err;

	*state = HAWK_ELF_REFUSED;
	*why = check_header(elf);
	if (*why)
		return NULL;
	elf->elf = elf_memory((char *)elf->image, elf->image_bytes);
	if (!elf->elf || elf_kind(elf->elf) != ELF_K_ELF) {
		*why = "is a damaged ELF file";
		return NULL;
	}
	err = read_segments(elf);
	if (err)
		return err;
	read_build_id(elf);
	*state = HAWK_ELF_OPENED;
	*ret = take_ptr(&elf);
	return NULL;
}

static struct hawk_elf *create(const char *path)
{
	struct hawk_elf *elf = calloc(1, sizeof(*elf));

	if (!elf)
		return NULL;
	elf->path = strdup(path);
	if (!elf->path) {
		free(elf);
		return NULL;
	}
	return elf;
}

/** A readable descriptor of a regular, non-empty file, or -1. O_NONBLOCK: a FIFO must not hang. */
static int open_regular(const char *path, size_t *bytes, enum hawk_elf_state *state,
			const char **why)
{
	struct stat status;

	CLEANUP(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	*state = HAWK_ELF_ABSENT;
	if (fd < 0) {
		*why = errno == ENOENT || errno == ENOTDIR ? "does not exist" : "cannot be opened";
		return -1;
	}
	*state = HAWK_ELF_REFUSED;
	if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
		*why = "is not a regular file";
		return -1;
	}
	if (status.st_size <= 0) {
		*why = "is empty";
		return -1;
	}
	*bytes = (size_t)status.st_size;
	return take_fd(&fd);
}

/** Opening a device can have effects (a tape rewinds), so the path is looked at before, too. */
static bool is_special(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && !S_ISREG(status.st_mode);
}

struct hawk_error *hawk_elf_open(const char *path, enum hawk_elf_state *state, const char **why,
				 struct hawk_elf **ret)
{
	size_t bytes;
	void *image;

	if (is_special(path)) {
		*state = HAWK_ELF_REFUSED;
		*why = "is not a regular file";
		return NULL;
	}
	CLEANUP(close_fd) int fd = open_regular(path, &bytes, state, why);
	if (fd < 0)
		return NULL;
	/* Writable copies of pages: libelf changes section headers when it decompresses. */
	image = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, fd, 0);
	if (image == MAP_FAILED) {
		*why = "cannot be mapped";
		hawk_enomem_swallow();
		return NULL;
	}
	struct hawk_elf *elf = create(path);
	if (!elf) {
		munmap(image, bytes);
		return &hawk_enomem;
	}
	elf->image = image;
	elf->image_bytes = bytes;
	elf->mapped = true;
	return parse(elf, state, why, ret);
}

struct hawk_error *hawk_elf_from_image(const char *name, uint8_t *image, size_t bytes,
				       enum hawk_elf_state *state, const char **why,
				       struct hawk_elf **ret)
{
	struct hawk_elf *elf = create(name);

	if (!elf) {
		free(image);
		return &hawk_enomem;
	}
	elf->image = image;
	elf->image_bytes = bytes;
	return parse(elf, state, why, ret);
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
	return first & ~(uint64_t)(PAGE_BYTES - 1);
}

uint32_t hawk_elf_crc(const struct hawk_elf *elf)
{
	uint32_t table[256];
	uint32_t crc = UINT32_MAX;

	for (uint32_t i = 0; i < 256; i++) {
		table[i] = i;
		for (int bit = 0; bit < 8; bit++)
			table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320u : 0);
	}
	for (size_t i = 0; i < elf->image_bytes; i++)
		crc = table[(crc ^ elf->image[i]) & 0xff] ^ crc >> 8;
	return ~crc;
}
