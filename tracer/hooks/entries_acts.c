/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Acts of the entry points: adjust the arguments for a block's place and size to make room for its
 * header, then call the allocator's own function.
 *
 * Sizes stay consistent: nallocx() for a size equals sallocx() for a block of that size.
 */
#include <errno.h>
#include <malloc.h>
#include <string.h>

#include "entries.h"

enum {
	PAGE_BYTES = 4096,
	FLAG_ALIGNMENT_LOG2 = 63,
	FLAG_ZERO = 0x40,
	/** mimalloc rejects an offset with an alignment above a limit, which is at least this. */
	ALIGNMENT_WITH_OFFSET_MAX = 64 << 10,
	ALIGNMENT_OF_ANY = 8, /**< alignment of all blocks; mimalloc ignores offsets up to it */
};

/** One call by the program. */
struct call {
	const struct hawk_entry *entry;
	unsigned which; /**< the function called; gets unchanged arguments without a header */
	unsigned by;    /**< the function that handles blocks with a header */
	const uint64_t *arguments;
	struct hawk_frame_state caller;
	uint64_t values[HAWK_VALUES]; /**< by enum hawk_value; SIZE is that of COUNT elements */
};

static bool takes(const struct hawk_entry *entry, enum hawk_value value)
{
	for (unsigned i = 0; i < HAWK_ENTRY_ARGUMENTS; i++)
		if (entry->arguments[i] == value)
			return true;
	return false;
}

static uint64_t call_original(const struct call *call)
{
	const uint64_t *a = call->arguments;

	return __atomic_load_n(&hawk_entries_next[call->which], __ATOMIC_ACQUIRE)(a[0], a[1], a[2],
										  a[3], a[4], a[5]);
}

/** Calls the function of a row with these values. */
static uint64_t call_row(unsigned row, const uint64_t values[HAWK_VALUES])
{
	const uint8_t *order = hawk_entries[row].arguments;

	return hawk_entries_next[row](values[order[0]], values[order[1]], values[order[2]],
				      values[order[3]], values[order[4]], values[order[5]]);
}

static void read_values(struct call *call)
{
	uint64_t *values = call->values;

	values[HAWK_VALUE_COUNT] = 1;
	for (unsigned i = 0; i < HAWK_ENTRY_ARGUMENTS; i++)
		values[call->entry->arguments[i]] = call->arguments[i];
	values[HAWK_VALUE_NONE] = 0;
	/* On overflow use SIZE_MAX, which nobody can allocate. */
	if (__builtin_mul_overflow(values[HAWK_VALUE_COUNT], values[HAWK_VALUE_SIZE],
				   &values[HAWK_VALUE_SIZE]))
		values[HAWK_VALUE_SIZE] = SIZE_MAX;
	values[HAWK_VALUE_COUNT] = 1;
	if (takes(call->entry, HAWK_VALUE_PLACE) && values[HAWK_VALUE_PLACE] &&
	    call->entry->act != HAWK_ACT_MAKE)
		values[HAWK_VALUE_POINTER] = *(const uint64_t *)values[HAWK_VALUE_PLACE];
}

static void *pointer_of(const struct call *call)
{
	return (void *)call->values[HAWK_VALUE_POINTER];
}

/** Returns the requested alignment; 1 if none was requested. */
static uint64_t alignment_of(const struct call *call)
{
	const struct hawk_entry *entry = call->entry;

	if (entry->act == HAWK_ACT_MAKE_PAGE || entry->act == HAWK_ACT_MAKE_PAGES)
		return PAGE_BYTES;
	if (takes(entry, HAWK_VALUE_FLAGS))
		return (uint64_t)1 << (call->values[HAWK_VALUE_FLAGS] & FLAG_ALIGNMENT_LOG2);
	return takes(entry, HAWK_VALUE_ALIGNMENT) ? call->values[HAWK_VALUE_ALIGNMENT] : 1;
}

/** Returns the distance in bytes from a new block to the user's pointer if the allocator aligns the
 * block.
 */
static uint64_t room_of(uint64_t alignment)
{
	return alignment > HAWK_HEADER_BYTES ? alignment : HAWK_HEADER_BYTES;
}

static enum hawk_block_kind kind_of(const struct call *call)
{
	uint64_t flags = call->values[HAWK_VALUE_FLAGS];

