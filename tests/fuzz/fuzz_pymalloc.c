/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The walker of pymalloc over arbitrary memory.
 */
#include "walker_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	read_by_walker(&hawk_heap_pymalloc, data, size);
	return 0;
}
