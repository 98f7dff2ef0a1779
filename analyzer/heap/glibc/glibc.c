/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds glibc's malloc stage by stage.
 */
#include "glibc.h"

void hawk_glibc_deinit(struct hawk_glibc *glibc)
{
	free(glibc->arenas);
	free(glibc->runs);
	free(glibc->specials);
	hawk_claims_deinit(&glibc->claims);
	*glibc = (struct hawk_glibc){0};
}

static struct hawk_error *find(struct hawk_glibc *glibc)
{
	struct hawk_error *err = hawk_glibc_find_arenas(glibc);

	if (!err)
		err = hawk_glibc_find_runs(glibc);
	if (err)
		return err;
	hawk_glibc_find_parameters(glibc);
	err = hawk_glibc_find_mapped(glibc);
	return err ? err : hawk_glibc_find_specials(glibc);
}

struct hawk_error *hawk_glibc_find(const struct hawk_target *target,
				   const struct hawk_claims *claims, struct hawk_glibc *ret,
				   bool *is_there)
{
	struct hawk_glibc glibc = {.target = target};
	struct hawk_error *err = NULL;

	for (size_t i = 0; i < claims->count && !err; i++)
		err = hawk_claims_add(&glibc.claims, claims->items[i].start, claims->items[i].end);
	if (!err)
		err = find(&glibc);

	*is_there = !err && glibc.run_count;
	if (*is_there)
		*ret = glibc;
	else
		hawk_glibc_deinit(&glibc);
	return err;
}
