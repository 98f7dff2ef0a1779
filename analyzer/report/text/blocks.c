/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The table of `hawk-core blocks`, one line for each block.
 */
#include "block_lines.h"
#include "hawk/base/cleanup.h"
#include "hawk/base/quantity.h"
#include "hawk/names/function_name.h"
#include "hawk/report/report.h"

enum { BYTES_WIDTH = 12 };

/** Writes `value` as 16 hex digits. */
static char *put_hex16(char *to, uint64_t value)
{
	for (int i = 15; i >= 0; i--, value >>= 4)
		to[i] = "0123456789abcdef"[value & 15];
	return to + 16;
}

static char *begin(char *to, const struct hawk_block *block, const char *site)
{
	char digits[HAWK_DECIMAL_MAX];
	size_t length = (size_t)(hawk_format_decimal(digits, block->size) - digits);
	size_t padding = length < BYTES_WIDTH ? BYTES_WIDTH - length : 0;

	to = hawk_block_line_add(to, "0x", 2);
	to = put_hex16(to, block->start);
	memset(to, ' ', 2 + padding);
	to = hawk_block_line_add(to + 2 + padding, digits, length);
	to = hawk_block_line_add(to, "  live   ", 9);
	return hawk_block_line_add(to, site, HAWK_BLOCK_SITE_BYTES);
}

static void put_type(const char *type, struct hawk_output *output)
{
	CLEANUP(text) struct hawk_text text = {0};

	hawk_text_puts(&text, "  ");
	hawk_function_name_append(&text, type, SIZE_MAX);
	hawk_text_puts(&text, "\n");
	hawk_output_append(output, text.bytes, text.size);
}

struct hawk_error *hawk_report_blocks(const struct hawk_blocks_report *report,
				      const struct hawk_screen *screen)
{
	bool aged = report->heap->knows & HAWK_HEAP_AGES;
	const struct hawk_block_form form = {
		.aged = "  %11.1f  %s",
		.ageless = aged ? "            -  %s" : "%.0s", /* without the kind */
		.begin = begin,
		.typeless = "\n",
		.put_type = put_type,
	};
	struct hawk_error *err;
	uint64_t count;

	if (!report->heap->knows)
		return NULL;
	hawk_output_printf(screen->output, "%-18s  %12s  %-5s  %-16s%s  type\n", "address", "size",
			   "state", hawk_report_group_word(report->heap, 1),
			   aged ? "  age_seconds  kind" : "");
	err = hawk_block_lines_put(report, &form, screen->output, &count);
	if (!err && report->top)
		hawk_output_printf(
			screen->output, "%s of %s blocks, largest first, then oldest\n",
			hawk_quantity_count(count < report->top ? count : report->top).text,
			hawk_quantity_count(count).text);
	return err;
}
