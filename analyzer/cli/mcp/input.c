/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * One buffer; a line that is too long is dropped as it comes.
 */
#include "input.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "protocol.h"

/** Reads once. Returns false if nothing came. */
static bool fill(struct hawk_mcp_input *input)
{
	ssize_t got;

	if (input->start && input->end == sizeof(input->bytes)) {
		memmove(input->bytes, input->bytes + input->start, input->end - input->start);
		input->end -= input->start;
		input->start = 0;
	}
	do
		got = read(input->fd, input->bytes + input->end, sizeof(input->bytes) - input->end);
	while (got < 0 && errno == EINTR);
	input->ended |= got <= 0 && input->end < sizeof(input->bytes);
	input->end += got > 0 ? (size_t)got : 0;
	return got > 0;
}

static const char *end_of_line(const struct hawk_mcp_input *input, const char *from)
{
	return memchr(from, '\n', (size_t)(input->bytes + input->end - from));
}

bool hawk_mcp_input_line(struct hawk_mcp_input *input, const char **line, size_t *size)
{
	bool is_long = false;
	const char *end;

	while (!(end = end_of_line(input, input->bytes + input->start)) && !input->ended) {
		if (input->end - input->start > HAWK_MCP_MESSAGE_BYTES_MAX) {
			input->start = input->end = 0;
			is_long = true;
		}
		fill(input);
	}
	*line = input->bytes + input->start;
	if (!end) {
		end = input->bytes + input->end;
		input->start = input->end;
	} else {
		input->start = (size_t)(end + 1 - input->bytes);
	}
	*size = is_long ? HAWK_MCP_MESSAGE_BYTES_MAX + 1 : (size_t)(end - *line);
	return *size || input->start < input->end || !input->ended;
}

bool hawk_mcp_input_peek(struct hawk_mcp_input *input, const char **at, size_t *size)
{
	struct pollfd ready = {.fd = input->fd, .events = POLLIN};
	const char *from, *end;

	if (!*at)
		while (!input->ended && (input->start || input->end < sizeof(input->bytes)) &&
		       poll(&ready, 1, 0) > 0 && fill(input))
			;
	from = *at ? *at + *size + 1 : input->bytes + input->start;
	end = end_of_line(input, from);
	*at = from;
	*size = end ? (size_t)(end - from) : 0;
	return end;
}
