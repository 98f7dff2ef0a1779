/* SPDX-License-Identifier: Apache-2.0 */
/** @file 2^bits stacks: calls a function from a stack of its own for each `path`. */
#ifndef PATHS_H
#define PATHS_H

static void call_by_path(unsigned path, unsigned bits, void (*call)(void *), void *data);

__attribute__((noinline)) static void go_left(unsigned path, unsigned bits, void (*call)(void *),
					      void *data)
{
	call_by_path(path, bits, call, data);
	__asm__ volatile("" : : : "memory"); /* no tail call */
}

__attribute__((noinline)) static void go_right(unsigned path, unsigned bits, void (*call)(void *),
					       void *data)
{
	call_by_path(path, bits, call, data);
	__asm__ volatile("" : : : "memory");
}

static void call_by_path(unsigned path, unsigned bits, void (*call)(void *), void *data)
{
	if (!bits)
		call(data);
	else
		(path & 1 ? go_left : go_right)(path >> 1, bits - 1, call, data);
}

#endif