	if (!call->entry->kind)
		return HAWK_KIND_REALLOC;
	if (flags & FLAG_ALIGNMENT_LOG2)
		return HAWK_KIND_ALIGNED;
	return flags & FLAG_ZERO ? HAWK_KIND_CALLOC : call->entry->kind;
}

/** Makes mimalloc align the user's pointer. Returns false if that pointer could not have a
 * header. */
static bool align_behind(uint64_t values[HAWK_VALUES], uint64_t *room)
{
	uint64_t alignment = values[HAWK_VALUE_ALIGNMENT], offset = values[HAWK_VALUE_OFFSET];

	if (alignment <= ALIGNMENT_OF_ANY)
		offset = 0;
	if (alignment > ALIGNMENT_WITH_OFFSET_MAX)
		return !offset;
	if (offset % HAWK_GRANULE_BYTES || offset > HAWK_TRACED_MAX)
		return false;
	values[HAWK_VALUE_OFFSET] = offset + HAWK_HEADER_BYTES;
	*room = HAWK_HEADER_BYTES;
	return true;
}

/** Returns a new block with its header. Returns NULL with errno unchanged if the block cannot be
 * traced or memory for both is short. The caller then passes the program's call on unchanged, so
 * that it fails in its own way. */
static void *make_traced(const struct call *call, unsigned by, enum hawk_block_kind kind)
{
	uint64_t values[HAWK_VALUES], alignment = alignment_of(call), room = room_of(alignment);
	uint64_t size = call->values[HAWK_VALUE_SIZE];
	int saved_errno = errno;
	void *base;

	if (!hawk_entries_next[by] || !hawk_entry_traces_aligned(size, alignment))
		return NULL;
	memcpy(values, call->values, sizeof(values));
	values[HAWK_VALUE_POINTER] = 0;
	values[HAWK_VALUE_ALIGNMENT] =
		alignment < HAWK_GRANULE_BYTES ? HAWK_GRANULE_BYTES : alignment;
	if (alignment <= ALIGNMENT_OF_ANY)
		values[HAWK_VALUE_OFFSET] = 0;
	if (takes(&hawk_entries[by], HAWK_VALUE_OFFSET) && !align_behind(values, &room))
		return NULL;
	values[HAWK_VALUE_SIZE] = size + room;
	base = (void *)call_row(by, values);
	if (base)
		return hawk_finish(base, &call->caller, kind, (unsigned)__builtin_ctzll(room),
				   size);
	errno = saved_errno;
	return NULL;
}

/** Counts a block, or NULL, that could not get a header, and clears any stale header before it. */
static uint64_t bare(uint64_t pointer, uint64_t size)
{
	if (pointer)
		hawk_entry_forget((void *)pointer, size);
	return pointer;
}

static uint64_t make(const struct call *call)
{
	uint64_t *place = (uint64_t *)call->values[HAWK_VALUE_PLACE], result;
	bool in_place = takes(call->entry, HAWK_VALUE_PLACE);
	void *made = NULL;

	if (!in_place || (place && call->values[HAWK_VALUE_ALIGNMENT] % sizeof(void *) == 0))
		made = make_traced(call, call->by, kind_of(call));
	if (made && in_place)
		*place = (uint64_t)made;
	if (made)
		return in_place ? 0 : (uint64_t)made;
	result = call_original(call);
	if (!in_place)
		return bare(result, call->values[HAWK_VALUE_SIZE]);
	if (!result)
		bare(*place, call->values[HAWK_VALUE_SIZE]);
	return result;
}

static uint64_t make_pages(struct call *call)
{
	uint64_t *size = &call->values[HAWK_VALUE_SIZE];

	*size = (*size + PAGE_BYTES - 1) & -(uint64_t)PAGE_BYTES;
	if (!*size) /* one page, or more than exists */
		return bare(call_original(call), 0);
	return make(call);
}

static uint64_t copy_text(struct call *call)
{
	uint64_t most =
		takes(call->entry, HAWK_VALUE_SIZE) ? call->values[HAWK_VALUE_SIZE] : SIZE_MAX;
	const char *text = pointer_of(call);
	uint64_t length = 0;
	char *copy;

	while (text && length < most && text[length])
		length++;
	call->values[HAWK_VALUE_SIZE] = length + 1;
	copy = text ? make_traced(call, call->by, HAWK_KIND_MALLOC) : NULL;
	if (!copy)
		return call_original(call);
	memcpy(copy, text, length);
	copy[length] = '\0';
	return (uint64_t)copy;
}

