/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Sites that begin alike are compared with each other, line by line, by what their lines look like:
 * the first line that differs is marked in both. Stacks are looked up again when they are printed,
 * what is kept of each are 16 bytes a line.
 */
#include "hawk_site_stack.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "hawk_cleanup.h"
#include "hawk_site_names.h"

enum {
	INDENT = 6,
	CALLERS_MAX = 16,    /**< looked at for a name */
	COMPARED_MAX = 1024, /**< with so many that begin alike; of more only the ids tell */
};

/** What is compared. */
struct line {
	uint64_t look;
	uint64_t address; /**< in its module */
};

struct item {
	uint32_t site;
	uint32_t first; /**< line of the stack that is shown first */
	uint32_t telling;
	uint32_t count;
	struct line *lines; /**< `count` */
	uint64_t look;      /**< of the lines that are shown in any case */
	struct hawk_stack_mark *marks;
	size_t mark_count;
	size_t mark_capacity;
};

struct hawk_site_stacks {
	const struct hawk_screen *screen;
	struct hawk_symbols *symbols;
	const struct hawk_heap *heap;
	size_t depth;
	struct item *items; /**< by site once all are compared */
	size_t count;
	struct hawk_stack stack;
};

void hawk_site_stacks_destroy(struct hawk_site_stacks *stacks)
{
	if (!stacks)
		return;
	for (size_t i = 0; i < stacks->count; i++) {
		free(stacks->items[i].lines);
		free(stacks->items[i].marks);
	}
	free(stacks->items);
	hawk_stack_deinit(&stacks->stack);
	free(stacks);
}

static struct hawk_error *look_up(struct hawk_site_stacks *stacks, uint32_t site)
{
	const struct hawk_heap *heap = stacks->heap;
	uint32_t trace = site < heap->site_count ? heap->sites[site].trace : 0;

	return hawk_stack_of_trace(stacks->symbols, heap->table, trace, &stacks->stack);
}

/** One behind the last line that is shown in any case. */
static size_t end_of(const struct hawk_site_stacks *stacks, const struct item *item)
{
	size_t left = item->count - item->telling;

	return stacks->depth && stacks->depth < left ? item->telling + stacks->depth : item->count;
}

/** Inserts in order; the same line once. */
static struct hawk_error *mark(struct item *item, uint32_t line, bool address)
{
	size_t at = 0;

	if (line >= item->count)
		return NULL;
	while (at < item->mark_count && item->marks[at].line < line)
		at++;
	if (at < item->mark_count && item->marks[at].line == line) {
		item->marks[at].address |= address;
		return NULL;
	}
	if (item->mark_count == item->mark_capacity) {
		size_t capacity = item->mark_capacity ? 2 * item->mark_capacity : 4;
		struct hawk_stack_mark *marks = reallocarray(item->marks, capacity, sizeof(*marks));

		if (!marks)
			return &hawk_enomem;
		item->marks = marks;
		item->mark_capacity = capacity;
	}
	memmove(&item->marks[at + 1], &item->marks[at],
		(item->mark_count - at) * sizeof(*item->marks));
	item->marks[at] = (struct hawk_stack_mark){line, address};
	item->mark_count++;
	return NULL;
}

static bool has_name(const struct hawk_stack_line *line)
{
	return line->kind == HAWK_LINE_FUNCTION && line->name.function;
}

/** Where nothing that is shown has a name: the first caller that has one, but not what starts the
 * program. */
static struct hawk_error *mark_named(const struct hawk_site_stacks *stacks, struct item *item)
{
	const struct hawk_stack *stack = &stacks->stack;
	size_t at = item->telling;

	while (at < item->count && at - item->telling < CALLERS_MAX && !has_name(&stack->lines[at]))
		at++;
	if (at < end_of(stacks, item) || at == item->count || !has_name(&stack->lines[at]) ||
	    !strcmp(stack->lines[at].name.function, "main") ||
	    !strncmp(stack->lines[at].name.function, "__libc_start", strlen("__libc_start")))
		return NULL;
	return mark(item, (uint32_t)at, false);
}

static struct hawk_error *fill(struct hawk_site_stacks *stacks, struct item *item)
{
	const struct hawk_stack *stack = &stacks->stack;
	struct hawk_error *err = look_up(stacks, item->site);
	uint64_t look = 0;

	if (err)
		return err;
	item->first = item->telling = (uint32_t)hawk_stack_telling_line(stack);
	item->lines = calloc(stack->count + 1, sizeof(*item->lines));
	if (!item->lines)
		return &hawk_enomem;
	item->count = (uint32_t)stack->count;
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
	return mark_named(stacks, item);
}

