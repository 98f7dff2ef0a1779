/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Makes a target from a core file: identify, program headers, notes, mappings, modules. Tracer
 * table files are recognized by their first bytes and read by table_file.c.
 */
#include "file.h"

#include <ctype.h>
#include <elf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "parse.h"
#include "snapshot_file.h"
#include "spool.h"
#include "hawk/base/array.h"
#include "hawk/base/cleanup.h"

struct merger {
	struct hawk_target *target;
	size_t capacity;
	const char *last_path; /* in the core, and its copy */
	const char *last_copy;
};

/** Copies a path once for neighbouring ranges of a file. */
static const char *copy_path(struct merger *merger, const char *path)
{
	if (!merger->last_path || strcmp(merger->last_path, path)) {
		merger->last_copy = hawk_target_string(merger->target, path, strlen(path));
		merger->last_path = merger->last_copy ? path : NULL;
	}
	return merger->last_copy;
}

/** Adds [start, end) of `load` and `file`; either may be NULL. */
static struct hawk_error *add_piece(struct merger *merger, uint64_t start, uint64_t end,
				    const struct hawk_mapping *load,
				    const struct hawk_core_named_range *file)
{
	struct hawk_target *target = merger->target;
	struct hawk_mapping piece = {.start = start, .end = end};

	if (load) {
		uint64_t skip = start - load->start;
		uint64_t bytes = end - start;

		piece.flags = load->flags;
		piece.core_offset = load->core_offset + skip;
		piece.dumped_bytes = load->dumped_bytes > skip ? load->dumped_bytes - skip : 0;
		piece.present_bytes = load->present_bytes > skip ? load->present_bytes - skip : 0;
		if (piece.dumped_bytes > bytes)
			piece.dumped_bytes = bytes;
		if (piece.present_bytes > bytes)
			piece.present_bytes = bytes;
	}
	if (file) {
		piece.file_offset = file->offset + (start - file->start);
		piece.path = copy_path(merger, file->path);
		if (!piece.path)
			return &hawk_enomem;
	}
	if (!hawk_array_reserve(&target->mappings, target->mapping_count, &merger->capacity,
				sizeof(piece)))
		return &hawk_enomem;
	target->mappings[target->mapping_count++] = piece;
	return NULL;
}

/**
 * Fills the target's mappings: segments, with the paths of NT_FILE. Each source alone is
 * incomplete: anonymous memory has no path, and gcore writes no segment for what it does not dump.
 */
static struct hawk_error *merge_mappings(const struct hawk_core_segments *segments,
					 const struct hawk_core_files *files,
					 struct hawk_target *target)
{
	struct merger merger = {.target = target};
	size_t loads = 0, names = 0;
	uint64_t at = 0; /* addresses below are done */

	while (loads < segments->load_count || names < files->count) {
		const struct hawk_mapping *load =
			loads < segments->load_count ? &segments->loads[loads] : NULL;
		const struct hawk_core_named_range *file =
			names < files->count ? &files->items[names] : NULL;
		uint64_t load_start = load ? (load->start > at ? load->start : at) : UINT64_MAX;
		uint64_t file_start = file ? (file->start > at ? file->start : at) : UINT64_MAX;
		uint64_t start = load_start < file_start ? load_start : file_start;
		bool in_load = load && load_start == start;
		bool in_file = file && file_start == start;
		uint64_t end = in_load ? load->end : file->end;
		struct hawk_error *error;

		if (in_load && in_file && file->end < end)
			end = file->end;
		if (!in_load && load && load_start < end)
			end = load_start;
		if (!in_file && file && file_start < end)
			end = file_start;
		error = add_piece(&merger, start, end, in_load ? load : NULL,
				  in_file ? file : NULL);
		if (error)
			return error;
		at = end;
		loads += load && load->end <= at;
		names += file && file->end <= at;
	}
	return NULL;
}

static void cleanup_target(struct hawk_target **target)
{
	hawk_target_close(*target);
}

/** Takes `path` as the program's if it is a path. */
static bool set_program(struct hawk_target *target, const char *path)
{
	bool deleted;
	size_t length = hawk_path_length(path, &deleted);

	if (!length || length >= sizeof(target->process.program))
		return false;
	memcpy(target->process.program, path, length);
	target->process.program[length] = 0;
	return true;
}

static bool set_program_of(struct hawk_target *target, uint64_t address)
{
	const struct hawk_mapping *mapping = hawk_target_mapping_at(target, address);

	return address && mapping && mapping->path && set_program(target, mapping->path);
}

static bool set_program_named(struct hawk_target *target)
{
	char path[sizeof(target->process.program)];
	size_t bytes;

	if (!target->auxv.program_name)
		return false;
	bytes = hawk_target_read_some(target, target->auxv.program_name, path, sizeof(path));
	return memchr(path, 0, bytes) && set_program(target, path);
}

