/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Trees "root; site; site ...": as indented text with the small branches left out, as folded stacks
 * for flame graphs, as JSON.
 *
 * Trees are as deep as HAWK_SITE_TREE_DEPTH, so recursion has a limit.
 */
#include <stdlib.h>
#include <string.h>

#include "hawk/base/cleanup.h"
#include "json/objects.h"
#include "hawk/analysis/leaks.h"
#include "hawk/base/quantity.h"
#include "hawk/report/pointers.h"
#include "hawk/base/utf8.h"

enum {
	DEFAULT_TOP = 5,
	DEFAULT_DEPTH = 8,
	COLUMNS_BEFORE = 22, /**< without those of blocks */
	COLUMNS_START = 11,  /**< more, where there are sums by start pointers */
	BLOCKS_WIDTH_MIN = 6,
	NAME_WIDTH_MIN = 16,
	MODULE_WIDTH_MIN = 8,
	MUCH = 5,    /**< a share of 1/MUCH is explained */
	SMALL = 200, /**< branches below 1/SMALL of the whole are left out */
};

static const uint32_t NOT_PUT = UINT32_MAX;

struct writer {
	const struct hawk_pointer_report *report;
	const struct hawk_tree_roots *groups;
	const struct hawk_site_tree *tree;
	const struct hawk_screen *screen;
	struct hawk_output *output;
	struct hawk_json *json;
	size_t top, depth;
	uint64_t share; /**< as in a view */
	int blocks_width;
};

static const char and_others[] = ", and others";

static const char *lost_name(enum hawk_leaks_doubt doubt)
{
	switch (doubt) {
	case HAWK_LEAKS_MEMORY_MISSING:
		return "(no root found; some memory is missing)";
	case HAWK_LEAKS_HEAPS_DISCARDED:
		return "(no root found; an arena was reset)";
	case HAWK_LEAKS_OVERWRITTEN:
		return "(no root found; blocks were overwritten)";
	default:
		return "(lost: no root leads there)";
	}
}

static const char *special_name(const struct writer *writer, uint32_t kind)
{
	switch (kind) {
	case HAWK_TREE_SHARED:
		return "(shared by several blocks)";
	case HAWK_TREE_LOST:
		return lost_name(hawk_leaks_doubt(writer->report->graph));
	}
	return "(all)";
}

/** "`server` in redis-server .bss", at most `width` columns. The variable says more than where it
 * is, and the module more than the section. */
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

/** For text and JSON. */
static void append_name(const struct writer *writer, const struct hawk_site_tree_node *node,
			size_t width, struct hawk_text *text)
{
	bool several = node->kind == HAWK_TREE_SEVERAL;

	if (node->kind == HAWK_TREE_SITE) {
		hawk_site_name_tell(writer->report->names, node->key, width, text);
	} else if (node->kind == HAWK_TREE_ROOT || several) {
		if (several && width != SIZE_MAX)
			width -= strlen(and_others);
		append_root(text, writer->groups->names[node->key], width);
		hawk_text_puts(text, several ? and_others : "");
	} else {
		hawk_text_puts(text, special_name(writer, node->kind));
	}
}

/** For folded stacks, whose frames are parted by ';': without a place, names without ';'. */
static void append_folded(const struct writer *writer, const struct hawk_site_tree_node *node,
			  struct hawk_text *text)
{
	char instead = node->kind == HAWK_TREE_LOST ? ',' : ':';
	size_t start = text->size;

	if (node->kind == HAWK_TREE_SITE)
		hawk_site_name_append_folded(text,
					     hawk_site_name(writer->report->names, node->key));
	else
		append_name(writer, node, SIZE_MAX, text);
	for (size_t i = start; i < text->size; i++)
		if (text->bytes[i] == ';')
			text->bytes[i] = instead;
}

/** What stands before names. */
static void put_figures(const struct writer *writer, uint64_t bytes, uint64_t start,
			uint64_t objects)
{
	hawk_output_printf(writer->output, "%10s ", hawk_quantity_bytes(bytes).text);
	if (writer->tree->both)
		hawk_output_printf(writer->output, "%10s ", hawk_quantity_bytes(start).text);
	hawk_output_printf(writer->output, "%7s %*s  ",
			   hawk_quantity_share(bytes, writer->tree->nodes[0].cum_bytes).text,
			   writer->blocks_width, hawk_quantity_count(objects).text);
}

static uint64_t start_bytes(const struct writer *writer, uint32_t number)
{
	return writer->tree->nodes[number].start.cum_bytes;
}

