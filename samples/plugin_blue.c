/* SPDX-License-Identifier: Apache-2.0 */
/** @file A plugin for dlopen.c; its twin differs in its names and in the layout of its code. */
#include <stdlib.h>
#include <string.h>

void *plugin_make(size_t size);

__attribute__((noinline)) static void *blue_inner(size_t size)
{
	void *block = malloc(size);

	return block ? memset(block, 'b', size) : NULL;
}

__attribute__((noinline)) static void *blue_outer(size_t size)
{
	volatile char padding[200];
	char *volatile block;

	padding[size % 200] = 1;
	block = blue_inner(size);
	return padding[size % 200] ? block : NULL;
}

void *plugin_make(size_t size)
{
	char *volatile block = blue_outer(size);

	return block;
}
