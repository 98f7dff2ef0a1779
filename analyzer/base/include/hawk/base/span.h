/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A range of addresses.
 */
#ifndef HAWK_ANALYZER_BASE_SPAN_H
#define HAWK_ANALYZER_BASE_SPAN_H

#include <stdint.h>

struct hawk_span {
	uint64_t start;
	uint64_t end; /**< exclusive */
};

#endif