/** Frees a block of ours. */
static void release(struct call *call, unsigned by)
{
	void *base = hawk_detach(pointer_of(call));

	call->values[HAWK_VALUE_POINTER] = (uint64_t)base;
	if (base)
		call_row(by, call->values);
}

/** Moves the contents to a new block, if the old header does not suit the new alignment. */
static void *move(struct call *call)
{
	bool flags = takes(call->entry, HAWK_VALUE_FLAGS);
	unsigned measure = flags ? HAWK_ENTRY_SALLOCX : HAWK_ENTRY_MI_MEASURE;
	unsigned maker = flags ? HAWK_ENTRY_MALLOCX : call->by;
	uint64_t size = call->values[HAWK_VALUE_SIZE], usable;
	struct call old = *call;
	void *copy;

	old.values[HAWK_VALUE_POINTER] = (uint64_t)hawk_entry_base(pointer_of(call));
	usable = call_row(measure, old.values) - hawk_entry_offset(pointer_of(call));
	copy = make_traced(call, maker, HAWK_KIND_REALLOC);
	if (!copy) {
		old.values[HAWK_VALUE_POINTER] = 0;
		copy = (void *)bare(call_row(maker, old.values), size);
	}
	if (!copy)
		return NULL;
	memcpy(copy, pointer_of(call), usable < size ? usable : size);
	release(call, flags ? HAWK_ENTRY_DALLOCX : HAWK_ENTRY_MI_FREE);
	return copy;
}

/** Returns true if the block's header suits the requested alignment wherever the block moves. */
static bool fits_in_place(const struct call *call, uint64_t offset)
{
	if (takes(call->entry, HAWK_VALUE_FLAGS))
		return offset >= alignment_of(call);
	return alignment_of(call) <= ALIGNMENT_OF_ANY ||
	       (alignment_of(call) <= ALIGNMENT_WITH_OFFSET_MAX &&
		call->values[HAWK_VALUE_OFFSET] % HAWK_GRANULE_BYTES == 0 &&
		call->values[HAWK_VALUE_OFFSET] <= HAWK_TRACED_MAX);
}

/** Resizes a block of ours. Returns NULL without memory; the block is then unchanged. */
static void *resize_traced(struct call *call)
{
	void *pointer = pointer_of(call);
	uint64_t offset = hawk_entry_offset(pointer), size = call->values[HAWK_VALUE_SIZE];
	uint64_t values[HAWK_VALUES];
	struct hawk_resize resize;

	if (hawk_bootstrap_owns(pointer))
		return hawk_leave_bootstrap(&call->caller, pointer, size);
	memcpy(values, call->values, sizeof(values));
	values[HAWK_VALUE_POINTER] = (uint64_t)pointer - offset;
	if (size > HAWK_SIZE_MAX || (!size && call->entry->act == HAWK_ACT_RESIZE_OR_FREE)) {
		if (!size)
			hawk_detach(pointer);
		return (void *)call_row(call->by, values); /* fails, or frees */
	}
	if (!fits_in_place(call, offset))
		return move(call);
	values[HAWK_VALUE_SIZE] = size + offset;
	values[HAWK_VALUE_OFFSET] += offset;
	hawk_resize_begin(&resize, pointer);
	return hawk_resize_end(&resize, &call->caller, (void *)call_row(call->by, values), size);
}

/** Retries through mi_new(), which calls the new handler until there is memory, or throws. The
 * block is unchanged if it throws. */
static void *renew(struct call *call)
{
	uint64_t old_size = hawk_header_size(hawk_header_of(pointer_of(call))->word0);
	uint64_t size = call->values[HAWK_VALUE_SIZE];
	void *copy = (void *)call_row(HAWK_ENTRY_MI_NEW, call->values);

	if (!copy)
		return NULL;
	memcpy(copy, pointer_of(call), old_size < size ? old_size : size);
	release(call, HAWK_ENTRY_MI_FREE);
	return (void *)bare((uint64_t)copy, size);
}

