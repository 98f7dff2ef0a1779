/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Notes of a core, in the kernel's order: status, process, signal, auxiliary vector, mapped files
 * and vector registers with the first thread; status and vector registers of every other one.
 *
 * The process did not die, so its signal is 0.
 */
#include "dump.h"

#include <elf.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/procfs.h>

#include "hawk/base/cleanup.h"
#include "hawk/base/numbers.h"
#include "process.h"
#include "target_state.h"

/** Relatives of the process, by their ids. */
struct family {
	char state;
	int parent, group, session;
};

/** Appends `size` bytes, and zeros up to a multiple of four. */
static void append_padded(struct hawk_text *notes, const void *bytes, size_t size)
{
	static const char zeros[4];

	hawk_text_append(notes, bytes, size);
	hawk_text_append(notes, zeros, -size % sizeof(zeros));
}

static void add_note(struct hawk_text *notes, const char *owner, uint32_t type, const void *bytes,
		     size_t size)
{
	Elf64_Nhdr header = {
		.n_namesz = (Elf64_Word)strlen(owner) + 1,
		.n_descsz = (Elf64_Word)size,
		.n_type = type,
	};

	hawk_text_append(notes, &header, sizeof(header));
	append_padded(notes, owner, header.n_namesz);
	append_padded(notes, bytes, size);
}

static struct family read_family(const struct hawk_target *target)
{
	CLEANUP(text) struct hawk_text text;
	struct family family = {0};

	hawk_text_init(&text);

	CLEANUP(error) struct hawk_error *err = hawk_live_read_file(target->live, "stat", &text);
	const char *fields = err ? NULL : strrchr(text.bytes, ')');

	if (fields)
		sscanf(fields + 1, " %c %d %d %d", &family.state, &family.parent, &family.group,
		       &family.session);
	return family;
}

static void add_status(const struct hawk_target *target, const struct hawk_thread *thread,
		       const struct family *family, struct hawk_text *notes)
{
	struct elf_prstatus status = {
		.pr_pid = (int)thread->tid,
		.pr_ppid = family->parent,
		.pr_pgrp = family->group,
		.pr_sid = family->session,
		.pr_fpvalid = thread->vectors_bytes > 0,
	};

	memcpy(&status.pr_reg, thread->registers,
	       hawk_least(sizeof(status.pr_reg),
			  target->arch->status_count * sizeof(*thread->registers)));
	add_note(notes, "CORE", NT_PRSTATUS, &status, sizeof(status));
}

/** Both the old note of floating-point registers and that of all vector registers begin alike. */
static void add_vectors(const struct hawk_target *target, const struct hawk_thread *thread,
			struct hawk_text *notes)
{
	if (thread->vectors_bytes < sizeof(elf_fpregset_t))
		return;
	add_note(notes, "CORE", NT_PRFPREG, thread->vectors, sizeof(elf_fpregset_t));
	if (target->arch->vectors_note != NT_PRFPREG)
		add_note(notes, "LINUX", target->arch->vectors_note, thread->vectors,
			 thread->vectors_bytes);
}

static void add_process(const struct hawk_target *target, const struct family *family,
			struct hawk_text *notes)
{
	const struct hawk_process *process = &target->process;
	struct elf_prpsinfo info = {
		.pr_sname = family->state,
		.pr_uid = (unsigned)hawk_live_status_number(target->live, "Uid"),
		.pr_gid = (unsigned)hawk_live_status_number(target->live, "Gid"),
		.pr_pid = (int)process->pid,
		.pr_ppid = family->parent,
		.pr_pgrp = family->group,
		.pr_sid = family->session,
	};

	memcpy(info.pr_fname, process->name, sizeof(info.pr_fname));
	memcpy(info.pr_psargs, process->arguments, sizeof(info.pr_psargs));
	add_note(notes, "CORE", NT_PRPSINFO, &info, sizeof(info));
}

/** Adds count, unit, {start, end, offset in units} ..., names. */
static void add_files(const struct hawk_target *target, struct hawk_text *notes)
{
	CLEANUP(text) struct hawk_text list, names;
	const uint64_t unit = target->process.page_bytes;
	uint64_t count = 0;

	hawk_text_init(&list);
	hawk_text_init(&names);
	for (size_t i = 0; i < target->mapping_count; i++)
		count += target->mappings[i].path != NULL;
	hawk_text_append(&list, &count, sizeof(count));
	hawk_text_append(&list, &unit, sizeof(unit));
	for (size_t i = 0; i < target->mapping_count; i++) {
		const struct hawk_mapping *mapping = &target->mappings[i];
		uint64_t entry[] = {mapping->start, mapping->end, mapping->file_offset / unit};

		if (!mapping->path)
			continue;
		hawk_text_append(&list, entry, sizeof(entry));
		hawk_text_append(&names, mapping->path, strlen(mapping->path) + 1);
	}
	hawk_text_append(&list, hawk_text_string(&names), names.size);
	notes->failed |= list.failed || names.failed;
	add_note(notes, "CORE", NT_FILE, hawk_text_string(&list), list.size);
}

static struct hawk_error *add_common(const struct hawk_target *target, const struct family *family,
				     struct hawk_text *notes)
{
	CLEANUP(text) struct hawk_text auxv;
	siginfo_t signal = {0};
	struct hawk_error *err;

	hawk_text_init(&auxv);
	err = hawk_live_read_file(target->live, "auxv", &auxv);
	if (err)
		return err;
	add_process(target, family, notes);
	add_note(notes, "CORE", NT_SIGINFO, &signal, sizeof(signal));
	add_note(notes, "CORE", NT_AUXV, auxv.bytes, auxv.size);
	add_files(target, notes);
	return NULL;
}

struct hawk_error *hawk_dump_notes(const struct hawk_target *target, struct hawk_text *notes)
{
	struct family family = read_family(target);
	struct hawk_error *err = NULL;

	for (size_t i = 0; i < target->thread_count && !err; i++) {
		add_status(target, &target->threads[i], &family, notes);
		if (i == 0)
			err = add_common(target, &family, notes);
		add_vectors(target, &target->threads[i], notes);
	}
	return err || !notes->failed ? err : &hawk_enomem;
}
