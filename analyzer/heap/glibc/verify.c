/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Compares what glibc's chunks say about each other: sizes with the chunks behind, links with those
 * that lead back, top chunks with the ends of their memory. A thread that died inside of malloc or
 * free may have left a chunk in flux. Such states are no damage: a free chunk being split, a list
 * that already bypasses a chunk, a top chunk without a size.
 */
#include "glibc.h"

#include "hawk/heap/damage.h"

enum {
	HEADERS_BEHIND = 40, /* where the next chunk's header can end at the earliest */
	CHUNKS_TWO = 64,
	HEADS_MAX = 4,    /* each takes a walk */
	NUL_STEP = 0x100, /* a NUL in the lowest byte of a size leaves a multiple of it */
};

struct check {
	const struct hawk_glibc *glibc;
	struct hawk_near near;
	struct hawk_damages *damages;
	const struct hawk_glibc_run *run;
	struct hawk_glibc_chunk before, last; /**< the pieces below; no bytes = none in this run */
	struct hawk_damage pending;           /**< of the flags of the piece behind `last` */
	bool is_pending;
	size_t special;          /**< index of the next special chunk */
	struct hawk_claims lost; /**< memory whose chunks are not known */
};

static uint64_t word_at(struct check *check, uint64_t address)
{
	uint64_t word = 0;

	hawk_word(&check->near, address, &word);
	return word;
}

static uint64_t usable_of(const struct hawk_glibc_chunk *chunk)
{
	return chunk->usable ? chunk->usable : chunk->bytes - HAWK_CHUNK_SIZE_OFFSET;
}

/* Makes the damage of a word in the header of chunk `victim`, which `culprit` may have overrun. */
static struct hawk_damage header_damage(struct check *check, const struct hawk_glibc_chunk *culprit,
					uint64_t victim, uint64_t expected)
{
	struct hawk_damage damage = {
		.address = victim + HAWK_CHUNK_SIZE_OFFSET,
		.bytes = sizeof(uint64_t),
		.victim = victim + HAWK_CHUNK_HEADER_BYTES,
		.expected = expected,
		.found = word_at(check, victim + HAWK_CHUNK_SIZE_OFFSET),
		.kind = HAWK_DAMAGE_SIZE,
	};

	if (culprit->bytes && culprit->state <= HAWK_PIECE_CACHED) {
		damage.neighbour = culprit->start + HAWK_CHUNK_HEADER_BYTES;
		damage.neighbour_bytes = usable_of(culprit);
	}
	return damage;
}

/* Adds the damage of a free chunk, or of a word in it. */
static void add_free(struct check *check, uint8_t kind, uint64_t chunk, uint64_t bytes,
		     uint64_t address, uint64_t expected)
{
	hawk_damages_add(check->damages, &(struct hawk_damage){
						 .address = address,
						 .bytes = sizeof(uint64_t),
						 .neighbour = chunk + HAWK_CHUNK_HEADER_BYTES,
						 .neighbour_bytes = bytes - HAWK_CHUNK_SIZE_OFFSET,
						 .expected = expected,
						 .found = word_at(check, address),
						 .kind = kind,
					 });
}

static void flush_pending(struct check *check)
{
	if (check->is_pending)
		hawk_damages_add(check->damages, &check->pending);
	check->is_pending = false;
}

/* Returns the end of the bytes from `at` on that continue the text or fill in the 8 bytes there. */
static uint64_t end_of_pattern(struct check *check, uint64_t at, uint64_t limit)
{
	uint8_t first = (uint8_t)word_at(check, at), byte = first;

	while (at < limit && hawk_near_read(&check->near, at, &byte, 1) == 1 &&
	       (byte == first || (byte >= ' ' && byte <= '~' && first >= ' ' && first <= '~')))
		at++;
	return at;
}

/* Returns the size word that chunk `victim` should have if the next sound one is at `end`; 0 if
 * several headers before `end` may be overwritten. */
