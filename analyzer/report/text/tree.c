/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Prints trees "root; site; site ..." as indented text without the small branches.
 *
 * Trees are as deep as HAWK_SITE_TREE_DEPTH, so recursion has a limit.
 */
#include <string.h>

#include "hawk/base/cleanup.h"
#include "hawk/analysis/leaks.h"
#include "hawk/base/quantity.h"
#include "hawk/report/pointers.h"
#include "hawk/base/utf8.h"

enum {
	DEFAULT_TOP = 5,
	DEFAULT_DEPTH = 8,
	COLUMNS_BEFORE = 22, /**< without the blocks' columns */
	BLOCKS_WIDTH_MIN = 6,
	NAME_WIDTH_MIN = 16,
	MODULE_WIDTH_MIN = 8,
	SMALL = 200, /**< branches below 1/SMALL of the whole are left out */
};

struct writer {
	const struct hawk_pointer_report *report;
	const struct hawk_tree_roots *groups;
	const struct hawk_site_tree *tree;
	const struct hawk_tree_rows *rows;
	const struct hawk_screen *screen;
	struct hawk_output *output;
	int blocks_width;
};

static const char and_others[] = ", and others";

/** Appends "`server` in redis-server .bss", at most `width` columns. Cuts the section first, then
 * the module, and the variable last. */
static void append_root(struct hawk_text *text, const char *name, size_t width)
{
	static const char in[] = "` in ";
	const char *place = name[0] == '`' ? strstr(name, in) : NULL;
	CLEANUP(text) struct hawk_text variable = {0}, module = {0};
	const char *section = place ? strstr(place, " .") : NULL;
	size_t used;

	if (hawk_utf8_width(name) <= width || !section) {
		hawk_utf8_append_middle_cut(text, name, width);
		return;
	}
	hawk_text_append(&variable, name, (size_t)(place - name) + 1);
	place += sizeof(in) - 1;
	hawk_text_append(&module, place, (size_t)(section - place));
	used = hawk_utf8_width(hawk_text_string(&variable));
	hawk_utf8_append_middle_cut(text, hawk_text_string(&variable), width);
	used += sizeof(in) - 2;
	if (!module.bytes || width < used + MODULE_WIDTH_MIN)
		return;
	hawk_text_puts(text, in + 1);
	hawk_utf8_append_middle_cut(text, module.bytes, width - used);
}

void hawk_report_append_tree_node(const struct hawk_pointer_report *report,
				  const struct hawk_tree_roots *groups,
				  const struct hawk_site_tree_node *node, size_t width,
				  struct hawk_text *text)
{
	bool several = node->kind == HAWK_TREE_SEVERAL;

	if (node->kind == HAWK_TREE_SITE) {
		hawk_site_name_tell(report->names, node->key, width, text);
	} else if (node->kind == HAWK_TREE_ROOT || several) {
		if (several && width != SIZE_MAX)
			width -= strlen(and_others);
		append_root(text, groups->names[node->key], width);
		hawk_text_puts(text, several ? and_others : "");
	} else {
		hawk_text_puts(text, hawk_site_tree_special_name(node->kind,
								 hawk_leaks_doubt(report->graph)));
	}
}

/** Prints the figures before a name. */
static void put_figures(const struct writer *writer, const struct hawk_tree_row *row)
{
	hawk_output_printf(writer->output, "%10s ", hawk_quantity_bytes(row->cum_bytes).text);
	hawk_output_printf(
		writer->output, "%7s %*s  ",
		hawk_quantity_share(row->cum_bytes, writer->rows->items[0].cum_bytes).text,
		writer->blocks_width, hawk_quantity_count(row->cum_objects).text);
}

static void put_node(const struct writer *writer, const struct hawk_tree_row *row)
{
	const struct hawk_site_tree_node *node = &writer->tree->nodes[row->node];
	unsigned indent = 2 * (node->depth - 1);
	size_t taken = COLUMNS_BEFORE + (size_t)writer->blocks_width + indent;
	size_t room = writer->screen->width > taken + NAME_WIDTH_MIN ? writer->screen->width - taken
								     : NAME_WIDTH_MIN;
	CLEANUP(text) struct hawk_text text = {0};

	hawk_report_append_tree_node(writer->report, writer->groups, node,
				     writer->screen->full ? SIZE_MAX : room, &text);
	put_figures(writer, row);
	hawk_output_fill(writer->output, ' ', indent);
	hawk_screen_line(writer->screen, &text);
}

/** Prints the sum of hidden branches in one line. */
static void put_sum(const struct writer *writer, const struct hawk_tree_row *row)
{
	hawk_screen_style(writer->screen, HAWK_STYLE_FAINT);
	put_figures(writer, row);
	hawk_output_fill(writer->output, ' ', 2 * (writer->tree->nodes[row->node].depth - 1));
	hawk_output_printf(writer->output, "... %s more\n", hawk_quantity_count(row->summed).text);
	hawk_screen_plain(writer->screen);
}

static void put_children(const struct writer *writer, const struct hawk_tree_row *parent)
{
	const struct hawk_tree_row *row = writer->rows->items + parent->first_child;

	for (uint32_t i = 0; i < parent->children; i++, row++) {
		if (row->summed) {
			put_sum(writer, row);
		} else {
			put_node(writer, row);
			put_children(writer, row);
		}
	}
}

static void put_rows(const void *context, const struct hawk_screen *screen)
{
	struct writer writer = *(const struct writer *)context;

	writer.screen = screen;
	writer.output = screen->output;
	put_children(&writer, writer.rows->items);
}

static int blocks_width(const struct hawk_site_tree *tree)
{
	size_t width = strlen(hawk_quantity_count(tree->nodes[0].cum_objects).text);

	return width > BLOCKS_WIDTH_MIN ? (int)width : BLOCKS_WIDTH_MIN;
}

struct hawk_tree_view hawk_report_tree_view(const struct hawk_pointer_report *report, bool json,
					    bool full, bool roots)
{
	bool whole = json || full;
	size_t top = whole ? SIZE_MAX : roots ? 2 * DEFAULT_TOP : DEFAULT_TOP;

	return (struct hawk_tree_view){
		.top = report->top && (json || !full) ? report->top : top,
		.depth = roots && !json          ? 1
			 : report->depth         ? report->depth
			 : whole && !report->top ? SIZE_MAX
						 : DEFAULT_DEPTH,
		.share = whole ? 0 : SMALL,
		.sums = !json,
	};
}

void hawk_report_tree(const struct hawk_pointer_report *report,
		      const struct hawk_tree_roots *groups, const struct hawk_tree_rows *rows,
		      const struct hawk_screen *screen)
{
	const struct hawk_site_tree *tree = rows->tree;
	struct writer writer = {
		.report = report,
		.groups = groups,
		.tree = tree,
		.rows = rows,
		.blocks_width = blocks_width(tree),
	};

	hawk_report_put_sampling(report, screen);
	hawk_screen_faint(screen, "%10s %7s %*s  %s\n", "size", "share", writer.blocks_width,
			  "blocks", "held by");
	hawk_report_put_rows(report, screen, put_rows, &writer);
}

void hawk_report_retained_roots(const struct hawk_pointer_report *report,
				const struct hawk_tree_roots *groups,
				const struct hawk_tree_rows *rows, const struct hawk_screen *screen)
{
	hawk_report_tree(report, groups, rows, screen);
	if (rows->tree->much_shared)
		hawk_output_puts(
			screen->output,
			"\n  What several blocks share would survive the loss of any one of "
			"them;\n  hawk-core merge-paths follows the shortest way to each "
			"block.\n");
}
