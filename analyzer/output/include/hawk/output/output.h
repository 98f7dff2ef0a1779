/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Buffered output to a file descriptor, made for many short lines.
 *
 * Keeps the first write error and drops all later output; callers check once, with
 * hawk_output_finish(). Numbers are formatted by hand, without printf's parsing.
 */
#ifndef HAWK_ANALYZER_OUTPUT_OUTPUT_H
#define HAWK_ANALYZER_OUTPUT_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { HAWK_OUTPUT_BUFFER_BYTES = 256 * 1024 };

struct hawk_output {
	int fd;
	int errnum;    /**< of the first write that failed; 0 = none */
	bool terminal; /**< ends on a terminal (perhaps via a pager): escape foreign strings */
	/**
	 * Called with bytes about to be written; may set `errnum` to stop all output. NULL = none.
	 */
	void (*watch)(struct hawk_output *output, const char *bytes, size_t size);
	void *watch_context;
	/** Called before each write, with its bytes; NULL = none. */
	void (*before)(void *context, const struct hawk_output *output, const char *bytes,
		       size_t size);
	void *before_context;
	/** Called before each write; returning false cancels this and all later output with
	 * ECANCELED, because the results are not valid. NULL = always valid. */
	bool (*is_right)(void *context);
	void *is_right_context;
	size_t used;
	char buffer[HAWK_OUTPUT_BUFFER_BYTES];
};

/** Initializes; does not own the descriptor. The object is large: static or on the heap. */
void hawk_output_init(struct hawk_output *output, int fd);

/** Writes out what is buffered. */
void hawk_output_flush(struct hawk_output *output);

/** Flushes; returns the errno of the first failed write, or 0. */
int hawk_output_finish(struct hawk_output *output);

void hawk_output_append(struct hawk_output *output, const void *bytes, size_t size);
void hawk_output_puts(struct hawk_output *output, const char *string);
void hawk_output_printf(struct hawk_output *output, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/** Writes the character `c` `count` times. */
void hawk_output_fill(struct hawk_output *output, char c, size_t count);

/**
 * Returns room for `size` bytes (at most HAWK_OUTPUT_BUFFER_BYTES) in the buffer;
 * hawk_output_advance() keeps what was written. For tables of millions of rows.
 */
static inline char *hawk_output_room(struct hawk_output *output, size_t size)
{
	if (sizeof(output->buffer) - output->used < size)
		hawk_output_flush(output);
	return output->buffer + output->used;
}

/** Keeps everything up to `end`, a pointer into the room. */
static inline void hawk_output_advance(struct hawk_output *output, const char *end)
{
	output->used = (size_t)(end - output->buffer);
}

enum {
	HAWK_DECIMAL_MAX = 20, /**< digits of UINT64_MAX */
	HAWK_HEX_MAX = 16,
};

/** Decimal digits of `value` at `to`, no NUL; returns the end. At most HAWK_DECIMAL_MAX bytes. */
char *hawk_format_decimal(char *to, uint64_t value);

/** Lower-case hex digits, no prefix, no NUL; returns the end. At most HAWK_HEX_MAX bytes. */
char *hawk_format_hex(char *to, uint64_t value);

#endif
