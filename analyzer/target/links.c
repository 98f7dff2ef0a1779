/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Reads links one by one; callers limit their number.
 */
#include "hawk/target/links.h"

/** The start of struct r_debug. */
struct head {
	uint64_t version;
	uint64_t first;
};

uint64_t hawk_links_first(const struct hawk_target *target, uint64_t head)
{
	struct head words;

	if (!head || hawk_target_read_some(target, head, &words, sizeof(words)) != sizeof(words))
		return 0;
	return words.first;
}

bool hawk_link_read(const struct hawk_target *target, uint64_t address, struct hawk_link *ret)
{
	return address && hawk_target_read_some(target, address, ret, sizeof(*ret)) == sizeof(*ret);
}
