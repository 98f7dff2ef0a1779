/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Values by source line: frames are sorted into units and lines once, then samples are added up.
 */
#include "hawk/profile/source_lines.h"

#include <stdlib.h>
#include <string.h>

#include "hawk/base/cleanup.h"

enum { BUILD_ID_DIGITS = 2 };

/** Unit and line of a frame; numbers + 1, 0 = not included. */
struct place {
	size_t unit, line;
};

struct maker {
	const struct hawk_profile *profile;
	const regex_t *functions;
	struct place *places;   /**< of each frame */
	uint32_t *seen_by_unit; /**< the last sample that counted, + 1 */
	uint32_t *seen_by_line;
	struct hawk_source_lines lines;
};

void hawk_source_lines_deinit(struct hawk_source_lines *lines)
{
	free(lines->units);
	free(lines->lines);
	*lines = (struct hawk_source_lines){0};
}

static bool is_wanted(const struct maker *maker, const struct hawk_profile_frame *frame)
{
	if (frame->kind != HAWK_PROFILE_FUNCTION)
		return false;
	if (!maker->functions)
		return frame->file;
	return frame->function &&
	       !regexec(maker->functions, hawk_profile_text(maker->profile, frame->function), 0,
			NULL, 0);
}

static int compare(uint32_t a, uint32_t b)
{
	return a < b ? -1 : a > b;
}

static int compare_units(const struct maker *maker, const struct hawk_profile_frame *a,
			 const struct hawk_profile_frame *b)
{
	int order = 0;

	if (maker->functions)
		order = compare(a->function, b->function);
	if (maker->functions && !order)
		order = compare(a->module, b->module);
	if (!order)
		order = compare(a->directory, b->directory);
	return order ? order : compare(a->file, b->file);
}

static int compare_frames(const void *left, const void *right, void *context)
{
	const struct maker *maker = context;
	const struct hawk_profile_frame *a = &maker->profile->frames[*(const uint32_t *)left];
	const struct hawk_profile_frame *b = &maker->profile->frames[*(const uint32_t *)right];
	int order = compare_units(maker, a, b);

	return order ? order : compare(a->line, b->line);
}

/** Makes units and lines of `frames`, which are sorted. */
static void lay_out(struct maker *maker, const uint32_t *frames, size_t count)
{
	struct hawk_source_lines *lines = &maker->lines;
	const struct hawk_profile_frame *before = NULL;

	for (size_t i = 0; i < count; i++) {
		const struct hawk_profile_frame *frame = &maker->profile->frames[frames[i]];
		bool new_unit = !before || compare_units(maker, before, frame);

		if (new_unit)
			lines->units[lines->unit_count++] = (struct hawk_source_unit){
				.function = maker->functions ? frame->function : 0,
				.file = frame->file,
				.directory = frame->directory,
				.module = frame->module,
				.first = lines->line_count,
			};
		if (new_unit || before->line != frame->line) {
			lines->lines[lines->line_count++].number = frame->line;
			lines->units[lines->unit_count - 1].count++;
		}
		maker->places[frames[i]] = (struct place){lines->unit_count, lines->line_count};
		before = frame;
	}
}

static struct hawk_error *make_places(struct maker *maker)
{
	const struct hawk_profile *profile = maker->profile;
	CLEANUP(free_ptr) uint32_t *frames = calloc(profile->frame_count, sizeof(*frames));
	size_t count = 0;

	if (!frames)
		return &hawk_enomem;
	for (uint32_t i = 1; i < profile->frame_count; i++)
		if (is_wanted(maker, &profile->frames[i]))
			frames[count++] = i;
	if (count)
		qsort_r(frames, count, sizeof(*frames), compare_frames, maker);
	maker->lines.units = calloc(count + 1, sizeof(*maker->lines.units));
	maker->lines.lines = calloc(count + 1, sizeof(*maker->lines.lines));
	maker->places = calloc(profile->frame_count, sizeof(*maker->places));
	maker->seen_by_unit = calloc(count + 1, sizeof(*maker->seen_by_unit));
	maker->seen_by_line = calloc(count + 1, sizeof(*maker->seen_by_line));
	if (!maker->lines.units || !maker->lines.lines || !maker->places || !maker->seen_by_unit ||
	    !maker->seen_by_line)
		return &hawk_enomem;
	lay_out(maker, frames, count);
	return NULL;
}

static void add_values(const struct hawk_profile *profile, const int64_t *values, int64_t *to)
{
	for (uint32_t i = 0; i < profile->column_count; i++)
		to[i] = hawk_profile_plus(to[i], values[i]);
}

/** Adds sample `number` at one frame of its stack; `first`: the innermost function. */
static void add_frame(struct maker *maker, uint32_t number, const struct place *place, bool first)
{
	const struct hawk_profile *profile = maker->profile;
	const int64_t *values = &profile->values[(size_t)number * profile->column_count];
	struct hawk_source_values *unit, *line;

	if (!place->unit)
		return;
	unit = &maker->lines.units[place->unit - 1].values;
	line = &maker->lines.lines[place->line - 1].values;
	if (first) {
		add_values(profile, values, unit->flat);
		add_values(profile, values, line->flat);
	}
	if (maker->seen_by_unit[place->unit - 1] != number + 1)
		add_values(profile, values, unit->cum);
	if (maker->seen_by_line[place->line - 1] != number + 1)
		add_values(profile, values, line->cum);
	maker->seen_by_unit[place->unit - 1] = number + 1;
	maker->seen_by_line[place->line - 1] = number + 1;
}

