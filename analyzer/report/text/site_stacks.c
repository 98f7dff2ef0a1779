/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Compares stacks that begin alike line by line as displayed, and marks the first line that differs
 * in both. Keeps 16 bytes a line; stacks are looked up again for printing.
 */
#include "site_stacks.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "hawk/base/array.h"
#include "hawk/base/cleanup.h"
#include "hawk/names/site_names.h"

enum {
	INDENT = 6,
	CALLERS_MAX = 16, /**< searched for a name */
	COMPARED_MAX =
		1024, /**< upper limit on stacks that begin alike; beyond it only ids differ */
};

/** The compared parts of a line. */
struct line {
	uint64_t look;
	uint64_t address; /**< in its module */
};

struct hawk_site_item {
	uint32_t site;
	uint32_t first; /**< first line shown */
	uint32_t telling;
	uint32_t count;
	struct line *lines; /**< `count` */
	uint64_t look;      /**< of the lines always shown */
	struct hawk_stack_mark *marks;
	size_t mark_count;
};

void hawk_site_stacks_deinit(struct hawk_site_stacks *stacks)
{
	for (size_t i = 0; i < stacks->count; i++) {
		free(stacks->items[i].lines);
		free(stacks->items[i].marks);
	}
	free(stacks->items);
	hawk_stack_deinit(&stacks->stack);
}

static void look_up(struct hawk_site_stacks *stacks, uint32_t site)
{
	const struct hawk_heap *heap = stacks->heap;
	uint32_t trace = site < heap->site_count ? heap->sites[site].trace : 0;

	hawk_stack_of_blocks(stacks->symbols, heap, trace, &stacks->stack);
}

/** Returns the end of the lines always shown. */
static size_t end_of(const struct hawk_site_stacks *stacks, const struct hawk_site_item *item)
{
	size_t left = item->count - item->telling;

	return stacks->depth && stacks->depth < left ? item->telling + stacks->depth : item->count;
}

/** Inserts a mark in order, each line once. */
static void mark(struct hawk_site_item *item, uint32_t line, bool address)
{
	struct hawk_stack_mark *marks;
	size_t at = 0;

	if (line >= item->count)
		return;
	while (at < item->mark_count && item->marks[at].line < line)
		at++;
	if (at < item->mark_count && item->marks[at].line == line) {
		item->marks[at].address |= address;
		return;
	}
	marks = reallocarray(item->marks, item->mark_count + 1, sizeof(*marks));
	if (!marks) {
		hawk_enomem_swallow();
		return;
	}
	memmove(&marks[at + 1], &marks[at], (item->mark_count - at) * sizeof(*marks));
	marks[at] = (struct hawk_stack_mark){line, address};
	item->marks = marks;
	item->mark_count++;
}

static bool has_name(const struct hawk_stack_line *line)
{
	return line->kind == HAWK_LINE_FUNCTION && line->name.function;
}

/** Marks the first named caller, but not the program's start, if no line shown has a name. */
static void mark_named(const struct hawk_site_stacks *stacks, struct hawk_site_item *item)
{
	const struct hawk_stack *stack = &stacks->stack;
	size_t at = item->telling;

	while (at < item->count && at - item->telling < CALLERS_MAX && !has_name(&stack->lines[at]))
		at++;
	if (at >= end_of(stacks, item) && at < item->count && has_name(&stack->lines[at]) &&
	    strcmp(stack->lines[at].name.function, "main") != 0 &&
	    strncmp(stack->lines[at].name.function, "__libc_start", strlen("__libc_start")) != 0)
		mark(item, (uint32_t)at, false);
}

/** Marks who called an interpreter or object library. */
static void mark_caller(const struct hawk_site_stacks *stacks, struct hawk_site_item *item)
{
	size_t at = hawk_stack_runtime_caller(&stacks->stack, item->telling);

	if (at >= end_of(stacks, item))
		mark(item, (uint32_t)at, false);
}

static void fill(struct hawk_site_stacks *stacks, struct hawk_site_item *item)
{
	const struct hawk_stack *stack = &stacks->stack;
	uint64_t look = 0;

	look_up(stacks, item->site);
	item->first = item->telling = (uint32_t)hawk_stack_telling_line(stack);
	item->lines = calloc(stack->count + 1, sizeof(*item->lines));
	item->count = item->lines ? (uint32_t)stack->count : 0;
	if (!item->lines) {
		hawk_enomem_swallow();
		item->first = item->telling = 0;
		return;
	}
	for (uint32_t i = 0; i < item->count; i++)
		item->lines[i] = (struct line){
			.look = hawk_screen_line_look(stacks->screen, &stack->lines[i], INDENT),
			.address = stack->lines[i].pc - stack->lines[i].module.bias,
		};
	if (stack->type)
		look = XXH3_64bits(stack->type, strlen(stack->type));
	for (size_t i = item->telling; i < end_of(stacks, item); i++)
		look = XXH3_64bits_withSeed(&item->lines[i].look, sizeof(look), look);
	item->look = look;
	mark_named(stacks, item);
	mark_caller(stacks, item);
}

