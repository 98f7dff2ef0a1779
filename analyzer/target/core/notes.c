/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Notes of a core: threads, process, signal, auxiliary vector, mapped files. They come in any order
 * and number; unknown ones are skipped.
 *
 * A kernel core records the fatal signal. A gdb core (gcore) is of a merely stopped process, unless
 * gdb caught it at a fatal signal.
 */
#include "parse.h"

#include <elf.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "hawk/base/cursor.h"
#include "hawk/target/redacted_note.h"

enum {
	NT_GDB_TDESC_NOTE = 0xff000000,
	MEMORY_TAGGING = 3 << 1, /* PR_MTE_TCF_MASK: tags are compared */
	VECTORS_BYTES_MAX = 64 << 10,

	/* struct elf_prpsinfo of 64-bit machines */
	PRPSINFO_PID = 24,
	PRPSINFO_NAME = 40,
	PRPSINFO_NAME_BYTES = 16,
	PRPSINFO_ARGUMENTS_BYTES = 80,

	/* siginfo_t of 64-bit machines */
	SIGINFO_CODE = 8,
	SIGINFO_FIELDS = 16,
	SIGINFO_BYTES_MIN = 24,
};

struct note {
	const char *owner; /* NUL-terminated, or "" */
	uint32_t type;
	const void *bytes;
	size_t size; /* bytes present */
	bool cut;    /* the rest is missing */
};

struct reader {
	struct hawk_target *target;
	struct hawk_core_files *files;
	struct hawk_findings *findings;
	bool has_psinfo;
	bool by_gdb;
	bool is_tagged;
	size_t float_notes; /* NT_FPREGSET: each thread has one */
};

static void report_short_note(struct reader *reader, const struct note *note, const char *name)
{
	hawk_findings_add(reader->findings, note->cut ? HAWK_FINDING_MISSING : HAWK_FINDING_DAMAGE,
			  true, "note-short", "a note %s of %zu bytes is too short", name,
			  note->size);
}

static struct hawk_error *read_thread(struct reader *reader, const struct note *note)
{
	const struct hawk_arch *arch = reader->target->arch;
	struct hawk_cursor cursor = hawk_cursor_over(note->bytes, note->size);
	struct hawk_thread *thread;
	size_t bytes = arch->status_count * sizeof(*thread->registers);

	if (note->size < arch->status_registers + bytes) {
		report_short_note(reader, note, "NT_PRSTATUS");
		reader->target->incomplete = true;
		return NULL;
	}
	thread = hawk_target_add_thread(reader->target);
	if (!thread)
		return &hawk_enomem;
	hawk_cursor_seek(&cursor, arch->status_signal);
	thread->signal = hawk_cursor_u16(&cursor);
	hawk_cursor_seek(&cursor, arch->status_tid);
	thread->tid = hawk_cursor_u32(&cursor);
	hawk_cursor_seek(&cursor, arch->status_registers);
	hawk_cursor_copy(&cursor, thread->registers, bytes);
	hawk_target_name_registers(reader->target, thread);
	return NULL;
}

/* Reads a note about the thread whose status came last that has its own kind of register. */
static void read_own_note(struct reader *reader, const struct note *note)
{
	struct hawk_target *target = reader->target;
	const struct hawk_arch *arch = target->arch;
	struct hawk_cursor cursor = hawk_cursor_over(note->bytes, note->size);
	uint64_t first = hawk_cursor_u64(&cursor);

	if (cursor.failed || !target->thread_count)
		return;
	if (note->type == arch->thread_pointer_note) {
		struct hawk_thread *thread = &target->threads[target->thread_count - 1];

		thread->registers[arch->thread_pointer] = first;
		hawk_target_name_registers(target, thread);
	} else if (note->type == arch->code_mask_note) {
		uint64_t mask = hawk_cursor_u64(&cursor);

		if (!cursor.failed)
			target->code_mask = mask;
	} else if (note->type == NT_ARM_TAGGED_ADDR_CTRL && first & MEMORY_TAGGING &&
		   !reader->is_tagged) {
		reader->is_tagged = true;
		target->incomplete = true;
		hawk_findings_add(reader->findings, HAWK_FINDING_MISSING, true, "pointers-tagged",
				  "the process tagged memory (MTE): pointers with a tag in their "
				  "top byte are not followed");
	}
}

/* Reads vector registers of the thread whose status came last; the longer of two notes is complete.
 */
