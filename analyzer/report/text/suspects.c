/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Suspects in prose, for first-time users.
 */
#include <string.h>

#include "hawk/base/cleanup.h"
#include "hawk/names/function_name.h"
#include "hawk/analysis/leaks.h"
#include "hawk/base/quantity.h"
#include "hawk/base/utf8.h"
#include "hawk/report/next.h"
#include "hawk/report/suspects.h"
#include "leak_cycles.h"
#include "site_stacks.h"

enum {
	NAME_WIDTH = 40,
	TYPE_WIDTH = 30,
	ROOT_WIDTH_MIN = 24, /**< with the words before it */
	STEPS = 3,
	INDENT = 3,
	COMMAND_INDENT = 5,
	PART_COLUMN = 27
};

#define HELD_BY "  held by "

enum {
	LEFT_OUT_SHARE = 20, /**< of the heap: left-out start-up memory that is mentioned */
	NOISE_SHARE = 100,   /**< of a site: possibly lost blocks that are mentioned */
	SMALL_SHARE = 10,    /**< of touched memory: a heap below it is not what grew */
};

static uint64_t lost_bytes(const struct hawk_suspect *suspect)
{
	return suspect->facts.reach_bytes[HAWK_REACH_DEFINITELY_LOST] +
	       suspect->facts.reach_bytes[HAWK_REACH_INDIRECTLY_LOST];
}

static void append_name(const struct hawk_suspects_report *suspects, uint32_t site,
			struct hawk_text *text)
{
	const struct hawk_site_name *name = hawk_site_name(suspects->pointers->names, site);

	if (name->function)
		hawk_function_name_append(text, name->function, NAME_WIDTH);
	else
		hawk_site_name_append_folded(text, name);
}

static bool has_name_of(const struct hawk_suspects_report *suspects, uint32_t site, uint32_t other)
{
	CLEANUP(text) struct hawk_text left = {0}, right = {0};

	append_name(suspects, site, &left);
	append_name(suspects, other, &right);
	return !strcmp(hawk_text_string(&left), hawk_text_string(&right));
}

/** Appends ", through A, B and C"; for lost memory "A, B and C". */
static void append_steps(const struct hawk_suspects_report *suspects,
			 const struct hawk_suspect *suspect, struct hawk_text *text)
{
	uint32_t kind = suspects->found->tree.nodes[suspect->holder.top].kind;
	const char *first = kind == HAWK_TREE_SHARED ? "; they share it through "
			    : kind == HAWK_TREE_LOST ? ""
						     : ", through ";
	uint32_t sites[HAWK_SITE_TREE_DEPTH];
	size_t found = hawk_suspect_steps(suspects->found, suspect, sites), count = 0;

	for (size_t i = 0; i < found; i++)
		if (!count || !has_name_of(suspects, sites[i], sites[count - 1]))
			sites[count++] = sites[i];
	for (size_t i = 0; i < count; i++) {
		if (count > STEPS && i == STEPS - 1) {
			hawk_text_puts(text, ", ...");
			i = count - 1;
		}
		hawk_text_puts(text, !i ? first : i + 1 == count ? " and " : ", ");
		append_name(suspects, sites[i], text);
	}
	if (count && kind == HAWK_TREE_LOST)
		hawk_text_printf(text, ", which %s lost",
				 count == 1 ? "is itself" : "are themselves");
}

/** "all", "nearly all", "47.6 %"; as the first word of a sentence if `first`. */
static struct hawk_quantity part_of(uint64_t bytes, uint64_t all, bool first)
{
	struct hawk_quantity share = hawk_quantity_share(bytes, all);

	if (bytes >= all)
		return first ? (struct hawk_quantity){{"All"}} : (struct hawk_quantity){{"all"}};
	if (!strcmp(share.text, "100.0 %"))
		return first ? (struct hawk_quantity){{"Nearly all"}}
			     : (struct hawk_quantity){{"nearly all"}};
	return share;
}

/** Returns the word before the holder, if one word is enough. */
static const char *reach_word(const struct hawk_suspect *suspect)
{
	const uint64_t *bytes = suspect->facts.reach_bytes;

	if (!suspect->facts.reach_known || bytes[HAWK_REACH_POSSIBLY] ||
	    (lost_bytes(suspect) && !suspect->part_count))
		return "";
	return "Still reachable: ";
}

