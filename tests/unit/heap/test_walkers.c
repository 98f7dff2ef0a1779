/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Walkers of allocators on their smallest memories, whole and with words that lie; objects in rows;
 * claims of memory; virtual tables.
 */
#include <inttypes.h>

#include "allocator_worlds.h"
#include "heap/jemalloc/jemalloc.h"
#include "heap/slabs.h"
#include "test.h"
#include "hawk/heap/arenas.h"
#include "hawk/heap/heap.h"
#include "hawk/heap/source.h"
#include "hawk/heap/verify.h"
#include "hawk/heap/vtables.h"

struct loaded {
	struct hawk_findings findings;
	struct hawk_target *target;
	struct hawk_heap heap;
};

typedef void add_world(struct sparse_text *text);

static struct loaded load(const struct hawk_heap_source *source, struct sparse_text *text)
{
	struct loaded ret = {0};

	hawk_findings_init(&ret.findings);
	ret.target = sparse_core_open(text->bytes, text->size, &ret.findings);
	check(hawk_heap_load_from(&source, 1, ret.target, &ret.findings, &ret.heap));
	free(text->bytes);
	return ret;
}

static void unload(struct loaded *loaded)
{
	hawk_heap_deinit(&loaded->heap);
	hawk_target_close(loaded->target);
	hawk_findings_deinit(&loaded->findings);
}

static bool has_finding(const struct loaded *loaded, const char *key)
{
	return finding_of(&loaded->findings, key);
}

static void expect_sound(const struct hawk_heap_source *source, add_world *add, uint64_t blocks)
{
	struct sparse_text text = {0};
	struct hawk_heap_check verified;
	struct hawk_damages damages = {0};
	struct loaded loaded;

	add(&text);
	loaded = load(source, &text);
	if (loaded.heap.sums.blocks != blocks)
		fail_msg("%s: %" PRIu64 " blocks", source->name, loaded.heap.sums.blocks);
	assert_false(has_finding(&loaded, "heap-differs"));
	assert_false(has_finding(&loaded, "heap-incomplete"));
	check(hawk_heap_check_begin(&loaded.heap, NULL, &verified));
	check(hawk_heap_check_damages(&verified, &damages));
	assert_int_equal(damages.count, 0);
	hawk_heap_check_end(&verified);
	unload(&loaded);
}

TEST(walkers_read_the_smallest_memories)
{
	expect_sound(&hawk_heap_glibc, glibc_world, GLIBC_LIVE + 1); /* and the cache itself */
	expect_sound(&hawk_heap_jemalloc, jemalloc_world, JEMALLOC_LIVE);
	expect_sound(&hawk_heap_tcmalloc, tcmalloc_world, TCMALLOC_LIVE);
	expect_sound(&hawk_heap_mimalloc, mimalloc_world, MIMALLOC_LIVE);
	expect_sound(&hawk_heap_mimalloc, mimalloc_segment_world, MIMALLOC_LIVE);
	expect_sound(&hawk_heap_musl, musl_world, MUSL_LIVE);
}

TEST(arenas_of_glibc_are_found_without_their_heaps)
{
	struct hawk_heap_spans arenas = {0};
	struct sparse_text text = {0};
	struct hawk_target *target;

	glibc_world(&text);
	target = sparse_core_open(text.bytes, text.size, NULL);
	check(hawk_heap_find_arenas(target, &arenas));
	assert_int_equal(arenas.count, 1); /* the other one is in a heap */
	assert_int_equal(arenas.items[0].start, GLIBC_ARENA);
	assert_int_equal(arenas.items[0].kind, HAWK_SPAN_METADATA);
	hawk_heap_spans_deinit(&arenas);
	hawk_target_close(target);
	free(text.bytes);
}

TEST(a_ring_of_glibc_heaps_is_left)
{
	struct sparse_text text = {0};
	struct loaded loaded;

	glibc_world(&text);
	sparse_add_memory(&text, GLIBC_HEAP2 + 0x4000000, 33);
	sparse_add_word(&text, GLIBC_HEAP2 + 0x4000000, GLIBC_ARENA2);
	sparse_add_word(&text, GLIBC_HEAP2 + 0x4000008, GLIBC_HEAP2 + 0x4000000);
	sparse_add_word(&text, GLIBC_HEAP2 + 0x4000010, 0x21000);
	sparse_add_word(&text, GLIBC_ARENA2 + 0x60, GLIBC_HEAP2 + 0x4000100); /* top */
	loaded = load(&hawk_heap_glibc, &text);
	assert_true(loaded.heap.spans.count < 100);
	unload(&loaded);
}

static bool count_element(void *context, const struct hawk_jemalloc_element *element)
{
	uint64_t *count = context;

	(void)element;
	++*count;
	return true;
}

