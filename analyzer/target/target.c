/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Code shared by core files and live processes: accessors, search by address, reading across
 * adjacent mappings.
 */
#include "target_state.h"

#include <elf.h>
#include <stdio.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "core/file.h"
#include "hawk/base/array.h"
#include "hawk/base/cleanup.h"
#include "hawk/base/cursor.h"
#include "hawk/target/near.h"
#include "live/process.h"
#include "snapshot_file.h"

enum {
	OVERFLOW_BYTES_MAX = 1 << 20, /**< upper limit on a frame that overflows a stack */
};

struct hawk_string {
	struct hawk_string *next;
	char text[];
};

struct hawk_target *hawk_target_create(void)
{
	struct hawk_target *target = calloc(1, sizeof(*target));

	if (!target)
		return NULL;
	target->arch = hawk_arch_host();
	target->process.page_bytes = target->arch->page_bytes;
	return target;
}

void hawk_target_set_page_bytes(struct hawk_target *target, uint64_t bytes)
{
	const struct hawk_arch *arch = target->arch;

	if (bytes < arch->page_bytes || bytes > arch->page_bytes_max || bytes & (bytes - 1))
		bytes = arch->page_bytes;
	target->process.page_bytes = bytes;
}

void hawk_target_name_registers(const struct hawk_target *target, struct hawk_thread *thread)
{
	thread->pc = thread->registers[target->arch->pc];
	thread->sp = thread->registers[target->arch->sp];
	thread->thread_pointer = thread->registers[target->arch->thread_pointer];
}

const char *hawk_target_string(struct hawk_target *target, const char *bytes, size_t length)
{
	struct hawk_string *string = malloc(sizeof(*string) + length + 1);

	if (!string)
		return NULL;
	memcpy(string->text, bytes, length);
	string->text[length] = 0;
	string->next = target->strings;
	target->strings = string;
	return string->text;
}

struct hawk_thread *hawk_target_add_thread(struct hawk_target *target)
{
	if (!hawk_array_reserve(&target->threads, target->thread_count, &target->thread_capacity,
				sizeof(*target->threads)))
		return NULL;
	target->threads[target->thread_count] = (struct hawk_thread){0};
	return &target->threads[target->thread_count++];
}

struct hawk_module *hawk_target_add_module(struct hawk_target *target)
{
	if (!hawk_array_reserve(&target->modules, target->module_count, &target->module_capacity,
				sizeof(*target->modules)))
		return NULL;
	target->modules[target->module_count] = (struct hawk_module){0};
	return &target->modules[target->module_count++];
}

void hawk_auxv_parse(struct hawk_auxv *auxv, const void *bytes, size_t size)
{
	const struct {
		uint64_t type;
		uint64_t *value;
	} members[] = {
		{AT_PHDR, &auxv->program_headers}, {AT_PHNUM, &auxv->program_header_count},
		{AT_PAGESZ, &auxv->page_bytes},    {AT_ENTRY, &auxv->entry},
		{AT_SYSINFO_EHDR, &auxv->vdso},    {AT_EXECFN, &auxv->program_name},
		{AT_BASE, &auxv->linker},
	};
	struct hawk_cursor cursor = hawk_cursor_over(bytes, size);

	while (hawk_cursor_left(&cursor) >= 16) {
		uint64_t type = hawk_cursor_u64(&cursor);
		uint64_t value = hawk_cursor_u64(&cursor);

		if (type == AT_NULL)
			return;
		for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++)
			if (members[i].type == type)
				*members[i].value = value;
	}
}

size_t hawk_path_length(const char *path, bool *deleted)
{
	static const char suffix[] = " (deleted)";
	size_t length = strlen(path);
	size_t cut = sizeof(suffix) - 1;

	*deleted = length > cut && !memcmp(path + length - cut, suffix, cut);
	return *deleted ? length - cut : length;
}

void hawk_target_release(struct hawk_target *target)
{
	if (target && target->live && !target->held)
		hawk_live_release(target->live);
}

void hawk_target_hold(struct hawk_target *target, bool held)
{
	target->held = held;
}

