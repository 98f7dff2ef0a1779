/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * jemalloc's own interface: mallocx and its family. `flags` hold log2 of the alignment in bits 0 to
 * 5 and the wish for zeros in bit 6; thread cache and arena above pass through.
 *
 * Sizes stay consistent: what nallocx() says of a size is what sallocx() says of a block of it.
 *
 * Resetting or destroying an arena by mallctl() takes back all of its blocks, and nothing lists
 * them: their headers stay, and the analyzer is told that there are such.
 */
#include <string.h>

#include "hawk_entries.h"

enum { FLAG_ALIGNMENT_LOG2 = 63, FLAG_ZERO = 0x40, FLAGS_CACHE = 0xfff << 8, PLAIN_LOG2 = 4 };

static struct {
	void *(*mallocx)(size_t size, int flags);
	void *(*rallocx)(void *pointer, size_t size, int flags);
	size_t (*xallocx)(void *pointer, size_t size, size_t extra, int flags);
	size_t (*sallocx)(const void *pointer, int flags);
	void (*dallocx)(void *pointer, int flags);
	void (*sdallocx)(void *pointer, size_t size, int flags);
	size_t (*nallocx)(size_t size, int flags);
	int (*mallctl)(const char *name, void *old, size_t *old_bytes, void *value,
		       size_t value_bytes);
	int (*mallctlbymib)(const size_t *mib, size_t length, void *old, size_t *old_bytes,
			    void *value, size_t value_bytes);
	int (*mallctlnametomib)(const char *name, size_t *mib, size_t *length);
} next;

/** log2 of the distance from a new block to the user's pointer. */
static unsigned offset_log2_of(int flags)
{
	unsigned alignment_log2 = (unsigned)flags & FLAG_ALIGNMENT_LOG2;

	return alignment_log2 > PLAIN_LOG2 ? alignment_log2 : PLAIN_LOG2;
}

static bool is_traced(size_t size, int flags)
{
	return hawk_entry_traces(size) && (uint64_t)1 << offset_log2_of(flags) <= HAWK_TRACED_MAX;
}

static void *allocate(const struct hawk_frame_state *caller, enum hawk_block_kind kind, size_t size,
		      int flags)
{
	unsigned offset_log2 = offset_log2_of(flags);
	void *base;

	if (!is_traced(size, flags))
		return hawk_entry_bare(next.mallocx(size, flags), size);
	base = next.mallocx(size + ((size_t)1 << offset_log2), flags);
	if (!base) /* perhaps there is room for the block alone */
		return hawk_entry_bare(next.mallocx(size, flags), size);
	return hawk_finish(base, caller, kind, offset_log2, size);
}

static void *entry_mallocx(size_t size, int flags)
{
	struct hawk_frame_state caller = HAWK_CALLER();
	enum hawk_block_kind kind = HAWK_KIND_MALLOC;

	if (flags & FLAG_ALIGNMENT_LOG2)
		kind = HAWK_KIND_ALIGNED;
	else if (flags & FLAG_ZERO)
		kind = HAWK_KIND_CALLOC;
	return allocate(&caller, kind, size, flags);
}

static void give_back(void *base, int flags)
{
	if (next.dallocx)
		next.dallocx(base, flags & FLAGS_CACHE);
	else
		hawk_next.free(base);
}

/** To a place that is aligned better than the header of the old one tells. */
static void *move(const struct hawk_frame_state *caller, void *pointer, size_t size, int flags)
{
	uint64_t usable = next.sallocx(hawk_entry_base(pointer), 0) - hawk_entry_offset(pointer);
	void *copy = allocate(caller, HAWK_KIND_REALLOC, size, flags);
	void *base;

	if (!copy)
		return NULL;
	memcpy(copy, pointer, usable < size ? usable : size);
	base = hawk_detach(pointer);
	if (base)
		give_back(base, flags);
	return copy;
}

static void *entry_rallocx(void *pointer, size_t size, int flags)
{
	struct hawk_frame_state caller = HAWK_CALLER();
	uint64_t offset = hawk_entry_offset(pointer);
	struct hawk_resize resize;
	void *base;

	if (!offset)
		return next.rallocx(pointer, size, flags);
	if (size > HAWK_SIZE_MAX) /* fails, and leaves the block as it is */
		return next.rallocx((char *)pointer - offset, size, flags);
	if (hawk_bootstrap_owns(pointer))
		return hawk_leave_bootstrap(&caller, pointer, size);
	if (offset < (uint64_t)1 << offset_log2_of(flags) && next.sallocx)
		return move(&caller, pointer, size, flags);
	hawk_resize_begin(&resize, pointer);
	base = next.rallocx(hawk_resize_base(&resize), size + offset, flags);
	return hawk_resize_end(&resize, &caller, base, size);
}

