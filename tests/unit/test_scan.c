/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The innermost loops of the sweep and of the index: those for all processors and those with
 * vectors give the same.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "block_run.h"
#include "hawk_cpu.h"
#include "hawk_sweep_state.h"
#include "scan_page.h"
#include "synthetic_heap.h"

/* Live and dead headers, such with a wrong seal, zeros, and nonsense. */
static void fill_page(const struct hawk_sweep_plan *plan, uint64_t address, uint64_t *seed,
		      uint64_t page[2 * HAWK_SCAN_PAGE_GRANULES])
{
	for (size_t i = 0; i < HAWK_SCAN_PAGE_GRANULES; i++) {
		uint64_t r = synthetic_random(seed);
		uint64_t at = address + i * HAWK_GRANULE_BYTES;
		uint32_t trace = (uint32_t)(r >> 8) % (plan->trace_count + 2);
		uint32_t seal;

		page[2 * i] = r % 5 < 2 ? r | UINT64_C(1) << 63 : r % 5 == 4 ? 0 : r >> 1;
		seal = r % 3 ? hawk_seal(&plan->key, page[2 * i], trace, at)
			     : hawk_dead_seal(&plan->key, trace, at);
		page[2 * i + 1] = r % 5 == 4 ? 0 : hawk_header_word1(trace, seal + (r % 7 == 0));
	}
}

static void all_processors_find_the_same_headers(void **state)
{
	static uint64_t page[2 * HAWK_SCAN_PAGE_GRANULES];
	const struct hawk_sweep_plan plan = {.key = {{11, 12}}, .trace_count = 100};
	const uint64_t address = 0x7f0000001000;
	uint64_t seed = 5;
	unsigned live = 0;
	unsigned dead = 0;

	(void)state;
	for (size_t granules = 0; granules <= HAWK_SCAN_PAGE_GRANULES; granules++) {
		struct hawk_scan_page plain;
		struct hawk_scan_page other;

		if (granules % 9)
			fill_page(&plan, address, &seed, page);
		else
			memset(page, 0, sizeof(page));
		hawk_scan_page_plain(&plan, (const uint8_t *)page, granules, address, &plain);
		live += plain.live_count;
		dead += plain.dead_count;
		if (!hawk_cpu_has_avx512())
			continue;
		hawk_scan_page_avx512(&plan, (const uint8_t *)page, granules, address, &other);
		assert_int_equal(other.zero, plain.zero);
		assert_int_equal(other.live_count, plain.live_count);
		assert_int_equal(other.dead_count, plain.dead_count);
		assert_memory_equal(other.live, plain.live, plain.live_count * sizeof(*plain.live));
		assert_memory_equal(other.dead, plain.dead, plain.dead_count * sizeof(*plain.dead));
		assert_memory_equal(other.words0, plain.words0, plain.live_count * 8);
		assert_memory_equal(other.words1, plain.words1, plain.live_count * 8);
	}
	assert_true(live > 1000 && dead > 1000);
}

enum { TRACES = 50, BIRTH_MAX = 9 };

/* Sealed headers of blocks that mostly follow each other; some overlap, some cannot be, some have
 * a large alignment. */
static void fill_blocks(const struct hawk_seal_key *key, uint64_t address, uint64_t *seed,
			uint64_t page[2 * HAWK_SCAN_PAGE_GRANULES])
{
	memset(page, 0, HAWK_SCAN_PAGE_BYTES);
	for (size_t i = 0; i < HAWK_SCAN_PAGE_GRANULES;) {
		uint64_t r = synthetic_random(seed);
		uint64_t step = 1 + r % 7;
		uint64_t size =
			r >> 8 & 63 ? (step - 1) * HAWK_GRANULE_BYTES : 8 * HAWK_SCAN_PAGE_BYTES;
		unsigned offset = r >> 16 & 63 ? 4 + (r >> 22) % 3 : 4 + HAWK_OFFSET_LARGE;
		uint32_t trace = r >> 32 & 63 ? (uint32_t)(r >> 40) % TRACES : TRACES;
		uint8_t birth = r >> 26 & 63 ? (uint8_t)(r >> 48) % BIRTH_MAX : BIRTH_MAX + 1;

		page[2 * i] = hawk_header_word0(8 + (r >> 60) % 8, offset, birth, size);
		page[2 * i + 1] =
			hawk_header_word1(trace, hawk_seal(key, page[2 * i], trace,
							   address + i * HAWK_GRANULE_BYTES));
		i += step;
	}
}

/* A row for each live hit, and what vectors write behind the last one. */
enum { ROWS = HAWK_SCAN_PAGE_GRANULES + HAWK_SCAN_VECTOR };

static void all_processors_take_the_same_blocks(void **state)
{
	static uint64_t words[2 * HAWK_SCAN_PAGE_GRANULES];
	static struct hawk_scan_page page;
	static struct hawk_block plain[ROWS];
	static struct hawk_block other[ROWS];
	const struct hawk_sweep_plan plan = {
		.key = {{11, 12}}, .trace_count = TRACES, .birth_max = BIRTH_MAX};
	const uint64_t address = 0x7f0000001000;
	uint64_t seed = 5;
	size_t taken = 0;

	(void)state;
	for (unsigned round = 0; round < 4000; round++) {
		uint64_t r = synthetic_random(&seed);
		uint64_t furthest = r % 5 ? 0 : address + r / 16 % HAWK_SCAN_PAGE_BYTES;
		uint64_t limit = address + (r % 11 ? 4 * HAWK_SCAN_PAGE_BYTES : r / 32 % 4096);

		fill_blocks(&plan.key, address, &seed, words);
		hawk_scan_page_plain(&plan, (const uint8_t *)words, HAWK_SCAN_PAGE_GRANULES,
				     address, &page);
		assert_true(page.live_count > 10);
		for (unsigned first = 0; first < page.live_count; first += 1 + first / 2) {
			size_t count = hawk_sweep_usual_plain(&plan, &page, address, first, limit,
							      furthest, plain);

			assert_in_range(count, 0, page.live_count - first);
			taken += count;
			if (!hawk_cpu_has_avx512())
				continue;
			assert_int_equal(hawk_sweep_usual_avx512(&plan, &page, address, first,
								 limit, furthest, other),
					 count);
			assert_memory_equal(other, plain, count * sizeof(*plain));
		}
	}
	assert_true(taken > 100000);
}

