/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Which blocks surely have what belongs into them: told from the index's bits and a few compares,
 * 64 blocks at a time. Of a part on its own. Internal to analysis/.
 */
#ifndef SCHEMA_SIEVE_H
#define SCHEMA_SIEVE_H

#include "schema_blocks.h"
#include "schema_rules.h"

enum { HAWK_SCHEMA_SIEVE_RULES_MAX = 8 };

/** To be looked at closer; `near` is the sieve's. Numbers come in their order. */
typedef struct hawk_error *hawk_schema_doubt(void *context, uint32_t number);

struct hawk_schema_sieve {
	const struct hawk_schema_blocks *blocks;
	unsigned part; /**< of them */
	const struct hawk_schema_group *group;
	const struct hawk_schema_rules *rules; /**< HAWK_SCHEMA_SIEVE_RULES_MAX at most */
	uint64_t small;                        /**< numbers below are numbers */
	hawk_schema_doubt *doubt;
	void *context;

	/** By rule of a fixed family: a word that fits; 0 = none is known. The visitor's. */
	uint64_t latest[HAWK_SCHEMA_SIEVE_RULES_MAX];
	struct hawk_near near; /**< zeros but for the target */
};

/** An error of `doubt` ends it. Adds to the stage that the caller has begun. */
struct hawk_error *hawk_schema_sieve(struct hawk_schema_sieve *sieve);

#endif