static void find_program(struct hawk_target *target)
{
	char first[sizeof(target->process.arguments)];

	if (set_program_of(target, target->auxv.program_headers) ||
	    set_program_of(target, target->auxv.entry) || set_program_named(target))
		return;
	memcpy(first, target->process.arguments, sizeof(first));
	first[strcspn(first, " ")] = 0;
	set_program(target, first);
}

/* The name of the program lies at the top of the first thread's stack, which Linux puts there. */
static void check_stack(struct hawk_target *target, struct hawk_findings *findings)
{
	uint64_t address = target->auxv.program_name;

	if (!address || hawk_target_mapping_at(target, address))
		return;
	/* If the core lacks the whole stack (gcore omits memory excluded from dumps), its thread's
	 * finding reports it. */
	if (target->thread_count && !hawk_target_mapping_at(target, target->threads[0].sp))
		return;
	target->incomplete = true;
	hawk_findings_add(findings, HAWK_FINDING_DAMAGE, true, "auxv-strange",
			  "no segment has the address 0x%" PRIx64
			  " of the program's name: the header of its stack is damaged",
			  address);
}

/** Takes a redacted core's times from its note, which keeps the original file's. */
static void settle_end(struct hawk_target *target)
{
	if (target->process.redacted)
		target->process.end.present_ns = target->core->times.present_ns;
	else
		target->process.end = target->core->times;
}

static struct hawk_error *read_core(struct hawk_target *target, struct hawk_findings *findings)
{
	const uint8_t *bytes = target->core->bytes;
	size_t size = target->core->size;
	struct hawk_core_segments segments = {0};
	struct hawk_core_files files = {0};
	struct hawk_error *error = hawk_core_identify(bytes, size, &target->arch);

	if (!error)
		error = hawk_core_read_segments(target->arch, bytes, size, findings, &segments);
	if (!error)
		error = hawk_core_read_notes(bytes, size, &segments, target, &files, findings);
	if (!error)
		error = merge_mappings(&segments, &files, target);
	target->files_known = files.known;
	target->incomplete |= segments.doubtful;
	hawk_core_files_deinit(&files);
	hawk_core_segments_deinit(&segments);
	if (error)
		return error;
	check_stack(target, findings);
	settle_end(target);
	hawk_target_set_page_bytes(target, target->auxv.page_bytes);
	find_program(target);
	return hawk_target_find_modules(target, findings);
}

struct hawk_error *hawk_core_open_file(struct hawk_core_file *file, const char *name,
				       struct hawk_findings *findings, struct hawk_target **ret)
{
	CLEANUP(free_ptr) struct hawk_target *empty = hawk_target_create();
	struct hawk_error *error;

	if (!empty) {
		hawk_core_file_close(file);
		return &hawk_enomem;
	}

	__attribute__((cleanup(cleanup_target))) struct hawk_target *target = take_ptr(&empty);

	target->core = file;
	if (hawk_table_file_is(file->bytes, file->size))
		error = hawk_table_file_read(target, findings);
	else if (hawk_snapshot_is(file->bytes, file->size))
		error = hawk_snapshot_file_read(target, findings);
	else
		error = read_core(target, findings);
	if (error)
		return name ? hawk_error_prefix(error, "%s", name) : error;
	*ret = take_ptr(&target);
	return NULL;
}

struct hawk_error *hawk_target_unpack_core(const char *path,
					   const struct hawk_unpack_settings *settings,
					   struct hawk_findings *findings, struct hawk_target **ret)
{
	bool is_piped = settings && settings->dash && !strcmp(path, "-");
	const char *name = is_piped ? "standard input" : path;
	struct hawk_core_file *file;
	struct hawk_error *error = is_piped ? hawk_core_standard_input(settings, &file)
					    : hawk_core_file_open(path, &file);

	if (!error && hawk_core_unpack_needed(file))
		error = hawk_core_unpack(file, name, settings, findings, &file);
	if (error)
		return error;
	return hawk_core_open_file(file, name, findings, ret);
}

struct hawk_error *hawk_target_peek_core(const char *path, struct hawk_findings *findings,
					 bool *packed, struct hawk_target **ret)
{
	struct hawk_core_file *file;
	struct hawk_error *error = hawk_core_file_open(path, &file);

	*packed = !error && hawk_core_unpack_needed(file);
	if (*packed)
		error = hawk_core_unpack_beginning(file, path, &file);
	return error ? error : hawk_core_open_file(file, path, findings, ret);
}

struct hawk_error *hawk_target_open_core(const char *path, struct hawk_findings *findings,
					 struct hawk_target **ret)
{
	return hawk_target_unpack_core(path, NULL, findings, ret);
}

struct magic {
	const char *bytes;
	size_t size;
	const char *format;
	const char *remedy; /* NULL = not a compression */
};