static void put_line(const struct writer *writer, uint32_t number)
{
	const struct hawk_site_tree_node *node = &writer->tree->nodes[number];
	unsigned indent = 2 * (node->depth - 1);
	size_t taken = COLUMNS_BEFORE + (size_t)writer->blocks_width +
		       (writer->tree->both ? COLUMNS_START : 0) + indent;
	size_t room = writer->screen->width > taken + NAME_WIDTH_MIN ? writer->screen->width - taken
								     : NAME_WIDTH_MIN;
	CLEANUP(text) struct hawk_text text = {0};

	append_name(writer, node, writer->screen->full ? SIZE_MAX : room, &text);
	put_figures(writer, node->cum_bytes, start_bytes(writer, number), node->cum_objects);
	hawk_output_fill(writer->output, ' ', indent);
	hawk_screen_line(writer->screen, &text);
}

/** The branches that are not shown, in one line. */
static void put_rest(const struct writer *writer, uint32_t child, unsigned depth)
{
	const struct hawk_site_tree_node *nodes = writer->tree->nodes;
	uint64_t bytes = 0, start = 0, objects = 0, count = 0;

	for (; child; child = nodes[child].next_sibling) {
		bytes += nodes[child].cum_bytes;
		start += start_bytes(writer, child);
		objects += nodes[child].cum_objects;
		count++;
	}
	if (!count)
		return;
	hawk_screen_style(writer->screen, HAWK_STYLE_FAINT);
	put_figures(writer, bytes, start, objects);
	hawk_output_fill(writer->output, ' ', 2 * (depth - 1));
	hawk_output_printf(writer->output, "... %s more\n", hawk_quantity_count(count).text);
	hawk_screen_plain(writer->screen);
}

static void put_children(const struct writer *writer, uint32_t parent)
{
	const struct hawk_site_tree_node *nodes = writer->tree->nodes;
	uint32_t child = nodes[parent].first_child;
	unsigned depth = nodes[parent].depth + 1;
	size_t shown = 0;

	if (depth > writer->depth)
		return;
	for (; child; child = nodes[child].next_sibling) {
		bool small = writer->share &&
			     nodes[child].cum_bytes < nodes[0].cum_bytes / writer->share;

		/* One line says as much as a line about one that is not shown. */
		if ((shown == writer->top || (small && shown)) && nodes[child].next_sibling)
			break;
		shown++;
		put_line(writer, child);
		put_children(writer, child);
	}
	put_rest(writer, child, depth);
}

static void put_rows(const void *context, const struct hawk_screen *screen)
{
	struct writer writer = *(const struct writer *)context;

	writer.screen = screen;
	writer.output = screen->output;
	put_children(&writer, 0);
}

static int blocks_width(const struct hawk_site_tree *tree)
{
	size_t width = strlen(hawk_quantity_count(tree->nodes[0].cum_objects).text);

	return width > BLOCKS_WIDTH_MIN ? (int)width : BLOCKS_WIDTH_MIN;
}

void hawk_report_tree(const struct hawk_pointer_report *report,
		      const struct hawk_tree_roots *groups, const struct hawk_site_tree *tree,
		      const struct hawk_screen *screen)
{
	bool full = screen->full;
	struct writer writer = {
		.report = report,
		.groups = groups,
		.tree = tree,
		.top = full          ? SIZE_MAX
		       : report->top ? report->top
				     : DEFAULT_TOP,
		.depth = report->depth ? report->depth
			 : full        ? SIZE_MAX
				       : DEFAULT_DEPTH,
		.share = full ? 0 : SMALL,
		.blocks_width = blocks_width(tree),
	};

	hawk_report_put_sampling(report, screen);
	if (tree->both)
		hawk_report_put_start_only(screen);
	hawk_screen_faint(screen, "%10s %s%7s %*s  %s\n", "size", tree->both ? "start only " : "",
			  "share", writer.blocks_width, "blocks", "held by");
	hawk_report_put_rows(report, screen, put_rows, &writer);
}

static void put_folded(const struct writer *writer, uint32_t number, struct hawk_text *path)
{
	const struct hawk_site_tree_node *node = &writer->tree->nodes[number];
	size_t size = path->size;

	if (number) {
		hawk_text_puts(path, path->size ? ";" : "");
		append_folded(writer, node, path);
	}
	if (path->bytes && node->flat_bytes)
		hawk_output_printf(writer->output, "%s %llu\n", path->bytes,
				   (unsigned long long)node->flat_bytes);
	for (uint32_t child = node->first_child; child;
	     child = writer->tree->nodes[child].next_sibling)
		put_folded(writer, child, path);
	if (path->bytes) {
		path->size = size;
		path->bytes[size] = '\0';
	}
}

void hawk_report_tree_folded(const struct hawk_pointer_report *report,
			     const struct hawk_tree_roots *groups,
			     const struct hawk_site_tree *tree, struct hawk_output *output)
{
	CLEANUP(text) struct hawk_text path = {0};
	struct writer writer = {.report = report, .groups = groups, .tree = tree, .output = output};

	put_folded(&writer, 0, &path);
}