static void read_vectors(struct reader *reader, const struct note *note)
{
	struct hawk_target *target = reader->target;
	struct hawk_thread *thread;

	if (!target->thread_count || note->size > VECTORS_BYTES_MAX)
		return;
	thread = &target->threads[target->thread_count - 1];
	if (note->size <= thread->vectors_bytes)
		return;
	thread->vectors = note->bytes;
	thread->vectors_bytes = (uint32_t)note->size;
}

/** Copies up to `size` bytes, ended by the first NUL, without trailing blanks. */
static void copy_text(char *to, const char *from, size_t size)
{
	size_t length = strnlen(from, size);

	while (length && from[length - 1] == ' ')
		length--;
	memcpy(to, from, length);
	to[length] = 0;
}

static void read_process(struct reader *reader, const struct note *note)
{
	struct hawk_process *process = &reader->target->process;
	struct hawk_cursor cursor = hawk_cursor_over(note->bytes, note->size);
	const char *name, *arguments;

	if (!reader->target->thread_count)
		reader->by_gdb = true;
	if (reader->has_psinfo)
		return;
	hawk_cursor_seek(&cursor, PRPSINFO_PID);
	process->pid = hawk_cursor_u32(&cursor);
	hawk_cursor_seek(&cursor, PRPSINFO_NAME);
	name = hawk_cursor_bytes(&cursor, PRPSINFO_NAME_BYTES);
	arguments = hawk_cursor_bytes(&cursor, PRPSINFO_ARGUMENTS_BYTES);
	if (cursor.failed) {
		report_short_note(reader, note, "NT_PRPSINFO");
		return;
	}
	reader->has_psinfo = true;
	copy_text(process->name, name, PRPSINFO_NAME_BYTES);
	copy_text(process->arguments, arguments, PRPSINFO_ARGUMENTS_BYTES);
}

/** Returns true if the CPU reported an address: not for kill(), nor for a general protection fault,
 * which has none. */
static bool has_fault_address(int signal, int code)
{
	if (code <= 0 || code == SI_KERNEL)
		return false;
	return signal == SIGSEGV || signal == SIGBUS || signal == SIGILL || signal == SIGFPE ||
	       signal == SIGTRAP;
}

static void read_siginfo(struct reader *reader, const struct note *note)
{
	struct hawk_process *process = &reader->target->process;
	struct hawk_cursor cursor = hawk_cursor_over(note->bytes, note->size);

	if (process->has_siginfo) /* gdb writes one per thread: the first counts */
		return;
	if (note->size < SIGINFO_BYTES_MIN) {
		report_short_note(reader, note, "NT_SIGINFO");
		return;
	}
	process->has_siginfo = true;
	process->signal = (int)hawk_cursor_u32(&cursor);
	hawk_cursor_seek(&cursor, SIGINFO_CODE);
	process->signal_code = (int)hawk_cursor_u32(&cursor);
	hawk_cursor_seek(&cursor, SIGINFO_FIELDS);
	if (has_fault_address(process->signal, process->signal_code)) {
		process->has_fault_address = true;
		process->fault_address = hawk_cursor_u64(&cursor);
	} else if (process->signal_code == SI_USER || process->signal_code == SI_QUEUE ||
		   process->signal_code == SI_TKILL) {
		process->sender_pid = hawk_cursor_u32(&cursor);
	}
}

enum { ENTRY_BYTES = 24 };

static int compare_start(const void *left, const void *right)
{
	const struct hawk_core_named_range *a = left, *b = right;

	return a->start < b->start ? -1 : a->start > b->start;
}

/** Sorts, and drops ranges that overlap an earlier one. */
static void sort_ranges(struct hawk_core_files *files, struct hawk_findings *findings)
{
	uint64_t end = 0;
	size_t kept = 0;

	if (files->count)
		qsort(files->items, files->count, sizeof(*files->items), compare_start);
	for (size_t i = 0; i < files->count; i++) {
		struct hawk_core_named_range range = files->items[i];

		if (range.start < end) {
			hawk_findings_add(findings, HAWK_FINDING_DAMAGE, false, "file-overlap",
					  "the mapped file \"%.200s\" at 0x%" PRIx64
					  " overlaps another and is left out",
					  range.path, range.start);
			continue;
		}
		end = range.end;
		files->items[kept++] = range;
	}
	files->count = kept;
}

