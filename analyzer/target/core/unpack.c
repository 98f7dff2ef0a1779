/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Unpacks a compressed core. A hostile input may expand without limit, so its ratio is bounded.
 */
#include "frames.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/mman.h>

#include "hawk/target/decoder.h"
#include "hawk/base/cleanup.h"
#include "hawk/base/progress.h"
#include "hawk/base/text.h"

enum {
	/** Upper limit on unpacked data (without pages of zeros): this many times the file's size,
	 * but at least the second value. Cores reach 3 to 20 times. */
	RATIO_MAX = 256,
	DATA_BYTES_MIN = 256 << 20,
	BEGINNING_BYTES = 4 << 20, /**< holds the headers of 65,530 mappings and the notes */
};

struct unpacking {
	const char *format;
	const char *tool;
	struct hawk_decoder *decoder;
	uint64_t packed_bytes;
	struct hawk_core_spool spool;
};

bool hawk_core_unpack_needed(const struct hawk_core_file *file)
{
	return hawk_decoder_format(file->bytes, file->size);
}

static uint64_t data_max(const struct unpacking *unpacking)
{
	uint64_t most = unpacking->packed_bytes * RATIO_MAX;

	return most < DATA_BYTES_MIN ? DATA_BYTES_MIN : most;
}

static struct hawk_error *check_ratio(const struct unpacking *unpacking)
{
	uint64_t data_bytes = unpacking->spool.data_bytes;

	if (data_bytes <= data_max(unpacking))
		return NULL;
	return hawk_error_create(HAWK_ERROR_UNSUPPORTED,
				 "is compressed, and its %" PRIu64 " KiB unpack into more than "
				 "%" PRIu64 " MiB of data, unlike any core (at most %d times its "
				 "size): if it is one, unpack it first (%s)",
				 unpacking->packed_bytes >> 10, data_bytes >> 20, RATIO_MAX,
				 unpacking->tool);
}

static struct hawk_error *unpack_all(struct unpacking *unpacking, enum hawk_decoder_state *state)
{
	struct hawk_core_spool *spool = &unpacking->spool;
	struct hawk_error *error;
	size_t got;

	do {
		*state = hawk_decoder_read(unpacking->decoder, spool->buffer,
					   HAWK_CORE_SPOOL_BUFFER_BYTES, &got);
		error = hawk_core_spool_add(spool, got);
		if (!error)
			error = check_ratio(unpacking);
		hawk_progress_reach(hawk_decoder_position(unpacking->decoder));
	} while (!error && *state == HAWK_DECODER_MORE);
	return error;
}

/** Judges the decoder's final state. */
static struct hawk_error *judge(const struct unpacking *unpacking, enum hawk_decoder_state state,
				struct hawk_findings *findings)
{
	const char *trouble = state == HAWK_DECODER_CUT         ? "cut off"
			      : state == HAWK_DECODER_TOO_LARGE ? "in need of too much memory"
								: "damaged";

	if (state == HAWK_DECODER_END && unpacking->spool.bytes)
		return NULL;
	if (!unpacking->spool.bytes)
		return hawk_error_create(HAWK_ERROR_FORMAT,
					 "is compressed with %s, and %s: nothing of it could be "
					 "unpacked (%s may say more)",
					 unpacking->format,
					 state == HAWK_DECODER_END ? "empty" : trouble,
					 unpacking->tool);
	hawk_findings_add(findings, HAWK_FINDING_MISSING, true, "core-unpack",
			  "the compressed core is %s behind %" PRIu64
			  " of its bytes: what comes before is used, %" PRIu64 " bytes unpacked",
			  trouble, hawk_decoder_position(unpacking->decoder),
			  unpacking->spool.bytes);
	return NULL;
}

static struct hawk_error *unpack_frames(const struct hawk_core_file *packed,
					const struct hawk_core_frames *frames,
					struct unpacking *unpacking, struct hawk_findings *findings)
{
	uint64_t lost;
	struct hawk_error *error = hawk_core_frames_unpack(frames, packed, data_max(unpacking),
							   &unpacking->spool, &lost);

