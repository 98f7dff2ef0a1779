/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The page cache: reads each page once while room remains, and gives the same bytes as direct
 * reads.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "test.h"
#include "target/page_cache.h"

enum {
	SLOTS = 8,
	PAGES = 64,
	SHORT_PAGE = 40, /* only its first half is there */
	SHORT_BYTES = HAWK_PAGE_BYTES / 2,
	ABSENT_PAGE = 41,
	THREADS = 4,
	ROUNDS = 20000,
};

/** Memory from address 0 on; every word tells its address. */
struct memory {
	atomic_uint reads[PAGES];
	const void *where;
};

struct fixture {
	struct memory memory;
	struct hawk_page_cache *cache;
};

static uint8_t byte_at(uint64_t address)
{
	return (uint8_t)(address % 8 ? address >> 3 : address >> 12);
}

static size_t read_memory(const void *context, const void *where, uint64_t page, uint8_t *to)
{
	struct memory *memory = (struct memory *)context;
	uint64_t number = page / HAWK_PAGE_BYTES;
	size_t there = number == SHORT_PAGE ? SHORT_BYTES : HAWK_PAGE_BYTES;

	if (where)
		memory->where = where;
	if (number >= PAGES)
		return 0;
	atomic_fetch_add(&memory->reads[number], 1);
	if (number == ABSENT_PAGE)
		return 0;
	for (size_t i = 0; i < there; i++)
		to[i] = byte_at(page + i);
	return there;
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	if (!fixture)
		return -1;
	fixture->cache =
		hawk_page_cache_create(&(struct hawk_page_source){read_memory, &fixture->memory},
				       (size_t)SLOTS * HAWK_PAGE_BYTES);
	*state = fixture;
	return fixture->cache ? 0 : -1;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	hawk_page_cache_destroy(fixture->cache);
	hawk_page_cache_destroy(NULL);
	free(fixture);
	return 0;
}

/** `bytes` at `address`, of which `wanted` are there, and nothing behind them is touched. */
static void expect_read(struct fixture *fixture, uint64_t address, size_t bytes, size_t wanted)
{
	uint8_t *to = malloc(bytes + 1);

	assert_non_null(to);
	memset(to, 0xa5, bytes + 1);
	assert_int_equal(hawk_page_cache_read(fixture->cache, "there", address, to, bytes), wanted);
	for (size_t i = 0; i < wanted; i++)
		assert_int_equal(to[i], byte_at(address + i));
	assert_int_equal(to[bytes], 0xa5);
	free(to);
}

static unsigned reads_of(struct fixture *fixture, unsigned page)
{
	return atomic_load(&fixture->memory.reads[page]);
}

static uint64_t page_at(unsigned page)
{
	return (uint64_t)page * HAWK_PAGE_BYTES;
}

#define PAGE_CACHE_TEST(name) TEST_WITH(struct fixture *fixture, set_up, tear_down, name)

PAGE_CACHE_TEST(a_page_is_read_once)
{
	for (uint64_t at = 0; at < HAWK_PAGE_BYTES; at += 8)
		expect_read(fixture, page_at(3) + at, 8, 8);
	expect_read(fixture, page_at(3), HAWK_PAGE_BYTES, HAWK_PAGE_BYTES);
	assert_int_equal(reads_of(fixture, 3), 1);
	assert_string_equal(fixture->memory.where, "there");
}

PAGE_CACHE_TEST(a_read_crosses_pages)
{
	expect_read(fixture, page_at(4) - 5, 16, 16);
	expect_read(fixture, page_at(2) + 17, 3 * HAWK_PAGE_BYTES, 3 * HAWK_PAGE_BYTES);
	for (unsigned page = 2; page <= 5; page++)
		assert_int_equal(reads_of(fixture, page), 1);
}

PAGE_CACHE_TEST(pages_of_one_slot_drive_each_other_out)
{
	for (unsigned i = 0; i < 3; i++) {
		expect_read(fixture, page_at(1) + 8, 8, 8);
		expect_read(fixture, page_at(1 + SLOTS) + 8, 8, 8);
	}
	assert_int_equal(reads_of(fixture, 1), 3);
	assert_int_equal(reads_of(fixture, 1 + SLOTS), 3);
}

PAGE_CACHE_TEST(what_is_not_there_ends_a_read)
{
	expect_read(fixture, page_at(SHORT_PAGE) + SHORT_BYTES - 3, 8, 3);
	expect_read(fixture, page_at(SHORT_PAGE) + SHORT_BYTES, 8, 0);
	expect_read(fixture, page_at(SHORT_PAGE) + SHORT_BYTES + 100, 8, 0);
	expect_read(fixture, page_at(SHORT_PAGE) + 100, HAWK_PAGE_BYTES, SHORT_BYTES - 100);
	assert_int_equal(reads_of(fixture, SHORT_PAGE), 1);
	expect_read(fixture, page_at(ABSENT_PAGE), 8, 0);
	expect_read(fixture, page_at(PAGES - 1) + 1, HAWK_PAGE_BYTES, HAWK_PAGE_BYTES - 1);
	expect_read(fixture, UINT64_MAX - 3, 8, 0);
}

PAGE_CACHE_TEST(what_is_not_there_drives_nothing_out)
{
	unsigned page = ABSENT_PAGE % SLOTS;

	expect_read(fixture, page_at(page), 8, 8);
	expect_read(fixture, page_at(ABSENT_PAGE), 8, 0);
	expect_read(fixture, page_at(PAGES + page) + 64, 8, 0);
	expect_read(fixture, page_at(page), 8, 8);
	assert_int_equal(reads_of(fixture, page), 1);
}

static void *read_at_random(void *argument)
{
	struct fixture *fixture = argument;
	uint64_t seed = (uintptr_t)&fixture;

	for (unsigned i = 0; i < ROUNDS; i++) {
		uint64_t address;
		uint64_t word = 0, wanted = 0;

		seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
		address = (seed >> 33) % (SHORT_PAGE * (uint64_t)HAWK_PAGE_BYTES - 8);
		for (unsigned j = 0; j < 8; j++)
			wanted |= (uint64_t)byte_at(address + j) << 8 * j;
		if (hawk_page_cache_read(fixture->cache, NULL, address, &word, 8) != 8 ||
		    word != wanted)
			return fixture; /* wrong */
	}
	return NULL;
}

TEST_WITH(struct fixture *fixture, set_up, tear_down, threads_share_it)
{
	pthread_t threads[THREADS];

	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, read_at_random, fixture), 0);
	for (unsigned i = 0; i < THREADS; i++) {
		void *wrong;

		assert_int_equal(pthread_join(threads[i], &wrong), 0);
		assert_null(wrong);
	}
}
