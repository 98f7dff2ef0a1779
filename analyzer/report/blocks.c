/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Streams blocks. Budget a line: about 30 ns and two cache misses (the trace's site, the block's
 * first word).
 */
#include "hawk/report/blocks.h"

#include <stdio.h>
#include <stdlib.h>

#include "hawk/analysis/block_order.h"
#include "hawk/base/cleanup.h"
#include "hawk/names/function_name.h"
#include "hawk/output/json.h"
#include "hawk/base/quantity.h"
#include "hawk/base/ranking.h"
#include "hawk/report/report.h"

enum { SITE_TEXT_BYTES = 16, TAIL_MAX = 64, LINE_MAX_BYTES = 256 };

/** The end of a line, behind the site, for one birth code and kind. */
struct tail {
	char text[TAIL_MAX];
	uint8_t length;
};

struct hawk_report_blocks {
	const struct hawk_heap *heap;
	struct hawk_output *output;
	bool json;
	struct hawk_block_types *types;      /**< NULL = they cannot be read */
	struct tail tails[16][256];          /**< by kind & 15, birth */
	char (*site_texts)[SITE_TEXT_BYTES]; /**< by site; the last one is for "none" */
	struct hawk_ranking shown; /**< struct hawk_numbered_block; unused (limit 0) if all blocks
				      are printed at once */
	uint64_t wanted;           /**< blocks chosen, if `shown` is used */
};

static void format_tail(struct hawk_report_blocks *report, unsigned kind, unsigned birth)
{
	double seconds = hawk_heap_age_seconds(report->heap, hawk_birth_decode((uint8_t)birth));
	struct tail *tail = &report->tails[kind][birth];
	const char *name = hawk_report_kind_name((uint8_t)kind);
	int length;

	if (kind && report->heap->knows & HAWK_HEAP_AGES)
		length = snprintf(tail->text, sizeof(tail->text),
				  report->json ? "\",\"age_seconds\":%.2f,\"kind\":\"%s\",\"type\":"
					       : "  %11.1f  %s",
				  seconds, name);
	else
		length = snprintf(tail->text, sizeof(tail->text),
				  report->json ? "\",\"age_seconds\":null,\"kind\":\"%s\",\"type\":"
					       : "            -  %s",
				  name);
	tail->length = (uint8_t)length;
}

static void format_sites(struct hawk_report_blocks *report)
{
	size_t count = report->heap->site_count;

	for (size_t i = 0; i <= count; i++) {
		uint64_t id = i < count ? report->heap->sites[i].id : 0;

		for (int j = 0; j < SITE_TEXT_BYTES; j++)
			report->site_texts[i][j] = "0123456789abcdef"[id >> (60 - 4 * j) & 15];
	}
}

struct hawk_error *hawk_report_blocks_create(const struct hawk_heap *heap, bool json,
					     struct hawk_block_types *types, size_t top,
					     struct hawk_output *output,
					     struct hawk_report_blocks **ret)
{
	struct hawk_report_blocks *report = calloc(1, sizeof(*report));

	if (!report)
		return &hawk_enomem;
	report->heap = heap;
	report->output = output;
	report->json = json;
	report->types = types;
	hawk_ranking_init(&report->shown, top, sizeof(struct hawk_numbered_block),
			  hawk_block_order);
	report->site_texts = calloc(heap->site_count + 1, sizeof(*report->site_texts));
	if (!report->site_texts) {
		hawk_report_blocks_destroy(report);
		return &hawk_enomem;
	}
	for (unsigned kind = 0; kind < 16; kind++)
		for (unsigned birth = 0; birth < 256; birth++)
			format_tail(report, kind, birth);
	format_sites(report);
	*ret = report;
	return NULL;
}

void hawk_report_blocks_heading(struct hawk_report_blocks *report)
{
	if (!report->json)
		hawk_output_printf(report->output, "%-18s  %12s  %-5s  %-16s  %11s  %s  %s\n",
				   "address", "size", "state", "site", "age_seconds", "kind",
				   "type");
}

static inline char *put(char *to, const char *text, size_t size)
{
	memcpy(to, text, size);
	return to + size;
}

