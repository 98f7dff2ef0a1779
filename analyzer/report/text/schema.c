/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Prints a pseudo struct: offsets, shares, kinds of words. Then the outliers.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "hawk/base/cleanup.h"
#include "hawk/names/function_name.h"
#include "hawk/base/quantity.h"
#include "hawk/report/schema.h"
#include "hawk/base/utf8.h"

enum {
	VALUES = 4,   /**< shown of each word */
	OUTLIERS = 5, /**< shown of each group */
	MISFITS = 3,  /**< shown of each outlier */
	WORDS = 64,   /**< shown of each group */
	COLUMN = 27,  /**< column of values */
	NAME_MIN = 20,
	SMALL = 1000, /**< values below 1/SMALL are left out */
	QUOTE_BYTES = 24,
};

static size_t room(const struct hawk_screen *screen, size_t used)
{
	if (screen->full)
		return SIZE_MAX;
	return screen->width > used + NAME_MIN ? screen->width - used : NAME_MIN;
}

/** Returns a share; "100.0 %" only for all. */
static struct hawk_quantity share_of(uint64_t count, uint64_t all)
{
	struct hawk_quantity share = hawk_quantity_share(count, all);

	if (count < all && !strcmp(share.text, "100.0 %"))
		return (struct hawk_quantity){{">99.9 %"}};
	return share;
}

static void append_site(const struct hawk_pointer_report *report, const char *before, uint64_t site,
			size_t width, struct hawk_text *text)
{
	hawk_text_printf(text, "-> %s", before);
	if (site == HAWK_SCHEMA_OTHERS)
		hawk_text_puts(text, "blocks of other sites");
	else
		hawk_site_name_tell(report->names, (uint32_t)site, width, text);
}

/** "`name`+0x10 in module", or the place in the module. */
static void append_symbol(const struct hawk_pointer_report *report, uint64_t address, size_t width,
			  struct hawk_text *text)
{
	const struct hawk_module *module = hawk_target_module_at(report->heap->target, address);
	struct hawk_symbol_module of;
	const char *name = NULL;
	uint64_t offset = 0;

	if (!module) {
		hawk_text_printf(text, "0x%" PRIx64, address);
		return;
	}
	of = hawk_symbol_module_of(module);
	hawk_error_swallow(hawk_symbols_name(report->symbols, &of, address, &name, &offset));
	if (name) {
		hawk_text_puts(text, "`");
		hawk_function_name_append(text, name, width);
		hawk_text_puts(text, "`");
		if (offset)
			hawk_text_printf(text, "+0x%" PRIx64, offset);
		hawk_text_puts(text, " in ");
	}
	hawk_utf8_append_middle_cut(text, hawk_path_base(module->path), width);
	if (!name)
		hawk_text_printf(text, "+0x%" PRIx64,
				 address - (module->has_bias ? module->bias : module->start));
}

static void append_vtable(const struct hawk_pointer_report *report, uint64_t word, size_t width,
			  struct hawk_text *text)
{
	const char *name = hawk_block_type_of_vtable(report->types, word);

	hawk_text_puts(text, "vtable of ");
	if (name)
		hawk_function_name_append(text, name, width);
	else
		hawk_text_printf(text, "0x%" PRIx64, word);
}

static void append_quote(const struct hawk_pointer_report *report, uint64_t word,
			 struct hawk_text *text)
{
	uint8_t bytes[QUOTE_BYTES];
	size_t size = hawk_target_read_some(report->heap->target, word, bytes, sizeof(bytes));
	size_t length = hawk_text_length(bytes, size);

	if (!length)
		return;
	hawk_text_puts(text, " \"");
	for (size_t i = 0; i < length; i++) {
		char byte = (char)bytes[i];

		if (byte < ' ')
			byte = ' ';
		hawk_text_append(text, &byte, 1);
	}
	hawk_text_puts(text, length == size ? "...\"" : "\"");
}