static uint64_t expected_size(struct check *check, uint64_t victim, uint64_t end)
{
	uint64_t word = victim + HAWK_CHUNK_SIZE_OFFSET;

	if (end >= check->run->end || (end - victim >= CHUNKS_TWO &&
				       end_of_pattern(check, word, end) > victim + HEADERS_BEHIND))
		return 0;
	return (end - victim) | HAWK_CHUNK_IN_USE | (check->run->has_flag ? HAWK_CHUNK_ARENA : 0);
}

/* Returns true if `last` was too short rather than what follows it overwritten: its own size word
 * continues the bytes before it, and the other word does not. */
static bool is_cut(struct check *check, uint64_t word, uint64_t other)
{
	uint8_t byte = (uint8_t)word_at(check, word), before = 0, beyond = 0;

	hawk_near_read(&check->near, word - 1, &before, 1);
	hawk_near_read(&check->near, other - 1, &beyond, 1);
	return before && byte == before && before != beyond;
}

/* Takes back what was said of cached chunks in a chunk whose size is wrong. */
static void forget_inner(struct check *check, uint64_t chunk)
{
	struct hawk_damages *damages = check->damages;

	while (damages->count &&
	       damages->items[damages->count - 1].kind == HAWK_DAMAGE_FREED_INSIDE &&
	       damages->items[damages->count - 1].neighbour == chunk + HAWK_CHUNK_HEADER_BYTES) {
		damages->count--;
		damages->counts[HAWK_DAMAGE_FREED_INSIDE]--;
	}
}

/* Examines memory that cannot be divided into chunks. Either the size word there is overwritten, or
 * that of the chunk below, which then ends in the wrong place. */
static void check_unsound(struct check *check, const struct hawk_glibc_chunk *chunk)
{
	const struct hawk_glibc_chunk *last = &check->last, *before = &check->before;
	uint64_t end = chunk->start + chunk->bytes, sound = end;
	bool is_flagged =
		check->is_pending && check->pending.victim == last->start + HAWK_CHUNK_HEADER_BYTES;

	if (last->bytes)
		sound = hawk_glibc_resume(check->glibc, &check->near, check->run, last->start,
					  HAWK_GLIBC_SOUND);
	if (last->bytes && !(word_at(check, end + HAWK_CHUNK_SIZE_OFFSET) & HAWK_CHUNK_IN_USE) &&
	    word_at(check, end) == end - last->start) {
		/* The free chunk of which `last` was the start. */
		if (!hawk_chunk_is_linked(&check->near, last->start))
			return;
		sound = last->start;
	}
	check->is_pending = false;
	if (last->bytes && (is_flagged || sound < chunk->start ||
			    is_cut(check, last->start + HAWK_CHUNK_SIZE_OFFSET,
				   chunk->start + HAWK_CHUNK_SIZE_OFFSET))) {
		struct hawk_damage damage = header_damage(
			check, before, last->start,
			expected_size(check, last->start,
				      sound > last->start && sound < chunk->start ? sound : end));

		forget_inner(check, last->start);
		hawk_damages_add(check->damages, &damage);
	} else {
		struct hawk_damage damage = header_damage(check, last, chunk->start,
							  expected_size(check, chunk->start, end));

		hawk_damages_add(check->damages, &damage);
	}
	hawk_error_swallow(hawk_claims_add(&check->lost, chunk->start, end));
}

/* Examines the flag by which the next chunk calls this one free, though it is not. A thread inside
 * of free() clears it, too; a string that is one byte too long clears the whole byte. */
static void check_flag(struct check *check, const struct hawk_glibc_chunk *chunk)
{
	uint64_t next = chunk->start + chunk->bytes;
	uint64_t size = word_at(check, next + HAWK_CHUNK_SIZE_OFFSET);
	uint8_t byte = 0;

	if (next >= check->run->end || size & HAWK_CHUNK_IN_USE || size % NUL_STEP || !size ||
	    hawk_near_read(&check->near, next + HAWK_CHUNK_SIZE_OFFSET - 1, &byte, 1) != 1 || !byte)
		return;
	flush_pending(check);
	check->pending = header_damage(check, chunk, next, size | HAWK_CHUNK_IN_USE);
	check->is_pending = true;
}