/** Appends a sentence; behind a full stop it begins with a capital letter. */
static void append_sentence(struct hawk_text *text, const char *sentence)
{
	size_t start = text->size;

	hawk_text_puts(text, sentence);
	if (!text->failed && (!start || (start >= 2 && text->bytes[start - 2] == '.')) &&
	    text->bytes[start] >= 'a' && text->bytes[start] <= 'z')
		text->bytes[start] = (char)(text->bytes[start] - 'a' + 'A');
}

static void append_holder(const struct hawk_suspects_report *suspects,
			  const struct hawk_suspect *suspect, struct hawk_text *text)
{
	const struct hawk_site_tree_node *top = &suspects->found->tree.nodes[suspect->holder.top];
	bool whole = suspect->part_count || suspect->holder.bytes >= suspect->facts.bytes;
	struct hawk_quantity part = part_of(whole ? suspect->facts.bytes : suspect->holder.bytes,
					    suspect->facts.bytes, false);

	hawk_text_puts(text, reach_word(suspect));
	if (top->kind == HAWK_TREE_LOST) {
		bool direct = suspects->found->tree.nodes[suspect->holder.node].parent ==
			      suspect->holder.top;

		hawk_text_printf(text,
				 "%s: ", suspect->facts.reach_known ? "Lost" : "Perhaps lost");
		if (direct)
			hawk_text_printf(text, "nothing leads to %s%sit", whole ? "" : part.text,
					 whole ? "" : " of ");
		else
			hawk_text_printf(text, "%s%sonly reachable from ", whole ? "" : part.text,
					 whole ? "" : " of it is ");
		append_steps(suspects, suspect, text);
		return;
	}
	append_sentence(text, part.text);
	if (top->kind == HAWK_TREE_ROOT || top->kind == HAWK_TREE_SEVERAL)
		hawk_text_printf(text, " of it is held by %s%s",
				 suspects->found->roots.names[top->key],
				 top->kind == HAWK_TREE_SEVERAL ? " and others" : "");
	else if (top->kind == HAWK_TREE_SHARED)
		hawk_text_puts(text, " of it is shared by several structures: no one of them alone "
				     "keeps it alive");
	else
		hawk_text_puts(text, " of it has an unknown holder");
	if (suspect->holder.top)
		append_steps(suspects, suspect, text);
}

/** Appends the reason why nothing is called lost. */
static void append_doubt(const struct hawk_suspects_report *suspects, uint64_t unreached_bytes,
			 struct hawk_text *text)
{
	enum hawk_leaks_doubt doubt = hawk_leaks_doubt(suspects->pointers->graph);

	if (!unreached_bytes)
		return;
	if (doubt == HAWK_LEAKS_MEMORY_MISSING)
		hawk_text_puts(text, " Nothing can be called lost: pointers may lie in memory that "
				     "is missing.");
	else if (doubt == HAWK_LEAKS_OVERWRITTEN)
		hawk_text_puts(text, " Nothing can be called lost: blocks were overwritten, and "
				     "perhaps pointers in them.");
	else
		hawk_text_puts(text,
			       " Nothing can be called lost: an arena was reset or destroyed, "
			       "perhaps with the blocks that nothing leads to.");
}

/** Appends how it is reached. `said`: what is lost was told. */
static void append_reach(const struct hawk_suspects_report *suspects,
			 const struct hawk_suspect *suspect, bool said, struct hawk_text *text)
{
	uint64_t possibly = suspect->facts.reach_bytes[HAWK_REACH_POSSIBLY];
	uint64_t lost = lost_bytes(suspect), all = suspect->facts.bytes;

	if (!suspect->facts.reach_known)
		append_doubt(suspects, lost, text);
	else if (lost && !said && !suspect->part_count)
		hawk_text_printf(text, " %s of it is lost.", part_of(lost, all, true).text);
	else if (possibly && possibly >= all / NOISE_SHARE)
		hawk_text_printf(text,
				 " %s of it is possibly lost: pointers lead only to the inside of "
				 "blocks.",
				 part_of(possibly, all, true).text);
}

