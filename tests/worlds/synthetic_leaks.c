/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Patterns that heuristics know, and their rules in other words.
 */
#include "synthetic_leaks.h"

#include <string.h>

/* A string of redis that fills the block, or is half a byte away from that. Returns where its
 * characters begin. */
static uint64_t add_sds(struct graph_world *world, uint32_t block, uint64_t length)
{
	uint64_t capacity = world->blocks[block].size - 4;

	if (capacity > 255)
		return 8;
	graph_world_write(world, block, 0, length | capacity << 8 | 1u << 16 | UINT64_MAX << 24);
	if (length)
		graph_world_write(world, block, 3, ~(UINT64_C(0xff) << 8 * length));
	return 3;
}

/* A list of two, whose nodes are in the middle of their blocks. Returns where a pointer leads that
 * holds one of them: to the node or behind it. */
static uint64_t add_list(struct graph_world *world, uint32_t block, uint32_t other, uint64_t behind)
{
	if (world->blocks[other].size < 40 || world->blocks[block].size < 40)
		return 16;
	graph_world_point(world, block, 16, other, 16);
	graph_world_point(world, block, 24, other, 16);
	graph_world_point(world, other, 16, block, 16);
	graph_world_point(world, other, 24, block, 16);
	return behind ? 32 : 16;
}

/* An object of Python behind empty links, or ones that are not empty. Its type is `other`, which is
 * its own, or of the same type as the object. Returns where the object begins. */
static uint64_t add_untracked(struct graph_world *world, uint32_t block, uint32_t other,
			      uint64_t random)
{
	if (world->blocks[other].size < 16)
		return 8;
	graph_world_write(world, block, 0, random % 8 == 0);
	graph_world_write(world, block, 8, random / 8 % 5);
	graph_world_point(world, block, 24, other, 0);
	graph_world_point(world, other, 8, random / 64 % 8 ? other : block, 0);
	return 16;
}

void leaks_world_add_patterns(struct graph_world *world, uint64_t *seed)
{
	for (uint32_t i = 0; i < world->count; i++) {
		uint64_t size = world->blocks[i].size;
		uint32_t holder = (uint32_t)(synthetic_random(seed) % world->count);
		uint64_t inside = 8;

		if (size < 32)
			continue;
		switch (synthetic_random(seed) % 8) {
		case 0:
			graph_world_write(world, i, 0, synthetic_random(seed) % size);
			graph_world_write(world, i, 8, size - 25);
			inside = 24;
			break;
		case 1:
			graph_world_write(world, i, 0, size - 8);
			break;
		case 2:
			graph_world_write(world, i, 0, synthetic_random(seed) % 5);
			break;
		case 3:
			inside = add_sds(world, i, synthetic_random(seed) % 5);
			break;
		case 4:
			inside = add_list(world, i,
					  (uint32_t)(synthetic_random(seed) % world->count),
					  synthetic_random(seed) % 2);
			break;
		case 5:
			graph_world_point(world, i, 24, i, synthetic_random(seed) % 2 * 8);
			graph_world_write(world, i, 0, size - 8);
			inside = 24;
			break;
		case 6:
			inside = add_untracked(world, i,
					       (uint32_t)(synthetic_random(seed) % world->count),
					       synthetic_random(seed));
			break;
		default:
			continue;
		}
		if (world->blocks[holder].size >= 48 && holder != i)
			graph_world_point(world, holder, 40, i, inside);
		else if (synthetic_random(seed) % 2)
			world->globals[synthetic_random(seed) % GRAPH_GLOBAL_WORDS] =
				world->blocks[i].start + inside;
	}
}

/* Returns true for two slots before each of PHP's elements, and for two empty ones before values.
 */
static bool has_php_slots(const uint8_t *bytes, uint64_t size, uint64_t inside)
{
	uint64_t elements = inside / 8;

	if (inside == 8)
		return !memcmp(bytes, "\377\377\377\377\377\377\377\377", 8) && size >= 8 + 128 &&
		       __builtin_popcountll(size - 8) == 1;
	if (inside % 8 || elements < 8 || __builtin_popcountll(elements) != 1 || size != 5 * inside)
		return false;
	for (uint64_t i = 0; i < inside && i < 96; i += 4) {
		uint32_t slot, before = UINT32_MAX;

		memcpy(&slot, bytes + i, 4);
		if (i)
			memcpy(&before, bytes + i - 4, 4);
		if (slot != UINT32_MAX && (slot >= elements || slot == before))
			return false;
	}
	return true;
}