/* Examines a size whose lowest byte continues a fill that ends before it, and beyond which no
 * damage shows: by chance the chunk ends where a later one does. */
static void check_grown(struct check *check, const struct hawk_glibc_chunk *chunk)
{
	uint64_t size = word_at(check, chunk->start + HAWK_CHUNK_SIZE_OFFSET);
	uint64_t end = chunk->start + chunk->bytes;

	if (chunk->bytes >= NUL_STEP || !check->last.bytes ||
	    word_at(check, chunk->start) != (size & 0xff) * (UINT64_MAX / 0xff))
		return;
	for (uint64_t at = chunk->start + HAWK_CHUNK_BYTES_MIN; at < end;
	     at += HAWK_CHUNK_ALIGNMENT) {
		uint64_t inner = word_at(check, at + HAWK_CHUNK_SIZE_OFFSET);
		struct hawk_damage damage;

		if (at + hawk_chunk_bytes(inner) != end || !(inner & HAWK_CHUNK_IN_USE))
			continue;
		damage = header_damage(check, &check->last, chunk->start,
				       expected_size(check, chunk->start, at));
		hawk_damages_add(check->damages, &damage);
		return;
	}
}

static bool is_arena(const struct hawk_glibc *glibc, uint64_t address)
{
	for (size_t i = 0; i < glibc->arena_count; i++)
		if (address >= glibc->arenas[i].start && address < glibc->arenas[i].end)
			return true;
	return false;
}

static bool looks_free(struct check *check, uint64_t chunk)
{
	uint64_t bytes = hawk_chunk_bytes(word_at(check, chunk + HAWK_CHUNK_SIZE_OFFSET));
	uint64_t end = chunk + bytes;

	return bytes >= HAWK_CHUNK_BYTES_MIN && word_at(check, end) == bytes &&
	       !(word_at(check, end + HAWK_CHUNK_SIZE_OFFSET) & HAWK_CHUNK_IN_USE);
}

/* Returns true if the process had memory at `address` that the core lacks. */
static bool is_missing(struct check *check, uint64_t address)
{
	uint64_t word;

	return hawk_target_mapping_at(check->glibc->target, address) &&
	       !hawk_word(&check->near, address, &word);
}

/* Returns true if the link at `offset` of a free chunk is wrong. `other` is where the chunk to
 * which it leads has the link back. While a chunk is taken out, that one leads past it. A list may
 * begin in an arena that the core lacks. */
static bool is_wrong(struct check *check, uint64_t chunk, unsigned offset, unsigned other)
{
	uint64_t to = word_at(check, chunk + offset), back;

	if (is_arena(check->glibc, to) || is_missing(check, to))
		return false;
	if (to % HAWK_CHUNK_ALIGNMENT || !hawk_glibc_run_at(check->glibc, to))
		return true;
	back = word_at(check, to + other);
	if (back == chunk || back == word_at(check, chunk + other))
		return false;
	/* Else that chunk's own link is wrong. */
	return !looks_free(check, to) || word_at(check, back + offset) == to;
}

static void check_links(struct check *check, const struct hawk_glibc_chunk *chunk)
{
	enum { NEXT = HAWK_CHUNK_LINK_OFFSET, BACK = NEXT + 8 };
	bool next = is_wrong(check, chunk->start, NEXT, BACK);

	if (next || is_wrong(check, chunk->start, BACK, NEXT))
		add_free(check, HAWK_DAMAGE_WRITTEN, chunk->start, chunk->bytes,
			 chunk->start + (next ? NEXT : BACK), 0);
}

/* Returns true if malloc() may have written the wrong size of the top itself, when it cut blocks
 * from a top that was damaged before: the block beside it need not be at fault then. */
