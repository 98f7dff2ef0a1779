/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Free memory by what keeps it, the verdict with advice, and the sites whose blocks pin memory.
 */
#include "hawk/report/fragmentation.h"

#include <inttypes.h>
#include <string.h>

#include "hawk/base/cleanup.h"
#include "hawk/base/quantity.h"

enum { DEFAULT_TOP = 5, ROW_COLUMNS = 59 };

/** How each allocator gives back whole pages, and what limits its arenas and caches. */
static const struct hints {
	const char *allocator, *gives_back, *limits_caches;
} all_hints[] = {
	{"glibc", "malloc_trim(0)", "glibc.malloc.tcache_count=N in GLIBC_TUNABLES"},
	{"jemalloc", "a lower dirty_decay_ms, or background_thread:true, in MALLOC_CONF",
	 "tcache_max:N, or tcache:false, in MALLOC_CONF"},
	{"tcmalloc", "MallocExtension_ReleaseFreeMemory()",
	 "TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES"},
	{"mimalloc", "mi_collect(true)", "mi_collect(true) in each thread"},
	{"pymalloc", "nothing but freeing whole arenas", "nothing"},
	{"musl", "nothing but freeing whole groups", "nothing"},
};

static const struct hints *hints_of(const char *allocator)
{
	for (size_t i = 0; i < sizeof(all_hints) / sizeof(all_hints[0]); i++)
		if (!strcmp(all_hints[i].allocator, allocator))
			return &all_hints[i];
	return &all_hints[0];
}

static uint64_t all_returns(const struct hawk_fragmentation *fragmentation)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < fragmentation->pin_count; i++)
		sum += fragmentation->pins[i].returns_bytes;
	return sum;
}

void hawk_fragmentation_append_advice(struct hawk_text *text,
				      const struct hawk_fragmentation *fragmentation)
{
	const struct hints *hints = hints_of(fragmentation->allocator);

	switch (fragmentation->verdict) {
	case HAWK_FRAGMENTATION_PINNED:
		if (fragmentation->pinned_bytes >= fragmentation->scattered_bytes)
			hawk_text_printf(text,
					 "Live blocks pin %s in nearly empty pages or slabs; %s "
					 "would return without the blocks of single sites",
					 hawk_quantity_bytes(fragmentation->pinned_bytes).text,
					 hawk_quantity_bytes(all_returns(fragmentation)).text);
		else
			hawk_text_printf(text,
					 "%s lies between live blocks, in pages or slabs more than "
					 "half used: it can be used again, but not given back",
					 hawk_quantity_bytes(fragmentation->scattered_bytes).text);
		break;
	case HAWK_FRAGMENTATION_THRESHOLDS:
		hawk_text_printf(text, "%s holds %s that it could give back: %s returns it",
				 fragmentation->allocator,
				 hawk_quantity_bytes(fragmentation->whole_bytes).text,
				 hints->gives_back);
		break;
	case HAWK_FRAGMENTATION_ARENAS:
		hawk_text_printf(text,
				 "%s arenas hold %s that could be given back: %s returns it; "
				 "glibc.malloc.arena_max=N in GLIBC_TUNABLES, or M_ARENA_MAX, "
				 "makes fewer arenas",
				 hawk_quantity_count(fragmentation->arenas).text,
				 hawk_quantity_bytes(fragmentation->whole_bytes).text,
				 hints->gives_back);
		break;
	case HAWK_FRAGMENTATION_CACHES:
		hawk_text_printf(text,
				 "Caches of threads hold %s, which other threads cannot use: %s "
				 "limits them",
				 hawk_quantity_bytes(fragmentation->cached_bytes).text,
				 hints->limits_caches);
		break;
	default:
		hawk_text_puts(text, "Free memory is below a quarter of the heap, or 128 KiB");
	}
}

static void put_part(const struct hawk_fragmentation *fragmentation, const char *name,
		     uint64_t bytes, const char *remark, const struct hawk_screen *screen)
{
	if (!bytes && !screen->full)
		return;
	hawk_output_printf(screen->output, "  %-10s %11s  %8s  ", name,
			   hawk_quantity_bytes(bytes).text,
			   hawk_quantity_share(bytes, fragmentation->free_bytes).text);
	hawk_screen_faint(screen, "%s", remark);
	hawk_output_puts(screen->output, "\n");
}

