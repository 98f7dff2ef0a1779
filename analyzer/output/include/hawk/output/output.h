/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Buffered output to a file descriptor or a file, made for many short lines; on the way it may be
 * compressed or encoded.
 *
 * Keeps the first error and drops all later output; callers check once, with hawk_output_finish().
 * A file appears complete or never. Numbers are formatted by hand, without printf's parsing.
 */
#ifndef HAWK_ANALYZER_OUTPUT_OUTPUT_H
#define HAWK_ANALYZER_OUTPUT_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "hawk/base/error.h"

struct hawk_filter;
struct hawk_output_file;

enum { HAWK_OUTPUT_BUFFER_BYTES = 256 * 1024 };

struct hawk_output {
	int fd;        /**< final destination of bytes */
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
	char *path;                    /**< of hawk_output_open_file(); NULL = standard output */
	struct hawk_output_file *file; /**< not yet under its name; NULL = none */
	bool force;                    /**< may replace an existing file */
	struct hawk_filter *filter;    /**< the first filter that bytes pass; NULL = none */
	size_t used;
	char buffer[HAWK_OUTPUT_BUFFER_BYTES];
};

/** Initializes; does not own the descriptor. The object is large: static or on the heap. */
void hawk_output_init(struct hawk_output *output, int fd);

/**
 * Initializes with a file of mode 0600 that hawk_output_finish() gives its name. An existing file
 * is an error, or replaced with `force`; a symbolic link is itself replaced. A pipe, a device and
 * the target of standard output are written directly; `output->file` is then NULL.
 * hawk_output_deinit() is needed also after an error.
 */
struct hawk_error *hawk_output_open_file(struct hawk_output *output, const char *path, bool force);

/** Frees all but `output` itself. Without hawk_output_finish() no file appears. Accepts NULL. */
void hawk_output_deinit(struct hawk_output *output);

/** Returns the path or "standard output". */
static inline const char *hawk_output_name(const struct hawk_output *output)
{
	return output->path ? output->path : "standard output";
}

/** Returns HAWK_ERROR_USAGE if the output ends on a terminal; `what`: "a snapshot". */
struct hawk_error *hawk_output_refuse_terminal(const struct hawk_output *output, const char *what);

/*
 * Adds a filter that later bytes pass before the filters added earlier: base64, then gzip, gives a
 * gzip stream in base64. Fails with HAWK_ERROR_UNSUPPORTED if hawk-core was built without it.
 */
struct hawk_error *hawk_output_gzip(struct hawk_output *output);
struct hawk_error *hawk_output_zstd(struct hawk_output *output);
struct hawk_error *hawk_output_base64(struct hawk_output *output);

/** Completes all filters' streams and removes the filters; later bytes pass none. */
void hawk_output_end_filters(struct hawk_output *output);

/** Passes buffered bytes to the filters, or writes them. */
void hawk_output_flush(struct hawk_output *output);

/** Flushes, ends filters, and gives a file its name. Returns the first error, also of earlier
 * writes; then no file appears. */
struct hawk_error *hawk_output_finish(struct hawk_output *output);

void hawk_output_append(struct hawk_output *output, const void *bytes, size_t size);

/** Appends the whole file `fd`, which stays open. Returns read errors. */
struct hawk_error *hawk_output_append_file(struct hawk_output *output, int fd);

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
