/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds jemalloc's heap stage by stage.
 */
#include "jemalloc.h"

void hawk_jemalloc_deinit(struct hawk_jemalloc *jemalloc)
{
	free(jemalloc->roots);
	free(jemalloc->extents);
	hawk_slabs_deinit(&jemalloc->slabs);
	hawk_claims_deinit(&jemalloc->metadata);
	hawk_claims_deinit(&jemalloc->memory);
	*jemalloc = (struct hawk_jemalloc){0};
}

static struct hawk_error *find(struct hawk_jemalloc *jemalloc)
{
	struct hawk_error *err = hawk_jemalloc_find_roots(jemalloc);

	for (size_t i = 0; !err && i < jemalloc->root_count; i++)
		err = hawk_jemalloc_read_extents(jemalloc, &jemalloc->roots[i]);
	if (!err && jemalloc->root_count)
		err = hawk_jemalloc_finish_extents(jemalloc);
	if (!err && jemalloc->root_count)
		err = hawk_jemalloc_read_caches(jemalloc);
	return err;
}

struct hawk_error *hawk_jemalloc_find(const struct hawk_target *target, struct hawk_jemalloc *ret,
				      bool *is_there)
{
	struct hawk_jemalloc jemalloc = {.target = target};
	struct hawk_error *err = find(&jemalloc);

	*is_there = !err && jemalloc.slabs.count;
	if (*is_there)
		*ret = jemalloc;
	else
		hawk_jemalloc_deinit(&jemalloc);
	return err;
}