static void append_integer(const struct hawk_schema_word *of, struct hawk_word word,
			   struct hawk_text *text)
{
	if (word.key != HAWK_SCHEMA_OTHERS || !of || of->integer_min > of->integer_max)
		hawk_text_printf(text, "integer %" PRId64, (int64_t)word.key);
	else
		hawk_text_printf(text, "integer %" PRId64 " .. %" PRId64, of->integer_min,
				 of->integer_max);
}

static void append_text(const struct hawk_schema_word *of, struct hawk_text *text)
{
	hawk_text_puts(text, "text");
	if (of && of->text_max && of->text_min == of->text_max)
		hawk_text_printf(text, " of %" PRIu64 " characters", of->text_max);
	else if (of && of->text_max)
		hawk_text_printf(text, " of %" PRIu64 " to %" PRIu64 " characters", of->text_min,
				 of->text_max);
}

/** Returns the name of a class whose words need no key. */
static const char *plain_name(enum hawk_word_class class)
{
	switch (class) {
	case HAWK_WORD_NULL:
		return "null";
	case HAWK_WORD_STACK:
		return "-> a thread's stack";
	case HAWK_WORD_FREE:
		return "-> heap memory that is no live block";
	case HAWK_WORD_MAPPED:
		return "-> other memory";
	case HAWK_WORD_PAIR:
		return "two 32-bit integers";
	case HAWK_WORD_REAL:
		return "floating point, perhaps";
	case HAWK_WORD_FLOATS:
		return "two floats, perhaps";
	case HAWK_WORD_VTABLE:
		return "other vtables";
	case HAWK_WORD_CODE:
		return "other code";
	case HAWK_WORD_DATA:
		return "-> other places in modules";
	case HAWK_WORD_TEXT_POINTER:
		return "-> other text";
	default:
		return "other";
	}
}

void hawk_schema_append_value(const struct hawk_pointer_report *report,
			      const struct hawk_schema_word *of, struct hawk_word word,
			      size_t width, struct hawk_text *text)
{
	bool others = word.key == HAWK_SCHEMA_OTHERS;

	if (word.class == HAWK_WORD_BLOCK) {
		append_site(report, "", word.key, width, text);
	} else if (word.class == HAWK_WORD_INTERIOR) {
		append_site(report, "inside ", word.key, width, text);
	} else if (word.class == HAWK_WORD_END) {
		append_site(report, "end of ", word.key, width, text);
	} else if (word.class == HAWK_WORD_INTEGER) {
		append_integer(of, word, text);
	} else if (word.class == HAWK_WORD_TEXT) {
		append_text(of, text);
	} else if (word.class == HAWK_WORD_VTABLE && !others) {
		append_vtable(report, word.key, width, text);
	} else if ((word.class == HAWK_WORD_CODE || word.class == HAWK_WORD_DATA) && !others) {
		hawk_text_puts(text, word.class == HAWK_WORD_CODE ? "code " : "-> ");
		append_symbol(report, word.key, width, text);
	} else if (word.class == HAWK_WORD_TEXT_POINTER && !others) {
		hawk_text_puts(text, "-> text");
		append_quote(report, word.key, text);
	} else {
		hawk_text_puts(text, plain_name(word.class));
	}
}

/** Writes the lines of a word without its offset, for comparison with the next word's. */
static void write_word(const struct hawk_schema_report *report, const struct hawk_screen *screen,
		       const struct hawk_schema_word *word, struct hawk_text *lines)
{
	uint32_t shown = 0;

	for (uint32_t i = 0; i < word->value_count; i++) {
		const struct hawk_schema_value *value = &word->values[i];
		CLEANUP(text) struct hawk_text name = {0};

		if (!screen->full && shown &&
		    (shown == VALUES || value->count * SMALL < word->count) &&
		    i + 1 < word->value_count) {
			hawk_text_printf(lines, "%9s  ... %u more kinds\n", "",
					 word->value_count - i);
			break;
		}
		hawk_schema_append_value(report->pointers, word, value->word,
					 room(screen, COLUMN + 10), &name);
		hawk_text_printf(lines, "%9s  %s\n", share_of(value->count, word->count).text,
				 hawk_text_string(&name));
		shown++;
	}
	if (!word->value_count)
		hawk_text_puts(lines, "           not looked at\n");
}

