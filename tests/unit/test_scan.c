/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The innermost loops of the sweep: those for all processors and those with vectors give the same.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

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

/** What one of the two made of a page. */
struct taken {
	size_t next;
	struct hawk_sweep_state state;
};

static void
take(size_t (*function)(struct hawk_sweep_state *sweep, uint64_t address, unsigned i, size_t next),
     const struct hawk_sweep_plan *plan, const struct hawk_extent *extent, const uint64_t *page,
     uint64_t address, unsigned first, size_t next, uint64_t furthest, struct taken *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->state.plan = plan;
	ret->state.extent = extent;
	ret->state.resolver.furthest_of_all = furthest;
	hawk_scan_page_plain(plan, (const uint8_t *)page, HAWK_SCAN_PAGE_GRANULES, address,
			     &ret->state.page);
	ret->next = function(&ret->state, address, first, next);
}

static void all_processors_take_the_same_blocks(void **state)
{
	static uint64_t page[2 * HAWK_SCAN_PAGE_GRANULES];
	static struct taken plain;
	static struct taken other;
	const struct hawk_sweep_plan plan = {
		.key = {{11, 12}}, .trace_count = TRACES, .birth_max = BIRTH_MAX};
	const uint64_t address = 0x7f0000001000;
	uint64_t seed = 5;
	size_t taken = 0;

	(void)state;
	for (unsigned round = 0; round < 4000; round++) {
		uint64_t r = synthetic_random(&seed);
		size_t next = r % 3 ? r % 7 : HAWK_SWEEP_BATCH - r / 8 % 40;
		uint64_t furthest = r % 5 ? 0 : address + r / 16 % HAWK_SCAN_PAGE_BYTES;
		struct hawk_extent extent = {
			.end = address + 4 * HAWK_SCAN_PAGE_BYTES,
			.present_end =
				address + (r % 11 ? 4 * HAWK_SCAN_PAGE_BYTES : r / 32 % 4096),
		};
		unsigned live;

		fill_blocks(&plan.key, address, &seed, page);
		take(hawk_sweep_usual_plain, &plan, &extent, page, address, 0, next, furthest,
		     &plain);
		live = plain.state.page.live_count;
		assert_true(live > 10);
		for (unsigned first = 0; first < live; first += 1 + first / 2) {
			take(hawk_sweep_usual_plain, &plan, &extent, page, address, first, next,
			     furthest, &plain);
			assert_in_range(plain.next, next, HAWK_SWEEP_BATCH);
			taken += plain.next - next;
			if (!hawk_cpu_has_avx512())
				continue;
			take(hawk_sweep_usual_avx512, &plan, &extent, page, address, first, next,
			     furthest, &other);
			assert_int_equal(other.next, plain.next);
			assert_memory_equal(other.state.batch + next, plain.state.batch + next,
					    (plain.next - next) * sizeof(*plain.state.batch));
			assert_memory_equal(other.state.resolver.furthest,
					    plain.state.resolver.furthest,
					    sizeof(plain.state.resolver.furthest));
		}
	}
	assert_true(taken > 100000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_processors_find_the_same_headers),
		cmocka_unit_test(all_processors_take_the_same_blocks),
	};

	return cmocka_run_group_tests_name("scan", tests, NULL, NULL);
}