	if (!error)
		error = check_ratio(unpacking);
	if (!error && lost)
		hawk_findings_add(findings, HAWK_FINDING_MISSING, true, "core-unpack",
				  "parts of the compressed core are damaged: %" PRIu64
				  " bytes of memory are taken as zeros",
				  lost);
	return error;
}

static struct hawk_error *unpack_stream(const struct hawk_core_file *packed,
					struct unpacking *unpacking, struct hawk_findings *findings)
{
	enum hawk_decoder_state state;
	struct hawk_error *error =
		hawk_decoder_create(packed->bytes, packed->size, &unpacking->decoder);

	if (!error)
		error = unpack_all(unpacking, &state);
	return error ? error : judge(unpacking, state, findings);
}

static struct hawk_error *unpack_file(const struct hawk_core_file *packed,
				      struct unpacking *unpacking, struct hawk_findings *findings)
{
	struct hawk_core_frames frames;
	struct hawk_progress progress;
	struct hawk_error *error;

	hawk_progress_begin_bytes(&progress, "unpacking", packed->size);
	if (hawk_core_frames_read(packed, &frames)) {
		error = unpack_frames(packed, &frames, unpacking, findings);
		hawk_core_frames_deinit(&frames);
	} else {
		error = unpack_stream(packed, unpacking, findings);
	}
	hawk_progress_end(&progress);
	if (!error)
		hawk_core_file_check(packed, findings);
	return error;
}

struct hawk_error *hawk_core_unpack(struct hawk_core_file *packed, const char *path,
				    const struct hawk_unpack_settings *settings,
				    struct hawk_findings *findings, struct hawk_core_file **ret)
{
	struct unpacking unpacking = {
		.format = hawk_decoder_format(packed->bytes, packed->size),
		.tool = hawk_decoder_tool(packed->bytes, packed->size),
		.packed_bytes = packed->size,
	};
	struct hawk_end_times times = packed->times;
	CLEANUP(text) struct hawk_text remedy = {0};
	struct hawk_error *error =
		hawk_core_spool_open(&unpacking.spool, "is compressed", settings);

	hawk_text_printf(&remedy, ", or unpack it elsewhere (%s)", unpacking.tool);
	unpacking.spool.remedy = hawk_text_string(&remedy);
	if (!error)
		error = unpack_file(packed, &unpacking, findings);
	hawk_decoder_destroy(unpacking.decoder);
	hawk_core_file_close(packed);
	if (error)
		error = hawk_error_prefix(error, "%s", path);
	else
		error = hawk_core_spool_map(&unpacking.spool, path, ret);
	hawk_core_spool_close(&unpacking.spool);
	if (!error)
		(*ret)->times = times;
	return error;
}

/** Writes at most BEGINNING_BYTES of what `packed` holds to `fd`. */
static struct hawk_error *write_beginning(const struct hawk_core_file *packed, int fd, size_t *ret)
{
	CLEANUP(free_ptr) uint8_t *bytes = malloc(BEGINNING_BYTES);
	struct hawk_decoder *decoder;
	struct hawk_error *error;

	if (!bytes)
		return &hawk_enomem;
	error = hawk_decoder_create(packed->bytes, packed->size, &decoder);
	if (error)
		return error;
	hawk_decoder_read(decoder, bytes, BEGINNING_BYTES, ret);
	hawk_decoder_destroy(decoder);
	if (!*ret)
		return hawk_error_create(HAWK_ERROR_FORMAT, "is compressed, and damaged");
	if (write(fd, bytes, *ret) != (ssize_t)*ret)
		return hawk_error_os(errno, "cannot keep its beginning", NULL);
	return NULL;
}

struct hawk_error *hawk_core_unpack_beginning(struct hawk_core_file *packed, const char *path,
					      struct hawk_core_file **ret)
{
	CLEANUP(close_fd) int fd = memfd_create("hawk-core", MFD_CLOEXEC);
	struct hawk_end_times times = packed->times;
	size_t size;
	struct hawk_error *error = fd < 0 ? hawk_error_os(errno, "memfd_create", NULL)
					  : write_beginning(packed, fd, &size);

	hawk_core_file_close(packed);
	if (error)
		return hawk_error_prefix(error, "%s", path);
	error = hawk_core_file_map(take_fd(&fd), size, path, ret);
	if (!error)
		(*ret)->times = times;
	return error;
}
