/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Writes beyond the end of a block, over the header of the next one, and dies.
 */
#include <stdlib.h>
#include <string.h>

int main(void)
{
	char *volatile first = malloc(1000);
	char *volatile second = malloc(1000);

	if (!first || !second)
		return 1;
	if (second > first)
		memset(first, 'A', (size_t)(second - first));
	abort();
}
