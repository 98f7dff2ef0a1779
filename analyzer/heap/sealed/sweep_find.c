/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds headers in one share of memory, independently of lower shares.
 */
#include "sweep_state.h"

#include <stdlib.h>

#include "hawk/base/numbers.h"

/* Returns the bytes from `address` to the end of its page. */
static uint64_t page_left(uint64_t address)
{
	return HAWK_SCAN_PAGE_BYTES - address % HAWK_SCAN_PAGE_BYTES;
}

struct hawk_error *hawk_sweep_found_init(struct hawk_sweep_found *found, uint64_t share_bytes)
{
	size_t granules = share_bytes / HAWK_GRANULE_BYTES;

	*found = (struct hawk_sweep_found){
		.blocks = malloc(granules * sizeof(*found->blocks)),
	};
	if (found->blocks)
		return NULL;
	hawk_sweep_found_deinit(found);
	return &hawk_enomem;
}

void hawk_sweep_found_deinit(struct hawk_sweep_found *found)
{
	free(found->blocks);
	*found = (struct hawk_sweep_found){0};
}

/* Puts live hits of the page from number `i` on to `ret`, as long as they are plausible, end at or
 * below `limit`, and lie above all earlier ones, which end at or below `furthest`. Returns their
 * number. */
static size_t take_usual(const struct hawk_sweep_plan *plan, const struct hawk_scan_page *page,
			 uint64_t address, unsigned i, uint64_t limit, uint64_t furthest,
			 struct hawk_block *ret)
{
	const uint32_t trace_count = plan->trace_count;
	const uint8_t birth_max = plan->birth_max;
	struct hawk_block *next = ret;

	for (; i < page->live_count; i++) {
		uint64_t word0 = page->words0[i];
		uint64_t at = address + (uint64_t)page->live[i] * HAWK_GRANULE_BYTES;
		uint64_t start = at + HAWK_HEADER_BYTES;
		uint64_t size = hawk_header_size(word0);
		uint32_t trace = hawk_header_trace(page->words1[i]);
		unsigned offset_code = hawk_header_offset_code(word0);
		uint8_t birth = hawk_header_birth(word0);

		if (at < furthest || trace >= trace_count || start > limit ||
		    size > limit - start || offset_code == HAWK_OFFSET_LARGE || birth > birth_max)
			break;
		furthest = start + size;
		next->start = start;
		next->size = size;
		next->trace = trace;
		next->kind = (uint8_t)hawk_header_kind(word0);
		next->birth = birth;
		next->offset_code = (uint8_t)offset_code;
		next->depth = 0;
		next++;
	}
	return (size_t)(next - ret);
}

/* Handles an unusual hit. */
static void find_unusual(const struct hawk_sweep_finder *finder, uint64_t address, unsigned number,
			 struct hawk_sweep_found *found)
{
	const struct hawk_scan_page *page = &finder->page;
	struct hawk_block_header header = {page->words0[number], page->words1[number]};
	struct hawk_block *block = &found->blocks[found->count];

	if (!hawk_scan_decode(finder->target, finder->plan, header,
			      address + (uint64_t)page->live[number] * HAWK_GRANULE_BYTES,
			      finder->extents[found->share.mapping].end, block)) {
		if (found->implausible < HAWK_SWEEP_BAD_MAX) {
			found->bad[found->implausible].address = block->start - HAWK_HEADER_BYTES;
			found->bad[found->implausible].word = header.word0;
		}
		found->implausible++;
		return;
	}
	found->apart = false;
	found->count++;
	if (block->start + block->size > found->furthest)
		found->furthest = block->start + block->size;
}

/* Finds blocks. Nearly all hits are usual: they are taken with all state in registers, at a third
 * of the cost. */
static void find_blocks(const struct hawk_sweep_finder *finder, uint64_t address,
			struct hawk_sweep_found *found)
{
	const struct hawk_scan_page *page = &finder->page;
	uint64_t limit = finder->extents[found->share.mapping].present_end;