static bool may_be_cut(struct check *check, uint64_t top, uint64_t size)
{
	uint8_t last = (uint8_t)(word_at(check, top) >> 56); /* of the block below */

	return (size & HAWK_CHUNK_IN_USE) && !(size & HAWK_CHUNK_MAPPED) &&
	       hawk_chunk_bytes(size) <= check->run->end - check->run->start &&
	       !hawk_damage_runs_over(last, (uint8_t)size);
}

static void check_top(struct check *check, const struct hawk_glibc_chunk *chunk)
{
	uint64_t size = word_at(check, chunk->start + HAWK_CHUNK_SIZE_OFFSET);
	uint64_t expected = (check->run->end - chunk->start) | HAWK_CHUNK_IN_USE;
	struct hawk_damage damage;

	if (chunk->start != check->run->top || !size ||
	    hawk_chunk_bytes(size) == hawk_chunk_bytes(expected))
		return;
	damage = header_damage(check, &check->last, chunk->start, expected);
	damage.victim = 0;
	if (may_be_cut(check, chunk->start, size))
		damage.neighbour = 0;
	hawk_damages_add(check->damages, &damage);
}

/* Compares cached chunks with the chunks of the walk. */
static void check_specials(struct check *check, const struct hawk_glibc_chunk *chunk)
{
	const struct hawk_glibc *glibc = check->glibc;
	uint64_t last = 0;

	for (; check->special < glibc->special_count &&
	       glibc->specials[check->special].start < chunk->start + chunk->bytes;
	     check->special++) {
		const struct hawk_glibc_special *special = &glibc->specials[check->special];
		bool is_free =
			chunk->state == HAWK_PIECE_FREE || chunk->state == HAWK_PIECE_UNTOUCHED;

		if (special->owner == UINT32_MAX || chunk->state >= HAWK_PIECE_OVERHEAD ||
		    special->start < chunk->start)
			continue;
		if (special->start == last || is_free)
			add_free(check, HAWK_DAMAGE_FREED_TWICE, special->start,
				 hawk_chunk_bytes(
					 word_at(check, special->start + HAWK_CHUNK_SIZE_OFFSET)),
				 special->start + HAWK_CHUNK_LINK_OFFSET, 0);
		else if (special->start != chunk->start)
			add_free(check, HAWK_DAMAGE_FREED_INSIDE, chunk->start, chunk->bytes,
				 special->start + HAWK_CHUNK_HEADER_BYTES, 0);
		while (check->special + 1 < glibc->special_count &&
		       glibc->specials[check->special + 1].start == special->start &&
		       special->start == last)
			check->special++;
		last = special->start;
	}
}

static void check_piece(struct check *check, const struct hawk_glibc_chunk *chunk)
{
	if (chunk->state != HAWK_PIECE_DAMAGED &&
	    chunk->start + HAWK_CHUNK_HEADER_BYTES != check->pending.victim)
		flush_pending(check);
	check_specials(check, chunk);
	switch (chunk->state) {
	case HAWK_PIECE_DAMAGED:
		check_unsound(check, chunk);
		break;
	case HAWK_PIECE_FREE:
		check_links(check, chunk);
		break;
	case HAWK_PIECE_UNTOUCHED:
		check_top(check, chunk);
		break;
	case HAWK_PIECE_OVERHEAD:
	case HAWK_PIECE_FOREIGN:
	case HAWK_PIECE_MISSING:
		break;
	default:
		check_flag(check, chunk);
		check_grown(check, chunk);
	}
	check->before = check->last;
	check->last = *chunk;
}

static void check_chunks(struct check *check)
{
	struct hawk_glibc_cursor cursor;
	struct hawk_glibc_chunk chunk;

	hawk_glibc_begin(&cursor, check->glibc);
	while (hawk_glibc_next(&cursor, &chunk)) {
		const struct hawk_glibc_run *run = &check->glibc->runs[cursor.run];

		if (run != check->run) {
			flush_pending(check);
			check->run = run;
			check->before = check->last = (struct hawk_glibc_chunk){0};
		}
		if (!run->usable)
			check_piece(check, &chunk);
	}
	flush_pending(check);
	hawk_claims_sort(&check->lost);
}

