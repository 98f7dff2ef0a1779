/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The JSON lines of `hawk-core blocks`, one object for each block.
 */
#include "block_lines.h"
#include "hawk/base/quantity.h"
#include "hawk/output/json.h"

static char *begin(char *to, const struct hawk_block *block, const char *site)
{
	static const char address[] = "{\"address\":\"0x";
	static const char size[] = "\",\"size\":";
	static const char state[] = ",\"state\":\"live\",\"site\":\"";

	to = hawk_block_line_add(to, address, sizeof(address) - 1);
	to = hawk_format_hex(to, block->start);
	to = hawk_block_line_add(to, size, sizeof(size) - 1);
	to = hawk_format_decimal(to, block->size);
	to = hawk_block_line_add(to, state, sizeof(state) - 1);
	return hawk_block_line_add(to, site, HAWK_BLOCK_SITE_BYTES);
}

static void put_type(const char *type, struct hawk_output *output)
{
	struct hawk_json json;

	hawk_json_init(&json, output, 0);
	hawk_json_string(&json, type);
	hawk_output_puts(output, "}\n");
}

struct hawk_error *hawk_report_blocks_json(const struct hawk_blocks_report *report,
					   struct hawk_output *output)
{
	static const struct hawk_block_form form = {
		.aged = "\",\"age_seconds\":%.2f,\"kind\":\"%s\",\"type\":",
		.ageless = "\",\"age_seconds\":null,\"kind\":\"%s\",\"type\":",
		.begin = begin,
		.typeless = "null}\n",
		.put_type = put_type,
	};
	uint64_t count;

	return report->heap->knows ? hawk_block_lines_put(report, &form, output, &count) : NULL;
}