static void put_parts(const struct hawk_fragmentation *fragmentation,
		      const struct hawk_screen *screen)
{
	put_part(fragmentation, "pinned", fragmentation->pinned_bytes,
		 "in pages or slabs at least half free", screen);
	put_part(fragmentation, "scattered", fragmentation->scattered_bytes,
		 "in pages or slabs more than half used", screen);
	put_part(fragmentation, "whole", fragmentation->whole_bytes,
		 "pages or slabs without blocks, resident", screen);
	put_part(fragmentation, "cached", fragmentation->cached_bytes, "by threads", screen);
	put_part(fragmentation, "untouched", fragmentation->given_back_bytes,
		 "given back, or never used", screen);
}

/** Rows of pins. */
struct rows {
	const struct hawk_pointer_report *report;
	const struct hawk_pin *pins;
	size_t end;
};

static void put_rows(const void *context, const struct hawk_screen *screen)
{
	const struct rows *rows = context;

	for (size_t i = 0; i < rows->end; i++) {
		const struct hawk_pin *pin = &rows->pins[i];
		CLEANUP(text) struct hawk_text name = {0};
		size_t width = screen->full                  ? SIZE_MAX
			       : screen->width > ROW_COLUMNS ? screen->width - ROW_COLUMNS
							     : 1;

		if (pin->is_cached)
			hawk_text_puts(&name, "caches of threads");
		else if (pin->site == HAWK_NOT_KNOWN)
			hawk_text_puts(&name, "not known");
		else
			hawk_site_name_tell(rows->report->names, pin->site, width, &name);
		hawk_output_printf(screen->output, "%10s %10s %10s  0x%-14" PRIx64 "  %s\n",
				   hawk_quantity_bytes(pin->returns_bytes).text,
				   hawk_quantity_bytes(pin->shared_bytes).text,
				   hawk_quantity_count(pin->objects).text, pin->example,
				   hawk_text_string(&name));
	}
}

void hawk_report_fragmentation(const struct hawk_pointer_report *report,
			       const struct hawk_fragmentation *fragmentation,
			       const struct hawk_screen *screen)
{
	bool is_pinned = fragmentation->verdict == HAWK_FRAGMENTATION_PINNED &&
			 fragmentation->pinned_bytes >= fragmentation->scattered_bytes;
	bool is_told = fragmentation->verdict != HAWK_FRAGMENTATION_NONE;
	uint64_t kept = hawk_fragmentation_kept(fragmentation);
	size_t usual = is_pinned ? DEFAULT_TOP : 0;
	struct rows rows = {
		.report = report,
		.pins = fragmentation->pins,
		.end = hawk_report_limit(report, usual, fragmentation->pin_count, screen->full),
	};
	CLEANUP(text) struct hawk_text advice = {0};

	if (!fragmentation->allocator)
		return;
	hawk_screen_heading(screen, "Free memory: %s, %s of the heap%s%s",
			    hawk_quantity_bytes(kept).text,
			    hawk_quantity_share(kept, kept + fragmentation->live_bytes).text,
			    is_told ? ": " : "",
			    is_told ? hawk_fragmentation_verdict_name(fragmentation->verdict) : "");
	put_parts(fragmentation, screen);
	hawk_fragmentation_append_advice(&advice, fragmentation);
	hawk_text_puts(&advice, ".");
	hawk_screen_paragraph(screen, hawk_text_string(&advice), 2, 2);
	if (!rows.end)
		return;
	hawk_screen_heading(screen, "Blocks that pin free memory (%s of %s sites)",
			    hawk_quantity_count(rows.end).text,
			    hawk_quantity_count(fragmentation->pin_count).text);
	hawk_screen_faint(screen, "%10s %10s %10s  %-16s  site\n", "returns", "shared", "blocks",
			  "one of them");
	hawk_report_put_rows(report, screen, put_rows, &rows);
	hawk_screen_paragraph(screen,
			      "returns: if the blocks were gone; shared: free memory that blocks "
			      "of other sites pin as well. Who holds one: hawk-core path.",
			      2, 2);
}
