/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds and decodes the frames of a snapshot.
 */
#include "hawk/snapshot/reader.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "hawk/base/array.h"
#include "hawk/base/cleanup.h"
#include "hawk/base/parallel.h"
#include "state.h"

#if HAWK_HAVE_ZSTD
#include <zstd.h>
#endif

/** A frame's header, copied because it may be unaligned, and its contents' place. */
struct found {
	struct hawk_snapshot_frame frame;
	const uint8_t *contents;
	bool damaged; /**< its checksum is wrong */
};

/** The frames of one section. */
struct frames {
	struct found *items;
	size_t count;
	size_t capacity;
};

struct hawk_snapshot {
	struct hawk_snapshot_header header;
	struct frames sections[HAWK_SNAPSHOT_SECTIONS];
	const char *damaged_section; /**< the first one; NULL = none */
	bool cut;
	bool listed; /**< the table of contents confirms the frames' headers */
};

static const char *const section_names[HAWK_SNAPSHOT_SECTIONS] = {
	[0] = "file",
	[HAWK_SNAPSHOT_END] = "end",
	[HAWK_SNAPSHOT_TARGET] = "process",
	[HAWK_SNAPSHOT_MEMORY] = "trace table",
	[HAWK_SNAPSHOT_SYMBOLS] = "names",
	[HAWK_SNAPSHOT_HEAP] = "heap",
	[HAWK_SNAPSHOT_BLOCKS] = "blocks",
	[HAWK_SNAPSHOT_GRAPH] = "graph",
	[HAWK_SNAPSHOT_DEGREES] = "pointers",
	[HAWK_SNAPSHOT_EDGES] = "pointers",
	[HAWK_SNAPSHOT_PLACES] = "places of pointers",
	[HAWK_SNAPSHOT_ROOTS] = "roots",
	[HAWK_SNAPSHOT_TYPES] = "types",
	[HAWK_SNAPSHOT_WAITS] = "locks",
	[HAWK_SNAPSHOT_ALLOCATORS] = "allocators",
	[HAWK_SNAPSHOT_GUESTS] = "types of guests' objects",
	[HAWK_SNAPSHOT_BALANCE] = "balance",
};

bool hawk_snapshot_is(const uint8_t *bytes, size_t size)
{
	return size >= strlen(HAWK_SNAPSHOT_MAGIC) &&
	       !memcmp(bytes, HAWK_SNAPSHOT_MAGIC, strlen(HAWK_SNAPSHOT_MAGIC));
}

static const char *name_of(unsigned section)
{
	return section < HAWK_SNAPSHOT_SECTIONS ? section_names[section] : "further parts";
}

static struct hawk_error *damaged(unsigned section)
{
	return hawk_error_create(HAWK_ERROR_FORMAT,
				 "is a damaged snapshot: the checksum of its %s does not hold",
				 name_of(section));
}

struct hawk_error *hawk_snapshot_nonsense(enum hawk_snapshot_section section)
{
	return hawk_error_create(HAWK_ERROR_FORMAT, "is a damaged snapshot: its %s make no sense",
				 section_names[section]);
}

static struct hawk_error *read_header(const uint8_t *bytes, size_t size,
				      struct hawk_snapshot_header *ret)
{
	if (size < sizeof(*ret))
		return hawk_error_create(HAWK_ERROR_FORMAT,
					 "is a snapshot that is cut off in its header");
	memcpy(ret, bytes, sizeof(*ret));
	if (ret->version > HAWK_SNAPSHOT_VERSION)
		return hawk_error_create(HAWK_ERROR_UNSUPPORTED,
					 "is a snapshot of version %u; this program reads version "
					 "%d",
					 ret->version, HAWK_SNAPSHOT_VERSION);
	if (ret->version != HAWK_SNAPSHOT_VERSION ||
	    ret->check != XXH3_64bits(ret, offsetof(struct hawk_snapshot_header, check)))
		return hawk_error_create(HAWK_ERROR_FORMAT,
					 "is a damaged snapshot: its header is not whole");
	if (ret->incompatible_flags)
		return hawk_error_create(
			HAWK_ERROR_UNSUPPORTED,
			"is a snapshot with features that this program does not know (flags "
			"0x%llx)",
			(unsigned long long)ret->incompatible_flags);
	return NULL;
}

static bool is_damaged(const struct found *found)
{
	const struct hawk_snapshot_frame *frame = &found->frame;

	return frame->raw_bytes > HAWK_SNAPSHOT_FRAME_BYTES_MAX ||
	       frame->check != hawk_snapshot_check(frame,
						   offsetof(struct hawk_snapshot_frame, check),
						   found->contents, (size_t)frame->stored_bytes);
}

static struct hawk_error *add_frame(struct hawk_snapshot *snapshot, const struct found *found)
{
	struct frames *frames;

