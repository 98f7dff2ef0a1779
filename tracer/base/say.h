/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The tracer's few messages on stderr: bad options, the help, statistics. Written by system call,
 * without stdio, and only to a stderr made for text: never into a data file that took descriptor 2.
 */
#ifndef HAWK_TRACER_BASE_SAY_H
#define HAWK_TRACER_BASE_SAY_H

#include <stddef.h>
#include <stdint.h>

void hawk_say(const char *text);
void hawk_say_bytes(const char *text, size_t length);

/** Writes a number in decimal. */
void hawk_say_number(uint64_t number);

#endif
