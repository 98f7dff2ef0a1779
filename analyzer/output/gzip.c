/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A filter that compresses with gzip (RFC 1952). Its header has no time and no name, so the same
 * bytes give the same file.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

#include "filter.h"

enum {
	WINDOW_BITS = 15 + 16, /**< the largest window; 16 more asks for gzip */
	MEMORY_LEVEL = 8,      /**< zlib's own choice */
};

struct gzip {
	struct hawk_filter filter;
	z_stream stream;
	unsigned char compressed[HAWK_FILTER_BYTES];
};

/** Compresses the input; with Z_FINISH also bytes held back. */
static void run(struct gzip *gzip, int flush)
{
	struct hawk_output *output = gzip->filter.output;

	do {
		gzip->stream.next_out = gzip->compressed;
		gzip->stream.avail_out = sizeof(gzip->compressed);
		if (deflate(&gzip->stream, flush) == Z_STREAM_ERROR)
			output->errnum = EIO;
		hawk_filter_pass(output, gzip->filter.next, gzip->compressed,
				 sizeof(gzip->compressed) - gzip->stream.avail_out);
	} while (!gzip->stream.avail_out && !output->errnum);
}

static void put(struct hawk_filter *filter, const void *bytes, size_t size)
{
	struct gzip *gzip = (struct gzip *)filter;
	const unsigned char *at = bytes;

	while (size && !filter->output->errnum) {
		unsigned some = size < UINT_MAX ? (unsigned)size : UINT_MAX;

		gzip->stream.next_in = (unsigned char *)at; // zlib's own is not const; reads only
		gzip->stream.avail_in = some;
		run(gzip, Z_NO_FLUSH);
		at += some;
		size -= some;
	}
}

static void end(struct hawk_filter *filter)
{
	run((struct gzip *)filter, Z_FINISH);
}

static void destroy(struct hawk_filter *filter)
{
	struct gzip *gzip = (struct gzip *)filter;

	deflateEnd(&gzip->stream);
	free(gzip);
}

struct hawk_error *hawk_output_gzip(struct hawk_output *output)
{
	struct gzip *gzip = calloc(1, sizeof(*gzip));

	if (!gzip)
		return &hawk_enomem;
	if (deflateInit2(&gzip->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, WINDOW_BITS,
			 MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK) {
		free(gzip);
		return &hawk_enomem;
	}
	gzip->filter = (struct hawk_filter){.put = put, .end = end, .destroy = destroy};
	hawk_filter_add(output, &gzip->filter);
	return NULL;
}