	for (unsigned i = 0; i < page->live_count;) {
		struct hawk_block *to = &found->blocks[found->count];
		size_t usual =
			take_usual(finder->plan, page, address, i, limit, found->furthest, to);

		found->count += usual;
		i += (unsigned)usual;
		if (usual)
			found->furthest = to[usual - 1].start + to[usual - 1].size;
		if (i < page->live_count)
			find_unusual(finder, address, i++, found);
	}
}

/* Searches one page, or a part of one. */
static void find_in_page(struct hawk_sweep_finder *finder, const uint8_t *bytes, size_t size,
			 uint64_t address, struct hawk_sweep_found *found)
{
	struct hawk_scan_page *page = &finder->page;

	hawk_scan_page(finder->plan, bytes, size / HAWK_GRANULE_BYTES, address, page);
	found->dead += page->dead_count;
	find_blocks(finder, address, found);
}

/* Searches a share; skips unreadable memory page by page. */
static struct hawk_error *find_in_share(struct hawk_sweep_finder *finder,
					struct hawk_sweep_found *found)
{
	const struct hawk_sweep_share *share = &found->share;
	uint64_t step;

	for (uint64_t at = share->start; at < share->end; at += step) {
		const uint8_t *bytes;
		size_t got;
		size_t part;
		struct hawk_error *err;

		step = share->end - at;
		err = hawk_scan_window_read(&finder->window, at, step, &bytes, &got);
		if (err)
			return err;
		for (size_t done = 0; done < got; done += part) {
			part = hawk_least(got - done, page_left(at + done));
			find_in_page(finder, bytes + done, part, at + done, found);
		}
		found->swept_bytes += got;
		if (got < step)
			step = hawk_least(step, got + page_left(at + got));
	}
	return NULL;
}

/* Finds out if a header lies in [start, end), or may lie there because it cannot be read. */
static struct hawk_error *look_behind(struct hawk_sweep_finder *finder, uint64_t start,
				      uint64_t end, bool *ret)
{
	const uint8_t *bytes;
	size_t got;
	size_t part;
	struct hawk_error *err =
		hawk_scan_window_read(&finder->window, start, end - start, &bytes, &got);

	*ret = got < end - start;
	for (size_t done = 0; !err && !*ret && done < got; done += part) {
		part = hawk_least(got - done, page_left(start + done));
		hawk_scan_page(finder->plan, bytes + done, part / HAWK_GRANULE_BYTES, start + done,
			       &finder->page);
		*ret = finder->page.live_count;
	}
	return err;
}

/* Finds out if the last block is final although it ends behind the share. */
static struct hawk_error *settle_last(struct hawk_sweep_finder *finder,
				      struct hawk_sweep_found *found)
{
	const struct hawk_sweep_share *share = &found->share;
	uint64_t end = (found->furthest + HAWK_GRANULE_BYTES - 1) & -(uint64_t)HAWK_GRANULE_BYTES;
	bool header;
	struct hawk_error *err;

	if (!found->apart || end <= share->end)
		return NULL;
	found->apart = false;
	if (end > share->data_end ||
	    end - share->end > finder->window.window_bytes / HAWK_SWEEP_SHARE_BEHIND)
		return NULL;
	err = look_behind(finder, share->end, end, &header);
	found->apart = !header;
	return err;
}

struct hawk_error *hawk_sweep_find(struct hawk_sweep_finder *finder, struct hawk_sweep_found *found)
{
	struct hawk_heap_sums sums = {0};
	struct hawk_error *err;

	*found = (struct hawk_sweep_found){
		.share = found->share,
		.blocks = found->blocks,
		.apart = true,
	};
	err = find_in_share(finder, found);
	if (!err)
		err = settle_last(finder, found);
	if (err || !found->apart)
		return err;
	hawk_sweep_sum(finder->target, found->blocks, found->count, &sums);
	found->bytes = sums.bytes;
	found->header_bytes = sums.header_bytes;
	return NULL;
}
