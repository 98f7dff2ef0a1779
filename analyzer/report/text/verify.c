/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Prints damages of a heap as text: one line for each, as in Android's tombstones, then the
 * stack of the block at fault and other places with the same bytes.
 */
#include "hawk/report/verify.h"

#include <inttypes.h>

#include "hawk/base/cleanup.h"
#include "hawk/base/quantity.h"
#include "hawk/names/function_name.h"
#include "hawk/names/site_names.h"

enum { DEFAULT_TOP = 10, SECTION_TOP = 3, DEFAULT_DEPTH = 3, NAME_WIDTH = 40, WORD_BYTES = 8 };

static const char *const kind_names[HAWK_CORRUPTION_KINDS] = {
	[HAWK_CORRUPTION_OVERFLOW] = "heap overflow",
	[HAWK_CORRUPTION_UNDERFLOW] = "heap underflow",
	[HAWK_CORRUPTION_DOUBLE_FREE] = "double free",
	[HAWK_CORRUPTION_USE_AFTER_FREE] = "use after free",
	[HAWK_CORRUPTION_INVALID_FREE] = "invalid free",
	[HAWK_CORRUPTION_METADATA] = "metadata damaged",
};

/** A report, and what printing it needs. */
struct printer {
	const struct hawk_verify_report *report;
	const struct hawk_screen *screen;
	struct hawk_site_names *names; /**< NULL = out of memory */
};

/* " (Session)" or " (make_session  main.c:12)"; nothing if neither type nor stack is known. */
static void append_name(const struct printer *printer, const struct hawk_whatis *block,
			struct hawk_text *text)
{
	const struct hawk_heap *heap = printer->report->heap;
	const struct hawk_site *site = hawk_heap_site(heap, block->block.trace);
	const struct hawk_class *class = hawk_heap_class(heap, block->block.trace);
	const struct hawk_site_name *name;

	if (block->state == HAWK_BLOCK_NONE)
		return;
	if (block->type) {
		hawk_text_puts(text, " (");
		hawk_function_name_append(text, block->type, NAME_WIDTH);
		hawk_text_puts(text, ")");
		return;
	}
	if (!site || !printer->names || (class && class->kind <= HAWK_CLASS_RANGE))
		return;
	name = hawk_site_name(printer->names, (uint32_t)(site - heap->sites));
	if (!name->has_stack)
		return;
	hawk_text_puts(text, " (");
	hawk_site_name_append(text, name, NAME_WIDTH);
	hawk_text_puts(text, ")");
}

/* "the 24-byte block 0x5581.." with a name, or "the free 24-byte block 0x5581.." */
static void append_block(const struct printer *printer, const struct hawk_corruption *item,
			 struct hawk_text *text)
{
	bool is_free = item->kind == HAWK_CORRUPTION_DOUBLE_FREE ||
		       item->kind == HAWK_CORRUPTION_USE_AFTER_FREE;

	hawk_text_printf(text, "the%s ", is_free ? " free" : "");
	if (item->size)
		hawk_text_printf(text, "%s-byte ", hawk_quantity_count(item->size).text);
	hawk_text_printf(text, "block 0x%" PRIx64, item->start);
	append_name(printer, &item->block, text);
}

/* The bytes of a word: as text if they are, else as a number. */
static void append_word(uint64_t word, struct hawk_text *text)
{
	char bytes[WORD_BYTES + 1] = "";
	unsigned count = 0;

	for (; count < WORD_BYTES && (uint8_t)(word >> 8 * count) >= ' ' &&
	       (uint8_t)(word >> 8 * count) <= '~';
	     count++)
		bytes[count] = (char)(word >> 8 * count);
	if (count > 1 && (count == WORD_BYTES || word >> 8 * count <= 0xff))
		hawk_text_printf(text, "\"%.*s\"", (int)count, bytes);
	else
		hawk_text_printf(text, "0x%" PRIx64, word);
}

static void append_bytes(uint64_t bytes, struct hawk_text *text)
{
	hawk_text_printf(text, "%s byte%s", hawk_quantity_count(bytes).text, bytes == 1 ? "" : "s");
}

