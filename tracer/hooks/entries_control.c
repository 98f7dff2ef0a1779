/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Entry points that release whole heaps with all their blocks.
 *
 * jemalloc: mallctl() can reset or destroy an arena, which takes back all its blocks. Nothing lists
 * these blocks, so their headers stay and the analyzer is told that such headers exist.
 *
 * mimalloc: mi_heap_destroy() takes back all blocks of a heap that the program made; their headers
 * are un-sealed first. It moves the blocks of any other heap to the thread's own heap, where they
 * live on. A heap unknown here could be either, so it is counted as discarded and the analyzer
 * treats it with doubt.
 */
#include "entries.h"

static uint64_t call_next(unsigned row, const uint64_t *arguments)
{
	return hawk_entries_next[row](arguments[0], arguments[1], arguments[2], arguments[3],
				      arguments[4], arguments[5]);
}

/** Returns the rest of `text` after its prefix `word`; NULL if it starts otherwise. */
static const char *skip(const char *text, const char *word)
{
	for (; text && *word; word++)
		text = *text == *word ? text + 1 : NULL;
	return text;
}

static bool is(const char *text, const char *word)
{
	const char *rest = skip(text, word);

	return rest && !*rest;
}

/** Returns true for arena.<i>.reset and arena.<i>.destroy. */
static bool name_discards(const char *name)
{
	const char *last = skip(name, "arena.");

	while (last && *last >= '0' && *last <= '9')
		last++;
	return is(last, ".reset") || is(last, ".destroy");
}

enum { ARENA_MIB = 3 }; /**< "arena", its number, what to do */

static bool mib_is(const uint64_t *mib, const char *name)
{
	uint64_t own[ARENA_MIB], length = ARENA_MIB;
	hawk_entry_function *find = hawk_entries_next[HAWK_ENTRY_MIB];

	return !(int)find((uint64_t)name, (uint64_t)own, (uint64_t)&length, 0, 0, 0) &&
	       length == ARENA_MIB && own[0] == mib[0] && own[2] == mib[2];
}

/** Looks the names up with arena 0, which always exists. */
static bool mib_discards(const uint64_t *mib, uint64_t length)
{
	return mib && length == ARENA_MIB && hawk_entries_next[HAWK_ENTRY_MIB] &&
	       (mib_is(mib, "arena.0.reset") || mib_is(mib, "arena.0.destroy"));
}

uint64_t hawk_entry_control(unsigned row, const uint64_t *arguments)
{
	bool discards = hawk_entries[row].act == HAWK_ACT_CONTROL
				? name_discards((const char *)arguments[0])
				: mib_discards((const uint64_t *)arguments[0], arguments[1]);
	uint64_t error;

	/* Counted first: the process may die within the call. */
	if (discards)
		hawk_record_discarded(1);
	error = call_next(row, arguments);
	if (discards && (int)error)
		hawk_record_discarded(-1);
	return error;
}

enum { HEAPS_MAX = 1024 };

/** Heaps made by the program. Heaps beyond this limit leave stale headers behind, and are reported
 * as such.
 */
static uint64_t heaps[HEAPS_MAX];

static void remember_heap(uint64_t heap)
{
	for (unsigned i = 0; heap && i < HEAPS_MAX; i++) {
		uint64_t nobody = 0;

		if (!__atomic_load_n(&heaps[i], __ATOMIC_RELAXED) &&
		    __atomic_compare_exchange_n(&heaps[i], &nobody, heap, false, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED))
			return;
	}
}

static bool forget_heap(uint64_t heap)
{
	for (unsigned i = 0; heap && i < HEAPS_MAX; i++)
		if (__atomic_load_n(&heaps[i], __ATOMIC_RELAXED) == heap) {
			__atomic_store_n(&heaps[i], 0, __ATOMIC_RELAXED);
			return true;
		}
	return false;
}

/** Visitor type of mimalloc.h. */
typedef bool visitor(const void *heap, const void *area, void *block, size_t block_bytes,
		     void *data);

struct visit {
	visitor *visit;
	void *data;
};

/** Returns the user's pointer in a block of ours, else NULL. An aligned block starts further
 * back. */
static char *find_pointer(char *block, size_t bytes)
{
	for (size_t offset = HAWK_HEADER_BYTES; block && offset < bytes;
	     offset += HAWK_GRANULE_BYTES)
		if (hawk_header_valid(block + offset))
			return block + offset;
	return NULL;
}

static bool visit_translated(const void *heap, const void *area, void *block, size_t bytes,
			     void *data)
{
	const struct visit *visit = data;
	char *pointer = find_pointer(block, bytes);

	if (!pointer)
		return visit->visit(heap, area, block, bytes, visit->data);
	return visit->visit(heap, area, pointer, bytes - (size_t)(pointer - (char *)block),
			    visit->data);
}

static uint64_t visit_heap(unsigned row, const uint64_t *arguments)
{
	struct visit visit = {.visit = (visitor *)arguments[2], .data = (void *)arguments[3]};

	if (!visit.visit)
		return call_next(row, arguments);
	return hawk_entries_next[row](arguments[0], arguments[1], (uint64_t)visit_translated,
				      (uint64_t)&visit, 0, 0);
}

static bool unseal_block(const void *heap, const void *area, void *block, size_t bytes, void *data)
{
	void *pointer = find_pointer(block, bytes);

	(void)heap;
	(void)area;
	(void)data;
	if (pointer)
		hawk_detach(pointer);
	return true;
}

static void empty_heap(uint64_t heap)
{
	hawk_entry_function *visit = hawk_entries_next[HAWK_ENTRY_MI_VISIT];

	if (forget_heap(heap) && visit)
		visit(heap, true, (uint64_t)unseal_block, 0, 0, 0);
	else if (heap)
		hawk_record_discarded(1);
}

uint64_t hawk_entry_heap(unsigned row, const uint64_t *arguments)
{
	uint64_t result;

	switch (hawk_entries[row].act) {
	case HAWK_ACT_HEAP_VISIT:
		return visit_heap(row, arguments);
	case HAWK_ACT_HEAP_DELETE:
		forget_heap(arguments[0]);
		break;
	case HAWK_ACT_HEAP_DESTROY:
		empty_heap(arguments[0]);
		break;
	default:
		break;
	}
	result = call_next(row, arguments);
	if (hawk_entries[row].act == HAWK_ACT_HEAP_NEW)
		remember_heap(result);
	return result;
}