	if (found->damaged && !snapshot->damaged_section)
		snapshot->damaged_section = name_of(found->frame.section);
	if (found->frame.section >= HAWK_SNAPSHOT_SECTIONS)
		return NULL;
	frames = &snapshot->sections[found->frame.section];
	if (!hawk_array_reserve(&frames->items, frames->count, &frames->capacity,
				sizeof(*frames->items)))
		return &hawk_enomem;
	frames->items[frames->count++] = *found;
	return NULL;
}

/** The table of contents, computed from the frames. */
struct list {
	uint64_t frames;
	uint64_t check;
};

/* Compares the computed table of contents with the last frame's. */
static struct hawk_error *check_end(struct hawk_snapshot *snapshot, const struct found *end,
				    const struct list *list)
{
	const struct hawk_snapshot_frame *frame = &end->frame;
	uint64_t check = list->check;

	snapshot->cut = false;
	snapshot->listed = frame->stored_bytes >= sizeof(check);
	if (snapshot->listed)
		memcpy(&check, end->contents, sizeof(check));
	if (end->damaged || frame->first != list->frames || check != list->check)
		return hawk_error_create(
			HAWK_ERROR_FORMAT,
			"is a damaged snapshot: its table of contents does not hold");
	return NULL;
}

/* Hops over the frames up to the end, or to an impossible one. */
static struct hawk_error *find_frames(struct hawk_snapshot *snapshot, const uint8_t *bytes,
				      size_t size)
{
	size_t at = sizeof(struct hawk_snapshot_header);
	struct hawk_error *err = NULL;
	struct list list = {0};

	while (!err && size - at >= sizeof(struct hawk_snapshot_frame)) {
		struct found found;

		memcpy(&found.frame, bytes + at, sizeof(found.frame));
		at += sizeof(found.frame);
		if (found.frame.magic != HAWK_SNAPSHOT_FRAME_MAGIC ||
		    found.frame.stored_bytes > size - at)
			break;
		found.contents = bytes + at;
		found.damaged = is_damaged(&found);
		at += (size_t)found.frame.stored_bytes;
		if (found.frame.section == HAWK_SNAPSHOT_END)
			return check_end(snapshot, &found, &list);
		list.frames++;
		list.check = hawk_snapshot_list_check(&found.frame, list.check);
		err = add_frame(snapshot, &found);
	}
	return err;
}

/* Reads all frames. A damaged frame's section is known only if its header is confirmed. */
static struct hawk_error *read_frames(struct hawk_snapshot *snapshot, const uint8_t *bytes,
				      size_t size)
{
	struct hawk_error *err;

	snapshot->cut = true;
	err = find_frames(snapshot, bytes, size);
	if (!err && snapshot->damaged_section && !snapshot->listed)
		err = hawk_error_create(
			HAWK_ERROR_FORMAT,
			"is a damaged snapshot: the checksum of one of its parts does not hold "
			"(perhaps its %s)",
			snapshot->damaged_section);
	return err;
}

struct hawk_error *hawk_snapshot_open(const uint8_t *bytes, size_t size, struct hawk_snapshot **ret)
{
	struct hawk_snapshot *snapshot = calloc(1, sizeof(*snapshot));
	struct hawk_error *err =
		snapshot ? read_header(bytes, size, &snapshot->header) : &hawk_enomem;

	if (!err)
		err = read_frames(snapshot, bytes, size);
	if (err)
		hawk_snapshot_close(snapshot);
	else
		*ret = snapshot;
	return err;
}

void hawk_snapshot_close(struct hawk_snapshot *snapshot)
{
	for (size_t i = 0; snapshot && i < HAWK_SNAPSHOT_SECTIONS; i++)
		free(snapshot->sections[i].items);
	free(snapshot);
}

uint64_t hawk_snapshot_flags(const struct hawk_snapshot *snapshot)
{
	return snapshot->header.compatible_flags;
}

bool hawk_snapshot_is_cut(const struct hawk_snapshot *snapshot)
{
	return snapshot->cut;
}

const char *hawk_snapshot_damaged_section(const struct hawk_snapshot *snapshot)
{
	return snapshot->damaged_section;
}

size_t hawk_snapshot_frame_count(const struct hawk_snapshot *snapshot,
				 enum hawk_snapshot_section section)
{
	return snapshot->sections[section].count;
}

#if HAWK_HAVE_ZSTD
static struct hawk_error *decompress(const struct found *found, uint8_t *to)
{
	const struct hawk_snapshot_frame *frame = &found->frame;
	size_t size = ZSTD_decompress(to, (size_t)frame->raw_bytes, found->contents,
				      (size_t)frame->stored_bytes);

	return ZSTD_isError(size) || size != frame->raw_bytes ? damaged(frame->section) : NULL;
}
#else
static struct hawk_error *decompress(const struct found *found, uint8_t *to)
{
	(void)found;
	(void)to;
	return hawk_error_create(HAWK_ERROR_UNSUPPORTED,
				 "is a snapshot compressed with zstd, which was missing when "
				 "this program was built");
}
#endif

