/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Counts the pages of a range that are not all zeros.
 */
#include "hawk/heap/touched.h"

#include "scan.h"

#include <string.h>

static bool is_zero(const uint8_t *bytes, size_t size)
{
	return !bytes[0] && !memcmp(bytes, bytes + 1, size - 1);
}

/* Counts in one window; parts of pages at its ends count as pages of that size. */
static uint64_t count_touched(const uint8_t *bytes, size_t size, uint64_t address)
{
	uint64_t touched = 0;
	size_t part;

	for (size_t done = 0; done < size; done += part) {
		part = HAWK_SCAN_PAGE_BYTES - (address + done) % HAWK_SCAN_PAGE_BYTES;
		if (part > size - done)
			part = size - done;
		if (!is_zero(bytes + done, part))
			touched += part;
	}
	return touched;
}

static struct hawk_error *visit_range(struct hawk_scan_window *window, uint64_t start, uint64_t end,
				      uint64_t *touched)
{
	uint64_t step;

	for (uint64_t at = start; at < end; at += step) {
		const uint8_t *bytes;
		size_t got;
		struct hawk_error *err;

		step = window->window_bytes - at % HAWK_SCAN_PAGE_BYTES;
		if (step > end - at)
			step = end - at;
		err = hawk_scan_window_read(window, at, step, &bytes, &got);
		if (err)
			return err;
		*touched += count_touched(bytes, got, at);
	}
	return NULL;
}

struct hawk_error *hawk_heap_touched(const struct hawk_target *target, uint64_t start, uint64_t end,
				     uint64_t *ret)
{
	struct hawk_scan_window window;
	struct hawk_error *err = NULL;
	uint64_t data_start;
	uint64_t data_end;
	uint64_t touched = 0;

	hawk_scan_window_init(&window, target, 0);
	for (uint64_t at = start;
	     !err && at < end && hawk_target_next_data(target, at, end, &data_start, &data_end);
	     at = data_end)
		err = visit_range(&window, data_start, data_end, &touched);
	hawk_scan_window_deinit(&window);
	if (!err)
		*ret = touched;
	return err;
}
