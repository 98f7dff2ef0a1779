/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The order of blocks. Codes of births ascend with time.
 */
#include "hawk_block_order.h"

#include "hawk_sweep.h"

int hawk_block_order(const void *left, const void *right)
{
	const struct hawk_block *a = left;
	const struct hawk_block *b = right;

	if (a->size != b->size)
		return a->size > b->size ? -1 : 1;
	if (a->birth != b->birth)
		return a->birth < b->birth ? -1 : 1;
	return a->start < b->start ? -1 : a->start > b->start;
}