/** The first line that looks different, or has another address, counted from the telling lines on;
 * UINT32_MAX = none. */
static uint32_t first_difference(const struct item *a, const struct item *b, bool address)
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

static struct hawk_error *mark_both(struct item *a, struct item *b, uint32_t line, bool address)
{
	struct hawk_error *err = mark(a, a->telling + line, address);

	return err ? err : mark(b, b->telling + line, address);
}

/** Shows wrappers as far up as the first pair that differs; false if none does. */
static bool show_wrappers(struct item *a, struct item *b)
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

/** Two stacks that begin alike: what is the best of what tells them apart. */
static struct hawk_error *tell_apart(struct item *a, struct item *b)
{
	uint32_t line;

	if (a->site == b->site)
		return NULL;
	line = first_difference(a, b, false);
	if (line != UINT32_MAX)
		return mark_both(a, b, line, false);
	if (show_wrappers(a, b))
		return NULL;
	line = first_difference(a, b, true);
	return line == UINT32_MAX ? NULL : mark_both(a, b, line, true);
}

static int compare_looks(const void *left, const void *right)
{
	const struct item *a = left, *b = right;

	if (a->look != b->look)
		return a->look < b->look ? -1 : 1;
	return a->site < b->site ? -1 : a->site > b->site;
}

static int compare_sites(const void *left, const void *right)
{
	const struct item *a = left, *b = right;

	return a->site < b->site ? -1 : a->site > b->site;
}

static struct hawk_error *tell_all_apart(struct hawk_site_stacks *stacks)
{
	struct item *items = stacks->items;
	struct hawk_error *err = NULL;

	qsort(items, stacks->count, sizeof(*items), compare_looks);
	for (size_t i = 0; i < stacks->count; i++)
		for (size_t j = i + 1; j < stacks->count && j - i < COMPARED_MAX &&
				       items[j].look == items[i].look && !err;
		     j++)
			err = tell_apart(&items[i], &items[j]);
	qsort(items, stacks->count, sizeof(*items), compare_sites);
	return err;
}

static struct hawk_error *compare(struct hawk_site_stacks *stacks, const uint32_t *sites,
				  size_t count)
{
	struct hawk_error *err = NULL;

	stacks->items = calloc(count + 1, sizeof(*stacks->items));
	if (!stacks->items)
		return &hawk_enomem;
	for (; stacks->count < count && !err; stacks->count++) {
		stacks->items[stacks->count].site = sites[stacks->count];
		err = fill(stacks, &stacks->items[stacks->count]);
	}
	return err ? err : tell_all_apart(stacks);
}

struct hawk_error *hawk_site_stacks_create(const struct hawk_screen *screen,
					   struct hawk_symbols *symbols,
					   const struct hawk_heap *heap, const uint32_t *sites,
					   size_t count, size_t depth,
					   struct hawk_site_stacks **ret)
{
	struct hawk_site_stacks *stacks = calloc(1, sizeof(*stacks));
	struct hawk_error *err = NULL;

	if (!stacks)
		return &hawk_enomem;
	*stacks = (struct hawk_site_stacks){
		.screen = screen, .symbols = symbols, .heap = heap, .depth = depth};
	hawk_stack_init(&stacks->stack);
	if (!screen->full)
		err = compare(stacks, sites, count);
	if (err)
		hawk_site_stacks_destroy(stacks);
	else
		*ret = stacks;
	return err;
}

/** With --full nothing was compared: it is shown from its first line. */
static struct hawk_stack_cut cut_of(const struct hawk_site_stacks *stacks, uint32_t site)
{
	const struct item key = {.site = site};
	const struct item *item = stacks->count ? bsearch(&key, stacks->items, stacks->count,
							  sizeof(key), compare_sites)
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

struct hawk_error *hawk_site_stacks_put(struct hawk_site_stacks *stacks, uint32_t site)
{
	const struct hawk_screen *screen = stacks->screen;
	struct hawk_error *err = look_up(stacks, site);
	struct hawk_stack_cut cut;

	if (err)
		return err;
	if (!stacks->stack.count) {
		if (stacks->stack.type) {
			hawk_output_printf(screen->output, "%*stype ", INDENT, "");
			hawk_screen_foreign(screen, stacks->stack.type);
			hawk_output_puts(screen->output, "\n");
		}
		hawk_output_printf(screen->output, "%*s%s\n", INDENT, "",
				   hawk_site_no_stack(stacks->heap, site));
		return NULL;
	}
	cut = cut_of(stacks, site);
	hawk_screen_stack_cut(screen, &stacks->stack, &cut, INDENT);
	return NULL;
}
