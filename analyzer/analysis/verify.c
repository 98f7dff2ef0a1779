/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds who is at fault for each damage. A write beyond a block continues its last bytes; one
 * before a block continues into its first. A pointer that free() refused lies in the stack below
 * free().
 */
#include "hawk/analysis/verify.h"

#include <stdlib.h>
#include <string.h>

#include "hawk/base/array.h"

enum {
	WORD_BYTES = 8,
	PATTERN_MAX = 4096, /* bytes of a fill or text that are followed */
	SEARCHES_MAX = 4,   /* damages whose bytes are searched in all memory */
	SEARCH_BYTES = 1 << 16,
	REFUSED_STACK_MAX = 1 << 14,
	CHUNK_HEADER = 16, /* of glibc */
};

struct maker {
	const struct hawk_heap *heap;
	const struct hawk_heap_check *check;
	struct hawk_block_types *types;
	struct hawk_near near;
	struct hawk_verify *verify;
	size_t capacity;
};

static uint8_t byte_at(struct maker *maker, uint64_t address)
{
	uint8_t byte = 0;

	hawk_near_read(&maker->near, address, &byte, 1);
	return byte;
}

static bool is_text(uint8_t byte)
{
	return byte >= ' ' && byte <= '~';
}

static bool is_uniform(uint64_t word)
{
	return word == (word & 0xff) * (UINT64_MAX / 0xff);
}

/* Returns the damaged bytes at the damage's address, at most a word. */
static unsigned width_of(const struct hawk_damage *damage)
{
	return damage->bytes && damage->bytes < WORD_BYTES ? (unsigned)damage->bytes : WORD_BYTES;
}

/* Returns true if one byte was written over and over: a single one repeats that before it. */
static bool is_fill(struct maker *maker, const struct hawk_damage *damage)
{
	unsigned width = width_of(damage), missing = 8 * (WORD_BYTES - width); /* bits */

	return damage->found == (damage->found & 0xff) * (UINT64_MAX / 0xff >> missing) &&
	       (width > 1 || byte_at(maker, damage->address - 1) == damage->found);
}

/* Returns true if the bytes around `address`, a border of the damage, may have been written
 * together: by the same fill, else as text. */
static bool continues(struct maker *maker, const struct hawk_damage *damage, uint64_t address)
{
	uint8_t before = byte_at(maker, address - 1), byte = byte_at(maker, address);

	if (is_fill(maker, damage))
		return before == byte;
	return before && (before == byte || (is_text(before) && (is_text(byte) || !byte)));
}

/* Returns the end of what was written over the word, and what follows of the same kind. */
static uint64_t end_of_write(struct maker *maker, const struct hawk_damage *damage)
{
	uint64_t differing = damage->found ^ damage->expected, at = damage->address;
	uint8_t first = byte_at(maker, at);
	uint64_t end = at + PATTERN_MAX;

	for (unsigned i = WORD_BYTES; damage->expected && i; i--)
		if (i < WORD_BYTES && differing >> (WORD_BYTES * i) == 0)
			end = at + i;
	for (at += width_of(damage); end > at && at < end; at++)
		if (byte_at(maker, at) != first &&
		    (is_fill(maker, damage) || !is_text(first) || !is_text(byte_at(maker, at))))
			break;
	return end < at ? end : at;
}

/* Returns true if the word was written from behind: by a block that wrote before its start. */
static bool is_from_behind(struct maker *maker, const struct hawk_damage *damage)
{
	bool low_is_sound = damage->expected && (uint8_t)damage->found == (uint8_t)damage->expected;

	if (!damage->victim)
		return false;
	return low_is_sound ||
	       ((!damage->neighbour || !continues(maker, damage, damage->address)) &&
		continues(maker, damage, damage->address + width_of(damage)));
}

/* Sets the block at fault: the tracer's in the allocator's, or that one itself. */
static void set_block(struct maker *maker, uint64_t address, uint64_t usable,
		      struct hawk_corruption *ret)
{
	hawk_whatis_find(maker->heap, maker->types, address, &ret->block);
	ret->start = address;
	ret->size = usable;
	if (ret->block.state == HAWK_BLOCK_LIVE || ret->block.state == HAWK_BLOCK_HEADER) {
		ret->start = ret->block.block.start;
		ret->size = ret->block.block.size;
	} else if (maker->heap->knows & HAWK_HEAP_HEADERS && usable > HAWK_HEADER_BYTES) {
		ret->start += HAWK_HEADER_BYTES; /* freed, or allocated before the tracer began */
		ret->size -= HAWK_HEADER_BYTES;
	}
}

