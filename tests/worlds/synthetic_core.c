/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The builder of small core files. The layout is computed once, then bytes are appended in order.
 */
#include "synthetic_core.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/procfs.h>
#include <unistd.h>

struct bytes {
	uint8_t *data;
	size_t size;
	size_t capacity;
};

struct synthetic_core {
	struct synthetic_segment *segments; /* with owned `bytes` and `path` */
	size_t segment_count;
	size_t segment_capacity;
	struct bytes notes; /* all but NT_FILE */
	struct synthetic_layout layout;
};

static void *need(void *pointer)
{
	if (!pointer)
		abort();
	return pointer;
}

static void append(struct bytes *to, const void *data, size_t size)
{
	if (to->size + size >= to->capacity) {
		to->capacity = 2 * (to->size + size) + 64;
		to->data = need(realloc(to->data, to->capacity));
	}
	if (data)
		memcpy(to->data + to->size, data, size);
	else
		memset(to->data + to->size, 0, size);
	to->size += size;
}

static void append_u64(struct bytes *to, uint64_t value)
{
	append(to, &value, sizeof(value));
}

static void align(struct bytes *to, size_t alignment)
{
	append(to, NULL, -to->size & (alignment - 1));
}

static void append_note(struct bytes *to, const char *owner, uint32_t type, const void *data,
			size_t size)
{
	Elf64_Nhdr header = {
		.n_namesz = (uint32_t)strlen(owner) + 1,
		.n_descsz = (uint32_t)size,
		.n_type = type,
	};

	append(to, &header, sizeof(header));
	append(to, owner, header.n_namesz);
	align(to, 4);
	append(to, data, size);
	align(to, 4);
}

struct synthetic_core *synthetic_core_create(void)
{
	return need(calloc(1, sizeof(struct synthetic_core)));
}

void synthetic_core_destroy(struct synthetic_core *core)
{
	if (!core)
		return;
	for (size_t i = 0; i < core->segment_count; i++) {
		free((void *)core->segments[i].bytes);
		free((char *)core->segments[i].path);
	}
	free(core->segments);
	free(core->notes.data);
	free(core);
}

void synthetic_core_set_layout(struct synthetic_core *core, struct synthetic_layout layout)
{
	core->layout = layout;
}

void synthetic_core_add_segment(struct synthetic_core *core, struct synthetic_segment segment)
{
	uint8_t *copy = need(calloc(1, segment.dumped_bytes + 1));

	if (segment.bytes)
		memcpy(copy, segment.bytes, segment.dumped_bytes);
	segment.bytes = copy;
	if (segment.path)
		segment.path = need(strdup(segment.path));
	if (!segment.memory_bytes)
		segment.memory_bytes = segment.dumped_bytes;
	if (core->segment_count == core->segment_capacity) {
		core->segment_capacity = 2 * core->segment_capacity + 16;
		core->segments = need(reallocarray(core->segments, core->segment_capacity,
						   sizeof(*core->segments)));
	}
	core->segments[core->segment_count++] = segment;
}

void synthetic_core_add_memory(struct synthetic_core *core, uint64_t address, const void *bytes,
			       size_t size)
{
	synthetic_core_add_segment(core, (struct synthetic_segment){
						 .address = address,
						 .bytes = bytes,
						 .dumped_bytes = size,
						 .flags = SYNTHETIC_READ | SYNTHETIC_WRITE,
					 });
}

void synthetic_core_add_note(struct synthetic_core *core, const char *owner, uint32_t type,
			     const void *bytes, size_t size)
{
	append_note(&core->notes, owner ? owner : "CORE", type, bytes, size);
}

void synthetic_core_add_thread(struct synthetic_core *core, uint32_t tid, int signal,
			       const uint64_t *registers)
{
	struct elf_prstatus status = {0};

	status.pr_pid = (int)tid;
	status.pr_cursig = (short)signal;
	status.pr_info.si_signo = signal;
	if (registers)
		memcpy(&status.pr_reg, registers, sizeof(status.pr_reg));
	synthetic_core_add_note(core, NULL, NT_PRSTATUS, &status, sizeof(status));
}

