/* SPDX-License-Identifier: Apache-2.0 */
/** @file A plugin for dlopen.c; its twin differs in its names and in the layout of its code. */
#include <stdlib.h>
#include <string.h>

void *plugin_make(size_t size);

__attribute__((noinline)) static void *red_inner(size_t size)
{
	void *block = malloc(size);

	return block ? memset(block, 'r', size) : NULL;
}

void *plugin_make(size_t size)
{
	char *volatile block = red_inner(size);

	return block;
}