static void add_sample(struct maker *maker, uint32_t number)
{
	const struct hawk_profile *profile = maker->profile;
	bool first = true;

	for (uint32_t step = profile->samples[number].step; step;
	     step = profile->steps[step].parent) {
		const struct hawk_profile_location *location =
			&profile->locations[profile->steps[step].location];

		for (uint32_t i = 0; i < location->count; i++) {
			uint32_t frame = profile->frame_numbers[location->first + i];

			add_frame(maker, number, &maker->places[frame], first);
			first &= profile->frames[frame].kind != HAWK_PROFILE_FUNCTION;
		}
	}
}

static int compare_sizes(const void *left, const void *right, void *context)
{
	const struct hawk_source_unit *a = left, *b = right;
	uint32_t column = ((const struct hawk_profile *)context)->shown_column;

	if (a->values.cum[column] != b->values.cum[column])
		return a->values.cum[column] > b->values.cum[column] ? -1 : 1;
	if (a->values.flat[column] != b->values.flat[column])
		return a->values.flat[column] > b->values.flat[column] ? -1 : 1;
	return a->first < b->first ? -1 : a->first > b->first;
}

struct hawk_error *hawk_source_lines_make(const struct hawk_profile *profile,
					  const regex_t *functions, struct hawk_source_lines *ret)
{
	struct maker maker = {.profile = profile, .functions = functions};
	struct hawk_error *err = make_places(&maker);

	for (uint32_t i = 0; !err && i < profile->sample_count; i++)
		add_sample(&maker, i);
	free(maker.places);
	free(maker.seen_by_unit);
	free(maker.seen_by_line);
	if (err) {
		hawk_source_lines_deinit(&maker.lines);
		return err;
	}
	if (maker.lines.unit_count)
		qsort_r(maker.lines.units, maker.lines.unit_count, sizeof(*maker.lines.units),
			compare_sizes, (void *)profile);
	*ret = maker.lines;
	return NULL;
}

/** Returns the module in the form of symbols/; writes its build-id into `id`. */
static struct hawk_symbol_module symbol_module(const struct hawk_profile *profile, uint32_t number,
					       uint8_t id[HAWK_MODULE_BUILD_ID_MAX])
{
	const struct hawk_profile_module *module = &profile->modules[number];
	const char *digits = hawk_profile_text(profile, module->build_id);
	size_t bytes = strlen(digits) / BUILD_ID_DIGITS;

	for (size_t i = 0; i < bytes && i < HAWK_MODULE_BUILD_ID_MAX; i++) {
		const char pair[] = {digits[BUILD_ID_DIGITS * i], digits[BUILD_ID_DIGITS * i + 1],
				     '\0'};

		id[i] = (uint8_t)strtoul(pair, NULL, 16);
	}
	return (struct hawk_symbol_module){
		.path = hawk_profile_text(profile, module->path),
		.bias = module->bias,
		.start = module->start,
		.end = module->end,
		.build_id = bytes ? id : NULL,
		.build_id_bytes = (uint32_t)bytes,
		.main = module->main,
	};
}

void hawk_source_append_path(const struct hawk_profile *profile,
			     const struct hawk_source_unit *unit, struct hawk_text *text)
{
	if (unit->directory)
		hawk_text_printf(text, "%s/", hawk_profile_text(profile, unit->directory));
	hawk_text_puts(text, hawk_profile_text(profile, unit->file));
}

static void add_findings(const char *wanted, const struct hawk_source_text *text,
			 struct hawk_findings *findings)
{
	const char *path = text->file.path;

	if (!path && text->file.refused)
		hawk_findings_add(findings, HAWK_FINDING_MISSING, false, "source-not-found*",
				  "%s %s and was not used", text->file.refused, text->file.why);
	else if (!path)
		hawk_findings_add(findings, HAWK_FINDING_MISSING, false, "source-not-found*",
				  "the source file %s was not found", wanted);
	if (text->newer)
		hawk_findings_add(findings, HAWK_FINDING_MISSING, false, "source-newer*",
				  "%s is newer than the program", path);
	if (text->too_short)
		hawk_findings_add(findings, HAWK_FINDING_MISSING, false, "source-differs*",
				  "%s has only %u lines: the program was made of another file",
				  path, text->file.line_count);
}

struct hawk_error *hawk_source_text_open(const struct hawk_source_listing *listing,
					 const struct hawk_source_unit *unit,
					 struct hawk_source_text *ret)
{
	const struct hawk_source_line *lines = listing->lines->lines;
	uint8_t id[HAWK_MODULE_BUILD_ID_MAX];
	CLEANUP(text) struct hawk_text path = {0};
	struct hawk_symbol_module module = symbol_module(listing->profile, unit->module, id);
	struct hawk_error *err;

	*ret = (struct hawk_source_text){0};
	if (!unit->file)
		return NULL;
	hawk_source_append_path(listing->profile, unit, &path);
	err = path.failed ? &hawk_enomem
			  : hawk_source_file_open(listing->symbols, &listing->directories,
						  path.bytes, &ret->file);
	if (err)
		return err;
	if (ret->file.path) {
		ret->newer = hawk_source_file_is_newer(listing->symbols, &module, &ret->file);
		ret->too_short = lines[unit->first + unit->count - 1].number > ret->file.line_count;
	}
	add_findings(path.bytes, ret, listing->findings);
	return NULL;
}
