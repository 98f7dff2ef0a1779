/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Stacks into locations and steps. Most frames of a heap's stacks were seen before, so a line is
 * found by its address and module before any of its strings is looked at.
 */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "hawk/base/array.h"
#include "hawk/base/cleanup.h"
#include "hawk/base/utf8.h"
#include "hawk/names/function_name.h"
#include "parts.h"

enum { PLACE_WIDTH_MIN = 30 }; /* in less there is room for the function only */

/** Lines of one real frame, and what they became. */
struct hawk_profile_code {
	uint64_t pc;
	uint64_t start, bias; /**< of the module: another one may be there later */
	uint32_t lines;       /**< of the frame, the innermost inlined ones may be left out */
	uint32_t exact;
	uint32_t location;
	uint32_t unused; /**< 0 */
};

static bool same_code(const struct hawk_profile *profile, uint32_t number, const void *key)
{
	return !memcmp(&profile->codes[number - 1], key,
		       offsetof(struct hawk_profile_code, location));
}

static void append_build_id(struct hawk_text *text, const struct hawk_symbol_module *module)
{
	for (uint32_t i = 0; i < module->build_id_bytes; i++)
		hawk_text_printf(text, "%02x", module->build_id[i]);
}

/** A trace table's log of modules and the target may differ about where a module ends. */
static bool same_module(const struct hawk_profile_module *known,
			const struct hawk_symbol_module *module, uint32_t path)
{
	return known->path == path && known->bias == module->bias &&
	       (module->bias != HAWK_SYMBOL_BIAS_UNKNOWN || known->start == module->start);
}

/** Processes have some hundred modules at most, and this is asked once a new line. */
uint32_t hawk_profile_module(struct hawk_profile *profile, const struct hawk_symbol_module *module)
{
	uint32_t path = hawk_profile_string(profile, module->path);
	CLEANUP(text) struct hawk_text build_id = {0};

	for (uint32_t i = 1; i < profile->module_count; i++)
		if (same_module(&profile->modules[i], module, path))
			return i;
	if (!hawk_array_reserve(&profile->modules, profile->module_count, &profile->module_capacity,
				sizeof(*profile->modules))) {
		profile->failed = true;
		return 0;
	}
	append_build_id(&build_id, module);
	profile->modules[profile->module_count] = (struct hawk_profile_module){
		.path = path,
		.build_id = hawk_profile_string(profile, hawk_text_string(&build_id)),
		.start = module->start,
		.end = module->end,
		.bias = module->bias,
		.main = module->main,
	};
	return profile->module_count++;
}

void hawk_profile_add_program(struct hawk_profile *profile, const struct hawk_target *target)
{
	size_t count;
	const struct hawk_module *modules = hawk_target_modules(target, &count);

	for (size_t i = 0; i < count; i++)
		if (modules[i].main) {
			struct hawk_symbol_module module = hawk_symbol_module_of(&modules[i]);

			hawk_profile_module(profile, &module);
			return;
		}
}

static struct hawk_profile_frame frame_of(struct hawk_profile *profile,
					  const struct hawk_stack_line *line, uint32_t module)
{
	const struct hawk_frame *name = &line->name;

	return (struct hawk_profile_frame){
		.kind = HAWK_PROFILE_FUNCTION,
		.function = hawk_profile_string(profile, name->function),
		.symbol = hawk_profile_string(profile, name->symbol),
		.file = hawk_profile_string(profile, name->file),
		.directory = hawk_profile_string(profile, name->directory),
		.line = name->line,
		.module = module,
		.offset = name->function ? 0 : line->pc - (module ? line->module.bias : 0),
	};
}

/** Adds what the lines [first, end) of one frame stand for. Returns 0 without memory. */
static uint32_t make_location(struct hawk_profile *profile, const struct hawk_stack *stack,
			      size_t first, size_t end)
{
	const struct hawk_stack_line *line = &stack->lines[first];
	uint32_t module = line->has_module ? hawk_profile_module(profile, &line->module) : 0;

	for (size_t i = first; i < end; i++) {
		struct hawk_profile_frame frame = frame_of(profile, &stack->lines[i], module);

		if (!hawk_profile_push_frame(profile, &frame))
			return 0;
	}
	return hawk_profile_add_location(profile, line->pc - !line->exact, module,
					 (uint32_t)(end - first));
}