static bool is_lost(const struct check *check, uint64_t chunk)
{
	const struct hawk_claim *claim = hawk_claims_from(&check->lost, chunk);

	return claim && claim->start <= chunk;
}

/* Returns true if a damage of the chunk's header is known already. */
static bool is_known(const struct check *check, uint64_t chunk)
{
	uint64_t block = chunk + HAWK_CHUNK_HEADER_BYTES;

	for (size_t i = 0; i < check->damages->count; i++)
		if (check->damages->items[i].victim == block ||
		    (check->damages->items[i].neighbour == block &&
		     check->damages->items[i].kind != HAWK_DAMAGE_SIZE))
			return true;
	return is_lost(check, chunk);
}

/* Adds the break of a list at its head: a link that was wrong, of a chunk that was handed out
 * since.
 */
static void add_head(struct check *check, const struct hawk_glibc_break *at)
{
	enum { MANGLE_SHIFT = 12 };
	struct hawk_glibc_cursor cursor;
	struct hawk_glibc_chunk chunk;

	hawk_glibc_begin(&cursor, check->glibc);
	while (hawk_glibc_next(&cursor, &chunk)) {
		uint64_t link = chunk.start + HAWK_CHUNK_LINK_OFFSET, word = word_at(check, link);

		if (chunk.state > HAWK_PIECE_CACHED || (at->bytes && chunk.bytes != at->bytes) ||
		    (word != at->found && (word ^ link >> MANGLE_SHIFT) != at->found))
			continue;
		add_free(check, HAWK_DAMAGE_WRITTEN, chunk.start, chunk.bytes, link, 0);
		return;
	}
	hawk_damages_add(check->damages, &(struct hawk_damage){.address = at->word,
							       .bytes = sizeof(uint64_t),
							       .found = at->found,
							       .kind = HAWK_DAMAGE_LINK});
}

/* Adds damages of lists that break off. A list that leads to a chunk with an overwritten size is
 * itself sound. */
static void check_breaks(struct check *check)
{
	unsigned heads = 0;

	for (size_t i = 0; i < check->glibc->break_count; i++) {
		const struct hawk_glibc_break *at = &check->glibc->breaks[i];

		if ((at->is_end && !check->glibc->links_mangled) ||
		    (at->target && is_known(check, at->target)) ||
		    (at->chunk && is_known(check, at->chunk)))
			continue;
		if (at->chunk)
			add_free(check, HAWK_DAMAGE_WRITTEN, at->chunk,
				 at->bytes ? at->bytes
					   : hawk_chunk_bytes(word_at(
						     check, at->chunk + HAWK_CHUNK_SIZE_OFFSET)),
				 at->word, 0);
		else if (heads++ < HEADS_MAX)
			add_head(check, at);
	}
}

static uint64_t key_of(struct check *check, const struct hawk_glibc_special *special)
{
	return word_at(check, special->start + HAWK_CHUNK_LINK_OFFSET + 8);
}

static bool has_key(const struct hawk_glibc_special *special)
{
	return special->state == HAWK_PIECE_CACHED && special->owner != UINT32_MAX;
}

/* Returns the key that most cached chunks hold behind their links (from 2.29 on), 0 = none. */
static uint64_t common_key(struct check *check)
{
	const struct hawk_glibc *glibc = check->glibc;
	uint64_t key = 0, votes = 0, count = 0, all = 0;

	for (size_t i = 0; i < glibc->special_count; i++) {
		uint64_t word =
			has_key(&glibc->specials[i]) ? key_of(check, &glibc->specials[i]) : 0;

		if (!word)
			continue;
		key = votes ? key : word;
		votes += word == key ? 1 : (uint64_t)-1;
	}
	for (size_t i = 0; key && i < glibc->special_count; i++) {
		all += has_key(&glibc->specials[i]);
		count += has_key(&glibc->specials[i]) && key_of(check, &glibc->specials[i]) == key;
	}
	return count > 1 && count > all / 4 * 3 ? key : 0;
}