struct hawk_error *hawk_target_verify(const struct hawk_target *target)
{
	if (!target->live || !hawk_live_ended(target->live))
		return NULL;
	return hawk_error_create(HAWK_ERROR_FAULT,
				 "process %u ended while it was read: not all of its memory was "
				 "there any more",
				 target->process.pid);
}

uint64_t hawk_target_pause_ns(const struct hawk_target *target)
{
	return target->live ? hawk_live_pause_ns(target->live) : 0;
}

void hawk_target_close(struct hawk_target *target)
{
	if (!target)
		return;
	hawk_target_close(target->table);
	hawk_snapshot_memory_destroy(target->memory);
	hawk_snapshot_close(target->snapshot);
	hawk_live_close(target->live);
	hawk_core_file_close(target->core);
	while (target->strings) {
		struct hawk_string *string = target->strings;

		target->strings = string->next;
		free(string);
	}
	free(target->mappings);
	free(target->threads);
	free(target->modules);
	free(target);
}

void hawk_target_attach_table(struct hawk_target *target, struct hawk_target *table)
{
	hawk_target_close(target->table);
	target->table = table;
}

const struct hawk_snapshot *hawk_target_snapshot(const struct hawk_target *target)
{
	return target->snapshot;
}

struct hawk_target *hawk_target_table(struct hawk_target *target)
{
	return target->table ? target->table : target;
}

void hawk_target_name_program(struct hawk_target *target, const char *path)
{
	if (!target->process.table_file || strlen(path) >= sizeof(target->process.program))
		return;
	strcpy(target->process.program, path);
	snprintf(target->process.name, sizeof(target->process.name), "%s", hawk_path_base(path));
}

struct hawk_error *hawk_target_capture(struct hawk_target *target, uint64_t address, uint64_t bytes)
{
	if (!target->live || !bytes)
		return NULL;
	if (bytes > UINT64_MAX - address)
		bytes = UINT64_MAX - address;
	for (size_t i = hawk_target_mapping_index(target, address); i < target->mapping_count;
	     i++) {
		const struct hawk_mapping *mapping = &target->mappings[i];
		uint64_t start = mapping->start > address ? mapping->start : address;
		uint64_t end = mapping->start + mapping->present_bytes;
		struct hawk_error *error;

		if (mapping->start >= address + bytes)
			break;
		if (end > address + bytes)
			end = address + bytes;
		if (start >= end)
			continue;
		error = hawk_live_capture(target->live, mapping, start, end);
		if (error)
			return error;
	}
	return NULL;
}

const uint8_t *hawk_target_core_bytes(const struct hawk_target *target, size_t *size)
{
	*size = target->core ? target->core->size : 0;
	return target->core ? target->core->bytes : NULL;
}

const struct hawk_arch *hawk_target_arch(const struct hawk_target *target)
{
	return target->arch;
}

uint64_t hawk_target_code_address(const struct hawk_target *target, uint64_t pointer)
{
	if (!target->arch->code_mask_note)
		return pointer;
	return pointer &
	       (target->code_mask ? ~target->code_mask : hawk_arch_address_end(target->arch) - 1);
}

void hawk_target_set_thread_pointer(struct hawk_target *target, size_t thread, uint64_t pointer)
{
	target->threads[thread].registers[target->arch->thread_pointer] = pointer;
	target->threads[thread].thread_pointer = pointer;
}

const struct hawk_process *hawk_target_process(const struct hawk_target *target)
{
	return &target->process;
}

const struct hawk_mapping *hawk_target_mappings(const struct hawk_target *target, size_t *count)
{
	*count = target->mapping_count;
	return target->mappings;
}

const struct hawk_thread *hawk_target_threads(const struct hawk_target *target, size_t *count)
{
	*count = target->thread_count;
	return target->threads;
}

const struct hawk_thread *hawk_target_crashed_thread(const struct hawk_target *target)
{
	for (size_t i = 0; i < target->thread_count; i++)
		if (target->threads[i].crashed)
			return &target->threads[i];
	return target->thread_count ? &target->threads[0] : NULL;
}

uint64_t hawk_target_stack_top(const struct hawk_target *target)
{
	return target->auxv.program_name;
}

bool hawk_target_is_incomplete(const struct hawk_target *target)
{
	return target->incomplete;
}