static size_t entry_xallocx(void *pointer, size_t size, size_t extra, int flags)
{
	struct hawk_frame_state caller = HAWK_CALLER();
	uint64_t offset = hawk_entry_offset(pointer);
	size_t most, usable;

	if (!offset)
		return next.xallocx(pointer, size, extra, flags);
	if (hawk_bootstrap_owns(pointer))
		return hawk_header_size(hawk_header_of(pointer)->word0);
	if (size > HAWK_SIZE_MAX)
		return next.xallocx((char *)pointer - offset, size, extra, flags) - offset;
	if (extra > HAWK_SIZE_MAX) /* jemalloc cuts it off, too */
		extra = HAWK_SIZE_MAX;
	usable = next.xallocx((char *)pointer - offset, size + offset, extra, flags) - offset;
	if (usable < size) /* could not grow: nothing has changed */
		return usable;
	most = size + extra;
	hawk_resize_in_place(&caller, pointer, usable < most ? usable : most);
	return usable;
}

static size_t entry_sallocx(const void *pointer, int flags)
{
	return next.sallocx(hawk_entry_base(pointer), flags) - hawk_entry_offset(pointer);
}

static void entry_dallocx(void *pointer, int flags)
{
	void *base = hawk_detach(pointer);

	if (base)
		next.dallocx(base, flags);
}

/** The size is a hint; with our header it would be another one, and the alignment as well. */
static void entry_sdallocx(void *pointer, size_t size, int flags)
{
	void *base = hawk_detach(pointer);

	if (base && base == pointer)
		next.sdallocx(pointer, size, flags);
	else if (base)
		give_back(base, flags);
}

static size_t entry_nallocx(size_t size, int flags)
{
	uint64_t offset = (uint64_t)1 << offset_log2_of(flags);
	size_t usable;

	if (!is_traced(size, flags))
		return next.nallocx(size, flags);
	usable = next.nallocx(size + offset, flags);
	return usable ? usable - offset : 0;
}

/** What follows `word` at the start of `text`; NULL if it does not start so. */
static const char *skip(const char *text, const char *word)
{
	for (; text && *word; word++)
		text = *text == *word ? text + 1 : NULL;
	return text;
}

static bool is(const char *text, const char *word)
{
	const char *rest = skip(text, word);

	return rest && !*rest;
}

/** arena.<i>.reset or arena.<i>.destroy */
static bool name_discards(const char *name)
{
	const char *last = skip(name, "arena.");

	while (last && *last >= '0' && *last <= '9')
		last++;
	return is(last, ".reset") || is(last, ".destroy");
}

/** Counts first: the process may die within the call. */
static int entry_mallctl(const char *name, void *old, size_t *old_bytes, void *value,
			 size_t value_bytes)
{
	bool discards = name_discards(name);
	int error;

	if (discards)
		hawk_record_discarded(1);
	error = next.mallctl(name, old, old_bytes, value, value_bytes);
	if (discards && error)
		hawk_record_discarded(-1);
	return error;
}

enum { ARENA_MIB = 3 }; /**< "arena", its number, what to do */

static bool mib_is(const size_t *mib, const char *name)
{
	size_t own[ARENA_MIB], length = ARENA_MIB;

	return !next.mallctlnametomib(name, own, &length) && length == ARENA_MIB &&
	       own[0] == mib[0] && own[2] == mib[2];
}

/** Arena 0 is always there. */
static bool mib_discards(const size_t *mib, size_t length)
{
	return mib && length == ARENA_MIB && next.mallctlnametomib &&
	       (mib_is(mib, "arena.0.reset") || mib_is(mib, "arena.0.destroy"));
}

static int entry_mallctlbymib(const size_t *mib, size_t length, void *old, size_t *old_bytes,
			      void *value, size_t value_bytes)
{
	bool discards = mib_discards(mib, length);
	int error;

	if (discards)
		hawk_record_discarded(1);
	error = next.mallctlbymib(mib, length, old, old_bytes, value, value_bytes);
	if (discards && error)
		hawk_record_discarded(-1);
	return error;
}

const struct hawk_entry hawk_entries_jemalloc[] = {
	{"mallocx", entry_mallocx, (void **)&next.mallocx, true},
	{"rallocx", entry_rallocx, (void **)&next.rallocx, false},
	{"xallocx", entry_xallocx, (void **)&next.xallocx, false},
	{"sallocx", entry_sallocx, (void **)&next.sallocx, false},
	{"dallocx", entry_dallocx, (void **)&next.dallocx, false},
	{"sdallocx", entry_sdallocx, (void **)&next.sdallocx, false},
	{"nallocx", entry_nallocx, (void **)&next.nallocx, false},
	{"mallctl", entry_mallctl, (void **)&next.mallctl, false},
	{"mallctlbymib", entry_mallctlbymib, (void **)&next.mallctlbymib, false},
	{"mallctlnametomib", NULL, (void **)&next.mallctlnametomib, false},
	{NULL, NULL, NULL, false},
};