static const struct magic magics[] = {
	{"\x28\xb5\x2f\xfd", 4, "zstd", "zstd -d"},
	{"\x1f\x8b", 2, "gzip", "gzip -d"},
	{"\xfd"
	 "7zXZ\0",
	 6, "xz", "xz -d"},
	{"\x04\x22\x4d\x18", 4, "lz4", "lz4 -d"},
	{"\x02\x21\x4c\x18", 4, "lz4", "lz4 -d"},
	{"BZh", 3, "bzip2", "bzip2 -d"},
	{"PK\x03\x04", 4, "a zip archive", NULL},
	{"!<arch>\n", 8, "an ar archive (static library)", NULL},
	{"MDMP", 4, "a Windows or Breakpad minidump", NULL},
	{"KDUMP   ", 8, "a compressed kernel dump", NULL},
	{"\xcf\xfa\xed\xfe", 4, "a Mach-O file", NULL},
	{"ProblemType:", 12, "an Apport report without a core", NULL},
};

static const struct {
	uint16_t machine;
	const char *name;
} machines[] = {
	{EM_X86_64, "x86_64"},    {EM_386, "i386"},      {EM_ARM, "ARM"},
	{EM_AARCH64, "AArch64"},  {EM_PPC, "PowerPC"},   {EM_PPC64, "PowerPC 64"},
	{EM_S390, "S/390"},       {EM_MIPS, "MIPS"},     {EM_RISCV, "RISC-V"},
	{EM_SPARCV9, "SPARC V9"}, {EM_IA_64, "Itanium"}, {EM_LOONGARCH, "LoongArch"},
	{EM_68K, "m68k"},         {EM_ALPHA, "Alpha"},   {EM_PARISC, "PA-RISC"},
	{EM_SH, "SuperH"},
};

static struct hawk_error *refuse_foreign_format(const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < sizeof(magics) / sizeof(*magics); i++) {
		const struct magic *magic = &magics[i];

		if (size < magic->size || memcmp(bytes, magic->bytes, magic->size))
			continue;
		if (!magic->remedy)
			return hawk_error_create(HAWK_ERROR_FORMAT, "is %s, not a core file",
						 magic->format);
		return hawk_error_create(HAWK_ERROR_UNSUPPORTED,
					 "is compressed with %s: decompress it first (%s)",
					 magic->format, magic->remedy);
	}
	return NULL;
}

static bool looks_like_text(const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size && i < 512; i++)
		if (bytes[i] < 0x80 && !isprint(bytes[i]) && !isspace(bytes[i]))
			return false;
	return true;
}

static const char *machine_name(uint16_t machine)
{
	for (size_t i = 0; i < sizeof(machines) / sizeof(*machines); i++)
		if (machines[i].machine == machine)
			return machines[i].name;
	return "an unknown architecture";
}

static struct hawk_error *refuse_type(uint16_t type)
{
	switch (type) {
	case ET_REL:
		return hawk_error_create(HAWK_ERROR_FORMAT, "is an ELF object file, not a core");
	case ET_EXEC:
		return hawk_error_create(HAWK_ERROR_FORMAT, "is an ELF executable, not a core");
	case ET_DYN:
		return hawk_error_create(
			HAWK_ERROR_FORMAT,
			"is an ELF shared object or position-independent executable, not a core");
	default:
		return hawk_error_create(HAWK_ERROR_FORMAT, "is an ELF file of type %u, not a core",
					 type);
	}
}

static uint16_t half_at(const uint8_t *bytes, size_t offset, bool big)
{
	return big ? (uint16_t)(bytes[offset] << 8 | bytes[offset + 1])
		   : (uint16_t)(bytes[offset] | bytes[offset + 1] << 8);
}

struct hawk_error *hawk_core_identify(const uint8_t *bytes, size_t size,
				      const struct hawk_arch **ret)
{
	const struct hawk_arch *arch;
	struct hawk_error *error;
	uint16_t type, machine;
	bool big;

	if (size < SELFMAG || memcmp(bytes, ELFMAG, SELFMAG)) {
		error = refuse_foreign_format(bytes, size);
		if (error)
			return error;
		return hawk_error_create(HAWK_ERROR_FORMAT, "is %s, not an ELF core file",
					 looks_like_text(bytes, size) ? "a text file"
								      : "a file of unknown format");
	}
	if (size < sizeof(Elf64_Ehdr))
		return hawk_error_create(HAWK_ERROR_FORMAT,
					 "is cut off inside the ELF header (%zu bytes)", size);
	big = bytes[EI_DATA] == ELFDATA2MSB;
	type = half_at(bytes, offsetof(Elf64_Ehdr, e_type), big);
	machine = half_at(bytes, offsetof(Elf64_Ehdr, e_machine), big);
	if (type != ET_CORE)
		return refuse_type(type);
	arch = bytes[EI_CLASS] == ELFCLASS64 && !big ? hawk_arch_of(machine) : NULL;
	if (arch) {
		*ret = arch;
		return NULL;
	}
	return hawk_error_create(
		HAWK_ERROR_UNSUPPORTED,
		"is a %s-bit %s-endian core of %s (ELF machine %u); only 64-bit x86_64 "
		"and aarch64 are supported",
		bytes[EI_CLASS] == ELFCLASS64 ? "64" : "32", big ? "big" : "little",
		machine_name(machine), machine);
}