/**
 * Parses the descriptor of an NT_FILE, the list of mapped files: count, unit, count times (start,
 * end, offset in units), then count NUL-terminated names. The kernel's unit is the page, gdb's is
 * 1. `cut` means that the core lacks its end.
 */
static struct hawk_error *parse_file_note(const void *bytes, size_t size, bool cut,
					  struct hawk_core_files *ret,
					  struct hawk_findings *findings)
{
	struct hawk_cursor entries = hawk_cursor_over(bytes, size);
	struct hawk_cursor names = entries;
	uint64_t count = hawk_cursor_u64(&entries);
	uint64_t unit = hawk_cursor_u64(&entries);
	uint64_t held = hawk_cursor_left(&entries) / ENTRY_BYTES;
	bool short_note = cut || count > held;

	if (count > held)
		count = held;
	ret->known = true;
	ret->items = calloc(count + 1, sizeof(*ret->items));
	if (!ret->items)
		return &hawk_enomem;
	hawk_cursor_seek(&names, 16 + count * ENTRY_BYTES);
	for (uint64_t i = 0; i < count; i++) {
		struct hawk_core_named_range *range = &ret->items[ret->count];
		uint64_t offset;

		range->start = hawk_cursor_u64(&entries);
		range->end = hawk_cursor_u64(&entries);
		offset = hawk_cursor_u64(&entries);
		range->path = hawk_cursor_string(&names);
		if (!range->path)
			break;
		if (range->start < range->end && range->path[0] &&
		    !__builtin_mul_overflow(offset, unit, &range->offset))
			ret->count++;
	}
	if (names.failed || short_note)
		hawk_findings_add(findings, HAWK_FINDING_MISSING, true, "file-note-truncated",
				  "the list of mapped files is cut off after %zu entries",
				  ret->count);
	sort_ranges(ret, findings);
	return NULL;
}

static struct hawk_error *read_files(struct reader *reader, const struct note *note)
{
	if (reader->files->known) {
		hawk_findings_add(reader->findings, HAWK_FINDING_DAMAGE, false, "file-note-twice",
				  "there is more than one list of mapped files; the first is used");
		return NULL;
	}
	return parse_file_note(note->bytes, note->size, note->cut, reader->files, reader->findings);
}

/** Reads the times of the process's end, taken from the original file and its name. */
static void read_redacted(struct reader *reader, const struct note *note)
{
	struct hawk_process *process = &reader->target->process;
	struct hawk_redacted_note redacted;

	if (note->size < sizeof(redacted)) {
		report_short_note(reader, note, HAWK_REDACTED_OWNER);
		return;
	}
	memcpy(&redacted, note->bytes, sizeof(redacted));
	process->redacted = true;
	process->end.attribute_ns = redacted.attribute_ns;
	memcpy(process->end.name_ns, redacted.name_ns, sizeof(process->end.name_ns));
	process->end.file_ns = redacted.file_ns;
}

static struct hawk_error *read_note(struct reader *reader, const struct note *note)
{
	if (!strcmp(note->owner, HAWK_REDACTED_OWNER) && note->type == HAWK_REDACTED_TYPE)
		read_redacted(reader, note);
	if (!strcmp(note->owner, "GDB") && note->type == (uint32_t)NT_GDB_TDESC_NOTE)
		reader->by_gdb = true;
	if (!strcmp(note->owner, "LINUX") && note->type == reader->target->arch->vectors_note)
		read_vectors(reader, note);
	else if (!strcmp(note->owner, "LINUX"))
		read_own_note(reader, note);
	if (strcmp(note->owner, "CORE"))
		return NULL;
	switch (note->type) {
	case NT_PRSTATUS:
		return read_thread(reader, note);
	case NT_FPREGSET:
		reader->float_notes++;
		read_vectors(reader, note);
		return NULL;
	case NT_PRPSINFO:
		read_process(reader, note);
		return NULL;
	case NT_SIGINFO:
		read_siginfo(reader, note);
		return NULL;
	case NT_AUXV:
		hawk_auxv_parse(&reader->target->auxv, note->bytes, note->size);
		return NULL;
	case NT_FILE:
		return read_files(reader, note);
	default:
		return NULL;
	}
}

