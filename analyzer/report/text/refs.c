/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Prints the pointers to one block.
 */
#include <inttypes.h>
#include <stdio.h>

#include "hawk/base/cleanup.h"
#include "hawk/base/quantity.h"
#include "hawk/report/pointers.h"
#include "site_stacks.h"

enum { DEFAULT_TOP = 10, DEFAULT_DEPTH = 3 };

/** " -> +24" for pointers into the middle. */
static void put_inside(const struct hawk_screen *screen, const struct hawk_referrer *pointer)
{
	if (!pointer->interior)
		return;
	if (pointer->inside == HAWK_OFFSET_UNKNOWN)
		hawk_output_puts(screen->output, "  (interior)");
	else
		hawk_output_printf(screen->output, "  -> +%" PRIu64, pointer->inside);
}

static void put_roots(const struct hawk_pointer_report *report, const struct hawk_refs *refs,
		      const struct hawk_screen *screen)
{
	size_t end = hawk_report_limit(report, DEFAULT_TOP, refs->root_count, screen->full);

	hawk_screen_heading(screen, "Roots (%s of %s)", hawk_quantity_count(end).text,
			    hawk_quantity_count(refs->root_count).text);
	if (!end)
		hawk_output_puts(screen->output, "  none\n");
	for (size_t i = 0; i < end; i++) {
		CLEANUP(text) struct hawk_text text = {0};

		hawk_root_name(report->roots, refs->list.items[i].source, &text);
		hawk_output_printf(screen->output, "  %s", hawk_text_string(&text));
		put_inside(screen, &refs->list.items[i]);
		hawk_output_puts(screen->output, "\n");
	}
}

static void put_member(const struct hawk_pointer_report *report, const struct hawk_screen *screen,
		       const struct hawk_refs_group *group)
{
	CLEANUP(text) struct hawk_text text = {0};

	hawk_text_puts(&text, "      member ");
	if (hawk_report_append_member(report, HAWK_BLOCK_NOWHERE, group->example, group->offset,
				      &text))
		hawk_screen_line(screen, &text);
}

static void put_group(const struct hawk_pointer_report *report, const struct hawk_screen *screen,
		      struct hawk_site_stacks *stacks, const struct hawk_refs_group *group)
{
	const struct hawk_heap *heap = report->heap;
	char offset[24] = "anywhere", id[17] = "";

	/* Both special offsets have the same value; neither names a place. */
	if (group->offset != HAWK_SITE_ANYWHERE)
		snprintf(offset, sizeof(offset), "+%" PRIu64, group->offset);
	if (group->site < heap->site_count)
		snprintf(id, sizeof(id), "%016" PRIx64, heap->sites[group->site].id);
	hawk_output_printf(screen->output, "%10s %9s  %-8s  0x%-12" PRIx64 "  %16s\n",
			   hawk_quantity_count(group->pointers).text, offset,
			   group->interior == 0                 ? "start"
			   : group->interior == group->pointers ? "interior"
								: "both",
			   hawk_block_start(&report->heap->index, group->example), id);
	put_member(report, screen, group);
	hawk_site_stacks_put(stacks, group->site);
}

static void put_groups(const struct hawk_pointer_report *report, const struct hawk_refs *refs,
		       const struct hawk_screen *screen)
{
	size_t end = hawk_report_limit(report, DEFAULT_TOP, refs->group_count, screen->full);
	CLEANUP(site_stacks)
	struct hawk_site_stacks stacks =
		hawk_site_stacks_on(screen, report->symbols, report->heap,
				    hawk_report_depth(report, DEFAULT_DEPTH, screen->full));

	hawk_screen_heading(screen, "Blocks, by site and offset (%s of %s)",
			    hawk_quantity_count(end).text,
			    hawk_quantity_count(refs->group_count).text);
	if (!end) {
		hawk_output_puts(screen->output, "  none\n");
		return;
	}
	hawk_screen_faint(screen, "%10s %9s  %-8s  %-14s  %s\n", "pointers", "offset", "to",
			  "for example", "site");
	for (size_t i = 0; i < end; i++)
		hawk_site_stacks_add(&stacks, refs->groups[i].site);
	hawk_site_stacks_compare(&stacks);
	for (size_t i = 0; i < end; i++)
		put_group(report, screen, &stacks, &refs->groups[i]);
}

static void put_refs(const struct hawk_pointer_report *report, const struct hawk_refs *refs,
		     const struct hawk_screen *screen)
{
	uint64_t inside = refs->address - hawk_block_start(&report->heap->index, refs->block);

	hawk_screen_style(screen, HAWK_STYLE_HEADING);
	hawk_output_puts(screen->output, "Pointers to ");
	hawk_screen_plain(screen);
	hawk_report_put_block(report, screen, refs->block, 12);
	if (inside)
		hawk_output_printf(screen->output, "  (0x%" PRIx64 " is its byte %" PRIu64 ")\n",
				   refs->address, inside);
	put_roots(report, refs, screen);
	put_groups(report, refs, screen);
}

void hawk_report_refs(const struct hawk_pointer_report *report, const struct hawk_refs *refs,
		      size_t count, const struct hawk_screen *screen)
{
	for (size_t i = 0; i < count; i++) {
		hawk_output_puts(screen->output, i ? "\n" : "");
		put_refs(report, &refs[i], screen);
	}
}
