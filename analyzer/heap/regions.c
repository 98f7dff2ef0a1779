/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Memory of regions.
 */
#include "hawk/heap/regions.h"

#include <stdlib.h>

void hawk_heap_regions_deinit(struct hawk_heap_regions *regions)
{
	free(regions->metadata.items);
	free(regions->outside.items);
	free(regions->undumped.items);
	*regions = (struct hawk_heap_regions){0};
}
