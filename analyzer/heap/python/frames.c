/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Reads the Python functions that threads are in: from the interpreter's state of the thread to
 * frames, from a frame to its code, from the place in the code to a line.
 *
 *     state of a thread -> frame -> code: names, file, first line, table of lines
 *                          | previous frame
 */
#include "python.h"

#include "hawk/base/cleanup.h"
#include "hawk/heap/guest_frames.h"

#include <stdlib.h>

enum { THREADS_MAX = 1 << 16, FRAMES_MAX = 1 << 12, TABLE_BYTES_MAX = 1 << 18, STRING_MAX = 1024 };

/** Offsets, by version. */
static const struct python_frames {
	uint16_t number;               /**< the version's */
	uint8_t state_pthread;         /**< state: the thread's pthread_t */
	uint8_t state_frame;           /**< state: what leads to the innermost frame */
	uint8_t code, previous, place; /**< frame */
	uint8_t owner;                 /**< frame, from 3.12 on: who owns its memory */
	uint8_t code_bytes, code_line, code_file, code_name, code_lines; /**< code */
} layouts[] = {
	{309, 176, 24, 32, 24, 104, 0, 48, 40, 104, 112, 120},
	{310, 176, 24, 32, 24, 96, 0, 48, 40, 104, 112, 120},
	{311, 152, 56, 32, 48, 56, 0, 184, 72, 112, 128, 136},
	{312, 136, 56, 0, 8, 56, 70, 192, 68, 112, 128, 136},
	{313, 152, 72, 0, 8, 56, 70, 200, 68, 112, 128, 136},
};

static const struct python_frames *layout_of(const struct python_version *version)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++)
		if (layouts[i].number == version->number)
			return &layouts[i];
	return NULL;
}

bool python_add_threads(struct python_reader *reader, uint64_t interpreter)
{
	enum { NEXT = 8 };
	struct hawk_guests *guests = reader->finder->guests;
	size_t capacity = guests->thread_count;
	uint64_t at = interpreter + reader->version->first_thread - NEXT, pointer;

	while (hawk_word(&reader->links, at + NEXT, &at) && at &&
	       guests->thread_count < THREADS_MAX &&
	       hawk_word(&reader->links, at + layout_of(reader->version)->state_pthread,
			 &pointer)) {
		if (!hawk_array_reserve(&guests->threads, guests->thread_count, &capacity,
					sizeof(*guests->threads)))
			return false;
		guests->threads[guests->thread_count++] = (struct hawk_guest_thread){
			.pointer = pointer, .state = at, .guest = reader->guest};
	}
	return true;
}

/** Input of a walk through frames. */
struct walk {
	struct python_reader reader;
	const struct python_frames *layout;
	struct hawk_symbols *symbols;
	bool failed; /**< memory ran out */
};

static const char *read_string(struct walk *walk, uint64_t address)
{
	char text[STRING_MAX + 1];
	size_t bytes = python_read_string(&walk->reader, address, text, STRING_MAX);

	for (size_t i = 0; i < bytes; i++)
		if (text[i] < 0x20 || text[i] > 0x7e)
			text[i] = '?';
	text[bytes] = '\0';
	return bytes ? hawk_symbols_intern(walk->symbols, text) : NULL;
}

/* Returns a number of 6 bits a byte, the lowest first; the last bit is its sign. A forged one
 * wraps. */
static uint64_t signed_varint(const uint8_t *bytes, size_t count)
{
	enum { BITS = 6, BYTES_MAX = 10, MORE = 1 << 6 };
	uint64_t value = 0;

	for (size_t i = 0; i < count && i < BYTES_MAX; i++) {
		value |= (uint64_t)(bytes[i] & (MORE - 1)) << BITS * i;
		if (!(bytes[i] & MORE))
			break;
	}
	return value & 1 ? -(value >> 1) : value >> 1;
}

/* Objects/locations.md of 3.11: each entry begins with a byte of bit 7, a code and a number of
 * instructions of 2 bytes. */
static uint64_t lines_of_entries(const uint8_t *bytes, size_t count, uint64_t place)
{
	enum { FIRST = 1 << 7, CODE_SHIFT = 3, CODE_BITS = 15, LENGTH_BITS = 7 };
	enum { ONE_LINE = 10, NO_COLUMNS = 13, NO_LINE = 15 };
	uint64_t line = 0, end = 0;

	for (size_t i = 0; i < count; i++) {
		unsigned code = bytes[i] >> CODE_SHIFT & CODE_BITS;

		if (!(bytes[i] & FIRST))
			continue;
		if (code >= NO_COLUMNS && code < NO_LINE)
			line += signed_varint(bytes + i + 1, count - i - 1);
		else if (code >= ONE_LINE && code < NO_COLUMNS)
			line += code - ONE_LINE;
		end += 2 * ((uint64_t)(bytes[i] & LENGTH_BITS) + 1);
		if (place < end)
			break;
	}
	return line;
}

/* Objects/lnotab_notes.txt: pairs of steps of address and line. In 3.9 the line changes behind the
 * address, in 3.10 the pair is of the code before it, and -128 is no line. */
