/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Lua's interpreters and objects in arbitrary memory.
 */
#include <stdlib.h>

#include "heap/lua/lua.h"
#include "sparse_core.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hawk_findings findings;
	struct hawk_guests guests = {0};
	struct hawk_target *target;

	hawk_findings_init(&findings);
	target = sparse_core_open(data, size, &findings);
	struct hawk_guest_finder finder = {
		.target = target,
		.near.target = target,
		.guests = &guests,
		.objects_max = hawk_target_present_bytes(target) / 16,
	};
	lua_search(&finder);
	if (guests.object_count > finder.objects_max)
		abort();
	for (size_t i = 0; i < guests.object_count; i++)
		if (guests.objects[i].type >= guests.type_count)
			abort();
	free(finder.keys);
	free(finder.names);
	hawk_guests_deinit(&guests);
	hawk_target_close(target);
	hawk_findings_deinit(&findings);
	return 0;
}