/* 65,536 entries lead to one leaf of 512 elements in 2 MiB. */
TEST(a_tree_of_equal_leafs_ends_with_its_budget)
{
	const struct hawk_jemalloc_root root = {.address = JEMALLOC_ROOT};
	uint64_t budget = UINT64_C(64) << 20, count = 0, words[128];
	struct sparse_text text = {0};
	struct hawk_near near;

	jemalloc_world(&text);
	for (unsigned i = 0; i < 128; i++)
		words[i] = JEMALLOC_LEAF;
	for (uint64_t i = 0; i < 512; i++)
		sparse_add_words(&text, JEMALLOC_ROOT + 1024 * i, words, 128);
	for (uint64_t i = 0; i < 512; i++) /* no holes to skip in its first quarter */
		sparse_add_word(&text, JEMALLOC_LEAF + 1024 * i + 8, 1);
	near = (struct hawk_near){.target = sparse_core_open(text.bytes, text.size, NULL)};
	check(hawk_jemalloc_each(&root, &near, &budget, NULL, count_element, &count));
	assert_int_equal(budget, 0);
	assert_in_range(count, 512, 512 * 512);
	hawk_target_close((struct hawk_target *)near.target);
	free(text.bytes);
}

TEST(a_span_that_is_larger_than_the_core_is_left_out)
{
	struct sparse_text text = {0};
	struct loaded loaded;

	tcmalloc_world(&text);
	sparse_add_word(&text, TCMALLOC_SPAN + 8, UINT64_C(1) << 34);
	loaded = load(&hawk_heap_tcmalloc, &text);
	assert_true(loaded.heap.sums.blocks <= 1);
	assert_true(has_finding(&loaded, "heap-differs"));
	unload(&loaded);
}

TEST(entries_that_mimalloc_left_of_its_former_pages_are_ignored)
{
	struct sparse_text text = {0};
	struct loaded loaded;
	uint64_t slice = MIMALLOC_HEAP >> 16, entries = MIMALLOC_PART + 8 * (slice & 0x1fff);

	mimalloc_world(&text);
	sparse_add_word(&text, MIMALLOC_HEAP + 0x8000, 1); /* within the page that is there now */
	sparse_add_memory(&text, MIMALLOC_HEAP + 0x80000, 1);
	for (uint64_t i = 1; i < 4; i++)
		sparse_add_word(&text, entries + 16 * i, MIMALLOC_HEAP + 0x8000);
	sparse_add_word(&text, entries + 8 * 8, MIMALLOC_HEAP + 0x80000); /* zero */
	loaded = load(&hawk_heap_mimalloc, &text);
	assert_int_equal(loaded.heap.sums.blocks, MIMALLOC_LIVE);
	unload(&loaded);
}

TEST(a_musl_group_larger_than_its_slot_is_not_entered)
{
	struct sparse_text text = {0};
	struct loaded loaded;

	musl_world(&text);
	sparse_add_word(&text, MUSL_AREA + 0x60, 31 | 2 << 6); /* 32 slots */
	loaded = load(&hawk_heap_musl, &text);
	assert_int_equal(loaded.heap.sums.blocks, MUSL_LIVE - 2);
	unload(&loaded);
}

TEST(claims_are_disjoint_and_ignore_what_wraps_around)
{
	struct hawk_claims claims = {0};

	check(hawk_claims_add(&claims, 50, 60));
	check(hawk_claims_add(&claims, 10, 20));
	check(hawk_claims_add(&claims, 20, 30));
	check(hawk_claims_add(&claims, 12, 15));
	check(hawk_claims_add(&claims, 70, 40));
	hawk_claims_sort(&claims);
	assert_int_equal(claims.count, 2);
	assert_int_equal(claims.items[0].end, 30);
	assert_int_equal(hawk_claims_from(&claims, 30)->start, 50);
	assert_null(hawk_claims_from(&claims, 60));
	hawk_claims_deinit(&claims);
}

TEST(slabs_overlap_nothing_and_lists_end_in_rings)
{
	struct sparse_text text = {0};
	struct hawk_slabs slabs = {0};
	struct hawk_slab_list list;
	struct loaded loaded;
	struct hawk_near near;

	sparse_add_memory(&text, 0x10000, 1);
	sparse_add_word(&text, 0x10010, 0x10020);
	sparse_add_word(&text, 0x10020, 0x10010);
	loaded = load(&hawk_heap_musl, &text);
	near = (struct hawk_near){.target = loaded.target};
	check(hawk_slabs_add(&slabs, (struct hawk_slab){0x10000, 16, .count = 8}));
	check(hawk_slabs_add(&slabs, (struct hawk_slab){0x10040, 16, .count = 8}));
	check(hawk_slabs_add(&slabs, (struct hawk_slab){0x20000, 8, .count = UINT64_C(1) << 44}));
	check(hawk_slabs_add(&slabs, (struct hawk_slab){UINT64_MAX - 64, 16, .count = 8}));
	check(hawk_slabs_add(&slabs, (struct hawk_slab){0x30000, UINT64_MAX, .count = 2}));
	check(hawk_slabs_finish(&slabs, loaded.target));
	assert_int_equal(slabs.count, 1);
	assert_int_equal(slabs.overlapping, 2);
	list = (struct hawk_slab_list){.first = 0x10010, .state = HAWK_OBJECT_FREE};
	assert_int_equal(hawk_slabs_mark_list(&slabs, &near, &list), 2);
	assert_int_equal(slabs.damages.counts[HAWK_DAMAGE_FREED_TWICE], 1);
	assert_false(hawk_slabs_mark(&slabs, 0x10018, HAWK_OBJECT_FREE));
	assert_null(hawk_slabs_at(&slabs, 0x10080));
	hawk_slabs_deinit(&slabs);
	unload(&loaded);
}

