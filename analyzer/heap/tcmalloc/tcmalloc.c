/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds tcmalloc's heap stage by stage.
 */
#include "tcmalloc.h"

void hawk_tcmalloc_deinit(struct hawk_tcmalloc *tcmalloc)
{
	free(tcmalloc->spans);
	free(tcmalloc->samples);
	hawk_slabs_deinit(&tcmalloc->slabs);
	hawk_claims_deinit(&tcmalloc->metadata);
	hawk_claims_deinit(&tcmalloc->pages);
	*tcmalloc = (struct hawk_tcmalloc){0};
}

static struct hawk_error *find(struct hawk_tcmalloc *tcmalloc)
{
	struct hawk_error *err;

	if (!hawk_tcmalloc_find_central(tcmalloc))
		return NULL;
	err = hawk_tcmalloc_read_spans(tcmalloc);
	if (!err)
		err = hawk_tcmalloc_read_large(tcmalloc);
	if (err)
		return err;
	hawk_claims_sort(&tcmalloc->pages);
	err = hawk_slabs_finish(&tcmalloc->slabs, tcmalloc->target);
	if (!err)
		err = hawk_tcmalloc_mark_free(tcmalloc);
	if (!err)
		err = hawk_tcmalloc_mark_cached(tcmalloc);
	hawk_claims_sort(&tcmalloc->metadata);
	return err;
}

struct hawk_error *hawk_tcmalloc_find(const struct hawk_target *target, struct hawk_tcmalloc *ret,
				      bool *is_there)
{
	struct hawk_tcmalloc tcmalloc = {.target = target};
	struct hawk_error *err = find(&tcmalloc);

	*is_there = !err && tcmalloc.slabs.count;
	if (*is_there)
		*ret = tcmalloc;
	else
		hawk_tcmalloc_deinit(&tcmalloc);
	return err;
}
