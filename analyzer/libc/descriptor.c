/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A thread's descriptor lies at the end of its memory and holds that memory's address, its size and
 * the guard's size. These words follow each other in all versions; their place is searched for.
 *
 *     block:       | guard | stack ... | static TLS | descriptor |
 *     descriptor:  self .. self .. ring, tid .. block, size, guard
 *
 * The kernel clears the thread id when the thread ends, and pthread_join() makes it -1.
 */
#include "descriptor.h"

#include <string.h>

enum {
	WORD = sizeof(uint64_t),
	DESCRIPTOR_BYTES_MAX = 4096,
	ABOVE_MAX =
		128 << 10, /* from a descriptor to its block's end: the descriptor and alignment */
};

bool hawk_is_descriptor(const struct hawk_descriptors *descriptors, uint64_t address)
{
	const struct hawk_own_pointer *own = descriptors->layout->own;
	uint64_t word;

	if (!address || address % descriptors->layout->alignment)
		return false;
	for (unsigned i = 0; i < sizeof(descriptors->layout->own) / sizeof(*own); i++)
		if (hawk_target_read_some(descriptors->target, address + own[i].at, &word, WORD) !=
			    WORD ||
		    word != address + own[i].to)
			return false;
	return true;
}

uint64_t hawk_descriptor_of(const struct hawk_descriptors *descriptors,
			    const struct hawk_thread *thread)
{
	uint64_t address = thread->thread_pointer - descriptors->below;

	return hawk_is_descriptor(descriptors, address) ? address : 0;
}

struct hawk_descriptors hawk_descriptors_of(const struct hawk_target *target)
{
	struct hawk_descriptors ret = {.target = target,
				       .layout = hawk_thread_layout_of(hawk_target_arch(target))};
	size_t count;
	const struct hawk_thread *threads = hawk_target_threads(target, &count);

	for (size_t i = 0; i < count; i++) {
		ret.below = 0;
		do {
			if (hawk_descriptor_of(&ret, &threads[i]))
				return ret;
			ret.below += ret.layout->below_step;
		} while (ret.layout->below_step && ret.below <= DESCRIPTOR_BYTES_MAX);
	}
	ret.layout = NULL;
	return ret;
}

static uint64_t word_at(const uint8_t *bytes, size_t offset)
{
	uint64_t word;

	memcpy(&word, bytes + offset, sizeof(word));
	return word;
}

bool hawk_descriptor_read(const struct hawk_descriptors *descriptors, uint64_t descriptor,
			  struct hawk_stack *ret)
{
	const struct hawk_thread_layout *layout = descriptors->layout;
	uint64_t page_bytes = hawk_target_process(descriptors->target)->page_bytes;
	uint8_t bytes[DESCRIPTOR_BYTES_MAX];
	size_t size = layout->bytes < sizeof(bytes) ? layout->bytes : sizeof(bytes);

	size = hawk_target_read_some(descriptors->target, descriptor, bytes, size);
	if (size < layout->block)
		return false;
	ret->descriptor = descriptor;
	ret->ended = (int32_t)word_at(bytes, layout->tid) <= 0;
	for (size_t i = layout->block; i + layout->guard + WORD <= size; i += WORD) {
		uint64_t start = word_at(bytes, i);
		uint64_t above = start + word_at(bytes, i + WORD) - descriptor;
		uint64_t guard = word_at(bytes, i + layout->guard);

		if (!start || start >= descriptor || above > ABOVE_MAX || !above ||
		    guard % page_bytes || guard >= descriptor - start)
			continue;
		ret->described = descriptor + i;
		ret->start = start;
		ret->end = descriptor + above;
		return true;
	}
	return false;
}
