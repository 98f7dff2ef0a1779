/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * In which order single blocks are shown where not all are: the largest first, of one size the
 * oldest, as far as the coarse time of birth tells, and then by address.
 */
#ifndef HAWK_BLOCK_ORDER_H
#define HAWK_BLOCK_ORDER_H

/** Of two struct hawk_block, a hawk_ranking_order: 0 only for the same block. */
int hawk_block_order(const void *left, const void *right);

#endif