static void put_lines(const struct hawk_screen *screen, const struct hawk_text *lines,
		      uint32_t first, uint32_t last)
{
	const char *line = hawk_text_string(lines);
	char offsets[32];

	if (first == last)
		snprintf(offsets, sizeof(offsets), "+%u", first * 8);
	else
		snprintf(offsets, sizeof(offsets), "+%u .. +%u", first * 8, last * 8);
	for (const char *end; (end = strchr(line, '\n')); line = end + 1) {
		hawk_output_printf(screen->output, "  %-14s%.*s\n", offsets, (int)(end - line),
				   line);
		offsets[0] = '\0';
	}
}

static void put_words(const struct hawk_schema_report *report, const struct hawk_screen *screen,
		      const struct hawk_schema_group *group)
{
	CLEANUP(text) struct hawk_text lines = {0};
	uint32_t first = 0, put = 0;

	for (uint32_t i = 0; i < group->word_count; i++) {
		CLEANUP(text) struct hawk_text next = {0};

		write_word(report, screen, &group->words[i], &next);
		if (i && !strcmp(hawk_text_string(&lines), hawk_text_string(&next)))
			continue;
		if (i) {
			put_lines(screen, &lines, first, i - 1);
			put++;
		}
		first = i;
		hawk_text_deinit(&lines);
		lines = next;
		next = (struct hawk_text){0};
		if (!screen->full && put == WORDS) {
			hawk_output_printf(screen->output, "  +%u and on: --full\n", i * 8);
			return;
		}
	}
	if (group->word_count)
		put_lines(screen, &lines, first, group->word_count - 1);
}

static void put_group_heading(const struct hawk_screen *screen,
			      const struct hawk_schema_group *group)
{
	CLEANUP(text) struct hawk_text text = {0};

	if (group->size_min == group->size_max)
		hawk_text_printf(
			&text, "%s block%s of %s bytes", hawk_quantity_count(group->objects).text,
			group->objects == 1 ? "" : "s", hawk_quantity_count(group->size_min).text);
	else
		hawk_text_printf(&text, "%s blocks of %s to %s bytes",
				 hawk_quantity_count(group->objects).text,
				 hawk_quantity_count(group->size_min).text,
				 hawk_quantity_count(group->size_max).text);
	if (group->period)
		hawk_text_printf(&text, ": arrays with elements of %u bytes", group->period * 8);
	if (group->examined < group->objects)
		hawk_text_printf(&text, "; %s of them were looked at",
				 hawk_quantity_count(group->examined).text);
	if (group->bytes_each < group->size_max)
		hawk_text_printf(&text, "; the first %s bytes of each",
				 hawk_quantity_count(group->bytes_each).text);
	else if (!group->period && group->size_min % 8)
		hawk_text_puts(&text, "; without what follows the last whole word");
	if (group->unreadable)
		hawk_text_printf(&text, "; %s cannot be read in whole",
				 hawk_quantity_count(group->unreadable).text);
	hawk_output_puts(screen->output, "\n");
	hawk_screen_wrapped(screen, hawk_text_string(&text), 0, 2);
}

static void put_misfit(const struct hawk_schema_report *report, const struct hawk_screen *screen,
		       const struct hawk_schema_misfit *misfit)
{
	CLEANUP(text) struct hawk_text name = {0};

	hawk_schema_append_value(report->pointers, NULL, misfit->word, room(screen, COLUMN + 22),
				 &name);
	hawk_output_printf(screen->output, "      +%-8" PRIu64 " 0x%016" PRIx64 "  %s\n",
			   misfit->offset, misfit->value, hawk_text_string(&name));
}