void synthetic_core_add_process(struct synthetic_core *core, uint32_t pid, const char *name,
				const char *arguments)
{
	struct elf_prpsinfo info = {0};

	info.pr_pid = (int)pid;
	memcpy(info.pr_fname, name, strnlen(name, sizeof(info.pr_fname)));
	memcpy(info.pr_psargs, arguments, strnlen(arguments, sizeof(info.pr_psargs)));
	synthetic_core_add_note(core, NULL, NT_PRPSINFO, &info, sizeof(info));
}

void synthetic_core_add_siginfo(struct synthetic_core *core, int signal, int code, uint64_t value)
{
	uint8_t info[128] = {0};
	int32_t head[3] = {signal, 0, code};
	uint32_t pid = (uint32_t)value;

	memcpy(info, head, sizeof(head));
	if (code > 0)
		memcpy(info + 16, &value, sizeof(value));
	else
		memcpy(info + 16, &pid, sizeof(pid));
	synthetic_core_add_note(core, NULL, NT_SIGINFO, info, sizeof(info));
}

void synthetic_core_add_auxv(struct synthetic_core *core, const uint64_t (*pairs)[2], size_t count)
{
	struct bytes auxv = {0};

	append(&auxv, pairs, count * sizeof(*pairs));
	append(&auxv, NULL, sizeof(*pairs));
	synthetic_core_add_note(core, NULL, NT_AUXV, auxv.data, auxv.size);
	free(auxv.data);
}

static void append_file_note(struct bytes *to, const struct synthetic_core *core)
{
	struct bytes table = {0};
	struct bytes names = {0};
	uint64_t count = 0;

	for (size_t i = 0; i < core->segment_count; i++) {
		const struct synthetic_segment *segment = &core->segments[i];

		if (!segment->path)
			continue;
		append_u64(&table, segment->address);
		append_u64(&table, segment->address + segment->memory_bytes);
		append_u64(&table, segment->file_offset / SYNTHETIC_PAGE_BYTES);
		append(&names, segment->path, strlen(segment->path) + 1);
		count++;
	}
	if (count) {
		struct bytes note = {0};

		append_u64(&note, count);
		append_u64(&note, SYNTHETIC_PAGE_BYTES);
		append(&note, table.data, table.size);
		append(&note, names.data, names.size);
		append_note(to, "CORE", NT_FILE, note.data, note.size);
		free(note.data);
	}
	free(table.data);
	free(names.data);
}

static int compare_descending(const void *left, const void *right)
{
	const Elf64_Phdr *a = left, *b = right;

	return a->p_vaddr < b->p_vaddr ? 1 : -(a->p_vaddr > b->p_vaddr);
}

/** Appends the data of every segment and fills its program header. */
static size_t append_segments(struct bytes *file, const struct synthetic_core *core,
			      Elf64_Phdr *headers)
{
	size_t count = 0;

	for (size_t i = 0; i < core->segment_count; i++) {
		const struct synthetic_segment *segment = &core->segments[i];

		if (segment->omitted)
			continue;
		align(file, core->layout.unaligned ? 8 : SYNTHETIC_PAGE_BYTES);
		headers[count++] = (Elf64_Phdr){
			.p_type = PT_LOAD,
			.p_flags = segment->flags,
			.p_offset = file->size,
			.p_vaddr = segment->address,
			.p_filesz = segment->dumped_bytes,
			.p_memsz = segment->memory_bytes,
			.p_align = core->layout.unaligned ? 1 : SYNTHETIC_PAGE_BYTES,
		};
		append(file, segment->bytes, segment->dumped_bytes);
	}
	if (core->layout.descending)
		qsort(headers, count, sizeof(*headers), compare_descending);
	return count;
}

static Elf64_Phdr append_notes(struct bytes *file, const struct bytes *notes)
{
	Elf64_Phdr header = {.p_type = PT_NOTE, .p_align = 4, .p_filesz = notes->size};

	align(file, 4);
	header.p_offset = file->size;
	append(file, notes->data, notes->size);
	return header;
}

static void append_section_zero(struct bytes *file, Elf64_Ehdr *header, size_t count)
{
	Elf64_Shdr section = {.sh_info = (uint32_t)count, .sh_size = 1};

	align(file, 8);
	header->e_phnum = PN_XNUM;
	header->e_shoff = file->size;
	header->e_shnum = 1;
	header->e_shentsize = sizeof(section);
	append(file, &section, sizeof(section));
}