/* "found "AAAAAAAA", expected size 0x31" */
static void append_found(const struct hawk_damage *damage, struct hawk_text *text)
{
	hawk_text_puts(text, "; found ");
	append_word(damage->found, text);
	if (damage->expected)
		hawk_text_printf(text, ", expected %s0x%" PRIx64,
				 damage->kind == HAWK_DAMAGE_SIZE ? "size " : "", damage->expected);
	else if (damage->kind == HAWK_DAMAGE_SIZE)
		hawk_text_puts(text, " as the size of the next block");
}

static void append_refused(const struct printer *printer, const struct hawk_corruption *item,
			   struct hawk_text *text)
{
	hawk_text_printf(text, "%s() was given 0x%" PRIx64 ", ",
			 printer->report->verify->crash.function, item->damage.address);
	if (item->kind == HAWK_CORRUPTION_DOUBLE_FREE && !item->size)
		hawk_text_puts(text, "a block that was free");
	else if (item->kind == HAWK_CORRUPTION_DOUBLE_FREE)
		hawk_text_printf(text, "a %s-byte block that was free",
				 hawk_quantity_count(item->size).text);
	else if (!item->start)
		hawk_text_puts(text, "where no block begins");
	else {
		hawk_text_printf(text, "byte %s of ",
				 hawk_quantity_count(item->damage.address - item->start).text);
		append_block(printer, item, text);
	}
}

static void append_free_write(const struct printer *printer, const struct hawk_corruption *item,
			      struct hawk_text *text)
{
	hawk_text_printf(text, "0x%" PRIx64 " in ", item->damage.address);
	append_block(printer, item, text);
	hawk_text_puts(text, " was written to");
	append_found(&item->damage, text);
	if (!item->damage.expected)
		hawk_text_puts(text, " in place of a link to free memory");
}

static void append_line(const struct printer *printer, const struct hawk_corruption *item,
			struct hawk_text *text)
{
	const struct hawk_damage *damage = &item->damage;

	hawk_text_printf(text, "%s: ", kind_names[item->kind]);
	if (item->refused) {
		append_refused(printer, item, text);
		return;
	}
	switch (item->kind) {
	case HAWK_CORRUPTION_OVERFLOW:
	case HAWK_CORRUPTION_UNDERFLOW:
		append_bytes(item->bytes, text);
		hawk_text_puts(text,
			       item->kind == HAWK_CORRUPTION_OVERFLOW ? " past " : " before ");
		append_block(printer, item, text);
		append_found(damage, text);
		break;
	case HAWK_CORRUPTION_DOUBLE_FREE:
		append_block(printer, item, text);
		hawk_text_puts(text, " is free twice");
		break;
	case HAWK_CORRUPTION_USE_AFTER_FREE:
		append_free_write(printer, item, text);
		break;
	case HAWK_CORRUPTION_INVALID_FREE:
		hawk_text_printf(text, "0x%" PRIx64 " was freed, byte %s of ", damage->address,
				 hawk_quantity_count(damage->address - item->start).text);
		append_block(printer, item, text);
		break;
	default:
		hawk_text_printf(text, "%s at 0x%" PRIx64,
				 damage->kind == HAWK_DAMAGE_LINK
					 ? "the head of a list of free memory"
					 : "a header",
				 damage->address);
		append_found(damage, text);
	}
}

/* "byte 8 of the live block 0x5581.., 64 bytes (name)", "libc.so.6 main_arena + 96" ... */
static void append_place(const struct printer *printer, const struct hawk_whatis *place,
			 struct hawk_text *text)
{
	if (place->state == HAWK_BLOCK_LIVE || place->state == HAWK_BLOCK_HEADER) {
		int64_t offset = (int64_t)(place->address - place->block.start);

		if (offset >= 0)
			hawk_text_printf(text, "byte %" PRId64 " of ", offset);
		hawk_text_printf(text, "%sthe live block 0x%" PRIx64 ", %s bytes",
				 offset < 0 ? "the header of " : "", place->block.start,
				 hawk_quantity_count(place->block.size).text);
		append_name(printer, place, text);
	} else if (place->module) {
		hawk_text_puts(text, hawk_path_base(place->module->path));
		if (place->symbol) {
			hawk_text_puts(text, " ");
			hawk_function_name_append(text, place->symbol, NAME_WIDTH);
		}
	} else if (place->thread) {
		hawk_text_printf(text, "the stack of thread %u", place->thread->tid);
	} else {
		hawk_text_puts(text, place->span ? "free memory of a heap" : "other memory");
	}
}

