/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds CPython by the object that is its own type: the type "type".
 */
#include "pymalloc.h"

/* Returns true if the object at `address`, which is its own type, is the type "type". */
static bool is_type(struct hawk_near *near, uint64_t address)
{
	enum { BYTES_MIN = 800, BYTES_MAX = 1200, MEMBER_BYTES = 40 };
	uint64_t basic, item, flags, base, meta;

	return hawk_word(near, address + PYTHON_TYPE_BASIC_BYTES, &basic) && basic >= BYTES_MIN &&
	       basic <= BYTES_MAX && hawk_word(near, address + PYTHON_TYPE_ITEM_BYTES, &item) &&
	       item == MEMBER_BYTES && hawk_word(near, address + PYTHON_TYPE_FLAGS, &flags) &&
	       flags & PYTHON_READY && flags & PYTHON_COLLECTED && flags & PYTHON_TYPE_OF_TYPES &&
	       hawk_word(near, address + PYTHON_TYPE_BASE, &base) &&
	       hawk_word(near, base + PYTHON_TYPE, &meta) && meta == address;
}

static bool search(const struct hawk_target *target, const struct hawk_module *module,
		   uint64_t *ret)
{
	struct hawk_near near = {.target = target};
	struct hawk_data_words words = {.module = module};
	uint64_t word;

	while (hawk_data_words_next(&words, &near, &word)) {
		*ret = words.at - PYTHON_TYPE;
		if (word == *ret && is_type(&near, word))
			return true;
	}
	return false;
}

bool hawk_python_find_home(const struct hawk_target *target, struct hawk_python_home *ret)
{
	size_t count;
	const struct hawk_module *modules = hawk_target_modules(target, &count);

	for (size_t i = 0; i < count; i++) {
		const char *base = strrchr(modules[i].path, '/');

		ret->module = &modules[i];
		if ((modules[i].main || strstr(base ? base : modules[i].path, "python")) &&
		    search(target, &modules[i], &ret->type))
			return true;
	}
	return false;
}
