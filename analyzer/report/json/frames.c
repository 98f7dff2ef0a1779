/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The table of frames of a document. Strings belong to symbols, which outlive it, and equal names
 * are stored once. So lines are equal if their bytes are.
 */
#include "frames.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "hawk/base/array.h"
#include "list.h"

enum { FIRST_SLOTS = 256 };

struct hawk_json_frames {
	struct hawk_stack_line *lines;
	size_t count, capacity;
	uint32_t *slots; /**< number of a line, from 1 on; 0 = free; at most half full */
	size_t slot_count;
};

static bool same_name(const struct hawk_frame *a, const struct hawk_frame *b)
{
	return a->function == b->function && a->file == b->file && a->line == b->line &&
	       a->inlined == b->inlined;
}

static bool same_line(const struct hawk_stack_line *a, const struct hawk_stack_line *b)
{
	return a->pc == b->pc && a->kind == b->kind && same_name(&a->name, &b->name) &&
	       a->has_module == b->has_module && a->module.path == b->module.path &&
	       a->module.bias == b->module.bias && a->exact == b->exact &&
	       a->confidence == b->confidence && a->unplaced == b->unplaced &&
	       a->period == b->period && a->times == b->times && a->left_out == b->left_out;
}

static uint64_t hash_of(const struct hawk_stack_line *line)
{
	const uint64_t words[] = {line->pc, (uintptr_t)line->name.function,
				  (uintptr_t)line->name.file, line->name.line, line->left_out};

	return XXH3_64bits(words, sizeof(words));
}

static void put_slot(struct hawk_json_frames *frames, uint32_t number)
{
	size_t at = hash_of(&frames->lines[number - 1]) & (frames->slot_count - 1);

	while (frames->slots[at])
		at = (at + 1) & (frames->slot_count - 1);
	frames->slots[at] = number;
}

static bool grow(struct hawk_json_frames *frames)
{
	size_t count = frames->slot_count ? 2 * frames->slot_count : FIRST_SLOTS;
	uint32_t *slots = calloc(count, sizeof(*slots));

	if (!slots)
		return false;
	free(frames->slots);
	frames->slots = slots;
	frames->slot_count = count;
	for (size_t i = 0; i < frames->count; i++)
		put_slot(frames, (uint32_t)i + 1);
	return true;
}

/** Returns the number of `line`, from 1 on; 0 = no memory. */
static uint32_t find(struct hawk_json_frames *frames, const struct hawk_stack_line *line)
{
	if (2 * frames->count >= frames->slot_count && !grow(frames))
		return 0;
	for (size_t at = hash_of(line) & (frames->slot_count - 1); frames->slots[at];
	     at = (at + 1) & (frames->slot_count - 1))
		if (same_line(&frames->lines[frames->slots[at] - 1], line))
			return frames->slots[at];
	if (!hawk_array_reserve(&frames->lines, frames->count, &frames->capacity,
				sizeof(*frames->lines)))
		return 0;
	frames->lines[frames->count++] = *line;
	put_slot(frames, (uint32_t)frames->count);
	return (uint32_t)frames->count;
}

void hawk_json_put_stack(struct hawk_json *json, const struct hawk_stack *stack)
{
	size_t end;

	if (!json->frames)
		json->frames = calloc(1, sizeof(*json->frames));
	end = hawk_json_put_stack_list(json, "stack", stack->count);
	for (size_t i = 0; i < end; i++) {
		uint32_t number = json->frames ? find(json->frames, &stack->lines[i]) : 0;

		if (number)
			hawk_json_integer(json, number - 1);
		else
			hawk_enomem_swallow();
	}
	hawk_json_array_end(json);
}

/* The way a frame was found, if not by rules. */
static const char *confidence_name(uint8_t confidence)
{
	return confidence == HAWK_FRAME_GUESS ? "guess" : "fp";
}

static void put_line(struct hawk_json *json, const struct hawk_stack_line *line)
{
	static const char *const kinds[] = {[HAWK_LINE_FUNCTION] = "function",
					    [HAWK_LINE_SCOPE] = "scope",
					    [HAWK_LINE_CLASS] = "class",
					    [HAWK_LINE_REPEAT] = "repeat",
					    [HAWK_LINE_CUT] = "cut"};
	bool scope = line->kind == HAWK_LINE_SCOPE;

	hawk_json_object(json);
	hawk_json_put_string(json, "kind", kinds[line->kind]);
	hawk_json_put_string(json, "scope", scope ? line->name.function : NULL);
	hawk_json_put_string(json, "function", scope ? NULL : line->name.function);
	hawk_json_put_string(json, "file", line->name.file);
	hawk_json_put_integer_if(json, "line", line->name.line, line->name.line);
	hawk_json_put_string(json, "module", line->has_module ? line->module.path : NULL);
	hawk_json_key(json, "build_id");
	hawk_json_bytes(json, line->module.build_id, line->module.build_id_bytes);
	hawk_json_put_address_if(json, "address", line->kind == HAWK_LINE_FUNCTION, line->pc);
	hawk_json_put_boolean(json, "inlined", line->name.inlined);
	if (line->confidence)
		hawk_json_put_string(json, "confidence", confidence_name(line->confidence));
	hawk_json_put_address_if(json, "module_address", line->has_module,
				 line->pc - line->module.bias);
	if (scope)
		hawk_json_put_boolean(json, "placed", !line->unplaced);
	if (line->kind == HAWK_LINE_REPEAT) {
		hawk_json_put_integer(json, "period", line->period);
		hawk_json_put_integer(json, "times", line->times);
	}
	if (line->left_out)
		hawk_json_put_integer(json, "left_out", line->left_out);
	hawk_json_object_end(json);
}

void hawk_json_put_frame_table(struct hawk_json *json)
{
	struct hawk_json_frames *frames = json->frames;

	hawk_json_put_array(json, "frames");
	for (size_t i = 0; frames && i < frames->count; i++)
		put_line(json, &frames->lines[i]);
	hawk_json_array_end(json);
	if (!frames)
		return;
	free(frames->lines);
	free(frames->slots);
	free(frames);
	json->frames = NULL;
}