static struct hawk_error *decode(const struct found *found, struct hawk_snapshot_contents *ret)
{
	const struct hawk_snapshot_frame *frame = &found->frame;
	CLEANUP(free_ptr) uint8_t *bytes = NULL;
	struct hawk_error *err;

	if (frame->encoding == HAWK_SNAPSHOT_PLAIN && frame->raw_bytes == frame->stored_bytes) {
		ret->cursor = hawk_cursor_over(found->contents, (size_t)frame->stored_bytes);
		return NULL;
	}
	if (frame->encoding != HAWK_SNAPSHOT_ZSTD)
		return hawk_snapshot_nonsense(frame->section);
	bytes = malloc((size_t)frame->raw_bytes + 1);
	err = bytes ? decompress(found, bytes) : &hawk_enomem;
	if (err)
		return err;
	ret->cursor = hawk_cursor_over(bytes, (size_t)frame->raw_bytes);
	ret->owned = take_ptr(&bytes);
	return NULL;
}

struct hawk_error *hawk_snapshot_read(const struct hawk_snapshot *snapshot,
				      enum hawk_snapshot_section section, size_t number,
				      struct hawk_snapshot_contents *ret)
{
	const struct frames *frames = &snapshot->sections[section];
	const struct hawk_snapshot_frame *frame;

	if (number >= frames->count)
		return hawk_error_create(HAWK_ERROR_FORMAT, "is a snapshot without its %s%s",
					 section_names[section],
					 snapshot->cut ? ": it is cut off" : "");
	frame = &frames->items[number].frame;
	*ret = (struct hawk_snapshot_contents){.first = frame->first, .items = frame->items};
	if (frames->items[number].damaged)
		return damaged(section);
	return decode(&frames->items[number], ret);
}

void hawk_snapshot_contents_deinit(struct hawk_snapshot_contents *contents)
{
	free(contents->owned);
	contents->owned = NULL;
}

size_t hawk_snapshot_frame_of(const struct hawk_snapshot *snapshot,
			      enum hawk_snapshot_section section, uint64_t item)
{
	const struct frames *frames = &snapshot->sections[section];
	size_t above = hawk_array_first_above(frames->items, frames->count, sizeof(*frames->items),
					      offsetof(struct found, frame.first), item);

	return above ? above - 1 : SIZE_MAX;
}

struct hawk_error *hawk_snapshot_is_whole(const struct hawk_snapshot *snapshot,
					  enum hawk_snapshot_section section, uint64_t items)
{
	const struct frames *frames = &snapshot->sections[section];
	uint64_t next = 0;

	for (size_t i = 0; i < frames->count; i++) {
		const struct hawk_snapshot_frame *frame = &frames->items[i].frame;

		if (frame->first != next || !frame->items || frame->items > items - next)
			return damaged(section);
		next += frame->items;
	}
	if (next == items)
		return NULL;
	if (!snapshot->cut)
		return damaged(section);
	return hawk_error_create(HAWK_ERROR_FORMAT,
				 "is a snapshot that is cut off in its %s: %llu of %llu are there",
				 section_names[section], (unsigned long long)next,
				 (unsigned long long)items);
}

struct job {
	const struct hawk_snapshot *snapshot;
	enum hawk_snapshot_section section;
	hawk_snapshot_take *take;
	void *context;
	atomic_size_t next;
	atomic_bool stopped;
	struct hawk_error *errors[HAWK_PARALLEL_MAX];
};

static void take_frames(void *context, unsigned part)
{
	struct job *job = context;
	size_t count = hawk_snapshot_frame_count(job->snapshot, job->section);

	for (size_t i;
	     !atomic_load(&job->stopped) && (i = atomic_fetch_add(&job->next, 1)) < count;) {
		CLEANUP(contents) struct hawk_snapshot_contents contents = {0};
		struct hawk_error *err =
			hawk_snapshot_read(job->snapshot, job->section, i, &contents);

		if (!err)
			err = job->take(job->context, &contents);
		if (!err)
			continue;
		job->errors[part] = err;
		atomic_store(&job->stopped, true);
	}
}

struct hawk_error *hawk_snapshot_read_all(const struct hawk_snapshot *snapshot,
					  enum hawk_snapshot_section section, uint64_t items,
					  hawk_snapshot_take *take, void *context)
{
	struct job job = {
		.snapshot = snapshot, .section = section, .take = take, .context = context};
	size_t count = hawk_snapshot_frame_count(snapshot, section);
	unsigned parts = hawk_parallel_threads();
	struct hawk_error *err = hawk_snapshot_is_whole(snapshot, section, items);

	if (err || !count)
		return err;
	hawk_parallel_run(count < parts ? (unsigned)count : parts, take_frames, &job);
	for (unsigned i = 0; i < HAWK_PARALLEL_MAX; i++) {
		if (err)
			hawk_error_destroy(job.errors[i]);
		else
			err = job.errors[i];
	}
	return err;
}
