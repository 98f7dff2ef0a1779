/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Writes and reads the record of a target in a snapshot: process, threads, mappings, modules,
 * findings. It omits arguments and keeps only the registers that answers show: program counter,
 * stack pointer and thread pointer.
 */
#include "snapshot_file.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/file.h"
#include "hawk/base/cleanup.h"
#include "hawk/snapshot/writer.h"

enum { THREAD_CRASHED = 1, MACHINE_SHIFT = 1 };

enum mapping_bits {
	MAPPING_DATA_SHIFT = 4,
	MAPPING_HAS_PATH_SHIFT = 5,
	MAPPING_BITS_MAX = 63,
};

enum module_bit {
	MODULE_HAS_BIAS = 1u << 0,
	MODULE_MAIN = 1u << 1,
	MODULE_VDSO = 1u << 2,
	MODULE_DELETED = 1u << 3,
	MODULE_ORIGIN_SHIFT = 4,
	MODULE_BITS_MAX = 63,
};

/** One number of a process: its offset and its size. */
struct number {
	size_t offset;
	size_t bytes;
};

#define NUMBER(member)                                                                             \
	{                                                                                          \
		offsetof(struct hawk_process, member), sizeof(((struct hawk_process *)0)->member)  \
	}

/* The numbers in file order. */
static const struct number process_numbers[] = {
	NUMBER(pid),
	NUMBER(live),
	NUMBER(table_file),
	NUMBER(signal),
	NUMBER(signal_code),
	NUMBER(has_siginfo),
	NUMBER(has_fault_address),
	NUMBER(fault_address),
	NUMBER(sender_pid),
	NUMBER(page_bytes),
	NUMBER(resident_bytes),
	NUMBER(peak_resident_bytes),
	NUMBER(swapped_bytes),
	NUMBER(end.monotonic_ns),
	NUMBER(end.realtime_ns),
	NUMBER(end.attribute_ns),
	NUMBER(end.name_ns[0]),
	NUMBER(end.name_ns[1]),
	NUMBER(end.name_ns[2]),
	NUMBER(end.name_ns[3]),
	NUMBER(end.file_ns),
	NUMBER(end.present_ns),
};

enum { PROCESS_NUMBERS = sizeof(process_numbers) / sizeof(process_numbers[0]) };

static void save_process(const struct hawk_snapshot_writer *writer,
			 const struct hawk_process *process, struct hawk_column *to)
{
	hawk_column_put_string(to, hawk_snapshot_path(writer, process->program));
	hawk_column_put_string(to, process->name);
	for (size_t i = 0; i < PROCESS_NUMBERS; i++) {
		uint64_t value = 0;

		memcpy(&value, (const char *)process + process_numbers[i].offset,
		       process_numbers[i].bytes);
		hawk_column_put(to, value);
	}
}

static void save_findings(const struct hawk_snapshot_writer *writer,
			  const struct hawk_findings *findings, size_t count,
			  struct hawk_column *to)
{
	hawk_column_put(to, count);
	for (size_t i = 0; i < count; i++) {
		const struct hawk_finding *finding = &findings->items[i];

		hawk_column_put(to, finding->sort);
		hawk_column_put(to, finding->partial);
		hawk_column_put(to, finding->count);
		hawk_column_put_string(to, finding->key);
		hawk_snapshot_put_text(writer, to, finding->text);
	}
}

static void save_threads(const struct hawk_target *target, struct hawk_column *to)
{
	hawk_column_put(to, target->thread_count);
	for (size_t i = 0; i < target->thread_count; i++) {
		const struct hawk_thread *thread = &target->threads[i];

		hawk_column_put(to, thread->tid);
		hawk_column_put(to, (uint32_t)thread->signal);
		hawk_column_put(to, thread->crashed ? THREAD_CRASHED : 0);
		hawk_column_put_string(to, thread->name);
		hawk_column_put(to, thread->pc);
		hawk_column_put(to, thread->sp);
		hawk_column_put(to, thread->thread_pointer);
	}
}

