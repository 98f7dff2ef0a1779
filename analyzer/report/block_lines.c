/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Streams lines about blocks.
 */
#include "block_lines.h"

#include <stdio.h>
#include <stdlib.h>

#include "hawk/analysis/block_order.h"
#include "hawk/analysis/selection.h"
#include "hawk/base/ranking.h"
#include "hawk/report/report.h"

enum { LINE_MAX_BYTES = 256 };

struct lines {
	const struct hawk_heap *heap;
	struct hawk_block_types *types;
	const struct hawk_block_form *form;
	struct hawk_output *output;
	struct hawk_block_tail tails[16][256];     /**< by kind & 15, birth */
	char (*site_texts)[HAWK_BLOCK_SITE_BYTES]; /**< by site; the last one is for "none" */
	struct hawk_ranking first; /**< struct hawk_numbered_block; unused without a limit */
};

static void format_tail(struct lines *lines, unsigned kind, unsigned birth)
{
	double seconds = hawk_heap_age_seconds(lines->heap, hawk_birth_decode((uint8_t)birth));
	struct hawk_block_tail *tail = &lines->tails[kind][birth];
	const char *name = hawk_report_kind_name((uint8_t)kind);
	int length;

	if (kind && lines->heap->knows & HAWK_HEAP_AGES)
		length = snprintf(tail->text, sizeof(tail->text), lines->form->aged, seconds, name);
	else
		length = snprintf(tail->text, sizeof(tail->text), lines->form->ageless, name);
	tail->length = (uint8_t)length;
}

static void format_sites(struct lines *lines)
{
	size_t count = lines->heap->site_count;

	for (size_t i = 0; i <= count; i++) {
		uint64_t id = i < count ? lines->heap->sites[i].id : 0;

		for (int j = 0; j < HAWK_BLOCK_SITE_BYTES; j++)
			lines->site_texts[i][j] = "0123456789abcdef"[id >> (60 - 4 * j) & 15];
	}
}

static void put(struct lines *lines, const struct hawk_block *block)
{
	const struct hawk_block_tail *tail = &lines->tails[block->kind & 15][block->birth];
	uint32_t none = (uint32_t)lines->heap->site_count;
	uint32_t site = block->trace < lines->heap->trace_count
				? lines->heap->site_of_trace[block->trace]
				: lines->heap->lost_site;
	const char *type = lines->types ? hawk_block_type(lines->types, block) : NULL;
	char *to = hawk_output_room(lines->output, LINE_MAX_BYTES);

	to = lines->form->begin(to, block, lines->site_texts[site > none ? none : site]);
	to = hawk_block_line_add(to, tail->text, tail->length);
	if (!type)
		to = hawk_block_line_add(to, lines->form->typeless, strlen(lines->form->typeless));
	hawk_output_advance(lines->output, to);
	if (type)
		lines->form->put_type(type, lines->output);
}

/** Prints each chosen block, or ranks it if there is a limit. A process may run on meanwhile. */
static struct hawk_error *take_all(struct lines *lines, const uint64_t *chosen, uint64_t *ret)
{
	struct hawk_near near = {.target = lines->heap->target};
	uint32_t count = lines->heap->index.count;
	struct hawk_error *err = NULL;

	for (uint32_t i = hawk_block_next_chosen(chosen, 0, count);
	     i < count && !err && !lines->output->errnum;
	     i = hawk_block_next_chosen(chosen, i + 1, count)) {
		struct hawk_numbered_block item = {0};

		hawk_heap_next_block(lines->heap, &near, i, &item.block);
		++*ret;
		if (lines->first.most)
			err = hawk_ranking_offer(&lines->first, &item);
		else
			put(lines, &item.block);
	}
	return err;
}

static void put_first(struct lines *lines)
{
	const struct hawk_numbered_block *items;

	hawk_ranking_sort(&lines->first);
	items = lines->first.items;
	for (size_t i = 0; i < lines->first.count; i++)
		put(lines, &items[i].block);
}

static struct hawk_error *put_lines(struct lines *lines, const struct hawk_blocks_report *report,
				    uint64_t *ret)
{
	struct hawk_error *err;

	lines->site_texts = calloc(report->heap->site_count + 1, sizeof(*lines->site_texts));
	if (!lines->site_texts)
		return &hawk_enomem;
	for (unsigned kind = 0; kind < 16; kind++)
		for (unsigned birth = 0; birth < 256; birth++)
			format_tail(lines, kind, birth);
	format_sites(lines);
	hawk_ranking_init(&lines->first, report->top, sizeof(struct hawk_numbered_block),
			  hawk_block_order);
	err = take_all(lines, report->chosen, ret);
	if (!err && report->top)
		put_first(lines);
	hawk_ranking_deinit(&lines->first);
	free(lines->site_texts);
	return err;
}

struct hawk_error *hawk_block_lines_put(const struct hawk_blocks_report *report,
					const struct hawk_block_form *form,
					struct hawk_output *output, uint64_t *ret)
{
	struct lines *lines = calloc(1, sizeof(*lines));
	struct hawk_error *err;

	if (!lines)
		return &hawk_enomem;
	lines->heap = report->heap;
	lines->types = report->types;
	lines->form = form;
	lines->output = output;
	*ret = 0;
	err = put_lines(lines, report, ret);
	free(lines);
	return err;
}