static char *format_json(char *to, const struct hawk_block *block, const char *site,
			 const struct tail *tail)
{
	static const char begin[] = "{\"address\":\"0x";
	static const char size[] = "\",\"size\":";
	static const char state[] = ",\"state\":\"live\",\"site\":\"";

	to = put(to, begin, sizeof(begin) - 1);
	to = hawk_format_hex(to, block->start);
	to = put(to, size, sizeof(size) - 1);
	to = hawk_format_decimal(to, block->size);
	to = put(to, state, sizeof(state) - 1);
	to = put(to, site, SITE_TEXT_BYTES);
	return put(to, tail->text, tail->length);
}

/** Writes `value` as 16 hex digits. */
static char *put_hex16(char *to, uint64_t value)
{
	for (int i = 15; i >= 0; i--, value >>= 4)
		to[i] = "0123456789abcdef"[value & 15];
	return to + 16;
}

static char *format_text(char *to, const struct hawk_block *block, const char *site,
			 const struct tail *tail)
{
	char digits[HAWK_DECIMAL_MAX];
	size_t length = (size_t)(hawk_format_decimal(digits, block->size) - digits);
	size_t padding = length < 12 ? 12 - length : 0;

	to = put(to, "0x", 2);
	to = put_hex16(to, block->start);
	memset(to, ' ', 2 + padding);
	to = put(to + 2 + padding, digits, length);
	to = put(to, "  live   ", 9);
	to = put(to, site, SITE_TEXT_BYTES);
	return put(to, tail->text, tail->length);
}

/** Writes the end of the line. */
static void put_type(struct hawk_report_blocks *report, const char *type)
{
	CLEANUP(text) struct hawk_text text = {0};
	struct hawk_json json;

	if (report->json) {
		hawk_json_init(&json, report->output, 0);
		hawk_json_string(&json, type);
		hawk_output_puts(report->output, "}\n");
		return;
	}
	hawk_text_puts(&text, "  ");
	hawk_function_name_append(&text, type, SIZE_MAX);
	hawk_text_puts(&text, "\n");
	hawk_output_append(report->output, text.bytes, text.size);
}

static void put_block(struct hawk_report_blocks *report, const struct hawk_block *block)
{
	const struct tail *tail = &report->tails[block->kind & 15][block->birth];
	uint32_t none = (uint32_t)report->heap->site_count;
	uint32_t site = block->trace < report->heap->trace_count
				? report->heap->site_of_trace[block->trace]
				: report->heap->lost_site;
	const char *type = report->types ? hawk_block_type(report->types, block) : NULL;
	char *to;

	if (site > none)
		site = none;
	to = hawk_output_room(report->output, LINE_MAX_BYTES);
	to = report->json ? format_json(to, block, report->site_texts[site], tail)
			  : format_text(to, block, report->site_texts[site], tail);
	if (!type && report->json)
		to = put(to, "null}\n", 6);
	else if (!type)
		*to++ = '\n';
	hawk_output_advance(report->output, to);
	if (type)
		put_type(report, type);
}

static struct hawk_error *take(struct hawk_report_blocks *report, const struct hawk_block *block)
{
	if (report->shown.most) {
		struct hawk_numbered_block item = {.block = *block};

		report->wanted++;
		return hawk_ranking_offer(&report->shown, &item);
	}
	put_block(report, block);
	return NULL;
}

struct hawk_error *hawk_report_blocks_add(void *context, const struct hawk_block *blocks,
					  size_t count)
{
	struct hawk_report_blocks *report = context;

	for (size_t i = 0; i < count; i++) {
		struct hawk_error *err = take(report, &blocks[i]);

		if (err)
			return err;
	}
	if (report->output->errnum)
		return hawk_error_os(report->output->errnum, "write",
				     hawk_output_name(report->output));
	return NULL;
}

void hawk_report_blocks_finish(struct hawk_report_blocks *report)
{
	const struct hawk_numbered_block *shown;

	if (!report->shown.most)
		return;
	hawk_ranking_sort(&report->shown);
	shown = report->shown.items;
	for (size_t i = 0; i < report->shown.count; i++)
		put_block(report, &shown[i].block);
	if (!report->json)
		hawk_output_printf(report->output, "%s of %s blocks, largest first, then oldest\n",
				   hawk_quantity_count(report->shown.count).text,
				   hawk_quantity_count(report->wanted).text);
}

void hawk_report_blocks_destroy(struct hawk_report_blocks *report)
{
	if (!report)
		return;
	hawk_ranking_deinit(&report->shown);
	free(report->site_texts);
	free(report);
}
