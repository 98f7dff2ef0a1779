/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A library with a tag and a type of its own: linked with -z defs, hidden but for one function.
 */
#include <stdlib.h>

#include "hawk_annotate.h"

__attribute__((visibility("default"))) void *plugin_work(size_t size);

void *plugin_work(size_t size)
{
	HAWK_SCOPE("plugin");
	void *block = malloc(size);

	hawk_annotate_type(block, "PluginThing");
	return block;
}
