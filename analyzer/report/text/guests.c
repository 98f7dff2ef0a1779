/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * One sentence for each guest.
 */
#include "hawk/base/cleanup.h"
#include "hawk/base/quantity.h"
#include "hawk/report/balance.h"

static void put_guest(const struct hawk_guest *guest, const struct hawk_screen *screen)
{
	CLEANUP(text) struct hawk_text text = {0};

	hawk_text_printf(&text, "%s has %s objects with %s in %s interpreter%s.", guest->name,
			 hawk_quantity_count(guest->objects).text,
			 hawk_quantity_bytes(guest->bytes).text,
			 hawk_quantity_count(guest->states).text, guest->states == 1 ? "" : "s");
	if (guest->is_counted)
		hawk_text_printf(&text, " Its own count %s.", hawk_guest_checksum(guest));
	hawk_screen_paragraph(screen, hawk_text_string(&text), 2, 2);
}

void hawk_report_guests(const struct hawk_heap *heap, const struct hawk_screen *screen)
{
	for (unsigned i = 0; i < heap->guests.count; i++)
		put_guest(&heap->guests.items[i], screen);
}