/** Fails as the called function does when memory for the new size is short. */
static uint64_t fail_to_resize(struct call *call)
{
	if (takes(call->entry, HAWK_VALUE_PLACE))
		return ENOMEM;
	switch (call->entry->act) {
	case HAWK_ACT_RESIZE_ERRNO:
		errno = ENOMEM;
		return 0;
	case HAWK_ACT_RESIZE_ALWAYS:
		release(call, HAWK_ENTRY_MI_FREE);
		return 0;
	case HAWK_ACT_RESIZE_THROWS:
		return (uint64_t)renew(call);
	default:
		return 0;
	}
}

static uint64_t resize(struct call *call)
{
	void *pointer = pointer_of(call), *result;
	uint64_t alignment = alignment_of(call);

	if (takes(&hawk_entries[call->by], HAWK_VALUE_OFFSET) &&
	    (!takes(call->entry, HAWK_VALUE_OFFSET) || alignment <= ALIGNMENT_OF_ANY))
		/* mimalloc continues with the old block's offset. */
		call->values[HAWK_VALUE_OFFSET] =
			hawk_is_power_of_two(alignment) ? (uint64_t)pointer % alignment : 0;
	if (!pointer)
		result = make_traced(call, call->by, HAWK_KIND_REALLOC);
	else if (hawk_entry_offset(pointer) && hawk_is_power_of_two(alignment))
		result = resize_traced(call);
	else
		return call_original(call);
	if (!pointer && !result)
		return bare(call_original(call), call->values[HAWK_VALUE_SIZE]);
	if (!result)
		return fail_to_resize(call);
	if (!takes(call->entry, HAWK_VALUE_PLACE))
		return (uint64_t)result;
	*(void **)call->values[HAWK_VALUE_PLACE] = result;
	return 0;
}

static uint64_t resize_in_place(struct call *call)
{
	uint64_t size = call->values[HAWK_VALUE_SIZE];
	void *pointer = pointer_of(call);

	if (!hawk_entry_offset(pointer) || !hawk_entries_next[call->by])
		return call_original(call);
	call->values[HAWK_VALUE_POINTER] -= hawk_entry_offset(pointer);
	call->values[HAWK_VALUE_SIZE] += hawk_entry_offset(pointer);
	if (size <= HAWK_TRACED_MAX && call_row(call->by, call->values)) {
		hawk_resize_in_place(&call->caller, pointer, size);
		return (uint64_t)pointer;
	}
	if (call->entry->act == HAWK_ACT_RESIZE_IN_PLACE_ERRNO)
		errno = ENOMEM;
	return 0;
}

/** xallocx() */
static uint64_t resize_up_to(struct call *call)
{
	uint64_t *values = call->values, size = values[HAWK_VALUE_SIZE], most, usable;
	void *pointer = pointer_of(call);
	uint64_t offset = hawk_entry_offset(pointer);

	if (!offset)
		return call_original(call);
	if (hawk_bootstrap_owns(pointer))
		return hawk_header_size(hawk_header_of(pointer)->word0);
	values[HAWK_VALUE_POINTER] -= offset;
	if (size > HAWK_SIZE_MAX)
		return call_row(call->by, values) - offset;
	if (values[HAWK_VALUE_OTHER] > HAWK_SIZE_MAX) /* jemalloc cuts it off too */
		values[HAWK_VALUE_OTHER] = HAWK_SIZE_MAX;
	most = size + values[HAWK_VALUE_OTHER];
	values[HAWK_VALUE_SIZE] = size + offset;
	usable = call_row(call->by, values) - offset;
	if (usable < size) /* could not grow: nothing changed */
		return usable;
	hawk_resize_in_place(&call->caller, pointer, usable < most ? usable : most);
	return usable;
}

static uint64_t ask_or_measure(struct call *call)
{
	uint64_t offset = hawk_entry_offset(pointer_of(call));
	bool measure = call->entry->act == HAWK_ACT_MEASURE;

	if (!offset || !hawk_entries_next[call->by])
		return call_original(call);
	call->values[HAWK_VALUE_POINTER] -= offset;
	return call_row(call->by, call->values) - (measure ? offset : 0);
}

static uint64_t round_size(struct call *call)
{
	uint64_t alignment = alignment_of(call), room = room_of(alignment), usable;

	if (!hawk_entry_traces_aligned(call->values[HAWK_VALUE_SIZE], alignment))
		return call_original(call);
	call->values[HAWK_VALUE_SIZE] += room;
	usable = call_row(call->by, call->values);
	return usable ? usable - room : 0;
}

