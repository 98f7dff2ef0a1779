/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Names for classes of words.
 */
#include <inttypes.h>

#include "hawk_function_name.h"
#include "hawk_quantity.h"
#include "hawk_report_schema.h"
#include "hawk_utf8.h"

enum { QUOTE_BYTES = 24 };

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

/** Classes whose words need no key. */
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
