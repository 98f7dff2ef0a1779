/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The innermost loops of the sweep.
 *
 * A page is tested in two passes. The first one, without a branch that depends on the data, queues
 * the granules that may be headers; the second computes seals for the queue, nearly all of which
 * fit. Testing each granule at once instead costs a mispredicted branch for every other block.
 */
#include "hawk_scan.h"

#include <stdlib.h>
#include <string.h>

enum {
	CACHE_LINE_BYTES = 64,
	/* Measured: no prefetch 5.1 GB/s, 2 KiB 8.5, 4 KiB 9.5 (docs/benchmarks.md). */
	PREFETCH_BYTES = 4096,
};

static_assert(HAWK_SCAN_PAGE_GRANULES <= UINT16_MAX, "granules of a page are stored in 16 bits");

struct hawk_block_header hawk_scan_header(const uint8_t *bytes, size_t granule)
{
	struct hawk_block_header header;

	memcpy(&header, bytes + granule * HAWK_GRANULE_BYTES, sizeof(header));
	return header;
}

/* A live header has the top bit of word 0 set; a dead one has a seal (not 0) and a trace id. */
static inline unsigned may_be_sealed(struct hawk_block_header header, uint32_t trace_count)
{
	return (unsigned)(header.word0 >> 63) | ((unsigned)((uint32_t)header.word1 < trace_count) &
						 (unsigned)((header.word1 >> 32) != 0));
}

static unsigned queue_candidates(const uint8_t *bytes, size_t granules, uint32_t trace_count,
				 uint16_t *queue, bool *zero)
{
	enum { STEP = CACHE_LINE_BYTES / HAWK_GRANULE_BYTES };
	uint64_t any = 0;
	unsigned count = 0;
	size_t i = 0;

	for (; i + STEP <= granules; i += STEP) {
		__builtin_prefetch(bytes + i * HAWK_GRANULE_BYTES + PREFETCH_BYTES);
		for (size_t j = i; j < i + STEP; j++) {
			struct hawk_block_header header = hawk_scan_header(bytes, j);

			any |= header.word0 | header.word1;
			queue[count] = (uint16_t)j;
			count += may_be_sealed(header, trace_count);
		}
	}
	for (; i < granules; i++) {
		struct hawk_block_header header = hawk_scan_header(bytes, i);

		any |= header.word0 | header.word1;
		queue[count] = (uint16_t)i;
		count += may_be_sealed(header, trace_count);
	}
	*zero = !any;
	return count;
}

void hawk_scan_page(const struct hawk_sweep_plan *plan, const uint8_t *bytes, size_t granules,
		    uint64_t address, struct hawk_scan_page *ret)
{
	/* One more: the loop writes behind the last one that counts. */
	uint16_t queue[HAWK_SCAN_PAGE_GRANULES + 1];
	unsigned count;

	assert(granules <= HAWK_SCAN_PAGE_GRANULES);
	count = queue_candidates(bytes, granules, plan->trace_count, queue, &ret->zero);
	ret->live_count = 0;
	ret->dead_count = 0;
	for (unsigned i = 0; i < count; i++) {
		struct hawk_block_header header = hawk_scan_header(bytes, queue[i]);
		uint64_t at = address + (uint64_t)queue[i] * HAWK_GRANULE_BYTES;

		if (hawk_header_is_live(&plan->key, header.word0, header.word1, at))
			ret->live[ret->live_count++] = queue[i];
		else if (hawk_header_trace(header.word1) < plan->trace_count &&
			 hawk_header_is_dead(&plan->key, header.word1, at))
			ret->dead[ret->dead_count++] = queue[i];
	}
}

/* The exact log2 of a large offset, from the word in front of the header. 0 = it makes no sense. */
static unsigned read_large_offset(const struct hawk_target *target, uint64_t header_address)
{
	uint64_t log2;

	if (header_address < sizeof(log2) ||
	    hawk_target_read_some(target, header_address - sizeof(log2), &log2, sizeof(log2)) !=
		    sizeof(log2))
		return 0;
	return log2 >= 4 + HAWK_OFFSET_LARGE && log2 <= HAWK_SCAN_OFFSET_LOG2_MAX ? (unsigned)log2
										  : 0;
}

bool hawk_scan_decode(const struct hawk_target *target, const struct hawk_sweep_plan *plan,
		      struct hawk_block_header header, uint64_t address, uint64_t limit,
		      struct hawk_block *ret)
{
	uint64_t start = address + HAWK_HEADER_BYTES;

	*ret = (struct hawk_block){
		.start = start,
		.size = hawk_header_size(header.word0),
		.trace = hawk_header_trace(header.word1),
		.kind = (uint8_t)hawk_header_kind(header.word0),
		.birth = hawk_header_birth(header.word0),
		.offset_code = (uint8_t)hawk_header_offset_code(header.word0),
	};
	if (ret->trace >= plan->trace_count || ret->birth > plan->birth_max)
		return false;
	if (start > limit || ret->size > limit - start)
		return false;
	return ret->offset_code != HAWK_OFFSET_LARGE || read_large_offset(target, address);
}

uint64_t hawk_scan_offset_bytes(const struct hawk_target *target, const struct hawk_block *block)
{
	unsigned log2 = 4u + block->offset_code;

	if (block->offset_code == HAWK_OFFSET_LARGE)
		log2 = read_large_offset(target, block->start - HAWK_HEADER_BYTES);
	return log2 ? UINT64_C(1) << log2 : HAWK_HEADER_BYTES;
}

bool hawk_scan_wants(const struct hawk_mapping *mapping)
{
	return mapping->present_bytes &&
	       ((mapping->flags & HAWK_MAPPING_WRITE) || !mapping->path || !mapping->path[0]);
}

void hawk_scan_window_init(struct hawk_scan_window *window, const struct hawk_target *target,
			   size_t window_bytes)
{
	size_t pages = window_bytes ? (window_bytes - 1) / HAWK_SCAN_PAGE_BYTES + 1
				    : HAWK_SCAN_WINDOW_BYTES / HAWK_SCAN_PAGE_BYTES;

	*window = (struct hawk_scan_window){
		.target = target,
		.window_bytes = pages * HAWK_SCAN_PAGE_BYTES,
	};
}

void hawk_scan_window_deinit(struct hawk_scan_window *window)
{
	free(window->buffer);
	window->buffer = NULL;
}

struct hawk_error *hawk_scan_window_read(struct hawk_scan_window *window, uint64_t address,
					 size_t bytes, const uint8_t **ret, size_t *got)
{
	assert(bytes <= window->window_bytes);
	*ret = hawk_target_view(window->target, address, bytes);
	*got = bytes;
	if (*ret)
		return NULL;
	if (!window->buffer)
		window->buffer = malloc(window->window_bytes);
	if (!window->buffer)
		return &hawk_enomem;
	*got = hawk_target_read_some(window->target, address, window->buffer, bytes);
	*ret = *got ? window->buffer : NULL;
	return NULL;
}