static void save_mappings(const struct hawk_target *target,
			  const struct hawk_snapshot_writer *writer, struct hawk_column *to)
{
	uint64_t end = 0;

	hawk_column_put(to, target->mapping_count);
	for (size_t i = 0; i < target->mapping_count; i++) {
		const struct hawk_mapping *mapping = &target->mappings[i];

		hawk_column_put(to, mapping->start - end);
		hawk_column_put(to, mapping->end - mapping->start);
		hawk_column_put(to, mapping->flags | (uint32_t)mapping->data << MAPPING_DATA_SHIFT |
					    (uint32_t) !!mapping->path << MAPPING_HAS_PATH_SHIFT);
		hawk_column_put(to, mapping->present_bytes);
		hawk_column_put(to, mapping->dumped_bytes);
		hawk_column_put(to, mapping->core_offset);
		hawk_column_put(to, mapping->file_offset);
		if (mapping->path)
			hawk_column_put_string(to, hawk_snapshot_path(writer, mapping->path));
		end = mapping->end;
	}
}

static void save_modules(const struct hawk_target *target,
			 const struct hawk_snapshot_writer *writer, struct hawk_column *to)
{
	hawk_column_put(to, target->module_count);
	for (size_t i = 0; i < target->module_count; i++) {
		const struct hawk_module *module = &target->modules[i];

		hawk_column_put_string(to, hawk_snapshot_path(writer, module->path));
		hawk_column_put(to, module->start);
		hawk_column_put(to, module->end);
		hawk_column_put(to, module->bias);
		hawk_column_put(to,
				(module->has_bias ? MODULE_HAS_BIAS : 0) |
					(module->main ? MODULE_MAIN : 0) |
					(module->vdso ? MODULE_VDSO : 0) |
					(module->deleted ? MODULE_DELETED : 0) |
					(module->vdso ? 0 : module->origin << MODULE_ORIGIN_SHIFT));
		hawk_column_put(to, module->build_id_bytes);
		hawk_column_put_bytes(to, module->build_id, module->build_id_bytes);
	}
}

static void save_target(const struct hawk_target *target, const struct hawk_snapshot_writer *writer,
			struct hawk_column *to)
{
	uint64_t machine = target->arch->machine == EM_X86_64 ? 0 : target->arch->machine;

	save_process(writer, &target->process, to);
	hawk_column_put(to, target->incomplete | machine << MACHINE_SHIFT);
	hawk_column_put(to, target->auxv.program_name);
	save_threads(target, to);
	save_mappings(target, writer, to);
	save_modules(target, writer, to);
	hawk_column_put(to, target->table != NULL);
	if (target->table)
		save_target(target->table, writer, to);
}

struct hawk_error *hawk_target_save(const struct hawk_target *target,
				    const struct hawk_findings *findings, size_t opened,
				    struct hawk_snapshot_writer *writer)
{
	struct hawk_snapshot_piece piece = {.items = 1};
	struct hawk_error *err;

	save_findings(writer, findings, opened, &piece.column);
	save_target(target, writer, &piece.column);
	err = hawk_snapshot_put(writer, HAWK_SNAPSHOT_TARGET, &piece);
	hawk_column_deinit(&piece.column);
	return err;
}

/** The state of reading a record. */
struct reader {
	struct hawk_cursor *cursor;
	struct hawk_target *target;
};

/* Reads a string; NULL = none, or out of memory. */
static const char *read_string(struct reader *reader)
{
	size_t length;
	const char *bytes = hawk_column_get_string(reader->cursor, &length);

	return bytes ? hawk_target_string(reader->target, bytes, length) : NULL;
}

static void read_text(struct reader *reader, char *to, size_t size)
{
	size_t length;
	const char *bytes = hawk_column_get_string(reader->cursor, &length);

	if (length >= size)
		reader->cursor->failed = true;
	else if (bytes)
		snprintf(to, size, "%.*s", (int)length, bytes);
}

static void read_process(struct reader *reader, struct hawk_process *process)
{
	read_text(reader, process->program, sizeof(process->program));
	read_text(reader, process->name, sizeof(process->name));
	for (size_t i = 0; i < PROCESS_NUMBERS; i++) {
		const struct number *number = &process_numbers[i];
		uint64_t max = number->bytes == sizeof(bool)  ? 1
			       : number->bytes == sizeof(int) ? UINT32_MAX
							      : UINT64_MAX;
		uint64_t value = hawk_column_get_below(reader->cursor, max);

		memcpy((char *)process + number->offset, &value, number->bytes);
	}
}

static struct hawk_error *read_findings(struct reader *reader, struct hawk_findings *findings)
{
	size_t count = hawk_column_get_count(reader->cursor);

