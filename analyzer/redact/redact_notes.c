/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Redacts notes by type. Keeps their sizes, so that nothing behind them moves.
 */
#include "redact_notes.h"

#include <elf.h>
#include <string.h>

#include "hawk/base/cursor.h"

enum {
	NT_GDB_TDESC_NOTE = 0xff000000,
	WORD = 8,
	CALLS_MAX = 1024,

	/* struct elf_prpsinfo of 64-bit machines */
	PRPSINFO_ARGUMENTS = 56,

	/* siginfo_t of 64-bit machines: signal, error, code, and an address or who sent it */
	SIGINFO_KEPT = 24,
};

static void copy(uint8_t *to, const uint8_t *from, size_t start, size_t end, size_t size)
{
	if (end > size)
		end = size;
	if (start < end)
		memcpy(to + start, from + start, end - start);
}

/* Returns true for a register that locates the thread or holds no data. That of system calls holds
 * data outside of calls; numbers of calls are small. */
static bool is_kept_register(const struct hawk_arch *arch, unsigned number, uint64_t value)
{
	return arch->registers[number].use != HAWK_REGISTER_DATA ||
	       (number == arch->call && value < CALLS_MAX);
}

/* Copies the words of [start, end) that are addresses. */
static void copy_pointers(struct hawk_redactor *redactor, uint8_t *to, const uint8_t *from,
			  size_t start, size_t end)
{
	uint64_t word;

	for (; start + sizeof(word) <= end; start += sizeof(word)) {
		memcpy(&word, from + start, sizeof(word));
		if (hawk_redactor_is_pointer(redactor, word))
			memcpy(to + start, &word, sizeof(word));
	}
}

static void copy_status(struct hawk_redactor *redactor, uint8_t *to, const uint8_t *from,
			size_t size)
{
	const struct hawk_arch *arch = hawk_target_arch(redactor->target);
	size_t start = arch->status_registers, end = start + WORD * arch->status_count;

	copy(to, from, 0, arch->status_times, size);
	copy_pointers(redactor, to, from, start, size < end ? size : end);
	for (unsigned i = 0; i < arch->status_count && start + WORD * i + WORD <= size; i++) {
		size_t at = start + WORD * i;
		uint64_t value;

		memcpy(&value, from + at, sizeof(value));
		if (is_kept_register(arch, i, value))
			copy(to, from, at, at + WORD, size);
	}
	copy(to, from, end, size, size);
}

static void copy_vectors(struct hawk_redactor *redactor, uint8_t *to, const uint8_t *from,
			 size_t size)
{
	const struct hawk_arch *arch = hawk_target_arch(redactor->target);

	copy_pointers(redactor, to, from, 0, size);
	for (size_t i = 0; i < HAWK_ARCH_VECTORS_KEPT; i++)
		copy(to, from, arch->vectors_kept[i].start, arch->vectors_kept[i].end, size);
}

/** The note whose descriptor is redacted. */
struct note {
	const char *owner;
	uint32_t type;
	size_t size;
};

static void copy_core_note(struct hawk_redactor *redactor, const struct note *note, uint8_t *to,
			   const uint8_t *from)
{
	switch (note->type) {
	case NT_PRSTATUS:
		copy_status(redactor, to, from, note->size);
		break;
	case NT_PRPSINFO:
		copy(to, from, 0, PRPSINFO_ARGUMENTS, note->size);
		break;
	case NT_SIGINFO:
		copy(to, from, 0, SIGINFO_KEPT, note->size);
		break;
	case NT_FPREGSET:
		copy_vectors(redactor, to, from, note->size);
		break;
	case NT_AUXV:
	case NT_FILE:
		copy(to, from, 0, note->size, note->size);
		break;
	default:
		break;
	}
}

/* Returns true for notes that hold no data. */
static bool is_kept_whole(const struct hawk_arch *arch, const struct note *note)
{
	if (!strcmp(note->owner, "GDB"))
		return note->type == (uint32_t)NT_GDB_TDESC_NOTE;
	return !strcmp(note->owner, "LINUX") && note->type &&
	       (note->type == arch->vectors_layout_note ||
		note->type == arch->thread_pointer_note || note->type == arch->code_mask_note);
}

static void copy_note(struct hawk_redactor *redactor, const struct note *note, uint8_t *to,
		      const uint8_t *from)
{
	const struct hawk_arch *arch = hawk_target_arch(redactor->target);

	if (!strcmp(note->owner, "CORE"))
		copy_core_note(redactor, note, to, from);
	else if (!strcmp(note->owner, "LINUX") && note->type == arch->vectors_note)
		copy_vectors(redactor, to, from, note->size);
	else if (is_kept_whole(arch, note))
		copy(to, from, 0, note->size, note->size);
}

void hawk_redact_notes(struct hawk_redactor *redactor, const uint8_t *from, size_t size,
		       size_t alignment, uint8_t *to)
{
	struct hawk_cursor cursor = hawk_cursor_over(from, size);

	memset(to, 0, size);
	while (hawk_cursor_left(&cursor) >= sizeof(Elf64_Nhdr)) {
		size_t start = cursor.at;
		uint32_t owner_bytes = hawk_cursor_u32(&cursor);
		uint32_t bytes = hawk_cursor_u32(&cursor);
		struct note note = {.type = hawk_cursor_u32(&cursor)};

		note.owner = hawk_cursor_bytes(&cursor, owner_bytes);
		hawk_cursor_align(&cursor, alignment);
		if (cursor.failed) {
			/* Zeros would be read as notes, and lead on to the bytes behind them. */
			memset(to + start, 0xff, sizeof(Elf64_Nhdr));
			return;
		}
		if (!note.owner || !owner_bytes || note.owner[owner_bytes - 1])
			note.owner = "";
		memcpy(to + start, from + start, cursor.at - start);
		note.size = bytes < hawk_cursor_left(&cursor) ? bytes : hawk_cursor_left(&cursor);
		copy_note(redactor, &note, to + cursor.at, from + cursor.at);
		hawk_cursor_skip(&cursor, note.size);
		if (hawk_cursor_left(&cursor) >= alignment)
			hawk_cursor_align(&cursor, alignment);
	}
}