static uint32_t find_location(struct hawk_profile *profile, const struct hawk_stack *stack,
			      size_t first, size_t end)
{
	const struct hawk_stack_line *line = &stack->lines[first];
	struct hawk_profile_code code = {
		.pc = line->pc,
		.start = line->has_module ? line->module.start : 0,
		.bias = line->has_module ? line->module.bias : 0,
		.lines = (uint32_t)(end - first),
		.exact = line->exact,
	};
	uint64_t hash = XXH3_64bits(&code, offsetof(struct hawk_profile_code, location));
	uint32_t *slot;
	uint32_t found = hawk_profile_index_find(profile, &profile->code_index, hash, same_code,
						 &code, &slot);

	if (found)
		return profile->codes[found - 1].location;
	code.location = make_location(profile, stack, first, end);
	if (!code.location || !slot ||
	    !hawk_array_reserve(&profile->codes, profile->code_count, &profile->code_capacity,
				sizeof(*profile->codes))) {
		profile->failed = true;
		return code.location;
	}
	profile->codes[profile->code_count] = code;
	*slot = ++profile->code_count;
	return code.location;
}

/** The step for a line that is no code. */
static uint32_t add_line(struct hawk_profile *profile, uint32_t parent,
			 const struct hawk_stack_line *line)
{
	CLEANUP(text) struct hawk_text text = {0};

	if (line->kind == HAWK_LINE_SCOPE || line->kind == HAWK_LINE_CLASS)
		return hawk_profile_note(profile, parent,
					 line->kind == HAWK_LINE_SCOPE ? HAWK_PROFILE_SCOPE
								       : HAWK_PROFILE_SITE,
					 line->name.function);
	hawk_text_printf(&text, "(%llu frames left out)", (unsigned long long)line->left_out);
	return hawk_profile_note(profile, parent, HAWK_PROFILE_NOTE, hawk_text_string(&text));
}

uint32_t hawk_profile_stack(struct hawk_profile *profile, uint32_t parent,
			    const struct hawk_stack *stack, size_t first)
{
	for (size_t end = stack->count; end > first;) {
		const struct hawk_stack_line *line = &stack->lines[end - 1];
		size_t start = end - 1;

		if (line->kind != HAWK_LINE_FUNCTION) {
			parent = add_line(profile, parent, line);
			end = start;
			continue;
		}
		while (start > first && stack->lines[start - 1].kind == HAWK_LINE_FUNCTION &&
		       stack->lines[start - 1].frame == line->frame)
			start--;
		parent = hawk_profile_add_step(profile, parent,
					       find_location(profile, stack, start, end));
		end = start;
	}
	return parent;
}

void hawk_profile_append_frame(const struct hawk_profile *profile,
			       const struct hawk_profile_frame *frame, struct hawk_text *text)
{
	const char *path = profile->strings[profile->modules[frame->module].path];

	if (frame->function)
		hawk_text_puts(text, profile->strings[frame->function]);
	else
		hawk_text_printf(text, "%s+0x%llx", hawk_path_base(path),
				 (unsigned long long)frame->offset);
}

void hawk_profile_append_step(const struct hawk_profile *profile, uint32_t step, size_t width,
			      struct hawk_text *text)
{
	const struct hawk_profile_frame *frame =
		hawk_profile_location_frame(profile, profile->steps[step].location, 0);
	CLEANUP(text) struct hawk_text name = {0}, place = {0};
	size_t room = width, used;

	if (frame->file && width >= PLACE_WIDTH_MIN) {
		hawk_text_printf(&place, "%s:%u", hawk_path_base(profile->strings[frame->file]),
				 frame->line);
		used = hawk_utf8_width(hawk_text_string(&place)) + 2;
		room = width == SIZE_MAX || used > width / 2 ? width : width - used;
	}
	hawk_profile_append_frame(profile, frame, &name);
	if (frame->kind == HAWK_PROFILE_FUNCTION || frame->kind == HAWK_PROFILE_SITE)
		hawk_function_name_append(text, hawk_text_string(&name), room);
	else
		hawk_utf8_append_middle_cut(text, hawk_text_string(&name), room);
	if (!place.size || (room == width && width != SIZE_MAX))
		return;
	hawk_text_puts(text, "  ");
	hawk_utf8_append_safe(text, hawk_text_string(&place));
}
