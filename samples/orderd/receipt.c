/* SPDX-License-Identifier: Apache-2.0 */
/** @file Receipts: text that grows by realloc. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "orderd.h"

struct text {
	char *bytes;
	size_t size;
	size_t capacity;
};

static void grow(struct text *text, size_t needed)
{
	while (text->capacity < needed)
		text->capacity = text->capacity ? 2 * text->capacity : 32;
	text->bytes = realloc(text->bytes, text->capacity);
	if (!text->bytes)
		abort();
}

__attribute__((format(printf, 2, 3))) static void append(struct text *text, const char *format, ...)
{
	char line[128];
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	grow(text, text->size + (size_t)length + 1);
	for (int i = 0; i <= length; i++)
		text->bytes[text->size + (size_t)i] = line[i];
	text->size += (size_t)length;
}

char *receipt_render(const struct catalog *catalog, const struct order *order, uint64_t *total)
{
	struct text text = {0};

	*total = 0;
	append(&text, "order %lu, customer %u\n", order->number, order->customer);
	for (uint32_t i = 0; i < order->line_count; i++) {
		uint64_t cents = catalog_price(catalog, order->lines[i].product);

		*total += cents * order->lines[i].quantity;
		append(&text, "%3u x product %-5u %6lu\n", order->lines[i].quantity,
		       order->lines[i].product, cents);
	}
	append(&text, "total %lu\n", *total);
	return text.bytes;
}
