/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Prints sites and blocks by the bytes that freeing them would free. Exact for the first sites
 * listed, lower bounds for the rest.
 */
#include <inttypes.h>
#include <string.h>

#include "hawk/base/cleanup.h"
#include "hawk/base/quantity.h"
#include "hawk/report/pointers.h"
#include "site_stacks.h"

enum { DEFAULT_TOP = 10, DEFAULT_DEPTH = 3 };

/** Returns "1.0 MiB", or ">=96 B" if it may be more. */
static struct hawk_quantity amount(uint64_t bytes, bool exact)
{
	struct hawk_quantity size = hawk_quantity_bytes(bytes);

	if (exact)
		return size;
	memmove(size.text + 2, size.text, sizeof(size.text) - 2);
	memcpy(size.text, ">=", 2);
	return size;
}

static void put_site(const struct hawk_pointer_report *report, const struct hawk_screen *screen,
		     struct hawk_site_stacks *stacks, size_t number,
		     const struct hawk_retained_site *site)
{
	hawk_output_printf(screen->output, "%4zu %12s %10s %12s  %016" PRIx64 "\n", number,
			   amount(site->retained, site->exact).text,
			   hawk_quantity_bytes(site->blocks.bytes).text,
			   hawk_quantity_count(site->blocks.objects).text,
			   report->heap->sites[site->site].id);
	hawk_site_stacks_put(stacks, site->site);
}

void hawk_report_retained_sites(const struct hawk_pointer_report *report,
				const struct hawk_retained_sites *sites,
				const struct hawk_screen *screen)
{
	bool all_exact = true;
	size_t end = hawk_report_limit(report, DEFAULT_TOP, sites->count, screen->full);
	CLEANUP(site_stacks)
	struct hawk_site_stacks stacks =
		hawk_site_stacks_on(screen, report->symbols, report->heap,
				    hawk_report_depth(report, DEFAULT_DEPTH, screen->full));

	hawk_screen_heading(screen, "%s by retained bytes (%s of %s)",
			    report->heap->knows & HAWK_HEAP_STACKS ? "Sites" : "Classes",
			    hawk_quantity_count(end).text, hawk_quantity_count(sites->count).text);
	if (!sites->count) {
		hawk_report_put_none(report, screen);
		return;
	}
	hawk_report_put_sampling(report, screen);
	hawk_screen_faint(screen, "   # %12s %10s %12s  %s\n", "retained", "shallow", "blocks",
			  hawk_report_group_word(report->heap, 1));
	for (size_t i = 0; i < end; i++)
		hawk_site_stacks_add(&stacks, sites->items[i].site);
	hawk_site_stacks_compare(&stacks);
	for (size_t i = 0; i < end; i++) {
		put_site(report, screen, &stacks, i + 1, &sites->items[i]);
		all_exact = all_exact && sites->items[i].exact;
	}
	if (!all_exact)
		hawk_output_puts(
			screen->output,
			"\n  >= at least: blocks that only several of a site's blocks hold "
			"together are\n  not counted. To have it exactly: --top=N for the "
			"first N sites, or --site.\n");
}

void hawk_report_retained_blocks(const struct hawk_pointer_report *report,
				 const struct hawk_retained_blocks *blocks,
				 const struct hawk_screen *screen)
{
	const struct hawk_retained_block *items = blocks->shown.items;

	hawk_screen_heading(screen, "Blocks by retained bytes (%s of %s)",
			    hawk_quantity_count(blocks->shown.count).text,
			    hawk_quantity_count(blocks->count).text);
	if (!blocks->count) {
		hawk_report_put_none(report, screen);
		return;
	}
	hawk_screen_faint(screen, "%10s  %s\n", "retained", "block");
	for (size_t i = 0; i < blocks->shown.count; i++) {
		hawk_output_printf(screen->output, "%10s  ",
				   hawk_quantity_bytes(items[i].bytes).text);
		hawk_report_put_block(report, screen, items[i].block, 12);
	}
}