static void judge_size(struct maker *maker, struct hawk_corruption *ret)
{
	const struct hawk_damage *damage = &ret->damage;
	uint64_t first = damage->address;

	if (is_from_behind(maker, damage)) {
		ret->kind = HAWK_CORRUPTION_UNDERFLOW;
		set_block(maker, damage->victim, damage->victim_bytes, ret);
		while (first < damage->address + width_of(damage) && damage->expected &&
		       byte_at(maker, first) ==
			       (uint8_t)(damage->expected >> 8 * (first - damage->address)))
			first++;
		ret->bytes = ret->start - first;
	} else if (damage->neighbour) {
		ret->kind = HAWK_CORRUPTION_OVERFLOW;
		set_block(maker, damage->neighbour, damage->neighbour_bytes, ret);
		ret->bytes = end_of_write(maker, damage) - ret->start - ret->size;
	}
}

static void judge_header(struct maker *maker, struct hawk_corruption *ret)
{
	const struct hawk_damage *damage = &ret->damage;

	if (!damage->victim)
		return;
	ret->kind = HAWK_CORRUPTION_UNDERFLOW;
	ret->start = damage->victim;
	ret->size = damage->victim_bytes;
	ret->bytes = WORD_BYTES;
	for (unsigned i = 1; i <= WORD_BYTES; i++)
		if (byte_at(maker, ret->start - i) == byte_at(maker, ret->start - 1))
			ret->bytes = i;
		else
			break;
}

/* Returns true if one byte fills all of [start, end). */
static bool is_filled(struct maker *maker, uint64_t start, uint64_t end, uint8_t byte)
{
	while (start < end && byte_at(maker, start) == byte)
		start++;
	return start == end;
}

/* Returns the block below `address` that ran up to there: slack at most lies between. A fill may
 * have run over whole blocks. Returns false if no block did. */
static bool find_overrun(struct maker *maker, const struct hawk_damage *damage, uint64_t address,
			 uint64_t *start, uint64_t *size)
{
	uint8_t byte = (uint8_t)damage->found;
	uint64_t below, bytes;
	bool found = false;

	while (damage->address - address < PATTERN_MAX &&
	       hawk_heap_block_below(maker->heap, address, &below, &bytes) &&
	       continues(maker, damage, address)) {
		found = true;
		*start = below;
		*size = bytes;
		if (!is_fill(maker, damage) || !is_filled(maker, below, address, byte))
			break;
		address = below;
	}
	return found;
}

/* Judges a free block whose first word was overwritten: it may end a write past a block below. */
static void judge_written(struct maker *maker, struct hawk_corruption *ret)
{
	const struct hawk_damage *damage = &ret->damage;
	uint64_t start, size;

	ret->kind = HAWK_CORRUPTION_USE_AFTER_FREE;
	set_block(maker, damage->neighbour, damage->neighbour_bytes, ret);
	if (damage->address != damage->neighbour || !damage->found ||
	    !find_overrun(maker, damage, damage->address, &start, &size))
		return;
	ret->kind = HAWK_CORRUPTION_OVERFLOW;
	set_block(maker, start, size, ret);
	ret->bytes = end_of_write(maker, damage) - start - size;
}

static void judge(struct maker *maker, struct hawk_corruption *ret)
{
	const struct hawk_damage *damage = &ret->damage;

	ret->kind = HAWK_CORRUPTION_METADATA;
	switch (damage->kind) {
	case HAWK_DAMAGE_SIZE:
	case HAWK_DAMAGE_GUARD:
		judge_size(maker, ret);
		break;
	case HAWK_DAMAGE_HEADER:
		judge_header(maker, ret);
		break;
	case HAWK_DAMAGE_FREED_TWICE:
	case HAWK_DAMAGE_LOOP:
		ret->kind = HAWK_CORRUPTION_DOUBLE_FREE;
		set_block(maker, damage->neighbour, damage->neighbour_bytes, ret);
		break;
	case HAWK_DAMAGE_FREED_INSIDE:
		ret->kind = HAWK_CORRUPTION_INVALID_FREE;
		set_block(maker, damage->neighbour, damage->neighbour_bytes, ret);
		break;
	case HAWK_DAMAGE_WRITTEN:
		judge_written(maker, ret);
		break;
	default:
		break;
	}
	if (damage->victim)
		hawk_whatis_find(maker->heap, maker->types, damage->victim, &ret->victim);
	if (hawk_target_mapping_at(maker->heap->target, damage->found))
		hawk_whatis_find(maker->heap, maker->types, damage->found, &ret->to);
}

/* Returns true if the address belongs to the block at fault, or to what it damaged. */
static bool is_own(const struct hawk_corruption *item, uint64_t address)
{
	uint64_t end = item->damage.address + PATTERN_MAX;

	return (address >= item->start && address < item->start + item->size) ||
	       (address + WORD_BYTES > item->damage.address && address < end);
}

