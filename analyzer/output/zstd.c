/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A filter that compresses with zstd, if this build has it.
 */
#include "filter.h"

#if HAWK_HAVE_ZSTD

#include <errno.h>
#include <stdlib.h>
#include <zstd.h>

struct zstd {
	struct hawk_filter filter;
	ZSTD_CCtx *context;
	unsigned char compressed[HAWK_FILTER_BYTES];
};

/** Compresses `size` bytes; with ZSTD_e_end also bytes held back. */
static void run(struct zstd *zstd, const void *bytes, size_t size, ZSTD_EndDirective directive)
{
	struct hawk_output *output = zstd->filter.output;
	ZSTD_inBuffer in = {.src = bytes, .size = size};
	bool more = true;

	while (more && !output->errnum) {
		ZSTD_outBuffer out = {.dst = zstd->compressed, .size = sizeof(zstd->compressed)};
		size_t left = ZSTD_compressStream2(zstd->context, &out, &in, directive);

		if (ZSTD_isError(left)) {
			output->errnum = EIO;
			return;
		}
		hawk_filter_pass(output, zstd->filter.next, zstd->compressed, out.pos);
		more = directive == ZSTD_e_end ? left != 0 : in.pos < in.size;
	}
}

static void put(struct hawk_filter *filter, const void *bytes, size_t size)
{
	run((struct zstd *)filter, bytes, size, ZSTD_e_continue);
}

static void end(struct hawk_filter *filter)
{
	run((struct zstd *)filter, NULL, 0, ZSTD_e_end);
}

static void destroy(struct hawk_filter *filter)
{
	struct zstd *zstd = (struct zstd *)filter;

	ZSTD_freeCCtx(zstd->context);
	free(zstd);
}

struct hawk_error *hawk_output_zstd(struct hawk_output *output)
{
	struct zstd *zstd = calloc(1, sizeof(*zstd));

	if (!zstd)
		return &hawk_enomem;
	zstd->context = ZSTD_createCCtx();
	if (!zstd->context) {
		free(zstd);
		return &hawk_enomem;
	}
	zstd->filter = (struct hawk_filter){.put = put, .end = end, .destroy = destroy};
	hawk_filter_add(output, &zstd->filter);
	return NULL;
}

#else

struct hawk_error *hawk_output_zstd(struct hawk_output *output)
{
	(void)output;
	return hawk_error_create(HAWK_ERROR_UNSUPPORTED,
				 "this hawk-core was built without zstd; use gzip");
}

#endif
