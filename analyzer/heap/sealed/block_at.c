/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds the block at an address: searches backwards for headers that reach it, and forwards for one
 * whose padding contains it.
 *
 * The youngest header that reaches the address wins, as in the sweep. If a still younger one
 * overlaps it without reaching the address, no block is there.
 */
#include "sweep.h"

#include "hawk/target/extent.h"
#include "scan.h"

enum {
	/* How far above an address a block may begin whose alignment padding holds it. */
	PADDING_BYTES_MAX = 64 << 20,
	/* So much is skipped at once where there is nothing but zeros: holes of a sparse core. */
	CHUNK_BYTES = 1 << 20,
};

struct search {
	const struct hawk_target *target;
	const struct hawk_sweep_plan *plan;
	uint64_t address;
	uint64_t limit; /**< end of the memory that touches */
	struct hawk_scan_window window;

	/* Results of the way back. */
	bool found;         /**< `block`, header included, holds the address */
	bool empty;         /**< `empty_block` of size 0 begins at the address */
	bool overlapped;    /**< `block` was dead when something else was made */
	bool met;           /**< any header, live or dead */
	bool dead;          /**< the first one met was a dead one, `dead_block` */
	int youngest_other; /**< birth of the youngest header met that does not hold the address */
	struct hawk_block block;
	struct hawk_block empty_block;
	struct hawk_block dead_block;
};

static uint64_t header_of(const struct hawk_block *block)
{
	return block->start - HAWK_HEADER_BYTES;
}

static void meet_dead(struct search *search, struct hawk_block_header header, uint64_t at)
{
	search->dead = !search->met;
	search->met = true;
	if (search->dead)
		search->dead_block = (struct hawk_block){
			.start = at + HAWK_HEADER_BYTES,
			.trace = hawk_header_trace(header.word1),
		};
}

/* Headers come in descending order: each begins below all that were met before. */
static void meet_live(struct search *search, const struct hawk_block *block)
{
	uint64_t end = block->start + block->size;

	search->met = true;
	if (block->size == 0 && block->start == search->address) {
		search->empty = true;
		search->empty_block = *block;
		return;
	}
	if (end <= search->address) {
		if (search->found && end > header_of(&search->block) &&
		    block->birth > search->block.birth)
			search->overlapped = true;
		/* A pool's object that was carved out of the block does not end it. */
		if (block->kind != HAWK_KIND_POOL && block->birth > search->youngest_other)
			search->youngest_other = block->birth;
		return;
	}
	if (search->found && block->birth <= search->block.birth)
		return;
	search->found = true;
	search->block = *block;
	search->overlapped = search->youngest_other >= block->birth;
}

/* The sealed granules of the page at `page`, as far as it lies in [low, limit). */
static struct hawk_error *scan_at(struct search *search, uint64_t page, uint64_t low,
				  const uint8_t **bytes, uint64_t *start,
				  struct hawk_scan_page *ret)
{
	uint64_t size = HAWK_SCAN_PAGE_BYTES;
	struct hawk_error *err;
	size_t got;

	*start = page > low ? page : (low + HAWK_GRANULE_BYTES - 1) & -(uint64_t)HAWK_GRANULE_BYTES;
	ret->live_count = ret->dead_count = 0;
	if (*start - page >= size)
		return NULL;
	size -= *start - page;
	if (size > search->limit - *start)
		size = search->limit - *start;
	err = hawk_scan_window_read(&search->window, *start, size, bytes, &got);
	if (!err && got)
		hawk_scan_page(search->plan, *bytes, got / HAWK_GRANULE_BYTES, *start, ret);
	return err;
}

static bool decode(const struct search *search, const uint8_t *bytes, uint64_t start,
		   unsigned granule, struct hawk_block *ret)
{
	return hawk_scan_decode(search->target, search->plan, hawk_scan_header(bytes, granule),
				start + (uint64_t)granule * HAWK_GRANULE_BYTES, search->limit, ret);
}

