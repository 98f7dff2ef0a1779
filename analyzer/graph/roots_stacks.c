/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A stack is known by the thread's descriptor at its end (nptl/descr.h, struct pthread), which says
 * where its block is, and how large that and its guard are: those three words follow each other in
 * all versions, their place is searched for. The kernel clears the descriptor's thread id when the
 * thread ends, and who joins it makes it -1. Stacks that the program has provided have no guard
 * there; they stay roots.
 *
 *     block: | guard | stack ... | static TLS | descriptor: self .. self .. tid .. block, size,
 * guard |
 */
#include "roots_stacks.h"

enum {
	PAGE_BYTES = 4096,
	WORDS = 2 * PAGE_BYTES / 8, /* of the end: the descriptor has 2304 bytes */
	ALIGNMENT_WORDS = 2,
	SELF_WORD = 2,  /* header.self, behind header.tcb, which is the same */
	TID_WORD = 90,  /* tid: behind 704 bytes of header, and a list's two links */
	BLOCK_MIN = 91, /* behind that */
};

/* Whether the descriptor in words[at] .. has the block of the mapping, and no thread. */
static bool describes(const uint64_t words[WORDS], size_t at, const struct hawk_mapping *guard,
		      const struct hawk_mapping *mapping)
{
	if (at + BLOCK_MIN >= WORDS || (int32_t)words[at + TID_WORD] > 0)
		return false;
	for (size_t i = at + BLOCK_MIN; i + 2 < WORDS; i++)
		if (words[i] == guard->start && words[i] + words[i + 1] == mapping->end &&
		    words[i] + words[i + 2] == mapping->start)
			return true;
	return false;
}

bool hawk_roots_ended_stack(const struct hawk_target *target, const struct hawk_mapping *guard,
			    const struct hawk_mapping *mapping, struct hawk_span *ret)
{
	const unsigned rights = HAWK_MAPPING_READ | HAWK_MAPPING_WRITE | HAWK_MAPPING_EXEC;
	uint64_t words[WORDS];
	uint64_t start = mapping->end - sizeof(words);

	if (guard->end != mapping->start || guard->flags & rights ||
	    !(mapping->flags & HAWK_MAPPING_WRITE) ||
	    mapping->end - mapping->start <= sizeof(words) ||
	    hawk_target_read_some(target, start, words, sizeof(words)) != sizeof(words))
		return false;
	for (size_t i = 0; i + SELF_WORD < WORDS; i += ALIGNMENT_WORDS) {
		uint64_t address = start + i * sizeof(words[0]);

		if (words[i] != address || words[i + SELF_WORD] != address ||
		    !describes(words, i, guard, mapping))
			continue;
		*ret = (struct hawk_span){mapping->start, address};
		return true;
	}
	return false;
}
