/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds the variable in thread-local storage that leads to a thread's arena: it lies at the same
 * distance below the thread pointer in all threads.
 */
#include "thread_words.h"

#include "hawk/heap/allocator.h"

enum { THREADS_TRIED = 64 };

/* Returns the number of threads whose word at that distance leads to an arena; 0 if it is neither
 * that nor 0 in some thread. */
static size_t count_leading(const struct hawk_thread_words *words, struct hawk_near *near,
			    const struct hawk_thread *threads, size_t count, uint64_t below)
{
	size_t leading = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t word;

		if (!hawk_word(near, hawk_thread_pointer(&threads[i]) - below, &word) || !word)
			continue;
		if (words->arena_at(words->context, word) == HAWK_NOT_KNOWN)
			return 0;
		leading++;
	}
	return leading;
}

void hawk_thread_words_find(const struct hawk_thread_words *words, uint32_t *ret)
{
	struct hawk_near near = {.target = words->target};
	size_t count, best = 0;
	const struct hawk_thread *threads = hawk_target_threads(words->target, &count);
	uint64_t best_below = 0, word;

	for (uint64_t below = words->first; below <= words->last; below += 8) {
		size_t tried = count < THREADS_TRIED ? count : THREADS_TRIED;
		size_t leading = count_leading(words, &near, threads, tried, below);

		if (leading > best) {
			best = leading;
			best_below = below;
		}
	}
	for (size_t i = 0; i < count; i++)
		ret[i] = best && hawk_word(&near, hawk_thread_pointer(&threads[i]) - best_below,
					   &word)
				 ? words->arena_at(words->context, word)
				 : HAWK_NOT_KNOWN;
}