/* The headers of one page at or below the address, highest first. */
static struct hawk_error *meet_page(struct search *search, uint64_t page_address, uint64_t low)
{
	struct hawk_scan_page page;
	struct hawk_block block;
	const uint8_t *bytes;
	uint64_t start;
	struct hawk_error *err = scan_at(search, page_address, low, &bytes, &start, &page);
	unsigned live = page.live_count;
	unsigned dead = page.dead_count;

	while (!err && (live || dead)) {
		bool is_live = live && (!dead || page.live[live - 1] > page.dead[dead - 1]);
		unsigned granule = is_live ? page.live[--live] : page.dead[--dead];
		uint64_t at = start + (uint64_t)granule * HAWK_GRANULE_BYTES;

		if (at > search->address)
			continue;
		if (!is_live)
			meet_dead(search, hawk_scan_header(bytes, granule), at);
		else if (decode(search, bytes, start, granule, &block))
			meet_live(search, &block);
	}
	return err;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static bool has_data(const struct search *search, uint64_t start, uint64_t end)
{
	uint64_t data_start;
	uint64_t data_end;

	return hawk_target_next_data(search->target, start, end, &data_start, &data_end);
}

/* True when no block that is still of interest can begin below `page`. */
static bool far_enough(const struct search *search, uint64_t page, uint64_t low)
{
	return page <= low || (search->found && header_of(&search->block) >= page &&
			       header_of(&search->block) - page >= HAWK_BLOCK_AT_AUDIT_BYTES);
}

/* The highest page at or below `page`, and not below `low`, that may hold anything but zeros, give
 * or take CHUNK_BYTES; less than `low` if there is none. Gallops: asking is dear on some file
 * systems. */
static uint64_t skip_zeros(const struct search *search, uint64_t page, uint64_t low)
{
	uint64_t end = page + least(search->limit - page, HAWK_SCAN_PAGE_BYTES);
	uint64_t reach = CHUNK_BYTES;

	while (end > low) {
		uint64_t start = end - least(reach, end - low);

		if (!has_data(search, start, end)) {
			end = start;
			reach *= 2;
		} else if (reach > CHUNK_BYTES) {
			reach /= 2;
		} else {
			return (end - 1) & -(uint64_t)HAWK_SCAN_PAGE_BYTES;
		}
	}
	return 0;
}

static struct hawk_error *search_back(struct search *search)
{
	uint64_t low = hawk_extent_start(search->target, search->address);
	uint64_t page = search->address & -(uint64_t)HAWK_SCAN_PAGE_BYTES;
	uint64_t asked = 0; /* bytes to go before zeros are looked for again */