/** "In all, 12 MiB in 300,000 blocks are lost through it, among them those of make_cell." */
static void append_followers(const struct hawk_suspects_report *suspects,
			     const struct hawk_suspect *suspect, struct hawk_text *text)
{
	const uint32_t *sites = suspect->followers;
	size_t said = 0;

	if (!suspect->follower_count)
		return;
	hawk_text_printf(text, " In all, %s in %s blocks are lost through it",
			 hawk_quantity_bytes(suspect->lost.bytes).text,
			 hawk_quantity_count(suspect->lost.objects).text);
	for (size_t i = 0; i < suspect->follower_count && said < STEPS; i++) {
		bool known = has_name_of(suspects, sites[i], suspect->site);

		for (size_t j = 0; j < i && !known; j++)
			known = has_name_of(suspects, sites[i], sites[j]);
		if (known)
			continue;
		hawk_text_puts(text, said++ ? ", " : ", among them those of ");
		append_name(suspects, sites[i], text);
	}
	hawk_text_puts(text, ".");
}

const struct hawk_leak_cycle *hawk_suspects_cycle(const struct hawk_suspects_report *suspects,
						  const struct hawk_suspect *suspect)
{
	const struct hawk_leaks_report *leaks = suspects->leaks;
	const struct hawk_leak_cycle *cycle;
	uint64_t leaders;

	if (!leaks || !leaks->cycles || !suspect->lost.objects)
		return NULL;
	cycle = hawk_leak_cycle_of(leaks->heap, leaks->cycles, suspect->site, &leaders);
	/* Leftover words make a few cycles of any blocks. */
	if (!cycle || cycle->length < 2 || cycle->lost.bytes < suspect->lost.bytes / 2)
		return NULL;
	return cycle;
}

const char *hawk_suspects_type(const struct hawk_suspects_report *suspects,
			       const struct hawk_suspect *suspect)
{
	const struct hawk_leaks_report *leaks = suspects->leaks;
	const struct hawk_leak_cycle *cycle = hawk_suspects_cycle(suspects, suspect);
	const char *type = NULL;

	if (!leaks || !leaks->types)
		return NULL;
	type = hawk_leak_type(leaks, suspect->example, &suspect->words);
	/* A process runs on by now; types of cycles were read before. */
	for (uint32_t i = 0; !type && cycle && i < cycle->step_count; i++)
		if (hawk_heap_site_at(leaks->heap, cycle->steps[i].block) == suspect->site)
			type = hawk_leak_type(leaks, cycle->steps[i].block, &cycle->steps[i].words);
	return type;
}

/* "Lost: its blocks keep each other alive, in 849 cycles like this one of 3: Session +88 -> ..." */
static void append_cycle(const struct hawk_suspects_report *suspects,
			 const struct hawk_screen *screen, const struct hawk_suspect *suspect,
			 const struct hawk_leak_cycle *cycle, struct hawk_text *text)
{
	uint64_t lost = lost_bytes(suspect), all = suspect->facts.bytes;

	if (lost < all)
		hawk_text_printf(text, "%s of it is lost: these blocks",
				 part_of(lost, all, true).text);
	else
		hawk_text_puts(text, "Lost: its blocks");
	hawk_text_puts(text, " keep each other alive, in ");
	if (cycle->cycles == 1)
		hawk_text_puts(text, "a cycle");
	else
		hawk_text_printf(text, "%s cycles like this one",
				 hawk_quantity_count(cycle->cycles).text);
	hawk_text_printf(text, " of %s: ", hawk_quantity_count(cycle->length).text);
	hawk_leak_cycle_append_way(suspects->leaks, screen, cycle, text);
	hawk_leak_cycle_append_cut(suspects->leaks, screen, cycle, text);
}