static void put_json_sums(struct hawk_json *json, uint64_t flat_objects, uint64_t flat_bytes,
			  uint64_t cum_objects, uint64_t cum_bytes)
{
	hawk_json_put_integer(json, "flat_objects", flat_objects);
	hawk_json_put_integer(json, "flat_bytes", flat_bytes);
	hawk_json_put_integer(json, "cum_objects", cum_objects);
	hawk_json_put_integer(json, "cum_bytes", cum_bytes);
}

static void put_json_node(const struct writer *writer, const uint32_t *numbers, uint32_t number)
{
	static const char *const kinds[] = {"all", "root", "several", "shared", "lost", "site"};
	const struct hawk_site_tree_node *node = &writer->tree->nodes[number];
	struct hawk_json *json = writer->json;
	CLEANUP(text) struct hawk_text name = {0};

	append_name(writer, node, SIZE_MAX, &name);
	hawk_json_object(json);
	hawk_json_put_string(json, "kind", kinds[node->kind]);
	hawk_json_put_string(json, "name", name.bytes);
	hawk_json_put_site(json, "site", writer->report->heap,
			   node->kind == HAWK_TREE_SITE ? node->key : UINT32_MAX);
	put_json_sums(json, node->flat_objects, node->flat_bytes, node->cum_objects,
		      node->cum_bytes);
	hawk_json_put_integer(json, "parent", numbers[node->parent]);
	if (writer->tree->both) {
		const struct hawk_site_tree_sums *start = &node->start;

		hawk_json_put_object(json, "start_pointers");
		put_json_sums(json, start->flat_objects, start->flat_bytes, start->cum_objects,
			      start->cum_bytes);
		hawk_json_object_end(json);
	}
	hawk_json_object_end(json);
}

/** Numbers the nodes that are put, from 0 on; others have NOT_PUT. Caller frees; NULL = no memory.
 */
static uint32_t *number_nodes(const struct writer *writer)
{
	const struct hawk_site_tree *tree = writer->tree;
	uint32_t *numbers = malloc(((size_t)tree->count + 1) * sizeof(*numbers));
	uint32_t count = 0;

	if (!numbers)
		return NULL;
	memset(numbers, 0xff, tree->count * sizeof(*numbers));
	numbers[0] = 0;
	for (uint32_t i = 0; i < tree->count; i++) {
		uint32_t child = tree->nodes[i].first_child;

		if (numbers[i] == NOT_PUT)
			continue;
		numbers[i] = count++;
		if (tree->nodes[i].depth == writer->depth)
			continue;
		for (size_t put = 0; child && put < writer->top; put++) {
			numbers[child] = 0;
			child = tree->nodes[child].next_sibling;
		}
	}
	return numbers;
}

/* A flat list, parents before children, because JSON readers do not like to be nested 60 deep. */
struct hawk_error *hawk_report_tree_json(const struct hawk_pointer_report *report,
					 const struct hawk_tree_roots *groups,
					 const struct hawk_site_tree *tree, struct hawk_json *json)
{
	struct writer writer = {
		.report = report,
		.groups = groups,
		.tree = tree,
		.json = json,
		.top = report->top ? report->top : SIZE_MAX,
		.depth = report->depth ? report->depth : SIZE_MAX,
	};
	CLEANUP(free_ptr) uint32_t *numbers = number_nodes(&writer);

	if (!numbers)
		return &hawk_enomem;
	hawk_json_put_array(json, "tree");
	for (uint32_t i = 0; i < tree->count; i++)
		if (numbers[i] != NOT_PUT)
			put_json_node(&writer, numbers, i);
	hawk_json_array_end(json);
	return NULL;
}

/** Whether enough is held more than one way to say what that means. */
static bool is_much_shared(const struct hawk_site_tree *tree)
{
	const struct hawk_site_tree_node *nodes = tree->nodes;

	for (uint32_t child = nodes[0].first_child; child; child = nodes[child].next_sibling)
		if (nodes[child].kind == HAWK_TREE_SHARED &&
		    nodes[child].cum_bytes >= nodes[0].cum_bytes / MUCH)
			return true;
	return false;
}

void hawk_report_retained_roots(const struct hawk_pointer_report *report,
				const struct hawk_tree_roots *groups,
				const struct hawk_site_tree *tree, const struct hawk_screen *screen)
{
	struct hawk_pointer_report tops = *report;

	tops.depth = 1;
	tops.top = report->top ? report->top : 2 * DEFAULT_TOP;
	hawk_report_tree(&tops, groups, tree, screen);
	if (is_much_shared(tree))
		hawk_output_puts(
			screen->output,
			"\n  What several blocks share would survive the loss of any one of "
			"them;\n  hawk-core merge-paths follows the shortest way to each "
			"block.\n");
}
