/* SPDX-License-Identifier: Apache-2.0 */
/** @file A library of one function, built several times under other names. */
#include <stdlib.h>

void *make(void);

void *make(void)
{
	return malloc(100);
}