static void search_bytes(struct maker *maker, struct hawk_corruption *item, const uint8_t *bytes,
			 size_t count, uint64_t address)
{
	const uint8_t *at = bytes;

	while (item->place_count < HAWK_CORRUPTION_PLACES &&
	       (at = memmem(at, count - (size_t)(at - bytes), &item->damage.found, WORD_BYTES))) {
		uint64_t place = address + (uint64_t)(at - bytes);

		at++;
		if (is_own(item, place))
			continue;
		hawk_whatis_find(maker->heap, maker->types, place,
				 &item->places[item->place_count++]);
	}
}

/* Searches all memory for the eight bytes that were found. */
static void search(struct maker *maker, struct hawk_corruption *item, uint8_t *buffer)
{
	const struct hawk_target *target = maker->heap->target;
	size_t count;
	const struct hawk_mapping *mappings = hawk_target_mappings(target, &count);

	for (size_t i = 0; i < count && item->place_count < HAWK_CORRUPTION_PLACES; i++) {
		uint64_t at = mappings[i].start, end = at + mappings[i].present_bytes, data_end;

		while (item->place_count < HAWK_CORRUPTION_PLACES &&
		       hawk_target_next_data(target, at, end, &at, &data_end)) {
			size_t want = data_end - at < SEARCH_BYTES ? data_end - at : SEARCH_BYTES;
			size_t got = hawk_target_read_some(target, at, buffer, want);

			if (got < WORD_BYTES)
				break;
			search_bytes(maker, item, buffer, got, at);
			at += got == SEARCH_BYTES ? got - WORD_BYTES + 1 : got;
		}
	}
}

/* Returns true if the found bytes may be telling: no small number, no repeated byte. */
static bool is_telling(const struct hawk_corruption *item)
{
	uint64_t word = item->damage.found;

	return !item->refused && word >> 32 && !is_uniform(word) &&
	       item->kind != HAWK_CORRUPTION_DOUBLE_FREE &&
	       item->kind != HAWK_CORRUPTION_INVALID_FREE;
}

static struct hawk_error *search_all(struct maker *maker)
{
	uint8_t *buffer = malloc(SEARCH_BYTES);
	unsigned searches = 0;

	if (!buffer)
		return &hawk_enomem;
	for (size_t i = 0; i < maker->verify->count && searches < SEARCHES_MAX; i++)
		if (is_telling(&maker->verify->items[i])) {
			search(maker, &maker->verify->items[i], buffer);
			searches++;
		}
	free(buffer);
	return NULL;
}

static struct hawk_error *add(struct maker *maker, const struct hawk_corruption *item)
{
	struct hawk_verify *verify = maker->verify;

	if (!hawk_array_reserve(&verify->items, verify->count, &maker->capacity,
				sizeof(*verify->items)))
		return &hawk_enomem;
	verify->items[verify->count++] = *item;
	verify->all++;
	return NULL;
}

/** How well a word of the stack fits as the pointer that was freed. */
enum { FITS_NOT = 0, FITS_MEMORY, FITS_INSIDE, FITS_FREE };

/* Tells what the call with a pointer that free() refused was. Any other pointer leads to the start
 * of a live block, or out of the heap. */
static unsigned tell_refused(struct maker *maker, uint64_t pointer, struct hawk_corruption *ret)
{
	const struct hawk_whatis *block = &ret->block;

	*ret = (struct hawk_corruption){.refused = true,
					.kind = HAWK_CORRUPTION_DOUBLE_FREE,
					.damage.address = pointer,
					.start = pointer};
	hawk_whatis_find(maker->heap, maker->types, pointer, &ret->block);
	if (block->state == HAWK_BLOCK_LIVE) {
		ret->kind = HAWK_CORRUPTION_INVALID_FREE;
		ret->start = block->block.start;
		ret->size = block->block.size;
		return pointer != ret->start ? FITS_INSIDE : FITS_NOT;
	}
	ret->size = hawk_heap_check_free_bytes(maker->check, pointer);
	if (ret->size || (block->state == HAWK_BLOCK_DEAD && block->block.start == pointer))
		return FITS_FREE;
	return block->span && block->span->kind == HAWK_SPAN_HEAP &&
			       pointer % HAWK_GRANULE_BYTES == 0 &&
			       strstr(maker->verify->crash.message.text, "double free")
		       ? FITS_MEMORY
		       : FITS_NOT;
}

/** The best candidate for the pointer that was freed. */
struct refused {
	struct hawk_corruption best;
	unsigned certainty;
};

/* Tries a word of the thread: the pointer, or that to glibc's chunk, which begins before it.
 * Pointers into live blocks are common: believe the allocator's own, and odd ones that it
 * complained of. */