static void put_places(const struct printer *printer, const struct hawk_corruption *item)
{
	CLEANUP(text) struct hawk_text text = {0};

	if (item->to.mapping && !item->refused) {
		hawk_text_puts(&text, "What was found is an address: ");
		append_place(printer, &item->to, &text);
		hawk_text_puts(&text, ".");
	}
	for (unsigned i = 0; i < item->place_count; i++) {
		hawk_text_printf(&text, "%s at 0x%" PRIx64 " (",
				 i           ? ", and"
				 : text.size ? " The same bytes are"
					     : "The same bytes are",
				 item->places[i].address);
		append_place(printer, &item->places[i], &text);
		hawk_text_puts(&text, ")");
	}
	if (text.size)
		hawk_screen_paragraph(printer->screen, hawk_text_string(&text), 4, 4);
}

static void put_stack(const struct printer *printer, const struct hawk_corruption *item)
{
	const struct hawk_verify_report *report = printer->report;
	struct hawk_stack stack = {0};
	struct hawk_stack_cut cut = {0};
	size_t depth = report->depth ? report->depth : DEFAULT_DEPTH;

	if (item->block.state == HAWK_BLOCK_NONE)
		return;
	hawk_stack_of_blocks(report->symbols, report->heap, item->block.block.trace, &stack);
	if (stack.count && stack.lines[0].kind != HAWK_LINE_CLASS) {
		cut.first = printer->screen->full ? 0 : hawk_stack_telling_line(&stack);
		cut.end = printer->screen->full && !report->depth ? 0 : cut.first + depth;
		hawk_screen_stack_cut(printer->screen, &stack, &cut, 4);
	}
	hawk_stack_deinit(&stack);
}

static void put_item(const struct printer *printer, const struct hawk_corruption *item)
{
	CLEANUP(text) struct hawk_text text = {0};

	append_line(printer, item, &text);
	hawk_screen_paragraph(printer->screen, hawk_text_string(&text), 2, 4);
	put_stack(printer, item);
	put_places(printer, item);
}

/* "The process died in free(): free(): double free detected in tcache 2" */
static void put_crash(const struct hawk_crash *crash, const struct hawk_screen *screen)
{
	CLEANUP(text) struct hawk_text text = {0};

	if (!crash->function)
		return;
	hawk_text_printf(&text, "The process died in %s()%s%s", crash->function,
			 crash->message.text[0] ? ": " : ".", crash->message.text);
	hawk_screen_paragraph(screen, hawk_text_string(&text), 2, 4);
}

static void put_items(const struct hawk_verify_report *report, const struct hawk_screen *screen,
		      size_t top)
{
	struct printer printer = {.report = report, .screen = screen};
	size_t shown = screen->full || report->verify->count < top ? report->verify->count : top;

	hawk_error_swallow(hawk_site_names_create(report->heap, report->symbols, &printer.names));
	for (size_t i = 0; i < shown; i++)
		put_item(&printer, &report->verify->items[i]);
	if (shown < report->verify->all)
		hawk_output_printf(screen->output, "  ... and %s more%s\n",
				   hawk_quantity_count(report->verify->all - shown).text,
				   screen->full ? "" : " (--full)");
	hawk_site_names_destroy(printer.names);
}

static void put_heading(const struct hawk_verify *verify, const struct hawk_screen *screen)
{
	hawk_screen_heading(screen, "Heap damage: %s",
			    verify->all ? hawk_quantity_count(verify->all).text : "none found");
}

void hawk_verify_report_section(const struct hawk_verify_report *report,
				const struct hawk_screen *screen)
{
	put_heading(report->verify, screen);
	put_crash(&report->verify->crash, screen);
	put_items(report, screen, SECTION_TOP);
}

void hawk_verify_report_text(const struct hawk_verify_report *report,
			     const struct hawk_screen *screen)
{
	if (report->heap->knows || report->verify->count) {
		put_heading(report->verify, screen);
		put_crash(&report->verify->crash, screen);
		put_items(report, screen, report->top ? report->top : DEFAULT_TOP);
	} else {
		hawk_report_put_unknown(report->heap, screen, "Heap damage",
					"know more of the heap");
	}
	hawk_report_findings(report->findings, report->partial, screen);
}
