/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * "cycle of 3: Session +72 -> Deadline +16 -> make_handler  app.cpp:31 +0 -> Session"
 */
#include "leak_cycles.h"

#include <inttypes.h>

#include "hawk/base/cleanup.h"
#include "hawk/base/quantity.h"
#include "hawk/names/function_name.h"

enum { NAME_WIDTH = 30 };

const char *hawk_leak_type(const struct hawk_leaks_report *report, uint32_t block,
			   const struct hawk_type_words *words)
{
	struct hawk_block whole;

	hawk_heap_block(report->heap, block, &whole);
	if (!(hawk_heap_knows_of(report->heap, whole.trace) & HAWK_HEAP_STACKS))
		return NULL;
	return hawk_block_type_of_words(report->types, &whole, words);
}

static void put_name(const struct hawk_leaks_report *report, const struct hawk_screen *screen,
		     const struct hawk_leak_step *step, struct hawk_text *text)
{
	const char *type = hawk_leak_type(report, step->block, &step->words);
	size_t width = screen->full ? SIZE_MAX : NAME_WIDTH;

	if (type)
		hawk_function_name_append(text, type, width);
	else
		hawk_site_name_append(
			text,
			hawk_site_name(report->names, hawk_heap_site_at(report->heap, step->block)),
			width);
}

static void put_step(const struct hawk_leaks_report *report, const struct hawk_screen *screen,
		     const struct hawk_leak_step *step, struct hawk_text *text)
{
	put_name(report, screen, step, text);
	if (step->blocks > 1)
		hawk_text_printf(text, " (%s in a row)", hawk_quantity_count(step->blocks).text);
	if (step->offset != HAWK_OFFSET_UNKNOWN)
		hawk_text_printf(text, " +%" PRIu64, step->offset);
	hawk_text_puts(text, " -> ");
}

void hawk_leak_cycle_append_way(const struct hawk_leaks_report *report,
				const struct hawk_screen *screen,
				const struct hawk_leak_cycle *cycle, struct hawk_text *text)
{
	for (uint32_t i = 0; i < cycle->step_count; i++)
		put_step(report, screen, cycle->steps + i, text);
	if (cycle->cut_off)
		hawk_text_puts(text, "... -> ");
	put_name(report, screen, cycle->steps, text);
}

static void put_way(const struct hawk_leaks_report *report, const struct hawk_screen *screen,
		    const struct hawk_leak_cycle *cycle, unsigned indent)
{
	CLEANUP(text) struct hawk_text text = {0};

	hawk_text_printf(&text, "cycle of %s: ", hawk_quantity_count(cycle->length).text);
	hawk_leak_cycle_append_way(report, screen, cycle, &text);
	hawk_screen_paragraph(screen, hawk_text_string(&text), indent, indent + 2);
}

void hawk_leak_cycle_append_cut(const struct hawk_leaks_report *report,
				const struct hawk_screen *screen,
				const struct hawk_leak_cycle *cycle, struct hawk_text *text)
{
	const struct hawk_leak_step *step = cycle->steps + cycle->cut;

	if (cycle->cut == UINT32_MAX)
		return;
	hawk_text_puts(text, "; without the pointer in ");
	put_name(report, screen, step, text);
	if (step->offset != HAWK_OFFSET_UNKNOWN)
		hawk_text_printf(text, " +%" PRIu64, step->offset);
	if (cycle->frees_all)
		hawk_text_puts(text, " all would be freed");
	else
		hawk_text_printf(text, " %s block%s (%s) of the first would be freed",
				 hawk_quantity_count(cycle->freed.objects).text,
				 cycle->freed.objects == 1 ? "" : "s",
				 hawk_quantity_bytes(cycle->freed.bytes).text);
}

/* "849 cycles like this lose 2,547 blocks, 1.2 MiB; without the pointer at Session +72 all would be
 * freed" */
static void put_sums(const struct hawk_leaks_report *report, const struct hawk_screen *screen,
		     const struct hawk_leak_cycle *cycle, unsigned indent)
{
	CLEANUP(text) struct hawk_text text = {0};
	bool one = cycle->cycles == 1;

	hawk_text_printf(&text, "%s cycle%s like this lose%s %s block%s, %s",
			 hawk_quantity_count(cycle->cycles).text, one ? "" : "s", one ? "s" : "",
			 hawk_quantity_count(cycle->lost.objects).text,
			 cycle->lost.objects == 1 ? "" : "s",
			 hawk_quantity_bytes(cycle->lost.bytes).text);
	hawk_leak_cycle_append_cut(report, screen, cycle, &text);
	hawk_screen_paragraph(screen, hawk_text_string(&text), indent, indent + 2);
}

static const struct hawk_leak_cycle *cycle_of(const struct hawk_leaks_report *report, size_t number,
					      uint64_t *leaders)
{
	const struct hawk_leak_record *record = report->selection->records[number];

	*leaders = 0;
	if (record->kind != HAWK_REACH_DEFINITELY_LOST)
		return NULL;
	return hawk_leak_cycle_of(report->heap, report->cycles, record->site, leaders);
}

void hawk_leak_cycle_put(const struct hawk_leaks_report *report, const struct hawk_screen *screen,
			 size_t number, unsigned indent)
{
	uint64_t leaders, others;
	const struct hawk_leak_cycle *cycle = cycle_of(report, number, &leaders);

	if (!cycle)
		return;
	for (size_t i = 0; i < number; i++)
		if (cycle_of(report, i, &others) == cycle) {
			hawk_output_printf(screen->output,
					   "%*s%s of the %s cycles of record %zu above\n", indent,
					   "", hawk_quantity_count(leaders).text,
					   hawk_quantity_count(cycle->cycles).text, i + 1);
			return;
		}
	if (cycle->length == 1) {
		hawk_output_printf(screen->output,
				   "%*sthe first points to itself at +%" PRIu64 "\n", indent, "",
				   cycle->steps[0].offset);
		return;
	}
	put_way(report, screen, cycle, indent);
	put_sums(report, screen, cycle, indent);
}
