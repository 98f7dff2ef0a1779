/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Writes folded stacks, one line each, for flame graphs.
 */
#include <stdlib.h>

#include "hawk/base/cleanup.h"
#include "hawk/base/utf8.h"
#include "hawk/export/export.h"

/** Appends the names of a location's functions, the outermost first. `;` separates names. */
static void append_location(const struct hawk_profile *profile, uint32_t location,
			    struct hawk_text *line)
{
	CLEANUP(text) struct hawk_text name = {0};

	for (uint32_t i = profile->locations[location].count; i-- > 0;) {
		size_t start;

		hawk_text_clear(&name);
		hawk_profile_append_frame(profile,
					  hawk_profile_location_frame(profile, location, i), &name);
		hawk_text_puts(line, line->size ? ";" : "");
		start = line->size;
		hawk_utf8_append_safe(line, hawk_text_string(&name));
		for (size_t at = start; line->bytes && at < line->size; at++)
			if (line->bytes[at] == ';')
				line->bytes[at] = ':';
	}
}

struct hawk_error *hawk_export_folded(const struct hawk_export *export, struct hawk_output *output)
{
	const struct hawk_profile *profile = export->profile;
	CLEANUP(free_ptr) int64_t *flat = NULL;
	CLEANUP(profile_path) struct hawk_profile_path path = {0};
	CLEANUP(text) struct hawk_text line = {0};
	struct hawk_error *err = hawk_profile_sums(profile, export->column, &flat, NULL);

	for (uint32_t step = 1; !err && step < profile->step_count; step++) {
		if (flat[step] <= 0)
			continue;
		if (!hawk_profile_path_of(profile, step, &path))
			return &hawk_enomem;
		hawk_text_clear(&line);
		for (size_t i = path.count; i-- > 0;)
			append_location(profile, path.locations[i], &line);
		if (line.failed)
			return &hawk_enomem;
		hawk_output_append(output, line.bytes, line.size);
		hawk_output_printf(output, " %lld\n", (long long)flat[step]);
	}
	return err;
}
