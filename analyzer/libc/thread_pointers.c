/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Searches writable memory for descriptors by their shape and the thread's id. The thread pointer
 * is the first word behind one that leads to a vector of thread-local storage, one of whose entries
 * leads back behind the thread pointer:
 *
 *     | descriptor ... | vector, private | first block of TLS ... |
 *                      ^ thread pointer  ^ an entry of the vector
 *
 * Only machines with TLS above the thread pointer need this.
 */
#include "hawk/libc/thread_pointers.h"

#include <string.h>

#include "descriptor.h"
#include "hawk/target/words.h"

enum {
	BELOW_MAX = 4096,
	BLOCK_AWAY_MAX = 1 << 16, /* of the first block, by its alignment */
	VECTOR_TRIED = 64,        /* entries */
};

struct finder {
	struct hawk_target *target;
	struct hawk_descriptors in;
	uint64_t below; /**< 0 = not known yet */
};

static bool read_word(const struct finder *finder, uint64_t address, uint64_t *ret)
{
	return hawk_target_read_some(finder->target, address, ret, sizeof(*ret)) == sizeof(*ret);
}

/* Returns true if `pointer` is a thread pointer. */
static bool is_thread_pointer(const struct finder *finder, uint64_t pointer)
{
	uint64_t vector, block;

	if (!read_word(finder, pointer, &vector) || vector % HAWK_WORD_BYTES)
		return false;
	for (unsigned i = 1; i <= VECTOR_TRIED; i++)
		if (!read_word(finder, vector + i * finder->in.layout->vector_entry, &block))
			return false;
		else if (block > pointer && block - pointer <= BLOCK_AWAY_MAX)
			return true;
	return false;
}

/* Finds out how far behind descriptors thread pointers are. */
static void find_below(struct finder *finder, uint64_t descriptor)
{
	const struct hawk_thread_layout *layout = finder->in.layout;

	for (uint64_t below = layout->own[0].at; below <= BELOW_MAX; below += layout->below_step)
		if (is_thread_pointer(finder, descriptor + below)) {
			finder->below = below;
			return;
		}
}

/* Sets the pointer of the thread to which the descriptor belongs. */
static void use_descriptor(struct finder *finder, uint64_t descriptor)
{
	size_t count;
	const struct hawk_thread *threads = hawk_target_threads(finder->target, &count);
	uint64_t tid;

	if (!read_word(finder, descriptor + finder->in.layout->tid, &tid))
		return;
	for (size_t i = 0; i < count; i++) {
		if (threads[i].thread_pointer || threads[i].tid != (uint32_t)tid)
			continue;
		if (!finder->below)
			find_below(finder, descriptor);
		if (finder->below && is_thread_pointer(finder, descriptor + finder->below))
			hawk_target_set_thread_pointer(finder->target, i,
						       descriptor + finder->below);
	}
}

static struct hawk_error *search(struct finder *finder)
{
	const struct hawk_own_pointer own = finder->in.layout->own[0];
	struct hawk_word_range range;
	struct hawk_words words;
	bool failed;

	hawk_words_init(&words, finder->target);
	for (uint64_t at = 0; hawk_words_next(&words, at, UINT64_MAX, &range);
	     at = range.start + range.words * HAWK_WORD_BYTES)
		for (size_t i = 0; i < range.words; i++) {
			uint64_t descriptor = range.start + i * HAWK_WORD_BYTES - own.at, word;

			memcpy(&word, range.bytes + i * HAWK_WORD_BYTES, sizeof(word));
			if (word == descriptor + own.to &&
			    hawk_is_descriptor(&finder->in, descriptor))
				use_descriptor(finder, descriptor);
		}
	failed = words.failed;
	hawk_words_deinit(&words);
	return failed ? &hawk_enomem : NULL;
}

static size_t count_unknown(const struct hawk_target *target)
{
	size_t count, unknown = 0;
	const struct hawk_thread *threads = hawk_target_threads(target, &count);

	for (size_t i = 0; i < count; i++)
		unknown += !threads[i].thread_pointer;
	return unknown;
}

struct hawk_error *hawk_thread_pointers_find(struct hawk_target *target,
					     struct hawk_findings *findings)
{
	const struct hawk_arch *arch = hawk_target_arch(target);
	struct finder finder = {
		.target = target,
		.in = {.target = target, .layout = hawk_thread_layout_of(arch)},
	};
	struct hawk_error *err;
	size_t unknown;

	if (arch->tls_variant != HAWK_TLS_ABOVE || hawk_target_snapshot(target) ||
	    !count_unknown(target))
		return NULL;
	err = search(&finder);
	unknown = count_unknown(target);
	if (!err && unknown)
		hawk_findings_add(findings, HAWK_FINDING_MISSING, false, "thread-pointers-missing",
				  "the core does not hold thread pointers, and %zu of them %s not "
				  "found: their thread-local variables have no names",
				  unknown, unknown == 1 ? "was" : "were");
	return err;
}
