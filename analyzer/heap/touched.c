/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Looks for pages that are not all zeros.
 */
#include "hawk/heap/touched.h"

#include <stdlib.h>
#include <string.h>

#include "hawk/base/array.h"
#include "sealed/scan.h"

static bool is_zero(const uint8_t *bytes, size_t size)
{
	return !bytes[0] && !memcmp(bytes, bytes + 1, size - 1);
}

static struct hawk_error *add_run(struct hawk_touched *to, uint64_t start, uint64_t end)
{
	struct hawk_touched_run *last = to->count ? &to->runs[to->count - 1] : NULL;

	if (last && last->end == start) {
		last->end = end;
		return NULL;
	}
	if (!hawk_array_reserve(&to->runs, to->count, &to->capacity, sizeof(*to->runs)))
		return &hawk_enomem;
	last = to->count ? &to->runs[to->count - 1] : NULL;
	to->runs[to->count++] = (struct hawk_touched_run){
		.start = start,
		.end = end,
		.before = last ? last->before + (last->end - last->start) : 0,
	};
	return NULL;
}

/* Looks at one window; parts of pages at its ends are pages of that size. */
static struct hawk_error *take_window(const uint8_t *bytes, size_t size, uint64_t address,
				      struct hawk_touched *to)
{
	struct hawk_error *err = NULL;
	size_t part;

	for (size_t done = 0; !err && done < size; done += part) {
		part = HAWK_SCAN_PAGE_BYTES - (address + done) % HAWK_SCAN_PAGE_BYTES;
		if (part > size - done)
			part = size - done;
		if (!is_zero(bytes + done, part))
			err = add_run(to, address + done, address + done + part);
	}
	return err;
}

static struct hawk_error *take_data(struct hawk_scan_window *window, uint64_t start, uint64_t end,
				    struct hawk_touched *to)
{
	struct hawk_error *err = NULL;
	uint64_t step;

	for (uint64_t at = start; !err && at < end; at += step) {
		const uint8_t *bytes;
		size_t got;

		step = window->window_bytes - at % HAWK_SCAN_PAGE_BYTES;
		if (step > end - at)
			step = end - at;
		err = hawk_scan_window_read(window, at, step, &bytes, &got);
		if (!err)
			err = take_window(bytes, got, at, to);
	}
	return err;
}

static struct hawk_error *take_range(struct hawk_scan_window *window, uint64_t start, uint64_t end,
				     struct hawk_touched *to)
{
	struct hawk_error *err = NULL;
	uint64_t data_start;
	uint64_t data_end;

	for (uint64_t at = start;
	     !err && at < end &&
	     hawk_target_next_data(window->target, at, end, &data_start, &data_end);
	     at = data_end)
		err = take_data(window, data_start, data_end, to);
	return err;
}

struct hawk_error *hawk_heap_touched(const struct hawk_target *target, uint64_t start, uint64_t end,
				     uint64_t *ret)
{
	struct hawk_touched touched = {0};
	struct hawk_scan_window window;
	struct hawk_error *err;

	hawk_scan_window_init(&window, target, 0);
	err = take_range(&window, start, end, &touched);
	hawk_scan_window_deinit(&window);
	if (!err)
		*ret = hawk_touched_between(&touched, start, end);
	hawk_touched_deinit(&touched);
	return err;
}

struct hawk_error *hawk_touched_make(const struct hawk_target *target, struct hawk_touched *ret)
{
	size_t count;
	const struct hawk_mapping *mappings = hawk_target_mappings(target, &count);
	struct hawk_touched touched = {0};
	struct hawk_scan_window window;
	struct hawk_error *err = NULL;

	hawk_scan_window_init(&window, target, 0);
	for (size_t i = 0; i < count && !err; i++)
		if (hawk_scan_wants(&mappings[i]))
			err = take_range(&window, mappings[i].start, mappings[i].end, &touched);
	hawk_scan_window_deinit(&window);
	if (err)
		hawk_touched_deinit(&touched);
	else
		*ret = touched;
	return err;
}

void hawk_touched_deinit(struct hawk_touched *touched)
{
	free(touched->runs);
	*touched = (struct hawk_touched){0};
}

/* Returns the touched bytes below `address`. */
static uint64_t bytes_below(const struct hawk_touched *touched, uint64_t address)
{
	size_t i = hawk_array_first_above(touched->runs, touched->count, sizeof(*touched->runs),
					  offsetof(struct hawk_touched_run, end), address);
	const struct hawk_touched_run *run;

	if (!touched->count)
		return 0;
	run = &touched->runs[i < touched->count ? i : touched->count - 1];
	if (i == touched->count)
		address = run->end;
	return run->before + (address > run->start ? address - run->start : 0);
}

uint64_t hawk_touched_between(const struct hawk_touched *touched, uint64_t start, uint64_t end)
{
	return start < end ? bytes_below(touched, end) - bytes_below(touched, start) : 0;
}
