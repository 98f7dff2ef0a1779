/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A core and the table file of the same process. What tells that they belong together is the twin
 * of the table's header, which is private memory and so in the core: same key, same place.
 */
#include "hawk_table_state.h"

static bool read_header(const struct hawk_target *target, uint64_t address,
			struct hawk_table_header *ret)
{
	return hawk_target_read_some(target, address, ret, sizeof(*ret)) == sizeof(*ret) &&
	       ret->magic == hawk_table_magic() && ret->version == HAWK_TABLE_VERSION &&
	       ret->self_address == address;
}

/** A table file has its header in one of few mappings. */
static bool find_header(const struct hawk_target *table, struct hawk_table_header *ret)
{
	size_t count;
	const struct hawk_mapping *mappings = hawk_target_mappings(table, &count);

	for (size_t i = 0; i < count; i++)
		if (read_header(table, mappings[i].start, ret))
			return true;
	return false;
}

static bool belong_together(const struct hawk_target *target, const struct hawk_target *table)
{
	struct hawk_table_header header, twin;

	return find_header(table, &header) && header.twin_address &&
	       read_header(target, header.twin_address, &twin) &&
	       twin.primary_address == header.self_address && twin.pid == header.pid &&
	       twin.start_realtime_ns == header.start_realtime_ns &&
	       twin.key.k[0] == header.key.k[0] && twin.key.k[1] == header.key.k[1];
}

struct hawk_error *hawk_table_attach(struct hawk_target *target, struct hawk_target *table)
{
	struct hawk_error *err = NULL;

	if (!hawk_target_process(table)->table_file)
		err = hawk_error_create(HAWK_ERROR_FORMAT, "not a table file of the tracer");
	else if (hawk_target_process(target)->table_file)
		err = hawk_error_create(HAWK_ERROR_USAGE,
					"a table file needs no other; --table is for its core");
	else if (!belong_together(target, table))
		err = hawk_error_create(HAWK_ERROR_FORMAT, "the table file is not of this process");
	if (err)
		hawk_target_close(table);
	else
		hawk_target_attach_table(target, table);
	return err;
}