static void sizes_are_added_up_to_the_first_block_that_is_not_usual(void **state)
{
	static struct hawk_block blocks[100];
	uint64_t seed = 3;

	(void)state;
	for (unsigned round = 0; round < 3000 && hawk_cpu_has_avx512(); round++) {
		size_t count = synthetic_random(&seed) % 101;
		size_t odd = synthetic_random(&seed) % 200;
		uint64_t expected = 7;
		uint64_t bytes = 7;
		size_t summed;

		for (size_t i = 0; i < count; i++) {
			uint64_t r = synthetic_random(&seed);

			blocks[i] = (struct hawk_block){
				.start = r,
				.size = r >> 20,
				.trace = (uint32_t)r,
				.kind = 15,
				.birth = (uint8_t)(r >> 8),
				.offset_code = i == odd && round % 2,
				.depth = i == odd && round % 2 == 0,
			};
		}
		summed = hawk_sweep_sum_avx512(blocks, count, &bytes);
		assert_int_equal(summed, (odd < count ? odd : count) / 8 * 8);
		for (size_t i = 0; i < summed; i++)
			expected += blocks[i].size;
		assert_int_equal(bytes, expected);
	}
}

enum { RUN_BLOCKS = 400 };

/** What the index is filled with from a run of blocks. */
struct filled {
	struct hawk_block_marks marks;
	uint32_t granules[RUN_BLOCKS + 1], sizes[RUN_BLOCKS + 1], traces[RUN_BLOCKS + 1];
	struct hawk_block_run run;
	size_t taken;
};

static void begin_run(struct filled *filled, uint64_t base, uint64_t room)
{
	memset(filled, 0, sizeof(*filled));
	filled->run = (struct hawk_block_run){
		.base = base,
		.room = room,
		.id = 77 << 6,
		.granules = filled->granules,
		.sizes = filled->sizes,
		.traces = filled->traces,
		.marks = &filled->marks,
	};
}

/* Ascending ones from `start` on; now and then an empty one, or one that was carved up. */
static void make_run(struct hawk_block *blocks, uint64_t start, uint64_t *seed)
{
	for (size_t i = 0; i < RUN_BLOCKS; i++) {
		uint64_t r = synthetic_random(seed);

		blocks[i] = (struct hawk_block){
			.start = start,
			.size = r % 97 ? 1 + r / 128 % 500 : 0,
			.trace = (uint32_t)(r >> 32),
			.birth = (uint8_t)(r >> 20),
			.depth = r % 89 == 0,
		};
		start += ((blocks[i].size + 15) & ~UINT64_C(15)) + 16 * (1 + r / 64 % 2);
	}
}

static void all_processors_index_the_same_runs(void **state)
{
	static struct hawk_block blocks[RUN_BLOCKS];
	static struct filled plain;
	static struct filled other;
	const uint64_t base = SYNTHETIC_HEAP + (5 << 10);
	uint64_t seed = 8;
	size_t taken = 0;

	(void)state;
	for (unsigned round = 0; round < 4000; round++) {
		uint64_t r = synthetic_random(&seed);
		uint64_t room = r % 3 ? HAWK_MARKED_RECORDS << 10
				      : (1 + r / 16 % HAWK_MARKED_RECORDS) << 10;
		size_t count = r % 5 ? RUN_BLOCKS : r / 1024 % 30;

		make_run(blocks, base + r / 4096 % 64 * 16, &seed);
		begin_run(&plain, base, room);
		plain.taken = hawk_block_run_plain(&plain.run, blocks, 0, count);
		assert_true(plain.taken < count || !count);
		taken += plain.taken;
		if (!hawk_cpu_has_avx512())
			continue;
		begin_run(&other, base, room);
		other.taken = hawk_block_run_avx512(&other.run, blocks, count);
		assert_true(other.taken <= plain.taken &&
			    other.taken + 8 > plain.taken - plain.taken % 8);
		other.taken = hawk_block_run_plain(&other.run, blocks, other.taken, count);
		assert_int_equal(other.taken, plain.taken);
		assert_int_equal(other.run.end, plain.run.end);
		assert_memory_equal(&other.marks, &plain.marks, sizeof(plain.marks));
		assert_memory_equal(other.granules, plain.granules, 4 * plain.taken);
		assert_memory_equal(other.sizes, plain.sizes, 4 * plain.taken);
		assert_memory_equal(other.traces, plain.traces, 4 * plain.taken);
	}
	assert_true(taken > 100000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_processors_find_the_same_headers),
		cmocka_unit_test(all_processors_take_the_same_blocks),
		cmocka_unit_test(all_processors_index_the_same_runs),
		cmocka_unit_test(sizes_are_added_up_to_the_first_block_that_is_not_usual),
	};

	return cmocka_run_group_tests_name("scan", tests, NULL, NULL);
}