	for (size_t i = 0; i < count && !reader->cursor->failed; i++) {
		uint64_t sort = hawk_column_get_below(reader->cursor, HAWK_FINDING_DAMAGE);
		bool partial = hawk_column_get_below(reader->cursor, 1);
		uint64_t times = hawk_column_get(reader->cursor);
		const char *key = read_string(reader);
		const char *text = read_string(reader);

		if (!key || !text)
			return reader->cursor->failed ? NULL : &hawk_enomem;
		hawk_findings_add(findings,
				  sort == HAWK_FINDING_DAMAGE ? HAWK_FINDING_DAMAGE
							      : HAWK_FINDING_MISSING,
				  partial, key, "%s", text);
		if (findings && findings->count && times)
			findings->items[findings->count - 1].count = times;
	}
	return NULL;
}

static struct hawk_error *read_threads(struct reader *reader)
{
	size_t count = hawk_column_get_count(reader->cursor);

	for (size_t i = 0; i < count && !reader->cursor->failed; i++) {
		struct hawk_thread *thread = hawk_target_add_thread(reader->target);

		if (!thread)
			return &hawk_enomem;
		thread->tid = (uint32_t)hawk_column_get_below(reader->cursor, UINT32_MAX);
		thread->signal = (int)(uint32_t)hawk_column_get_below(reader->cursor, UINT32_MAX);
		thread->crashed = hawk_column_get_below(reader->cursor, THREAD_CRASHED);
		read_text(reader, thread->name, sizeof(thread->name));
		thread->pc = hawk_column_get(reader->cursor);
		thread->sp = hawk_column_get(reader->cursor);
		thread->thread_pointer = hawk_column_get(reader->cursor);
	}
	return NULL;
}

/* Reads a mapping, which must begin at or above `end`. */
static struct hawk_error *read_mapping(struct reader *reader, uint64_t end,
				       struct hawk_mapping *mapping)
{
	uint64_t start = hawk_column_get(reader->cursor), bytes = hawk_column_get(reader->cursor);
	uint64_t bits = hawk_column_get_below(reader->cursor, MAPPING_BITS_MAX);

	mapping->present_bytes = hawk_column_get(reader->cursor);
	mapping->dumped_bytes = hawk_column_get(reader->cursor);
	mapping->core_offset = hawk_column_get(reader->cursor);
	mapping->file_offset = hawk_column_get(reader->cursor);
	mapping->flags = (uint32_t)bits & ((1u << MAPPING_DATA_SHIFT) - 1);
	mapping->data = bits >> MAPPING_DATA_SHIFT & 1;
	if (__builtin_add_overflow(end, start, &mapping->start) ||
	    __builtin_add_overflow(mapping->start, bytes, &mapping->end) || !bytes ||
	    mapping->present_bytes > bytes)
		reader->cursor->failed = true;
	if (!(bits >> MAPPING_HAS_PATH_SHIFT & 1) || reader->cursor->failed)
		return NULL;
	mapping->path = read_string(reader);
	return mapping->path || reader->cursor->failed ? NULL : &hawk_enomem;
}

static struct hawk_error *read_mappings(struct reader *reader)
{
	struct hawk_target *target = reader->target;
	size_t count = hawk_column_get_count(reader->cursor);
	struct hawk_error *err = NULL;
	uint64_t end = 0;

	target->mappings = calloc(count + 1, sizeof(*target->mappings));
	if (!target->mappings)
		return &hawk_enomem;
	for (size_t i = 0; i < count && !err && !reader->cursor->failed; i++) {
		err = read_mapping(reader, end, &target->mappings[i]);
		end = target->mappings[i].end;
		target->mapping_count++;
	}
	return err;
}

static struct hawk_error *read_module(struct reader *reader, struct hawk_module *module)
{
	uint64_t bits;

