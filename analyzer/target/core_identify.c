/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Says what a file is that is no x86_64 core, so that the user need not guess.
 */
#include "core_file.h"

#include <ctype.h>
#include <elf.h>
#include <string.h>

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
	{"ProblemType:", 12, "an Apport report (unpack it with apport-unpack)", NULL},
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

struct hawk_error *hawk_core_identify(const uint8_t *bytes, size_t size)
{
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
	if (bytes[EI_CLASS] == ELFCLASS64 && !big && machine == EM_X86_64)
		return NULL;
	return hawk_error_create(
		HAWK_ERROR_UNSUPPORTED,
		"is a %s-bit %s-endian core of %s (ELF machine %u); only 64-bit x86_64 is "
		"supported",
		bytes[EI_CLASS] == ELFCLASS64 ? "64" : "32", big ? "big" : "little",
		machine_name(machine), machine);
}
