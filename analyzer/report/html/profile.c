/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Writes a profile as columns of small numbers. Numbers close to their neighbour are written as
 * differences, which gzip compresses to almost nothing.
 */
#include <stdio.h>
#include <stdlib.h>

#include "hawk/report/html.h"

enum { LEB128_MAX = 10, SITE_DIGITS = 8 };

/** Strings that the page needs: ids of sites are written as numbers, symbols not at all. */
struct strings {
	uint32_t *numbers; /**< by number in the profile; 0 = not needed */
	uint32_t *used;    /**< by new number, from 1 on */
	uint32_t count;    /**< the empty one included */
};

static void put_number(struct hawk_output *output, uint64_t value)
{
	char *to = hawk_output_room(output, LEB128_MAX);

	for (; value >= 0x80; value >>= 7)
		*to++ = (char)(value | 0x80);
	*to++ = (char)value;
	hawk_output_advance(output, to);
}

/** Puts a signed number so that small ones of either sign stay small: 0, -1, 1, -2 ... */
static void put_signed(struct hawk_output *output, int64_t value)
{
	put_number(output, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
}

static void use(struct strings *strings, uint32_t string)
{
	if (!string || strings->numbers[string])
		return;
	strings->numbers[string] = strings->count;
	strings->used[strings->count++] = string;
}

static struct hawk_error *choose_strings(const struct hawk_profile *profile, struct strings *ret)
{
	size_t count = (size_t)profile->string_count + 1;

	ret->count = 1;
	ret->numbers = calloc(count, sizeof(*ret->numbers));
	ret->used = calloc(count, sizeof(*ret->used));
	if (!ret->numbers || !ret->used)
		return &hawk_enomem;
	for (uint32_t i = 1; i < profile->frame_count; i++) {
		use(ret, profile->frames[i].function);
		use(ret, profile->frames[i].file);
		use(ret, profile->frames[i].directory);
	}
	for (uint32_t i = 1; i < profile->module_count; i++)
		use(ret, profile->modules[i].path);
	for (uint32_t i = 0; i < profile->sample_count; i++) {
		use(ret, profile->samples[i].labels.type);
		use(ret, profile->samples[i].labels.scope);
		use(ret, profile->samples[i].labels.kind);
	}
	return NULL;
}

static void put_header(const struct hawk_profile *profile, const struct strings *strings,
		       struct hawk_output *output)
{
	struct hawk_json json;

	hawk_json_init(&json, output, 0);
	hawk_json_object(&json);
	hawk_json_put_string(&json, "what", profile->what);
	hawk_json_put_array(&json, "columns");
	for (uint32_t i = 0; i < profile->column_count; i++) {
		hawk_json_object(&json);
		hawk_json_put_string(&json, "name", profile->columns[i].name);
		hawk_json_put_string(&json, "unit", profile->columns[i].unit);
		hawk_json_object_end(&json);
	}
	hawk_json_array_end(&json);
	hawk_json_put_integer(&json, "shown", profile->shown_column);
	hawk_json_put_boolean(&json, "estimated", profile->estimated);
	hawk_json_put_boolean(&json, "difference", profile->difference);
	hawk_json_put_integer(&json, "strings", strings->count);
	hawk_json_put_integer(&json, "modules", profile->module_count);
	hawk_json_put_integer(&json, "frames", profile->frame_count);
	hawk_json_put_integer(&json, "locations", profile->location_count);
	hawk_json_put_integer(&json, "steps", profile->step_count);
	hawk_json_put_integer(&json, "samples", profile->sample_count);
	hawk_json_object_end(&json);
	hawk_json_finish(&json);
}

static void put_strings(const struct hawk_profile *profile, const struct strings *strings,
			struct hawk_output *output)
{
	for (uint32_t i = 1; i < strings->count; i++)
		put_number(output, strlen(profile->strings[strings->used[i]]));
	for (uint32_t i = 1; i < strings->count; i++)
		hawk_output_puts(output, profile->strings[strings->used[i]]);
}

static void put_frames(const struct hawk_profile *profile, const struct strings *strings,
		       struct hawk_output *output)
{
	uint32_t count = profile->frame_count;

	for (uint32_t i = 1; i < profile->module_count; i++)
		put_number(output, strings->numbers[profile->modules[i].path]);
	for (uint32_t i = 1; i < count; i++)
		put_number(output, profile->frames[i].kind);
	for (uint32_t i = 1; i < count; i++)
		put_number(output, strings->numbers[profile->frames[i].function]);
	for (uint32_t i = 1; i < count; i++)
		put_number(output, strings->numbers[profile->frames[i].file]);
	for (uint32_t i = 1; i < count; i++)
		put_number(output, strings->numbers[profile->frames[i].directory]);
	for (uint32_t i = 1; i < count; i++)
		put_number(output, profile->frames[i].line);
	for (uint32_t i = 1; i < count; i++)
		put_number(output, profile->frames[i].module);
	for (uint32_t i = 1; i < count; i++)
		put_number(output, profile->frames[i].offset);
}

static void put_steps(const struct hawk_profile *profile, struct hawk_output *output)
{
	const struct hawk_profile_step *steps = profile->steps;

	for (uint32_t i = 1; i < profile->location_count; i++)
		put_number(output, profile->locations[i].count);
	for (uint32_t i = 1; i < profile->location_count; i++)
		for (uint32_t j = 0; j < profile->locations[i].count; j++)
			put_number(output, profile->frame_numbers[profile->locations[i].first + j]);
	for (uint32_t i = 1; i < profile->step_count; i++)
		put_number(output, i - steps[i].parent);
	for (uint32_t i = 1; i < profile->step_count; i++)
		put_signed(output, (int64_t)steps[i].location - steps[i - 1].location);
}

/** Returns the first digits of a site's id, which suffice to distinguish it. */
static uint32_t site_number(const struct hawk_profile *profile, uint32_t string)
{
	char digits[SITE_DIGITS + 1] = "";

	strncat(digits, profile->strings[string], SITE_DIGITS);
	return (uint32_t)strtoul(digits, NULL, 16);
}

static void put_sites(const struct hawk_profile *profile, struct hawk_output *output)
{
	for (uint32_t i = 0; i < profile->sample_count; i++) {
		uint32_t site = site_number(profile, profile->samples[i].labels.site);
		char *to = hawk_output_room(output, sizeof(site));

		for (unsigned shift = 0; shift < 32; shift += 8)
			*to++ = (char)(site >> shift);
		hawk_output_advance(output, to);
	}
}

static void put_column(const struct hawk_profile *profile, uint32_t column,
		       struct hawk_output *output)
{
	for (uint32_t i = 0; i < profile->sample_count; i++)
		put_signed(output, profile->values[(size_t)i * profile->column_count + column]);
}

static void put_samples(const struct hawk_profile *profile, const struct strings *strings,
			struct hawk_output *output)
{
	const struct hawk_profile_sample *samples = profile->samples;
	uint32_t last = 0;

	for (uint32_t i = 0; i < profile->sample_count; last = samples[i++].step)
		put_signed(output, (int64_t)samples[i].step - last);
	for (uint32_t i = 0; i < profile->sample_count; i++)
		put_number(output, strings->numbers[samples[i].labels.type]);
	for (uint32_t i = 0; i < profile->sample_count; i++)
		put_number(output, strings->numbers[samples[i].labels.scope]);
	for (uint32_t i = 0; i < profile->sample_count; i++)
		put_number(output, strings->numbers[samples[i].labels.kind]);
	put_sites(profile, output);
	for (uint32_t column = 0; column < profile->column_count; column++)
		put_column(profile, column, output);
}

struct hawk_error *hawk_html_profile(const struct hawk_profile *profile, const char *name,
				     struct hawk_output *output)
{
	struct strings strings = {0};
	char part[64];
	struct hawk_error *err = choose_strings(profile, &strings);

	snprintf(part, sizeof(part), "profile-%s", name);
	if (!err)
		err = hawk_html_part_begin(output, part);
	if (!err) {
		put_header(profile, &strings, output);
		put_strings(profile, &strings, output);
		put_frames(profile, &strings, output);
		put_steps(profile, output);
		put_samples(profile, &strings, output);
		hawk_html_part_end(output);
	}
	free(strings.numbers);
	free(strings.used);
	return err;
}
