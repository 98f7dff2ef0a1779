/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The commands to run next.
 */
#include "hawk/report/next.h"

#include <string.h>

#include "list.h"

static void put_command(const struct hawk_next_command *command, struct hawk_json *json)
{
	const char *end = command->words.bytes + command->words.size;

	hawk_json_object(json);
	hawk_json_put_array(json, "command");
	for (const char *word = command->words.bytes; word < end; word += strlen(word) + 1)
		hawk_json_string(json, word);
	hawk_json_array_end(json);
	hawk_json_put_string(json, "why", command->why);
	hawk_json_object_end(json);
}

void hawk_report_next_json(const struct hawk_next *next, struct hawk_json *json)
{
	size_t end = hawk_json_put_list(json, "next", next ? next->count : 0);

	for (size_t i = 0; i < end; i++)
		put_command(&next->items[i], json);
	hawk_json_array_end(json);
}
