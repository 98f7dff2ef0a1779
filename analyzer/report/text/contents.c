/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Prints strings, and blocks with equal contents.
 */
#include "hawk/report/contents.h"

#include "hawk/base/cleanup.h"
#include "hawk/base/quantity.h"
#include "hawk/base/utf8.h"

enum { STRINGS_TOP = 20, DUPLICATES_TOP = 10, SITES_TOP = 5, STRING_COLUMN = 36 };

/* Appends the text as one line: white space becomes blanks. */
static void append_string(const struct hawk_contents_report *report,
			  const struct hawk_content *content, size_t width, struct hawk_text *text)
{
	size_t bytes =
		content->bytes < HAWK_STRING_SHOWN_MAX ? content->bytes : HAWK_STRING_SHOWN_MAX;
	char copy[HAWK_STRING_SHOWN_MAX + 1];

	copy[hawk_target_read_some(report->pointers->heap->target, content->address, copy, bytes)] =
		'\0';
	for (char *at = copy; *at; at++)
		if (*at == '\t' || *at == '\n' || *at == '\r')
			*at = ' ';
	hawk_text_puts(text, "\"");
	hawk_utf8_append_middle_cut(text, copy, width);
	hawk_text_puts(text, content->bytes > bytes ? "\"..." : "\"");
}

static void put_string(const struct hawk_contents_report *report, const struct hawk_screen *screen,
		       const struct hawk_content_group *group)
{
	uint64_t bytes = report->only_repeated ? hawk_content_wasted(group) : group->bytes;
	CLEANUP(text) struct hawk_text text = {0};

	hawk_text_printf(&text, "%10s %12s %8s  ", hawk_quantity_bytes(bytes).text,
			 hawk_quantity_count(group->count).text,
			 hawk_quantity_count(group->first->bytes).text);
	append_string(report, group->first,
		      screen->full ? SIZE_MAX : screen->width - STRING_COLUMN - sizeof("...."),
		      &text);
	hawk_screen_line(screen, &text);
}

static void put_unread(const struct hawk_contents_report *report, const struct hawk_screen *screen)
{
	const struct hawk_chosen *unread = &report->contents->unread;

	if (unread->objects)
		hawk_output_printf(screen->output, "  Contents of %s blocks (%s) are missing.\n",
				   hawk_quantity_count(unread->objects).text,
				   hawk_quantity_bytes(unread->bytes).text);
}

void hawk_report_strings(const struct hawk_contents_report *report,
			 const struct hawk_screen *screen)
{
	const struct hawk_contents *contents = report->contents;
	size_t end = hawk_report_limit(report->pointers, STRINGS_TOP, contents->group_count,
				       screen->full);

	hawk_screen_heading(
		screen, "%s (%s of %s)", report->only_repeated ? "Repeated strings" : "Strings",
		hawk_quantity_count(end).text, hawk_quantity_count(contents->group_count).text);
	if (end)
		hawk_screen_faint(screen, "%10s %12s %8s  string\n",
				  report->only_repeated ? "wasted" : "size", "count", "length");
	else
		hawk_report_put_none(report->pointers, screen);
	for (size_t i = 0; i < end; i++)
		put_string(report, screen, &contents->groups[i]);
	hawk_output_printf(screen->output, "\n  %s strings, %s; %s repeat another one, %s.\n",
			   hawk_quantity_count(contents->all.objects).text,
			   hawk_quantity_bytes(contents->all.bytes).text,
			   hawk_quantity_count(contents->repeated.objects).text,
			   hawk_quantity_bytes(contents->repeated.bytes).text);
	put_unread(report, screen);
}

static void put_sites(const struct hawk_contents_report *report, const struct hawk_screen *screen,
		      const char *by, const struct hawk_wasting_sites *sites)
{
	size_t end = hawk_report_limit(report->pointers, SITES_TOP, sites->count, screen->full);

	hawk_screen_heading(screen, "Repeated blocks by %s (%s of %s)", by,
			    hawk_quantity_count(end).text, hawk_quantity_count(sites->count).text);
	for (size_t i = 0; i < end; i++) {
		const struct hawk_wasting_site *site = &sites->items[i];
		CLEANUP(text) struct hawk_text text = {0};

		hawk_text_printf(&text, "%10s %12s  ", hawk_quantity_bytes(site->blocks.bytes).text,
				 hawk_quantity_count(site->blocks.objects).text);
		if (site->site == UINT32_MAX)
			hawk_text_puts(&text, "(no single block)");
		else
			hawk_site_name_tell(report->pointers->names, site->site,
					    screen->full ? SIZE_MAX : screen->width - text.size,
					    &text);
		hawk_screen_line(screen, &text);
	}
}

static void put_summary(const struct hawk_contents_report *report, const struct hawk_screen *screen)
{
	const struct hawk_contents *contents = report->contents;

	hawk_output_printf(screen->output, "\n  %s of %s blocks repeat another one: %s of %s.\n",
			   hawk_quantity_count(contents->repeated.objects).text,
			   hawk_quantity_count(contents->all.objects).text,
			   hawk_quantity_bytes(contents->repeated.bytes).text,
			   hawk_quantity_bytes(contents->all.bytes).text);
	if (contents->zeros.objects)
		hawk_output_printf(screen->output, "  %s further blocks (%s) hold only zeros.\n",
				   hawk_quantity_count(contents->zeros.objects).text,
				   hawk_quantity_bytes(contents->zeros.bytes).text);
	put_unread(report, screen);
}

void hawk_report_duplicates(const struct hawk_contents_report *report,
			    const struct hawk_screen *screen)
{
	const struct hawk_contents *contents = report->contents;
	size_t end = hawk_report_limit(report->pointers, DUPLICATES_TOP, contents->group_count,
				       screen->full);

	hawk_screen_heading(screen, "Blocks with equal contents (%s of %s)",
			    hawk_quantity_count(end).text,
			    hawk_quantity_count(contents->group_count).text);
	if (end)
		hawk_screen_faint(screen, "%10s %12s  first\n", "wasted", "blocks");
	else
		hawk_report_put_none(report->pointers, screen);
	for (size_t i = 0; i < end; i++) {
		const struct hawk_content_group *group = &contents->groups[i];

		hawk_output_printf(screen->output, "%10s %12s  ",
				   hawk_quantity_bytes(hawk_content_wasted(group)).text,
				   hawk_quantity_count(group->count).text);
		hawk_report_put_block(report->pointers, screen, group->first->block, 25);
	}
	if (end) {
		put_sites(report, screen, hawk_report_group_word(report->pointers->heap, 1),
			  report->sites);
		if (report->holders)
			put_sites(report, screen, "holder", report->holders);
	}
	put_summary(report, screen);
}