/** Reads the next note, or the rest of a cut one. Returns false behind the last. */
static bool next_note(struct hawk_cursor *cursor, size_t alignment, struct note *note)
{
	uint32_t owner_bytes, bytes;
	size_t left = hawk_cursor_left(cursor);

	if (left < sizeof(Elf64_Nhdr))
		return false;
	owner_bytes = hawk_cursor_u32(cursor);
	bytes = hawk_cursor_u32(cursor);
	note->type = hawk_cursor_u32(cursor);
	note->owner = hawk_cursor_bytes(cursor, owner_bytes);
	if (!note->owner || !owner_bytes || note->owner[owner_bytes - 1])
		note->owner = "";
	hawk_cursor_align(cursor, alignment);
	if (cursor->failed)
		return false;
	left = hawk_cursor_left(cursor);
	note->cut = bytes > left;
	note->size = note->cut ? left : bytes;
	note->bytes = hawk_cursor_bytes(cursor, note->size);
	if (hawk_cursor_left(cursor) >= alignment)
		hawk_cursor_align(cursor, alignment);
	return true;
}

static struct hawk_error *read_range(struct reader *reader, const uint8_t *bytes,
				     const struct hawk_core_note_range *range)
{
	struct hawk_cursor cursor = hawk_cursor_over(bytes + range->offset, (size_t)range->bytes);
	struct note note = {0};

	while (next_note(&cursor, (size_t)range->alignment, &note)) {
		struct hawk_error *error = read_note(reader, &note);

		if (error)
			return error;
		if (note.cut)
			break;
	}
	reader->target->incomplete |= range->cut || note.cut || cursor.failed;
	if (range->cut)
		hawk_findings_add(reader->findings, HAWK_FINDING_MISSING, true, "notes-truncated",
				  "the core is cut off inside its notes: threads or mapped files "
				  "may be missing");
	else if (note.cut || cursor.failed)
		hawk_findings_add(reader->findings, HAWK_FINDING_DAMAGE, true, "notes-damaged",
				  "a note goes beyond the end of the notes at offset %" PRIu64,
				  range->offset);
	return NULL;
}

static bool is_fatal(int signal)
{
	return signal == SIGSEGV || signal == SIGBUS || signal == SIGILL || signal == SIGFPE ||
	       signal == SIGABRT || signal == SIGSYS;
}

/** Finds the fatal signal and its thread. The kernel writes the same signal into every thread; only
 * the first one died of it. */
static void settle_signal(struct reader *reader)
{
	struct hawk_process *process = &reader->target->process;
	struct hawk_thread *threads = reader->target->threads;
	size_t count = reader->target->thread_count;

	if (count && !process->has_siginfo)
		process->signal = threads[0].signal;
	if (reader->by_gdb && !is_fatal(process->signal)) {
		process->signal = 0;
		process->has_siginfo = false;
		process->has_fault_address = false;
		process->signal_code = 0;
		process->sender_pid = 0;
	}
	for (size_t i = 0; i < count; i++) {
		threads[i].crashed = i == 0 && process->signal;
		threads[i].signal = threads[i].crashed ? process->signal : 0;
	}
	if (!reader->has_psinfo && count)
		process->pid = threads[0].tid;
}

static void report_threads(const struct reader *reader)
{
	size_t count = reader->target->thread_count;

	if (!count) {
		hawk_findings_add(reader->findings, HAWK_FINDING_MISSING, true, "threads-missing",
				  "the core holds no thread: no registers, no stacks");
	} else if (reader->float_notes > count) {
		reader->target->incomplete = true;
		hawk_findings_add(reader->findings, HAWK_FINDING_DAMAGE, true, "threads-unread",
				  "the core holds floating-point registers of %zu threads, but "
				  "other registers of %zu",
				  reader->float_notes, count);
	}
}

struct hawk_error *hawk_core_read_notes(const uint8_t *bytes, size_t size,
					const struct hawk_core_segments *segments,
					struct hawk_target *target, struct hawk_core_files *files,
					struct hawk_findings *findings)
{
	struct reader reader = {.target = target, .files = files, .findings = findings};

	(void)size; /* the ranges were clamped to it */
	for (size_t i = 0; i < segments->note_count; i++) {
		struct hawk_error *error = read_range(&reader, bytes, &segments->notes[i]);

		if (error)
			return error;
	}
	settle_signal(&reader);
	report_threads(&reader);
	if (!files->known)
		hawk_findings_add(findings, HAWK_FINDING_MISSING, false, "file-note-missing",
				  "the core does not say which files were mapped; modules are "
				  "searched for in its memory");
	return NULL;
}

void hawk_core_files_deinit(struct hawk_core_files *files)
{
	free(files->items);
	*files = (struct hawk_core_files){0};
}
