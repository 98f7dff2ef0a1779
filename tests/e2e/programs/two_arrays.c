/* SPDX-License-Identifier: Apache-2.0 */
/* A table with an array of keys and one of values, filled by one function; and lost blocks, fewer
 * bytes. */
#include <stdlib.h>
#include <string.h>

enum { ENTRIES = 4000, LOST = 1000, KEY_BYTES = 40, VALUE_BYTES = 72, LOST_BYTES = 100 };

struct table {
	char **keys, **values;
};

static struct table *sessions;

static void remember(size_t number)
{
	sessions->keys[number] = memset(malloc(KEY_BYTES), 'k', KEY_BYTES);
	sessions->values[number] = memset(malloc(VALUE_BYTES), 'v', VALUE_BYTES);
}

static void forget(void)
{
	memset(malloc(LOST_BYTES), 'l', LOST_BYTES);
}

int main(void)
{
	sessions = malloc(sizeof(*sessions));
	sessions->keys = calloc(ENTRIES, sizeof(char *));
	sessions->values = calloc(ENTRIES, sizeof(char *));
	for (size_t i = 0; i < ENTRIES; i++)
		remember(i);
	for (size_t i = 0; i < LOST; i++)
		forget();
	abort();
}