	for (;; page -= HAWK_SCAN_PAGE_BYTES) {
		struct hawk_error *err;

		if (!asked) {
			page = skip_zeros(search, page, low);
			asked = CHUNK_BYTES;
		}
		asked -= HAWK_SCAN_PAGE_BYTES;
		err = meet_page(search, page, low);
		if (err || far_enough(search, page, low))
			return err;
	}
}

/* Looks at the live headers of one page above the address and below `end`. Sets `*stop` when there
 * is no need to go on. */
static struct hawk_error *
visit_page(struct search *search, uint64_t page_address, uint64_t low, uint64_t end,
	   bool (*visit)(struct search *search, const struct hawk_block *block), bool *stop)
{
	struct hawk_scan_page page;
	struct hawk_block block;
	const uint8_t *bytes;
	uint64_t start;
	struct hawk_error *err = scan_at(search, page_address, low, &bytes, &start, &page);

	for (unsigned i = 0; !err && !*stop && i < page.live_count; i++)
		if (decode(search, bytes, start, page.live[i], &block) &&
		    header_of(&block) > search->address)
			*stop = header_of(&block) >= end || !visit(search, &block);
	return err;
}

/**
 * Looks at the live headers above the address, lowest first, below `end`: `visit` says whether to
 * go on.
 */
static struct hawk_error *search_on(struct search *search, uint64_t end,
				    bool (*visit)(struct search *search,
						  const struct hawk_block *block))
{
	uint64_t low = hawk_extent_start(search->target, search->address);
	uint64_t page = search->address & -(uint64_t)HAWK_SCAN_PAGE_BYTES;
	uint64_t asked_end = page; /* there may be data below this */
	bool stop = false;

	while (!stop && page < end) {
		uint64_t left = end - page;
		uint64_t step = least(HAWK_SCAN_PAGE_BYTES, left);
		struct hawk_error *err = NULL;

		if (page == asked_end) {
			uint64_t chunk = least(CHUNK_BYTES, left);

			asked_end = page + chunk;
			if (!has_data(search, page, asked_end))
				step = chunk;
		}
		if (step <= HAWK_SCAN_PAGE_BYTES)
			err = visit_page(search, page, low, end, visit, &stop);
		if (err)
			return err;
		page += step;
	}
	return NULL;
}

static bool visit_inside(struct search *search, const struct hawk_block *block)
{
	const struct hawk_block *around = &search->block;

	if (block->kind == HAWK_KIND_POOL &&
	    block->start + block->size <= around->start + around->size &&
	    header_of(block) >= around->start)
		return true;
	search->overlapped |= block->birth >= around->birth;
	return !search->overlapped;
}

static bool visit_padded(struct search *search, const struct hawk_block *block)
{
	uint64_t offset = hawk_scan_offset_bytes(search->target, block);

	search->found = block->start - search->address <= offset;
	search->block = *block;
	return false;
}

static struct hawk_error *run_search(struct search *search)
{
	uint64_t reach = search->limit - search->address;
	struct hawk_error *err = search_back(search);

	if (err)
		return err;
	if (!search->found)
		return search_on(search, search->address + least(reach, PADDING_BYTES_MAX),
				 visit_padded);
	reach = search->block.start + search->block.size - search->address;
	return search_on(search, search->address + least(reach, HAWK_BLOCK_AT_AUDIT_BYTES),
			 visit_inside);
}

static enum hawk_block_state conclude(const struct search *search, struct hawk_block *ret)
{
	bool block = search->found && !search->overlapped;

	if (block && search->address >= search->block.start) {
		*ret = search->block;
		return HAWK_BLOCK_LIVE;
	}
	/* Of two blocks without a gap the first may be empty: its pointer is the next one's header.
	 */
	if (search->empty) {
		*ret = search->empty_block;
		return HAWK_BLOCK_LIVE;
	}
	if (block) {
		*ret = search->block;
		return HAWK_BLOCK_HEADER;
	}
	if (search->dead && !search->found) {
		*ret = search->dead_block;
		return HAWK_BLOCK_DEAD;
	}
	return HAWK_BLOCK_NONE;
}

enum hawk_block_state hawk_block_at(const struct hawk_target *target,
				    const struct hawk_sweep_plan *plan, uint64_t address,
				    struct hawk_block *ret)
{
	struct search search = {
		.target = target,
		.plan = plan,
		.address = address,
		.youngest_other = -1,
	};
	enum hawk_block_state state = HAWK_BLOCK_NONE;
	struct hawk_extent extent;
	struct hawk_error *err;

	if (!hawk_extent_at(target, address, &extent))
		return HAWK_BLOCK_NONE;
	search.limit = extent.end;
	hawk_scan_window_init(&search.window, target, HAWK_SCAN_PAGE_BYTES);
	err = run_search(&search);
	if (!err)
		state = conclude(&search, ret);
	if (err) /* out of memory only: then there is no answer */
		hawk_enomem_swallow();
	hawk_error_destroy(err);
	hawk_scan_window_deinit(&search.window);
	return state;
}