static uint64_t resize_own(const struct call *call)
{
	uint64_t size = call->values[HAWK_VALUE_SIZE];
	void *pointer = pointer_of(call), *result = hawk_reallocate(&call->caller, pointer, size);

	if (call->entry->act == HAWK_ACT_OWN_RESIZE_ALWAYS && !result && size)
		hawk_release(pointer);
	if (!takes(call->entry, HAWK_VALUE_PLACE))
		return (uint64_t)result;
	if (!result && size)
		return ENOMEM;
	*(void **)call->values[HAWK_VALUE_PLACE] = result;
	return 0;
}

/** Handles a block of ours as our own function would; passes any other block to the called
 * function. */
static uint64_t act_as_own(const struct call *call)
{
	void *pointer = pointer_of(call);

	if (!hawk_entry_offset(pointer) && !hawk_bootstrap_owns(pointer))
		return call_original(call);
	if (call->entry->act == HAWK_ACT_OWN_MEASURE)
		return malloc_usable_size(pointer);
	if (call->entry->act != HAWK_ACT_OWN_FREE)
		return resize_own(call);
	hawk_release(pointer);
	return 0;
}

static uint64_t free_block(struct call *call)
{
	if (!hawk_entry_offset(pointer_of(call)))
		return call_original(call);
	release(call, call->by);
	return 0;
}

static uint64_t act(struct call *call)
{
	switch ((enum hawk_act)call->entry->act) {
	case HAWK_ACT_MAKE:
	case HAWK_ACT_MAKE_PAGE:
		return make(call);
	case HAWK_ACT_MAKE_PAGES:
		return make_pages(call);
	case HAWK_ACT_COPY_TEXT:
		return copy_text(call);
	case HAWK_ACT_RESIZE:
	case HAWK_ACT_RESIZE_OR_FREE:
	case HAWK_ACT_RESIZE_ERRNO:
	case HAWK_ACT_RESIZE_ALWAYS:
	case HAWK_ACT_RESIZE_THROWS:
		return resize(call);
	case HAWK_ACT_RESIZE_IN_PLACE:
	case HAWK_ACT_RESIZE_IN_PLACE_ERRNO:
		return resize_in_place(call);
	case HAWK_ACT_RESIZE_UP_TO:
		return resize_up_to(call);
	case HAWK_ACT_FREE:
		return free_block(call);
	case HAWK_ACT_MEASURE:
	case HAWK_ACT_ASK:
		return ask_or_measure(call);
	case HAWK_ACT_ROUND:
		return round_size(call);
	case HAWK_ACT_CONTROL:
	case HAWK_ACT_CONTROL_MIB:
		return hawk_entry_control(call->which, call->arguments);
	case HAWK_ACT_HEAP_NEW:
	case HAWK_ACT_HEAP_DELETE:
	case HAWK_ACT_HEAP_DESTROY:
	case HAWK_ACT_HEAP_VISIT:
		return hawk_entry_heap(call->which, call->arguments);
	case HAWK_ACT_OWN_FREE:
	case HAWK_ACT_OWN_RESIZE:
	case HAWK_ACT_OWN_RESIZE_ALWAYS:
	case HAWK_ACT_OWN_MEASURE:
		return act_as_own(call);
	case HAWK_ACT_NONE:
		break;
	}
	return call_original(call);
}

/** Called by the stubs, which link-time optimization does not see. Takes all argument registers as
 * the program left them, and the stub's number. */
uint64_t hawk_entries_take(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f,
			   uint64_t which) __attribute__((visibility("hidden"), used));

uint64_t hawk_entries_take(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f,
			   uint64_t which)
{
	/* Frame layout: saved rbp, return address in the stub, stub number, return address in the
	 * program. */
	const uint64_t *frame = __builtin_frame_address(0);
	const uint64_t arguments[HAWK_ENTRY_ARGUMENTS] = {a, b, c, d, e, f};
	struct call call = {
		.entry = which < HAWK_ENTRIES_MAX ? &hawk_entries[which]
						  : &hawk_heap_entries[(which - HAWK_ENTRIES_MAX) %
								       HAWK_HEAP_FUNCTIONS],
		.which = (unsigned)which,
		.arguments = arguments,
		.caller = {.pc = frame[3], .sp = (uint64_t)(frame + 4), .bp = frame[0]},
	};

	call.by = call.entry->by ? call.entry->by : call.which;
	read_values(&call);
	return act(&call);
}