static uint64_t lines_of_pairs(const uint8_t *bytes, size_t count, uint64_t place, bool is_old)
{
	uint64_t address = 0, line = 0;

	for (size_t i = 0; i + 1 < count; i += 2) {
		int8_t step = (int8_t)bytes[i + 1];

		address += bytes[i];
		if (is_old && address > place)
			break;
		line += (uint64_t)(is_old || step != INT8_MIN ? step : 0);
		if (!is_old && address > place)
			break;
	}
	return line;
}

/* Returns the line of the instruction at byte `place` of the code, 0 = not known. */
static uint32_t find_line(struct walk *walk, uint64_t code, uint64_t place)
{
	enum { BYTES_COUNT = 16, BYTES_DATA = 32 };
	struct hawk_near *near = &walk->reader.types;
	unsigned version = walk->layout->number;
	CLEANUP(free_ptr) uint8_t *bytes = NULL;
	uint64_t table, count, line;
	uint32_t first;

	if (!hawk_half(near, code + walk->layout->code_line, &first) ||
	    !hawk_word(near, code + walk->layout->code_lines, &table) ||
	    !hawk_word(near, table + BYTES_COUNT, &count) || count > TABLE_BYTES_MAX)
		return 0;
	bytes = malloc(count + 1);
	if (!bytes || hawk_near_read(near, table + BYTES_DATA, bytes, count) != count)
		return 0;
	line = first + (version >= 311 ? lines_of_entries(bytes, count, place)
				       : lines_of_pairs(bytes, count, place, version == 309));
	return line <= UINT32_MAX ? (uint32_t)line : 0;
}

/* Finds the place of the frame's instruction in its code. */
static bool find_place(struct walk *walk, uint64_t frame, uint64_t code, uint64_t *ret)
{
	uint64_t at = frame + walk->layout->place;
	uint32_t last;

	if (walk->layout->number >= 311) {
		bool is_known = hawk_word(&walk->reader.links, at, ret);

		*ret -= code + walk->layout->code_bytes;
		return is_known;
	}
	if (!hawk_half(&walk->reader.links, at, &last))
		return false;
	*ret = walk->layout->number == 310 ? 2 * (uint64_t)last : last;
	return true;
}

/* Reads a frame. Returns false if it is none. */
static bool read_frame(struct walk *walk, uint64_t frame, struct hawk_guest_frame *ret)
{
	const struct python_frames *layout = walk->layout;
	struct hawk_near *near = &walk->reader.types;
	uint64_t code, name, file, place;

	*ret = (struct hawk_guest_frame){0};
	if (!hawk_word(&walk->reader.links, frame + layout->code, &code) ||
	    !hawk_word(near, code + layout->code_name, &name) ||
	    !hawk_word(near, code + layout->code_file, &file))
		return false;
	ret->function = read_string(walk, name);
	ret->file = read_string(walk, file);
	if (find_place(walk, frame, code, &place))
		ret->line = find_line(walk, code, place);
	return ret->function || ret->file;
}

/* Returns true for a frame without a function: where C calls Python (3.12). */
static bool is_entry(struct walk *walk, uint64_t frame)
{
	enum { OWNED_BY_C_STACK = 3 };
	uint8_t owner = 0;

	return walk->layout->number >= 312 &&
	       hawk_near_read(&walk->reader.links, frame + walk->layout->owner, &owner, 1) == 1 &&
	       owner == OWNED_BY_C_STACK;
}

/* Up to 3.12 the state leads to the frame by a structure on the stack. */
static bool find_first(struct walk *walk, uint64_t state, uint64_t *ret)
{
	struct hawk_near *near = &walk->reader.links;
	unsigned version = walk->layout->number;

	if (!hawk_word(near, state + walk->layout->state_frame, ret))
		return false;
	return (version != 311 && version != 312) ||
	       hawk_word(near, *ret + (version == 311 ? 8 : 0), ret);
}

/* Adds the frame. Returns false if it is none. */
static bool add_frame(struct walk *walk, uint64_t at, struct hawk_guest_frames *to)
{
	struct hawk_guest_frame frame;

	if (!read_frame(walk, at, &frame))
		return false;
	walk->failed = !hawk_array_reserve(&to->items, to->count, &to->capacity, sizeof(frame));
	if (!walk->failed)
		to->items[to->count++] = frame;
	return !walk->failed;
}

struct hawk_error *hawk_python_frames(const struct hawk_heap *heap, struct hawk_symbols *symbols,
				      const struct hawk_guest_thread *thread,
				      struct hawk_guest_frames *ret)
{
	const char *guest = heap->guests.items[thread->guest].name;
	struct walk walk = {.reader = {.version = python_version_named(guest),
				       .types.target = heap->target,
				       .links.target = heap->target},
			    .symbols = symbols};
	uint64_t at;

	walk.layout = layout_of(walk.reader.version);
	ret->is_cut = !find_first(&walk, thread->state, &at);
	for (unsigned i = 0; !ret->is_cut && at; i++)
		ret->is_cut = i == FRAMES_MAX || ret->count == FRAMES_MAX ||
			      (!is_entry(&walk, at) && !add_frame(&walk, at, ret)) ||
			      !hawk_word(&walk.reader.links, at + walk.layout->previous, &at);
	return walk.failed ? &hawk_enomem : NULL;
}