/* Returns true if the bytes before a pointer are the header of a redis string, or of a string with
 * a length of 4 or 8 bytes. The other layouts have magic numbers or sizes that no block has. */
static bool has_length_prefix(const struct graph_world *world, uint32_t block, uint64_t inside)
{
	const uint8_t *bytes = world->heap->bytes + (world->blocks[block].start - SYNTHETIC_HEAP);
	uint64_t size = world->blocks[block].size, length = 0, capacity = 0;
	unsigned type = inside == 3 ? 1 : inside == 5 ? 2 : inside == 9 ? 3 : 4;

	if (has_php_slots(bytes, size, inside))
		return true;
	if (inside == 1) {
		length = bytes[0] / 8;
		return bytes[0] % 8 == 0 && length && size == length + 2 && !bytes[1 + length];
	}
	if (inside == 3 || inside == 5 || inside == 9 || inside == 17) {
		memcpy(&length, bytes, inside / 2);
		memcpy(&capacity, bytes + inside / 2, inside / 2);
		return bytes[inside - 1] == type && length <= capacity &&
		       capacity < 2 * size + 64 && capacity + inside + 1 >= size &&
		       capacity + inside + 1 - size <= 16 + (size + 16) / 4 &&
		       !bytes[inside + length];
	}
	if (inside % 8 == 0 && inside <= 32 && bytes[inside - 1] == inside && size % 8 == 0 &&
	    size >= inside + 8 && (size - inside) / 8 + 2 <= inside &&
	    (size - inside) / 8 + 2 > inside - 8) {
		bool values = bytes[inside - 2] <= (size - inside) / 8;

		for (unsigned i = 0; values && i < bytes[inside - 2]; i++)
			values = bytes[inside - 3 - i] < (size - inside) / 8;
		if (values)
			return true;
	}
	if (inside != 4 && inside != 8)
		return false;
	memcpy(&length, bytes, inside);
	for (uint64_t zeros = 1; zeros <= 4; zeros *= 2)
		if (length < size && inside + length + zeros == size && length % zeros == 0 &&
		    !memcmp(bytes + inside + length, "\0\0\0\0", zeros))
			return true;
	memcpy(&capacity, bytes + 4, 4);
	length &= UINT32_MAX;
	return inside == 8 && 8 + length + capacity + 1 == size && !bytes[8 + length];
}

/* The word at any address of the target; 0 = it is not there. */
static uint64_t word_at(const struct graph_world *world, uint64_t address)
{
	uint64_t value = 0;

	if (address >= SYNTHETIC_HEAP && address <= SYNTHETIC_HEAP + GRAPH_HEAP_BYTES - 8)
		memcpy(&value, world->heap->bytes + (address - SYNTHETIC_HEAP), 8);
	else if (address >= GRAPH_GLOBALS && address <= GRAPH_GLOBALS + sizeof(world->globals) - 8)
		memcpy(&value, (const char *)world->globals + (address - GRAPH_GLOBALS), 8);
	else if (address >= GRAPH_STACK && address <= GRAPH_STACK + GRAPH_STACK_BYTES - 8)
		memcpy(&value, (const char *)world->stack + (address - GRAPH_STACK), 8);
	return value;
}

static bool is_in_list(const struct graph_world *world, uint64_t node)
{
	uint64_t next = word_at(world, node) / 4 * 4;
	uint64_t before = word_at(world, node + 8) / 4 * 4;

	return node % 8 == 0 && next && before && next != node &&
	       word_at(world, next + 8) / 4 * 4 == node && word_at(world, before) / 4 * 4 == node;
}

static bool is_untracked(const struct graph_world *world, uint64_t object)
{
	uint64_t types[6] = {object};

	if (object % 16 || word_at(world, object - 16) || word_at(world, object - 8) > 3)
		return false;
	for (unsigned i = 0; i < 5; i++) {
		types[i + 1] = word_at(world, types[i] + 8);
		if (types[i + 1] % 8 || !types[i + 1])
			return false;
		if (types[i + 1] == types[i])
			return i > 0;
	}
	return false;
}

static bool is_back_pointer(const struct graph_world *world, uint32_t block, uint64_t inside)
{
	uint64_t start = world->blocks[block].start, size = world->blocks[block].size;
	uint64_t word = inside + 8 <= size ? word_at(world, start + inside) : 0;

	return word && (word == start ||
			(word == start + 8 && graph_world_read(world, block, 0) == size - 8));
}