	module->path = read_string(reader);
	if (!module->path)
		return reader->cursor->failed ? NULL : &hawk_enomem;
	module->start = hawk_column_get(reader->cursor);
	module->end = hawk_column_get(reader->cursor);
	module->bias = hawk_column_get(reader->cursor);
	bits = hawk_column_get_below(reader->cursor, MODULE_BITS_MAX);
	module->has_bias = bits & MODULE_HAS_BIAS;
	module->main = bits & MODULE_MAIN;
	module->vdso = bits & MODULE_VDSO;
	module->deleted = bits & MODULE_DELETED;
	module->origin = module->vdso ? HAWK_MODULE_BY_AUXV : bits >> MODULE_ORIGIN_SHIFT;
	module->build_id_bytes =
		(uint32_t)hawk_column_get_below(reader->cursor, HAWK_MODULE_BUILD_ID_MAX);
	hawk_cursor_copy(reader->cursor, module->build_id, module->build_id_bytes);
	return NULL;
}

static struct hawk_error *read_modules(struct reader *reader)
{
	size_t count = hawk_column_get_count(reader->cursor);
	struct hawk_error *err = NULL;
	uint64_t end = 0;

	for (size_t i = 0; i < count && !err && !reader->cursor->failed; i++) {
		struct hawk_module *module = hawk_target_add_module(reader->target);

		if (!module)
			return &hawk_enomem;
		err = read_module(reader, module);
		if (module->start < end || module->end < module->start)
			reader->cursor->failed = true;
		end = module->end;
	}
	return err;
}

static struct hawk_error *read_target(struct reader *reader, bool separate);

/** Reads the trace table's own target. */
static struct hawk_error *read_table(struct reader *reader)
{
	struct reader inner = {.cursor = reader->cursor, .target = hawk_target_create()};

	if (!inner.target)
		return &hawk_enomem;
	reader->target->table = inner.target;
	return read_target(&inner, true);
}

static struct hawk_error *read_target(struct reader *reader, bool separate)
{
	struct hawk_target *target = reader->target;
	const struct hawk_arch *arch;
	struct hawk_error *err;
	uint64_t bits;

	read_process(reader, &target->process);
	bits = hawk_column_get_below(reader->cursor, UINT16_MAX << MACHINE_SHIFT | 1);
	target->incomplete = bits & 1;
	arch = hawk_arch_of(bits >> MACHINE_SHIFT ? (uint16_t)(bits >> MACHINE_SHIFT) : EM_X86_64);
	if (!arch)
		reader->cursor->failed = true;
	else
		target->arch = arch;
	hawk_target_set_page_bytes(target, target->process.page_bytes);
	target->auxv.program_name = hawk_column_get(reader->cursor);
	err = read_threads(reader);
	if (!err)
		err = read_mappings(reader);
	if (!err)
		err = read_modules(reader);
	if (!err && hawk_column_get_below(reader->cursor, 1) && !separate)
		err = read_table(reader);
	return err;
}

static struct hawk_error *read_record(struct hawk_target *target, struct hawk_findings *findings)
{
	CLEANUP(contents) struct hawk_snapshot_contents contents = {0};
	struct reader reader = {.cursor = &contents.cursor, .target = target};
	struct hawk_error *err =
		hawk_snapshot_read(target->snapshot, HAWK_SNAPSHOT_TARGET, 0, &contents);

	if (!err)
		err = read_findings(&reader, findings);
	if (!err)
		err = read_target(&reader, false);
	if (!err && contents.cursor.failed)
		err = hawk_snapshot_nonsense(HAWK_SNAPSHOT_TARGET);
	return err;
}

struct hawk_error *hawk_snapshot_file_read(struct hawk_target *target,
					   struct hawk_findings *findings)
{
	struct hawk_target *table;
	struct hawk_error *err =
		hawk_snapshot_open(target->core->bytes, target->core->size, &target->snapshot);

	if (!err)
		err = read_record(target, findings);
	if (err)
		return err;
	if (hawk_snapshot_is_cut(target->snapshot))
		hawk_findings_add(findings, HAWK_FINDING_MISSING, true, "snapshot-cut",
				  "the snapshot is cut off: not all of its parts are there");
	if (hawk_snapshot_damaged_section(target->snapshot))
		hawk_findings_add(findings, HAWK_FINDING_DAMAGE, true, "snapshot-damaged",
				  "the snapshot is damaged: the checksum of its %s does not hold",
				  hawk_snapshot_damaged_section(target->snapshot));
	table = hawk_target_table(target);
	err = hawk_snapshot_memory_create(target->snapshot, &table->memory);
	if (!err && table != target) // the snapshot lacks its own memory
		err = hawk_snapshot_memory_create(NULL, &target->memory);
	return err;
}