/* Adds cached chunks without the common key. A thread inside of malloc may have cleared one. */
static void check_keys(struct check *check)
{
	const struct hawk_glibc *glibc = check->glibc;
	uint64_t key = common_key(check);

	for (size_t i = 0; key && i < glibc->special_count; i++) {
		const struct hawk_glibc_special *special = &glibc->specials[i];
		uint64_t word = has_key(special) ? key_of(check, special) : key;

		if (word != key && word && !is_known(check, special->start))
			add_free(check, HAWK_DAMAGE_WRITTEN, special->start,
				 hawk_chunk_bytes(
					 word_at(check, special->start + HAWK_CHUNK_SIZE_OFFSET)),
				 special->start + HAWK_CHUNK_LINK_OFFSET + 8, key);
	}
}

/* Adds the header of a chunk with a mapping of its own that another one ran into. The count of such
 * chunks tells that one is missing, and the sum of their bytes where it ends. */
static void check_mapped(struct check *check)
{
	const struct hawk_glibc *glibc = check->glibc;
	uint64_t missing = glibc->parameters.mapped_bytes - glibc->mapped_bytes;

	if (!glibc->parameters.known || glibc->parameters.mapped_count != glibc->mapped_count + 1 ||
	    missing > glibc->parameters.mapped_bytes)
		return;
	for (size_t i = 0; i < glibc->run_count; i++) {
		const struct hawk_glibc_run *run = &glibc->runs[i];
		const struct hawk_mapping *mapping =
			hawk_target_mapping_at(glibc->target, run->end);
		struct hawk_glibc_chunk chunk = {
			.start = run->start, .bytes = run->end - run->start, .usable = run->usable};
		struct hawk_damage damage;

		if (!run->usable || !mapping || mapping->end - run->end < missing ||
		    hawk_glibc_run_at(glibc, run->end) || !word_at(check, run->end - 8))
			continue;
		damage = header_damage(check, &chunk, run->end, missing | HAWK_CHUNK_MAPPED);
		if (damage.found != damage.expected)
			hawk_damages_add(check->damages, &damage);
	}
}

void hawk_glibc_verify(const void *state, struct hawk_damages *ret)
{
	const struct hawk_glibc *glibc = state;
	struct check check = {.glibc = glibc, .near = {.target = glibc->target}, .damages = ret};

	check_chunks(&check);
	check_breaks(&check);
	check_keys(&check);
	check_mapped(&check);
	hawk_claims_deinit(&check.lost);
}

uint64_t hawk_glibc_free_bytes(const void *state, uint64_t block)
{
	const struct hawk_glibc *glibc = state;
	struct check check = {.glibc = glibc, .near = {.target = glibc->target}};
	uint64_t chunk = block - HAWK_CHUNK_HEADER_BYTES, bytes;
	size_t i = hawk_array_first_above(glibc->specials, glibc->special_count,
					  sizeof(*glibc->specials),
					  offsetof(struct hawk_glibc_special, start), chunk - 1);
	const struct hawk_glibc_run *run = hawk_glibc_run_at(glibc, chunk);
	bool is_free = i < glibc->special_count && glibc->specials[i].start == chunk &&
		       glibc->specials[i].state != HAWK_PIECE_INTERNAL;

	if (!run || run->usable || chunk % HAWK_CHUNK_ALIGNMENT)
		return 0;
	bytes = hawk_chunk_bytes(word_at(&check, chunk + HAWK_CHUNK_SIZE_OFFSET));
	if (bytes < HAWK_CHUNK_BYTES_MIN || bytes > run->end - chunk)
		return 0;
	is_free |=
		hawk_chunk_is_linked(&check.near, chunk) && word_at(&check, chunk + bytes) == bytes;
	return is_free ? bytes - HAWK_CHUNK_SIZE_OFFSET : 0;
}