const struct hawk_module *hawk_target_modules(const struct hawk_target *target, size_t *count)
{
	*count = target->module_count;
	return target->modules;
}

uint64_t hawk_target_present_bytes(const struct hawk_target *target)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < target->mapping_count; i++)
		bytes += target->mappings[i].present_bytes;
	return bytes;
}

uint64_t hawk_target_present_between(const struct hawk_target *target, uint64_t start, uint64_t end)
{
	uint64_t sum = 0;

	while (start < end) {
		const struct hawk_mapping *mapping = hawk_target_mapping_at(target, start);
		uint64_t present_end;

		if (!mapping)
			break;
		present_end = mapping->start + mapping->present_bytes;
		if (present_end > end)
			present_end = end;
		if (present_end > start)
			sum += present_end - start;
		start = mapping->end;
	}
	return sum;
}

size_t hawk_target_mapping_index(const struct hawk_target *target, uint64_t address)
{
	return hawk_array_first_above(target->mappings, target->mapping_count,
				      sizeof(*target->mappings), offsetof(struct hawk_mapping, end),
				      address);
}

const struct hawk_mapping *hawk_target_mapping_at(const struct hawk_target *target,
						  uint64_t address)
{
	size_t index = hawk_target_mapping_index(target, address);

	if (index == target->mapping_count || target->mappings[index].start > address)
		return NULL;
	return &target->mappings[index];
}

static bool are_near(uint64_t a, uint64_t b)
{
	return (a < b ? b - a : a - b) <= OVERFLOW_BYTES_MAX;
}

/** Returns the thread's stack if the thread died of its overflow, else NULL. */
static const struct hawk_mapping *find_overflown(const struct hawk_target *target,
						 const struct hawk_thread *thread)
{
	uint64_t sp = thread->sp, fault = target->process.fault_address;
	size_t i = hawk_target_mapping_index(target, sp < fault ? sp : fault);

	if (!thread->crashed || !target->process.has_fault_address)
		return NULL;
	/* A core may list guard pages without contents. */
	while (i < target->mapping_count && !target->mappings[i].present_bytes)
		i++;
	if (i == target->mapping_count || !(target->mappings[i].flags & HAWK_MAPPING_WRITE) ||
	    sp >= target->mappings[i].end || fault >= target->mappings[i].start ||
	    !are_near(sp, target->mappings[i].start) || !are_near(fault, target->mappings[i].start))
		return NULL;
	return &target->mappings[i];
}

/** Returns true for a fault on a guard page within a mapping (MADV_GUARD_INSTALL, as in glibc
 * 2.42). The processor reports "not mapped" although the mapping is writable. */
static bool hit_guard(const struct hawk_target *target, const struct hawk_thread *thread)
{
	const struct hawk_process *process = &target->process;
	const struct hawk_mapping *mapping;

	if (!thread->crashed || !process->has_fault_address || process->signal != SIGSEGV ||
	    process->signal_code != SEGV_MAPERR)
		return false;
	mapping = hawk_target_mapping_at(target, process->fault_address);
	return mapping && mapping->flags & HAWK_MAPPING_WRITE &&
	       are_near(thread->sp, process->fault_address);
}

bool hawk_target_stack_overflowed(const struct hawk_target *target,
				  const struct hawk_thread *thread)
{
	return find_overflown(target, thread) || hit_guard(target, thread);
}

uint64_t hawk_target_stack_start(const struct hawk_target *target, const struct hawk_thread *thread)
{
	const struct hawk_mapping *stack = find_overflown(target, thread);
	uint64_t sp = thread->sp;

	return stack && sp < stack->start ? stack->start : sp;
}

const struct hawk_module *hawk_target_module_at(const struct hawk_target *target, uint64_t address)
{
	size_t index = hawk_array_first_above(target->modules, target->module_count,
					      sizeof(*target->modules),
					      offsetof(struct hawk_module, end), address);

	if (index == target->module_count || target->modules[index].start > address)
		return NULL;
	return &target->modules[index];
}

