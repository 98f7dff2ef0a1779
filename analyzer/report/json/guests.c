/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The interpreters in the process, and whether their own counts agree.
 */
#include "hawk/report/balance.h"

#include "objects.h"

void hawk_report_json_guests(const struct hawk_heap *heap, struct hawk_json *json)
{
	hawk_json_put_array(json, "guests");
	for (unsigned i = 0; i < heap->guests.count; i++) {
		const struct hawk_guest *guest = &heap->guests.items[i];

		hawk_json_object(json);
		hawk_json_put_string(json, "name", guest->name);
		hawk_json_put_integer(json, "states", guest->states);
		hawk_json_put_integer(json, "objects", guest->objects);
		hawk_json_put_integer(json, "bytes", guest->bytes);
		hawk_json_put_integer_if(json, "counted_bytes", guest->is_counted,
					 guest->counted_bytes);
		hawk_json_put_string(json, "checksum", hawk_guest_checksum(guest));
		hawk_json_object_end(json);
	}
	hawk_json_array_end(json);
}