static void append_growth(const struct hawk_suspect *suspect, struct hawk_text *text)
{
	const struct hawk_growth *growth = &suspect->growth;
	const char *separator = "";

	hawk_text_puts(text, " Growth: ");
	hawk_growth_append_verdict(text, growth);
	hawk_text_puts(text, growth->verdict == HAWK_GROWTH_GROWS ? ": " : ", because ");
	for (unsigned i = 0; i < growth->reason_count; i++) {
		if (i && growth->reasons[i] == HAWK_REASON_LOST)
			continue;
		hawk_text_puts(text, separator);
		hawk_growth_append_reason(text, growth, &suspect->facts, growth->reasons[i]);
		separator = "; ";
		if (growth->verdict == HAWK_GROWTH_UNCLEAR)
			break;
	}
	hawk_text_puts(text, ".");
}

static void append_amount(const struct hawk_suspects_report *suspects, uint64_t objects,
			  uint64_t bytes, struct hawk_text *text)
{
	hawk_text_printf(text, "%s in %s block%s, %s of the heap", hawk_quantity_bytes(bytes).text,
			 hawk_quantity_count(objects).text, objects == 1 ? "" : "s",
			 hawk_quantity_share(bytes, suspects->found->heap_bytes).text);
}

void hawk_suspects_append_story(const struct hawk_suspects_report *suspects,
				const struct hawk_screen *screen,
				const struct hawk_suspect *suspect, struct hawk_text *text)
{
	const struct hawk_leak_cycle *cycle = hawk_suspects_cycle(suspects, suspect);
	uint32_t holder = suspects->found->tree.nodes[suspect->holder.top].kind;
	uint64_t bytes = suspect->facts.inuse_bytes;

	if (suspect->part_count) {
		bytes = suspect->blocks.bytes;
	} else {
		append_amount(suspects, suspect->facts.inuse_objects, bytes, text);
		hawk_text_puts(text, ". ");
	}
	if (cycle)
		append_cycle(suspects, screen, suspect, cycle, text);
	else
		append_holder(suspects, suspect, text);
	hawk_text_puts(text, ".");
	append_reach(suspects, suspect, cycle || holder == HAWK_TREE_LOST, text);
	append_followers(suspects, suspect, text);
	if (!suspect->part_count && hawk_quantity_more_bytes(suspect->retained, bytes) &&
	    (!suspect->follower_count || suspect->retained > suspect->lost.bytes))
		hawk_text_printf(text, " With what it holds it retains %s.",
				 hawk_quantity_bytes(suspect->retained).text);
	/* Without any ages, put_end() says so once. */
	if (suspects->pointers->heap->knows & HAWK_HEAP_AGES)
		append_growth(suspect, text);
}

/** Names a part of a structure. Parts that one line allocates are named by what it called. */
static void append_part(const struct hawk_suspects_report *suspects,
			const struct hawk_suspect *suspect, size_t number, size_t width,
			struct hawk_text *text)
{
	struct hawk_site_names *names = suspects->pointers->names;
	const struct hawk_site_name *name = hawk_site_name(names, suspect->parts[number].site);
	CLEANUP(text) struct hawk_text plain = {0};
	struct hawk_site_name told = *name;
	bool alike = false;

	hawk_site_name_append(&plain, name, SIZE_MAX);
	for (size_t i = 0; i < suspect->part_count && !alike; i++) {
		CLEANUP(text) struct hawk_text other = {0};

		hawk_site_name_append(&other, hawk_site_name(names, suspect->parts[i].site),
				      SIZE_MAX);
		alike = i != number && !strcmp(hawk_text_string(&other), hawk_text_string(&plain));
	}
	if (alike && name->callee && !name->runtime && !hawk_function_name_is_wrapper(name->callee))
		told.function = name->callee;
	hawk_site_name_append(text, &told, width);
}

/** Prints the largest parts of the suspect's structure, if it is one. */
static void put_parts(const struct hawk_suspects_report *suspects, const struct hawk_screen *screen,
		      const struct hawk_suspect *suspect)
{
	CLEANUP(text) struct hawk_text amount = {0};

	if (!suspect->part_count)
		return;
	append_amount(suspects, suspect->blocks.objects, suspect->blocks.bytes, &amount);
	hawk_text_puts(&amount, ", in one structure:");
	hawk_screen_paragraph(screen, hawk_text_string(&amount), INDENT, INDENT);
	for (size_t i = 0; i < suspect->part_count; i++) {
		const struct hawk_suspect_part *part = &suspect->parts[i];
		CLEANUP(text) struct hawk_text name = {0};

		append_part(suspects, suspect, i,
			    screen->full ? SIZE_MAX : screen->width - PART_COLUMN - 1, &name);
		hawk_output_printf(screen->output, "%14s %10s  %s\n",
				   hawk_quantity_bytes(part->blocks.bytes).text,
				   hawk_quantity_count(part->blocks.objects).text,
				   hawk_text_string(&name));
	}
}

