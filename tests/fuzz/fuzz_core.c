/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Opens any bytes as a core file and uses everything that comes out of it: every mapping, thread,
 * module, path and string, reads and views at and across the edges.
 *
 * Besides memory errors, the promises of target/target.h are asserted: sorted, disjoint, inside the
 * file.
 */
#include <stdlib.h>
#include <string.h>

#include "target/core/file.h"
#include "hawk/target/target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint64_t sink;

static void require(bool condition)
{
	if (!condition)
		abort();
}

static void read_edges(const struct hawk_target *target, const struct hawk_mapping *mapping)
{
	uint64_t present_end = mapping->start + mapping->present_bytes;
	uint8_t bytes[64];
	const uint8_t *view;

	sink += hawk_target_read_some(target, mapping->start, bytes, sizeof(bytes));
	sink += hawk_target_read_some(target, mapping->end - 8, bytes, sizeof(bytes));
	sink += hawk_target_read_some(target, present_end - 8, bytes, sizeof(bytes));
	if (!mapping->present_bytes)
		return;
	view = hawk_target_view(target, mapping->start, mapping->present_bytes);
	require(view != NULL);
	sink += view[0] + view[mapping->present_bytes - 1];
	require(!hawk_target_view(target, mapping->start, mapping->present_bytes + 1));
	require(!hawk_target_view(target, mapping->start + 1, SIZE_MAX));
}

static void use_mappings(const struct hawk_target *target, size_t size)
{
	size_t count;
	const struct hawk_mapping *mappings = hawk_target_mappings(target, &count);
	uint64_t end = 0;

	for (size_t i = 0; i < count; i++) {
		const struct hawk_mapping *mapping = &mappings[i];
		uint64_t data_start, data_end;

		require(mapping->start >= end && mapping->start < mapping->end);
		require(mapping->dumped_bytes <= mapping->end - mapping->start);
		require(mapping->present_bytes <= mapping->dumped_bytes);
		require(!mapping->present_bytes ||
			(mapping->core_offset <= size &&
			 mapping->present_bytes <= size - mapping->core_offset));
		require(hawk_target_mapping_at(target, mapping->start) == mapping);
		require(hawk_target_mapping_at(target, mapping->end - 1) == mapping);
		sink += mapping->path ? strlen(mapping->path) : 0;
		read_edges(target, mapping);
		if (hawk_target_next_data(target, mapping->start, mapping->end, &data_start,
					  &data_end))
			require(data_start == mapping->start &&
				data_end == mapping->start + mapping->present_bytes);
		end = mapping->end;
	}
}

static void use_modules(const struct hawk_target *target)
{
	size_t count;
	const struct hawk_module *modules = hawk_target_modules(target, &count);
	uint64_t end = 0;

	for (size_t i = 0; i < count; i++) {
		require(modules[i].start >= end && modules[i].start < modules[i].end);
		require(modules[i].build_id_bytes <= HAWK_MODULE_BUILD_ID_MAX);
		require(hawk_target_module_at(target, modules[i].start) == &modules[i]);
		sink += strlen(modules[i].path);
		end = modules[i].end;
	}
}

static void use_threads(const struct hawk_target *target)
{
	size_t count;
	const struct hawk_thread *threads = hawk_target_threads(target, &count);

	for (size_t i = 0; i < count; i++) {
		uint8_t stack[256];

		sink += hawk_target_read_some(target, threads[i].sp, stack, sizeof(stack));
		require(!threads[i].crashed || i == 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hawk_findings findings;
	struct hawk_core_file *file;
	struct hawk_target *target;
	struct hawk_error *error;

	hawk_findings_init(&findings);
	error = hawk_core_file_over(data, size, &file);
	if (!error)
		error = hawk_core_open_file(file, "fuzz", &findings, &target);
	if (error) {
		sink += strlen(hawk_error_message(error));
		hawk_error_destroy(error);
	} else {
		const struct hawk_process *process = hawk_target_process(target);

		sink += strlen(process->program) + strlen(process->name) +
			strlen(process->arguments);
		use_mappings(target, size);
		use_modules(target);
		use_threads(target);
		hawk_target_check(target, &findings);
		hawk_target_close(target);
	}
	hawk_findings_deinit(&findings);
	return 0;
}