/* Lists, and words that lead to the start. */
static bool leads_back(const struct graph_world *world, uint32_t block, uint64_t inside,
		       unsigned heuristics)
{
	uint64_t start = world->blocks[block].start, size = world->blocks[block].size;

	if (heuristics & HAWK_HEURISTIC_BACKPOINTER && inside % 8 == 0 &&
	    (is_back_pointer(world, block, inside) || is_back_pointer(world, block, inside - 8) ||
	     is_back_pointer(world, block, inside + 8)))
		return true;
	return heuristics & HAWK_HEURISTIC_LISTNODE &&
	       ((inside + 16 <= size && is_in_list(world, start + inside)) ||
		(inside >= 16 && is_in_list(world, start + inside - 16)) ||
		(inside >= 16 && inside + 16 <= size && is_untracked(world, start + inside)));
}

/* Applies the rules of Valgrind's manual to a pointer `inside` bytes into `block`. */
static bool is_explained(const struct graph_world *world, uint32_t block, uint64_t inside,
			 unsigned heuristics)
{
	uint64_t size = world->blocks[block].size;

	if (heuristics & HAWK_HEURISTIC_LENGTHPREFIX && inside && inside < size &&
	    has_length_prefix(world, block, inside))
		return true;
	if (inside && inside < size && leads_back(world, block, inside, heuristics))
		return true;
	if (heuristics & HAWK_HEURISTIC_STDSTRING && inside == 24 && size >= 25 &&
	    graph_world_read(world, block, 8) + 25 == size &&
	    graph_world_read(world, block, 0) <= size - 25)
		return true;
	if (inside != 8 || size < 9 || !graph_world_read(world, block, 0))
		return false;
	if (heuristics & HAWK_HEURISTIC_LENGTH64 && graph_world_read(world, block, 0) == size - 8)
		return true;
	return heuristics & HAWK_HEURISTIC_NEWARRAY &&
	       (size - 8) % graph_world_read(world, block, 0) == 0;
}

static void add_strong(const struct graph_world *world, unsigned heuristics, uint64_t value,
		       uint64_t *set)
{
	uint32_t edge = graph_oracle_edge(world->blocks, world->count, value);

	if (edge != HAWK_BLOCK_NOWHERE && edge & 1 &&
	    is_explained(world, edge >> 1, value - world->blocks[edge >> 1].start, heuristics))
		*set |= UINT64_C(1) << (edge >> 1);
}

static uint64_t closure(const uint64_t *next, uint32_t count, uint64_t set)
{
	for (uint64_t before = 0; set != before;) {
		before = set;
		for (uint32_t i = 0; i < count; i++)
			if (set >> i & 1)
				set |= next[i];
	}
	return set;
}

void leaks_oracle_make(struct graph_world *world, unsigned heuristics, struct leaks_oracle *ret)
{
	unsigned live = (GRAPH_STACK_BYTES / 2 - 128) / 8;
	uint64_t reachable;

	world->ignores_ends = !(heuristics & HAWK_HEURISTIC_ENDPOINTER);
	graph_oracle_make(world, &ret->plain);
	memcpy(ret->strong, ret->plain.start, sizeof(ret->strong));
	ret->strong_roots = ret->plain.start_roots;
	for (uint32_t i = 0; i < world->count; i++)
		for (uint64_t at = 0; at + 8 <= world->blocks[i].size; at += 8)
			add_strong(world, heuristics, graph_world_read(world, i, at),
				   &ret->strong[i]);
	for (unsigned i = 0; i < GRAPH_GLOBAL_WORDS; i++)
		add_strong(world, heuristics, world->globals[i], &ret->strong_roots);
	for (unsigned i = live; i < GRAPH_STACK_BYTES / 8; i++)
		add_strong(world, heuristics, world->stack[i], &ret->strong_roots);
	add_strong(world, heuristics, world->registers[HAWK_R12], &ret->strong_roots);
	reachable = closure(ret->strong, world->count, ret->strong_roots);
	/* The set of lost blocks does not depend on kinds of pointers. */
	for (uint32_t i = 0; i < world->count; i++) {
		ret->kinds[i] = ret->plain.kinds[i];
		if (reachable >> i & 1)
			ret->kinds[i] = HAWK_REACH_REACHABLE;
	}
}