/** Reads up to `bytes` at `address`, which lies in `mapping`. */
static size_t read_mapping(const struct hawk_target *target, const struct hawk_mapping *mapping,
			   uint64_t address, void *to, size_t bytes)
{
	uint64_t offset = address - mapping->start;

	if (offset >= mapping->present_bytes)
		return 0;
	if (bytes > mapping->present_bytes - offset)
		bytes = (size_t)(mapping->present_bytes - offset);
	if (target->live)
		return hawk_live_read(target->live, mapping, address, to, bytes);
	if (target->memory)
		return hawk_snapshot_memory_read(target->memory, address, to, bytes);
	memcpy(to, target->core->bytes + mapping->core_offset + offset, bytes);
	return bytes;
}

size_t hawk_target_read_some(const struct hawk_target *target, uint64_t address, void *to,
			     size_t bytes)
{
	size_t done = 0;

	for (size_t i = hawk_target_mapping_index(target, address);
	     done < bytes && i < target->mapping_count; i++) {
		const struct hawk_mapping *mapping = &target->mappings[i];
		uint64_t at = address + done;
		size_t want = bytes - done;
		size_t got;

		if (mapping->start > at)
			break;
		if (want > mapping->end - at)
			want = (size_t)(mapping->end - at);
		got = read_mapping(target, mapping, at, (char *)to + done, want);
		done += got;
		if (got < want)
			break;
	}
	return done;
}

struct hawk_error *hawk_target_read(const struct hawk_target *target, uint64_t address, void *to,
				    size_t bytes)
{
	if (hawk_target_read_some(target, address, to, bytes) != bytes)
		return hawk_error_fault(address, bytes);
	return NULL;
}

const void *hawk_target_view(const struct hawk_target *target, uint64_t address, size_t bytes)
{
	const struct hawk_mapping *mapping = hawk_target_mapping_at(target, address);
	uint64_t offset;

	if (target->live)
		return hawk_live_view(target->live, address, bytes);
	if (target->memory)
		return hawk_snapshot_memory_view(target->memory, address, bytes);
	if (!mapping)
		return NULL;
	offset = address - mapping->start;
	if (offset > mapping->present_bytes || bytes > mapping->present_bytes - offset)
		return NULL;
	return target->core->bytes + mapping->core_offset + offset;
}

static bool find_data(const struct hawk_target *target, const struct hawk_mapping *mapping,
		      uint64_t *start, uint64_t *end)
{
	if (target->memory)
		return hawk_snapshot_memory_data(target->memory, start, end);
	return target->core ? hawk_core_file_data(target->core, mapping, start, end)
			    : hawk_live_data(target->live, mapping, start, end);
}

bool hawk_target_next_data(const struct hawk_target *target, uint64_t address, uint64_t end,
			   uint64_t *data_start, uint64_t *data_end)
{
	for (size_t i = hawk_target_mapping_index(target, address);
	     i < target->mapping_count && target->mappings[i].start < end; i++) {
		const struct hawk_mapping *mapping = &target->mappings[i];
		uint64_t from = mapping->start > address ? mapping->start : address;
		uint64_t to = mapping->start + mapping->present_bytes;

		if (to > end)
			to = end;
		if (from >= to)
			continue;
		*data_start = from;
		*data_end = to;
		if (find_data(target, mapping, data_start, data_end))
			return true;
	}
	return false;
}

void hawk_target_check(const struct hawk_target *target, struct hawk_findings *findings)
{
	if (target->core)
		hawk_core_file_check(target->core, findings);
	else if (target->live)
		hawk_live_check(target->live, findings);
}

size_t hawk_near_read_elsewhere(struct hawk_near *near, uint64_t address, void *to, size_t bytes)
{
	const struct hawk_mapping *mapping = NULL;
	const uint8_t *view = NULL;

	/* A live process's mappings cannot be viewed as a whole. */
	if (!near->target->live)
		mapping = hawk_target_mapping_at(near->target, address);
	if (mapping && mapping->present_bytes)
		view = hawk_target_view(near->target, mapping->start,
					(size_t)mapping->present_bytes);
	if (view) {
		near->bytes = view;
		near->start = mapping->start;
		near->end = mapping->start + mapping->present_bytes;
	}
	return hawk_target_read_some(near->target, address, to, bytes);
}