/** Returns the first line that looks different or has another address, counted from the telling
 * lines on; UINT32_MAX = none. */
static uint32_t first_difference(const struct hawk_site_item *a, const struct hawk_site_item *b,
				 bool address)
{
	uint32_t count_a = a->count - a->telling, count_b = b->count - b->telling;
	uint32_t count = count_a < count_b ? count_a : count_b;

	for (uint32_t i = 0; i < count; i++) {
		const struct line *left = &a->lines[a->telling + i];
		const struct line *right = &b->lines[b->telling + i];

		if (address ? left->address != right->address : left->look != right->look)
			return i;
	}
	return count_a == count_b ? UINT32_MAX : count;
}

static void mark_both(struct hawk_site_item *a, struct hawk_site_item *b, uint32_t line,
		      bool address)
{
	mark(a, a->telling + line, address);
	mark(b, b->telling + line, address);
}

/** Shows wrappers up to the first pair that differs; returns false if none does. */
static bool show_wrappers(struct hawk_site_item *a, struct hawk_site_item *b)
{
	for (uint32_t i = 1; i <= a->telling || i <= b->telling; i++) {
		uint32_t of_a = a->telling < i ? 0 : a->telling - i;
		uint32_t of_b = b->telling < i ? 0 : b->telling - i;

		if (i <= a->telling && i <= b->telling &&
		    a->lines[of_a].look == b->lines[of_b].look)
			continue;
		a->first = of_a < a->first ? of_a : a->first;
		b->first = of_b < b->first ? of_b : b->first;
		return true;
	}
	return false;
}

/** Distinguishes two stacks that begin alike, by the best difference. */
static void tell_apart(struct hawk_site_item *a, struct hawk_site_item *b)
{
	uint32_t line;

	if (a->site == b->site)
		return;
	line = first_difference(a, b, false);
	if (line != UINT32_MAX) {
		mark_both(a, b, line, false);
	} else if (!show_wrappers(a, b)) {
		line = first_difference(a, b, true);
		if (line != UINT32_MAX)
			mark_both(a, b, line, true);
	}
}

static int compare_looks(const void *left, const void *right)
{
	const struct hawk_site_item *a = left, *b = right;

	if (a->look != b->look)
		return a->look < b->look ? -1 : 1;
	return a->site < b->site ? -1 : a->site > b->site;
}

static int compare_sites(const void *left, const void *right)
{
	const struct hawk_site_item *a = left, *b = right;

	return a->site < b->site ? -1 : a->site > b->site;
}

void hawk_site_stacks_add(struct hawk_site_stacks *stacks, uint32_t site)
{
	if (stacks->screen->full)
		return;
	if (!hawk_array_reserve(&stacks->items, stacks->count, &stacks->capacity,
				sizeof(*stacks->items))) {
		hawk_enomem_swallow();
		return;
	}
	stacks->items[stacks->count] = (struct hawk_site_item){.site = site};
	fill(stacks, &stacks->items[stacks->count++]);
}

void hawk_site_stacks_compare(struct hawk_site_stacks *stacks)
{
	struct hawk_site_item *items = stacks->items;
	size_t count = stacks->count;

	if (!count)
		return;
	qsort(items, count, sizeof(*items), compare_looks);
	for (size_t i = 0; i < count; i++)
		for (size_t j = i + 1; j < count && j - i < COMPARED_MAX; j++) {
			if (items[j].look != items[i].look)
				break;
			tell_apart(&items[i], &items[j]);
		}
	qsort(items, count, sizeof(*items), compare_sites);
}

/** Returns the part of a stack to show. With --full nothing was compared: all lines are shown. */
static struct hawk_stack_cut cut_of(const struct hawk_site_stacks *stacks, uint32_t site)
{
	const struct hawk_site_item key = {.site = site};
	const struct hawk_site_item *item =
		stacks->count
			? bsearch(&key, stacks->items, stacks->count, sizeof(key), compare_sites)
			: NULL;

	if (!item)
		return (struct hawk_stack_cut){.end = stacks->depth};
	return (struct hawk_stack_cut){
		.first = item->first,
		.end = end_of(stacks, item),
		.marks = item->marks,
		.mark_count = item->mark_count,
	};
}

void hawk_site_stacks_put(struct hawk_site_stacks *stacks, uint32_t site)
{
	const struct hawk_screen *screen = stacks->screen;
	struct hawk_stack_cut cut = cut_of(stacks, site);

	look_up(stacks, site);
	if (stacks->stack.count) {
		hawk_screen_stack_cut(screen, &stacks->stack, &cut, INDENT);
		return;
	}
	if (stacks->stack.type) {
		hawk_output_printf(screen->output, "%*stype ", INDENT, "");
		hawk_screen_foreign(screen, stacks->stack.type);
		hawk_output_puts(screen->output, "\n");
	}
	hawk_output_printf(screen->output, "%*s%s\n", INDENT, "",
			   hawk_site_no_stack(stacks->heap, site));
}