/* Marks a list of objects of 16 bytes, of which there are eight at 0x10000. Those at 0x10100 have
 * 32. `words` are pairs of address and word. Returns the only damage, or zeros. */
static struct hawk_damage damage_of_list(const uint64_t (*words)[2], struct hawk_slab_list list)
{
	struct sparse_text text = {0};
	struct hawk_slabs slabs = {0};
	struct hawk_damage damage = {0};
	struct hawk_near near;
	struct loaded loaded;

	sparse_add_memory(&text, 0x10000, 1);
	for (; (*words)[0]; words++)
		sparse_add_word(&text, (*words)[0], (*words)[1]);
	loaded = load(&hawk_heap_musl, &text);
	near = (struct hawk_near){.target = loaded.target};
	check(hawk_slabs_add(&slabs, (struct hawk_slab){0x10000, 16, .count = 8}));
	check(hawk_slabs_add(&slabs, (struct hawk_slab){0x10100, 32, .count = 8}));
	check(hawk_slabs_finish(&slabs, loaded.target));
	list.object_bytes = 16;
	list.state = HAWK_OBJECT_FREE;
	hawk_slabs_mark_list(&slabs, &near, &list);
	if (slabs.damages.count)
		damage = slabs.damages.items[0];
	assert_in_range(slabs.damages.count, 0, 1);
	hawk_slabs_deinit(&slabs);
	unload(&loaded);
	return damage;
}

static void expect_damage(const uint64_t (*words)[2], struct hawk_slab_list list, uint8_t kind,
			  uint64_t neighbour)
{
	struct hawk_damage damage = damage_of_list(words, list);

	assert_int_equal(damage.kind, kind);
	assert_int_equal(damage.neighbour, neighbour);
}

TEST(a_list_that_breaks_off_names_the_object_at_fault)
{
	const uint64_t sound[][2] = {{0x10010, 0x10030}, {0x10030, 0}, {0}};
	const uint64_t other_size[][2] = {{0x10010, 0x10100}, {0}};
	const uint64_t text[][2] = {{0x10010, 0x4141414141414141}, {0}};
	const uint64_t inside[][2] = {{0x10010, 0x10028}, {0x10028, 0x10030}, {0}};

	assert_int_equal(
		damage_of_list(sound, (struct hawk_slab_list){.first = 0x10010, .length = 2})
			.neighbour,
		0);
	expect_damage(sound, (struct hawk_slab_list){.first = 0x10010, .length = 3},
		      HAWK_DAMAGE_WRITTEN, 0x10030);
	expect_damage(other_size, (struct hawk_slab_list){.first = 0x10010}, HAWK_DAMAGE_WRITTEN,
		      0x10010);
	expect_damage(text, (struct hawk_slab_list){.first = 0x10010}, HAWK_DAMAGE_WRITTEN,
		      0x10010);
	expect_damage(inside, (struct hawk_slab_list){.first = 0x10010}, HAWK_DAMAGE_FREED_INSIDE,
		      0x10020);
}

TEST(virtual_tables_are_found_by_their_type_infos)
{
	enum { DATA = 0x7f000000 };
	struct sparse_text text = {0};
	struct hawk_vtables vtables = {0};
	struct loaded loaded;

	sparse_add_module(&text, DATA, 1);
	/* __si_class_type_info's table at 0x110, its type_info at 0x200, its base's at 0x240 */
	sparse_add_word(&text, DATA + 0x108, DATA + 0x200);
	sparse_add_word(&text, DATA + 0x200, DATA + 0x110);
	sparse_add_word(&text, DATA + 0x210, DATA + 0x240);
	sparse_add_word(&text, DATA + 0x240, DATA + 0x110);
	/* a class of ours: table at 0x310, type_info at 0x400 */
	sparse_add_word(&text, DATA + 0x308, DATA + 0x400);
	sparse_add_word(&text, DATA + 0x400, DATA + 0x110);
	loaded = load(&hawk_heap_musl, &text);
	vtables.target = loaded.target;
	check(hawk_vtables_find(&vtables));
	assert_non_null(hawk_vtables_at(&vtables, DATA + 0x310));
	assert_null(hawk_vtables_at(&vtables, DATA + 0x318));
	assert_null(hawk_vtables_at(&vtables, 0));
	hawk_vtables_deinit(&vtables);
	unload(&loaded);
}