/** Appends what holds a suspect whose name is only a class. */
static void append_root(const struct hawk_suspects_report *suspects,
			const struct hawk_suspect *suspect, size_t width, struct hawk_text *text)
{
	const struct hawk_site_tree_node *top = &suspects->found->tree.nodes[suspect->holder.top];

	if (suspects->pointers->heap->knows & HAWK_HEAP_STACKS || suspect->lost.objects ||
	    width <= ROOT_WIDTH_MIN ||
	    (top->kind != HAWK_TREE_ROOT && top->kind != HAWK_TREE_SEVERAL))
		return;
	hawk_text_puts(text, HELD_BY);
	hawk_utf8_append_middle_cut(text, suspects->found->roots.names[top->key],
				    width - strlen(HELD_BY));
}

void hawk_suspects_append_title(const struct hawk_suspects_report *suspects,
				const struct hawk_screen *screen, size_t number,
				struct hawk_text *text)
{
	const struct hawk_suspect *suspect = &suspects->found->items[number];
	const char *type = hawk_suspects_type(suspects, suspect);
	size_t room = screen->full ? SIZE_MAX : screen->width - INDENT - 1;
	CLEANUP(text) struct hawk_text name = {0}, shown = {0};

	if (type) {
		hawk_text_puts(&shown, "  [");
		hawk_function_name_append(&shown, type, screen->full ? SIZE_MAX : TYPE_WIDTH);
		hawk_text_puts(&shown, "]");
		room -= screen->full ? 0 : hawk_utf8_width(hawk_text_string(&shown));
	}
	hawk_site_name_append(&name, hawk_site_name(suspects->pointers->names, suspect->site),
			      room);
	if (!type)
		append_root(suspects, suspect, room - hawk_utf8_width(hawk_text_string(&name)),
			    &shown);
	hawk_text_printf(text, "%s%s", hawk_text_string(&name), hawk_text_string(&shown));
}

/** Returns true if another suspect has the same title. */
static bool is_alike(const struct hawk_suspects_report *suspects, const struct hawk_screen *screen,
		     size_t number, const struct hawk_text *title)
{
	bool alike = false;

	for (size_t i = 0; i < suspects->found->count && !alike; i++) {
		CLEANUP(text) struct hawk_text other = {0};

		if (i == number)
			continue;
		hawk_suspects_append_title(suspects, screen, i, &other);
		alike = !strcmp(hawk_text_string(&other), hawk_text_string(title));
	}
	return alike;
}

static void put_suspect(const struct hawk_suspects_report *suspects,
			const struct hawk_screen *screen, struct hawk_site_stacks *stacks,
			size_t number)
{
	const struct hawk_suspect *suspect = &suspects->found->items[number];
	const struct hawk_heap *heap = suspects->pointers->heap;
	bool is_class = hawk_heap_class(heap, heap->sites[suspect->site].trace);
	CLEANUP(text) struct hawk_text title = {0}, story = {0};

	hawk_suspects_append_title(suspects, screen, number, &title);
	hawk_suspects_append_story(suspects, screen, suspect, &story);
	hawk_output_printf(screen->output, "%s%zu. %s\n", number ? "\n" : "", number + 1,
			   hawk_text_string(&title));
	if (!is_class && is_alike(suspects, screen, number, &title))
		hawk_site_stacks_put(stacks, suspect->site);
	put_parts(suspects, screen, suspect);
	hawk_screen_paragraph(screen, hawk_text_string(&story), INDENT, INDENT);
	hawk_report_next_command(&suspects->next->items[number], COMMAND_INDENT, screen);
}

/** Prints all suspects. Even with --full, stacks show only the lines that distinguish equal names.
 */
