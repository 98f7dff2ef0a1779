/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds the variable in thread-local storage that leads to a thread's arena: it lies at the same
 * distance from the thread pointer in all threads.
 */
#include "thread_words.h"

#include "hawk/heap/allocator.h"
#include "hawk/libc/tls.h"

enum { THREADS_TRIED = 64 };

static bool read_word(const struct hawk_thread_words *words, struct hawk_near *near,
		      const struct hawk_thread *thread, uint64_t distance, uint64_t *ret)
{
	return hawk_word(
		near,
		hawk_tls_at(hawk_target_arch(words->target), hawk_thread_pointer(thread), distance),
		ret);
}

/* Returns the number of threads whose word at that distance leads to an arena; 0 if it is neither
 * that nor 0 in some thread. */
static size_t count_leading(const struct hawk_thread_words *words, struct hawk_near *near,
			    const struct hawk_thread *threads, size_t count, uint64_t distance)
{
	size_t leading = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t word;

		if (!read_word(words, near, &threads[i], distance, &word) || !word)
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
	uint64_t best_distance = 0, word;

	for (uint64_t distance = words->first; distance <= words->last; distance += 8) {
		size_t tried = count < THREADS_TRIED ? count : THREADS_TRIED;
		size_t leading = count_leading(words, &near, threads, tried, distance);

		if (leading > best) {
			best = leading;
			best_distance = distance;
		}
	}
	for (size_t i = 0; i < count; i++)
		ret[i] = best && read_word(words, &near, &threads[i], best_distance, &word)
				 ? words->arena_at(words->context, word)
				 : HAWK_NOT_KNOWN;
}