static void put_outlier(const struct hawk_schema_report *report, const struct hawk_screen *screen,
			const struct hawk_schema_outlier *outlier)
{
	const struct hawk_block_index *index = &report->pointers->heap->index;
	uint32_t known = outlier->misfit_count < HAWK_SCHEMA_MISFITS_MAX ? outlier->misfit_count
									 : HAWK_SCHEMA_MISFITS_MAX;
	uint32_t shown = 0;

	hawk_output_printf(screen->output, "    0x%" PRIx64 "  %s word%s, %.1f bits\n",
			   hawk_block_start(index, outlier->block),
			   hawk_quantity_count(outlier->misfit_count).text,
			   outlier->misfit_count == 1 ? "" : "s", outlier->bits);
	for (; shown < known && (screen->full || shown < MISFITS); shown++)
		put_misfit(report, screen, &outlier->misfits[shown]);
	if (shown < outlier->misfit_count)
		hawk_output_printf(screen->output, "      ... %s more\n",
				   hawk_quantity_count(outlier->misfit_count - shown).text);
}

static void put_outliers(const struct hawk_schema_report *report, const struct hawk_screen *screen,
			 const struct hawk_schema_group *group)
{
	uint32_t shown = 0;

	if (!group->outliers_all)
		return;
	hawk_screen_style(screen, HAWK_STYLE_ALERT);
	hawk_output_printf(screen->output, "  %s block%s not fit (the least probable first):\n",
			   hawk_quantity_count(group->outliers_all).text,
			   group->outliers_all == 1 ? " does" : "s do");
	hawk_screen_plain(screen);
	for (; shown < group->outlier_count && (screen->full || shown < OUTLIERS); shown++)
		put_outlier(report, screen, &group->outliers[shown]);
	if (shown < group->outliers_all)
		hawk_output_printf(screen->output, "    ... %s more\n",
				   hawk_quantity_count(group->outliers_all - shown).text);
}

static void put_groups(const void *context, const struct hawk_screen *screen)
{
	const struct hawk_schema_report *report = context;

	for (size_t i = 0; i < report->schema->group_count; i++) {
		const struct hawk_schema_group *group = &report->schema->groups[i];

		put_group_heading(screen, group);
		put_words(report, screen, group);
		put_outliers(report, screen, group);
	}
}

void hawk_report_schema(const struct hawk_schema_report *report, const struct hawk_screen *screen)
{
	const struct hawk_schema *schema = report->schema;
	CLEANUP(text) struct hawk_text title = {0};

	if (report->site == HAWK_SCHEMA_ANY_SITE) {
		hawk_text_puts(&title, "Blocks of all sites, of types that match ");
		hawk_utf8_append_safe(&title, report->type);
	} else {
		hawk_site_name_append(&title, hawk_site_name(report->pointers->names, report->site),
				      room(screen, 1));
	}
	hawk_screen_heading(screen, "%s", hawk_text_string(&title));
	hawk_output_printf(
		screen->output, "%s block%s, %s\n", hawk_quantity_count(schema->objects).text,
		schema->objects == 1 ? "" : "s", hawk_quantity_bytes(schema->bytes).text);
	if (!schema->objects)
		hawk_report_put_none(report->pointers, screen);
	hawk_report_put_rows(report->pointers, screen, put_groups, report);
	if (schema->rest_objects)
		hawk_output_printf(screen->output, "\n%s blocks of other sizes: --size, --top\n",
				   hawk_quantity_count(schema->rest_objects).text);
	if (schema->carved)
		hawk_output_printf(screen->output,
				   "\n%s blocks are carved up by a pool, and were left out\n",
				   hawk_quantity_count(schema->carved).text);
}
