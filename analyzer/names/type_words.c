/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Reads the type words of blocks.
 */
#include "hawk/names/type_words.h"

void hawk_module_words_init(struct hawk_module_words *modules, const struct hawk_target *target)
{
	size_t count;
	const struct hawk_module *items = hawk_target_modules(target, &count);

	*modules = (struct hawk_module_words){.target = target};
	for (size_t i = 0; i < count; i++) {
		uint64_t first = items[i].start >> HAWK_MODULE_BITS_LOG2;
		uint64_t end = items[i].end >> HAWK_MODULE_BITS_LOG2;

		for (uint64_t at = first; at <= end && at - first < HAWK_MODULE_BITS; at++)
			modules->bits[at % HAWK_MODULE_BITS / 64] |= UINT64_C(1) << at % 64;
	}
}

struct hawk_type_words hawk_type_words_at(const struct hawk_module_words *modules,
					  struct hawk_near *near, uint64_t start, uint64_t bytes)
{
	uint64_t words[2] = {0};
	size_t wanted = bytes < sizeof(words) ? HAWK_TYPE_WORD_BYTES : sizeof(words);
	struct hawk_type_words ret = {0};

	if (modules->kept)
		return hawk_snapshot_types_at(modules->kept, start);
	if (bytes < HAWK_TYPE_WORD_BYTES || hawk_near_read(near, start, words, wanted) < wanted)
		return ret;
	if (hawk_module_words_have(modules, words[0]))
		ret.first = words[0];
	/* new[] of a class with a destructor: a count, then the elements. */
	if (words[0] && words[0] <= (bytes - HAWK_TYPE_WORD_BYTES) / HAWK_TYPE_WORD_BYTES &&
	    hawk_module_words_have(modules, words[1]))
		ret.second = words[1];
	if (words[1] && hawk_module_words_near(modules, words[1]) &&
	    (!words[0] || hawk_module_words_near(modules, words[0]))) {
		ret.resume = words[0];
		ret.destroy = words[1];
	}
	return ret;
}