static Elf64_Ehdr elf_header(uint16_t type, size_t program_headers, uint16_t machine)
{
	return (Elf64_Ehdr){
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = type,
		.e_machine = machine ? machine : EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(Elf64_Ehdr),
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = (uint16_t)program_headers,
	};
}

uint8_t *synthetic_core_build(const struct synthetic_core *core, size_t *size)
{
	Elf64_Phdr *headers = need(calloc(core->segment_count + 1, sizeof(*headers)));
	bool last = core->layout.notes_last;
	struct bytes notes = {0};
	struct bytes file = {0};
	size_t loads = 0;

	append(&notes, core->notes.data, core->notes.size);
	if (!core->layout.without_file_note)
		append_file_note(&notes, core);
	for (size_t i = 0; i < core->segment_count; i++)
		loads += !core->segments[i].omitted;

	append(&file, NULL, sizeof(Elf64_Ehdr) + (loads + 1) * sizeof(*headers));
	if (!last)
		headers[0] = append_notes(&file, &notes);
	append_segments(&file, core, headers + !last);
	if (last)
		headers[loads] = append_notes(&file, &notes);

	Elf64_Ehdr header = elf_header(ET_CORE, loads + 1, core->layout.machine);

	if (core->layout.extended_count)
		append_section_zero(&file, &header, loads + 1);
	memcpy(file.data, &header, sizeof(header));
	memcpy(file.data + sizeof(header), headers, (loads + 1) * sizeof(*headers));
	free(headers);
	free(notes.data);
	*size = file.size;
	return file.data;
}

char *synthetic_file_write(const void *bytes, size_t size)
{
	const char *folder = getenv("TMPDIR");
	const uint8_t *at = bytes;
	char *path;
	int fd;

	if (asprintf(&path, "%s/hawk-test-XXXXXX", folder ? folder : "/tmp") < 0)
		abort();
	fd = mkstemp(path);
	if (fd < 0)
		abort();
	while (size) {
		ssize_t written = write(fd, at, size);

		if (written <= 0)
			abort();
		at += written;
		size -= (size_t)written;
	}
	close(fd);
	return path;
}

char *synthetic_core_write(const struct synthetic_core *core, size_t cut_bytes)
{
	size_t size;
	uint8_t *bytes = synthetic_core_build(core, &size);
	char *path = synthetic_file_write(bytes, size < cut_bytes ? size : cut_bytes);

	free(bytes);
	return path;
}

void synthetic_core_remove(char *path)
{
	if (path)
		unlink(path);
	free(path);
}

void synthetic_elf_page(uint8_t page[SYNTHETIC_PAGE_BYTES], struct synthetic_elf elf)
{
	Elf64_Ehdr header = elf_header(elf.executable ? ET_EXEC : ET_DYN, 2, 0);
	struct bytes note = {0};
	Elf64_Phdr programs[2] = {
		{.p_type = PT_LOAD,
		 .p_flags = PF_R | PF_X,
		 .p_vaddr = elf.vaddr,
		 .p_filesz = elf.bytes ? elf.bytes : SYNTHETIC_PAGE_BYTES,
		 .p_memsz = elf.bytes ? elf.bytes : SYNTHETIC_PAGE_BYTES,
		 .p_align = SYNTHETIC_PAGE_BYTES},
		{.p_type = PT_NOTE, .p_flags = PF_R, .p_align = 4},
	};
	size_t at = sizeof(header) + sizeof(programs);

	if (elf.build_id)
		append_note(&note, "GNU", NT_GNU_BUILD_ID, elf.build_id, elf.build_id_bytes);
	if (note.size > SYNTHETIC_PAGE_BYTES - at)
		abort();
	programs[1].p_offset = at;
	programs[1].p_vaddr = elf.vaddr + at;
	programs[1].p_filesz = programs[1].p_memsz = note.size;
	memset(page, 0, SYNTHETIC_PAGE_BYTES);
	memcpy(page, &header, sizeof(header));
	memcpy(page + sizeof(header), programs, sizeof(programs));
	if (note.size)
		memcpy(page + at, note.data, note.size);
	free(note.data);
}