static void try_word(struct maker *maker, uint64_t word, struct refused *refused)
{
	bool complained = strstr(maker->verify->crash.message.text, "invalid pointer");

	if (!hawk_target_mapping_at(maker->heap->target, word))
		return;
	for (unsigned header = 0; header <= CHUNK_HEADER; header += CHUNK_HEADER) {
		struct hawk_corruption item;
		unsigned fits = tell_refused(maker, word + header, &item);

		if (fits == FITS_INSIDE && !header)
			fits = complained && word % CHUNK_HEADER ? FITS_MEMORY : FITS_NOT;
		if (fits > refused->certainty) {
			refused->certainty = fits;
			refused->best = item;
		}
	}
}

/* Adds the call that free() refused. After abort() the pointer is in the frames of free(), after a
 * fault in a register. */
static struct hawk_error *add_refused(struct maker *maker)
{
	const struct hawk_crash *crash = &maker->verify->crash;
	const struct hawk_arch *arch = hawk_target_arch(maker->heap->target);
	struct refused refused = {.certainty = FITS_NOT};

	if (!crash->message.text[0]) {
		/* Backwards: x86-64 lists the registers of arguments last. */
		for (unsigned i = arch->register_count; i--;)
			if (arch->registers[i].use != HAWK_REGISTER_STATE)
				try_word(maker, crash->thread->registers[i], &refused);
		if (refused.certainty < FITS_FREE)
			return NULL;
	} else if (crash->stack_end > crash->stack_start &&
		   crash->stack_end - crash->stack_start <= REFUSED_STACK_MAX) {
		for (uint64_t at = crash->stack_start & -UINT64_C(8); at < crash->stack_end;
		     at += WORD_BYTES) {
			uint64_t word;

			if (hawk_near_read(&maker->near, at, &word, sizeof(word)) == sizeof(word))
				try_word(maker, word, &refused);
		}
	}
	return refused.certainty ? add(maker, &refused.best) : NULL;
}

static bool frees(const char *function)
{
	return strstr(function, "free") || strstr(function, "realloc") ||
	       strstr(function, "delete") || strstr(function, "get_meta");
}

static int by_address(const void *left, const void *right)
{
	const struct hawk_damage *a = left, *b = right;

	return a->address < b->address ? -1 : a->address > b->address;
}

static struct hawk_error *find(struct maker *maker, struct hawk_damages *damages)
{
	struct hawk_verify *verify = maker->verify;
	struct hawk_error *err = hawk_heap_check_damages(maker->check, damages);
	uint64_t start = 0, end = 0; /* of the last overflow */

	if (damages->count)
		qsort(damages->items, damages->count, sizeof(*damages->items), by_address);
	for (size_t i = 0; i < damages->count && !err; i++) {
		struct hawk_corruption item = {.damage = damages->items[i]};

		if (item.damage.address >= start && item.damage.address < end)
			continue;
		judge(maker, &item);
		if (item.kind == HAWK_CORRUPTION_OVERFLOW) {
			start = item.start;
			end = start + item.size + item.bytes;
		}
		err = add(maker, &item);
	}
	if (!err && !damages->count && verify->crash.function && frees(verify->crash.function))
		err = add_refused(maker);
	for (unsigned i = 0; i < HAWK_DAMAGE_KINDS; i++)
		verify->all += damages->counts[i];
	verify->all -= damages->count;
	return err ? err : search_all(maker);
}

struct hawk_error *hawk_verify_make(const struct hawk_heap *heap, struct hawk_block_types *types,
				    struct hawk_symbols *symbols, struct hawk_findings *findings,
				    struct hawk_verify *ret)
{
	struct hawk_heap_check check;
	struct maker maker = {.heap = heap,
			      .check = &check,
			      .types = types,
			      .near = {.target = heap->target},
			      .verify = ret};
	struct hawk_damages damages = {0};
	struct hawk_error *err;

	*ret = (struct hawk_verify){0};
	hawk_crash_find(heap->target, symbols, &ret->crash);
	err = hawk_heap_check_begin(heap, findings, &check);
	if (err)
		return err;
	err = find(&maker, &damages);
	hawk_damages_deinit(&damages);
	hawk_heap_check_end(&check);
	return err;
}

static void resolve(struct hawk_symbols *symbols, struct hawk_block_types *types,
		    struct hawk_whatis *whatis)
{
	if (whatis->mapping)
		hawk_whatis_resolve(symbols, types, whatis);
}

void hawk_verify_resolve(struct hawk_symbols *symbols, struct hawk_block_types *types,
			 struct hawk_verify *verify)
{
	for (size_t i = 0; i < verify->count; i++) {
		struct hawk_corruption *item = &verify->items[i];

		resolve(symbols, types, &item->block);
		resolve(symbols, types, &item->victim);
		resolve(symbols, types, &item->to);
		for (unsigned j = 0; j < item->place_count; j++)
			resolve(symbols, types, &item->places[j]);
	}
}

void hawk_verify_deinit(struct hawk_verify *verify)
{
	free(verify->items);
	*verify = (struct hawk_verify){0};
}
