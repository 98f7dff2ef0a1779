/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Formats frames as Valgrind does. Inlined functions have the address of the call they were inlined
 * at.
 */
#include "valgrind_frame.h"

#include <inttypes.h>

#include "hawk/base/cleanup.h"
#include "hawk/base/utf8.h"
#include "hawk/names/function_name.h"

void hawk_export_append_valgrind_frame(const struct hawk_profile *profile, uint32_t location,
				       uint32_t number, struct hawk_text *text)
{
	const struct hawk_profile_frame *frame =
		hawk_profile_location_frame(profile, location, number);
	const char *module = profile->strings[profile->modules[frame->module].path];
	CLEANUP(text) struct hawk_text raw = {0};

	hawk_text_printf(&raw, "0x%" PRIX64 ": ", profile->locations[location].address);
	hawk_profile_append_frame(profile, frame, &raw);
	if (frame->file)
		hawk_text_printf(&raw, " (%s:%" PRIu32 ")",
				 hawk_path_base(profile->strings[frame->file]), frame->line);
	else
		hawk_text_printf(&raw, " (in %s)", module[0] ? module : "???");
	text->failed |= raw.failed;
	hawk_utf8_append_safe(text, hawk_text_string(&raw));
}
