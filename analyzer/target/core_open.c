/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * From a core file to a target: identify, program headers, notes, mappings, modules. Table files of
 * the tracer are told by their first bytes and read by table_file.c.
 */
#include "core_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core_parse.h"
#include "core_unpack.h"
#include "hawk_cleanup.h"
#include "table_file.h"

enum { PAGE_BYTES = 4096, PAGE_BYTES_MAX = 65536 };

static void cleanup_target(struct hawk_target **target)
{
	hawk_target_close(*target);
}

/** Takes `path` as the program's, if it is one. */
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
	/* Where the stack is not in the core at all (gcore leaves out what is not to be dumped)
	 * that is said of its thread. */
	if (target->thread_count &&
	    !hawk_target_mapping_at(target, target->threads[0].registers[HAWK_RSP]))
		return;
	target->incomplete = true;
	hawk_findings_add(findings, HAWK_FINDING_DAMAGE, true, "auxv-strange",
			  "no segment has the address 0x%" PRIx64
			  " of the program's name: the header of its stack is damaged",
			  address);
}

static void settle_page_size(struct hawk_target *target)
{
	uint64_t bytes = target->auxv.page_bytes;

	if (bytes < PAGE_BYTES || bytes > PAGE_BYTES_MAX || bytes & (bytes - 1))
		bytes = PAGE_BYTES;
	target->process.page_bytes = bytes;
}

static struct hawk_error *read_core(struct hawk_target *target, struct hawk_findings *findings)
{
	const uint8_t *bytes = hawk_core_file_bytes(target->core);
	size_t size = hawk_core_file_size(target->core);
	struct hawk_core_segments segments = {0};
	struct hawk_core_files files = {0};
	struct hawk_error *error = hawk_core_identify(bytes, size);

	if (!error)
		error = hawk_core_read_segments(bytes, size, findings, &segments);
	if (!error)
		error = hawk_core_read_notes(bytes, size, &segments, target, &files, findings);
	if (!error)
		error = hawk_core_merge_mappings(&segments, &files, target);
	target->files_known = files.known;
	target->incomplete |= segments.doubtful;
	hawk_core_files_deinit(&files);
	hawk_core_segments_deinit(&segments);
	if (error)
		return error;
	check_stack(target, findings);
	target->process.end = *hawk_core_file_times(target->core);
	settle_page_size(target);
	find_program(target);
	return hawk_target_find_modules(target, findings);
}

struct hawk_error *hawk_core_open_file(struct hawk_core_file *file, const char *name,
				       struct hawk_findings *findings, struct hawk_target **ret)
{
	CLEANUP(free_ptr) struct hawk_target *empty = calloc(1, sizeof(*empty));
	struct hawk_error *error;

	if (!empty) {
		hawk_core_file_close(file);
		return &hawk_enomem;
	}

	__attribute__((cleanup(cleanup_target))) struct hawk_target *target = take_ptr(&empty);

	target->core = file;
	if (hawk_table_file_is(hawk_core_file_bytes(file), hawk_core_file_size(file)))
		error = hawk_table_file_read(target, findings);
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
	struct hawk_core_file *file;
	struct hawk_error *error = hawk_core_file_open(path, &file);

	if (!error && hawk_core_unpack_needed(file))
		error = hawk_core_unpack(file, path, settings, findings, &file);
	if (error)
		return error;
	return hawk_core_open_file(file, path, findings, ret);
}

struct hawk_error *hawk_target_open_core(const char *path, struct hawk_findings *findings,
					 struct hawk_target **ret)
{
	return hawk_target_unpack_core(path, NULL, findings, ret);
}
