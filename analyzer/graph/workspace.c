/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The workspace.
 */
#include "hawk_workspace.h"

struct hawk_error *hawk_workspace_create(struct hawk_workspace *workspace, uint32_t count,
					 unsigned threads)
{
	/* Even, so that pairs of lanes are aligned; not a power of two, so that equal indexes of
	 * different lanes do not meet in the same cache set. */
	uint64_t stride = (((uint64_t)count + 2 + 15) & ~UINT64_C(15)) + 16;
	uint64_t bytes = HAWK_LANES * stride * sizeof(uint32_t);
	struct hawk_area area;
	struct hawk_error *err = hawk_area_create(&area, bytes);

	if (err)
		return err;
	err = hawk_area_grow(&area, bytes);
	if (err) {
		hawk_area_destroy(&area);
		return err;
	}
	hawk_area_trim(&area, bytes);
	*workspace = (struct hawk_workspace){.area = area, .stride = stride, .threads = threads};
	return NULL;
}

void hawk_workspace_destroy(struct hawk_workspace *workspace)
{
	hawk_area_destroy(&workspace->area);
	*workspace = (struct hawk_workspace){0};
}