static void put_all(const struct hawk_suspects_report *suspects, const struct hawk_screen *screen)
{
	const struct hawk_pointer_report *pointers = suspects->pointers;
	struct hawk_screen narrow = *screen;
	CLEANUP(site_stacks)
	struct hawk_site_stacks stacks =
		hawk_site_stacks_on(&narrow, pointers->symbols, pointers->heap, 1);

	narrow.full = false;
	for (size_t i = 0; i < suspects->found->count; i++)
		hawk_site_stacks_add(&stacks, suspects->found->items[i].site);
	hawk_site_stacks_compare(&stacks);
	for (size_t i = 0; i < suspects->found->count; i++)
		put_suspect(suspects, screen, &stacks, i);
}

/** Mentions memory that is there since the start. */
static void put_left_out(const struct hawk_suspects *found, const struct hawk_screen *screen)
{
	if (found->startup_bytes < found->heap_bytes / LEFT_OUT_SHARE || !found->startup_bytes)
		return;
	hawk_output_printf(screen->output,
			   "%sLeft out: %s (%s), filled at start and not grown since\n",
			   found->count ? "\n" : "", hawk_quantity_bytes(found->startup_bytes).text,
			   hawk_quantity_share(found->startup_bytes, found->heap_bytes).text);
}

/** Says that suspects may be of the start, if ages are unknown, or if the process may have idled
 * until it died. */
static void put_end(const struct hawk_suspects_report *suspects, const struct hawk_screen *screen)
{
	const struct hawk_life *life = &suspects->pointers->heap->life;
	CLEANUP(text) struct hawk_text text = {0};

	if (!(suspects->pointers->heap->knows & HAWK_HEAP_AGES)) {
		hawk_screen_paragraph(
			screen,
			"Ages of blocks need the tracer. Without them a table filled at start "
			"looks like a leak, so what is lost stands first.",
			0, 0);
		hawk_output_puts(screen->output, "\n");
		return;
	}
	if (life->end != HAWK_LIFE_CLOCK || !hawk_life_may_have_idled(life))
		return;
	hawk_text_printf(
		&text,
		"Ages end with the last allocation, %s after the start. The core's file is %s "
		"younger: if the process idled until then, these were filled at start.",
		hawk_quantity_seconds(hawk_life_seconds(life->clock_units)).text,
		hawk_quantity_seconds(hawk_life_seconds(life->latest_units - life->clock_units))
			.text);
	hawk_screen_paragraph(screen, hawk_text_string(&text), 0, 0);
	hawk_output_puts(screen->output, "\n");
}

/** A heap that is little of the memory says so: what grew lies elsewhere. */
static void put_heading(const struct hawk_suspects_report *suspects,
			const struct hawk_screen *screen)
{
	const struct hawk_accounting *memory = &suspects->pointers->heap->accounting;
	uint64_t heap = memory->requested_bytes - memory->untouched_bytes;
	const struct hawk_suspects *found = suspects->found;
	struct hawk_quantity part = hawk_quantity_share(found->explained_bytes, found->heap_bytes);

	if (memory->measured && heap < memory->touched_bytes / SMALL_SHARE)
		hawk_screen_heading(
			screen, "Suspects: %zu behind %s of the heap, which is %s of the memory",
			found->count, part.text,
			hawk_quantity_share(heap, memory->touched_bytes).text);
	else
		hawk_screen_heading(screen,
				    "Suspects: %zu behind %s of the heap, and what to ask next",
				    found->count, part.text);
}

void hawk_report_suspects(const struct hawk_suspects_report *suspects,
			  const struct hawk_screen *screen)
{
	if (suspects->skipped) {
		hawk_output_puts(screen->output, "\n");
		hawk_screen_wrapped(screen, suspects->skipped, 0, 0);
		return;
	}
	if (suspects->found->count) {
		put_heading(suspects, screen);
		put_end(suspects, screen);
		put_all(suspects, screen);
	} else {
		hawk_screen_heading(screen, "Suspects: none, no site %shas much of the heap",
				    suspects->found->startup_bytes ? "that grew after start-up "
								   : "");
	}
	put_left_out(suspects->found, screen);
}
