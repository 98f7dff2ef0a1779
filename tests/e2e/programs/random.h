/* SPDX-License-Identifier: Apache-2.0 */
/** @file Numbers that look random, the same ones for the same state (xorshift64; never 0). */
#ifndef RANDOM_H
#define RANDOM_H

#include <stdint.h>

static inline uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

#endif
