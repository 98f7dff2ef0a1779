/* SPDX-License-Identifier: Apache-2.0 */
/** @file Orders out of a seed: the service's only source of "traffic". */
#include "orderd.h"

static uint64_t next_random(uint64_t *state)
{
	uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

void order_generate(struct order *order, uint64_t number, uint64_t seed)
{
	uint64_t state = seed ^ number * UINT64_C(0xd1342543de82ef95);

	order->number = number;
	order->customer = (uint32_t)(next_random(&state) % 500);
	order->line_count = 1 + (uint32_t)(next_random(&state) % ORDER_LINES_MAX);
	for (uint32_t i = 0; i < order->line_count; i++) {
		order->lines[i].product = (uint32_t)(next_random(&state) % 1050);
		order->lines[i].quantity = 1 + (uint32_t)(next_random(&state) % 9);
	}
}
