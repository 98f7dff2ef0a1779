/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Rows of a comparison. Both profiles' samples become one entry a site each; entries are sorted by
 * a key, those with equal keys on both sides become a row, and the remaining entries are sorted by
 * the next key.
 */
#include "hawk/profile/diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "hawk/base/cleanup.h"

enum { BEFORE, AFTER, SIDES };
enum { BY_SITE, BY_SIGNATURE, BY_FUNCTIONS, KEYS };

/** A site of one profile. */
struct entry {
	uint64_t keys[KEYS];
	unsigned side;
	bool joined;
	struct hawk_diff_side sums;
};

struct joiner {
	struct entry *entries;
	size_t count;
	struct hawk_diff *diff;
};

static uint64_t hash_text(const char *text)
{
	return XXH3_64bits(text, strlen(text));
}

/** Returns the error of a sum: squares add up. */
static double add_errors(double a, double b)
{
	return sqrt(a * a + b * b);
}

static void add_side(struct hawk_diff_side *to, const struct hawk_diff_side *from)
{
	if (!to->sites || from->bytes > to->bytes) {
		to->step = from->step;
		to->site = from->site;
	}
	to->sites += from->sites;
	to->objects = hawk_profile_plus(to->objects, from->objects);
	to->bytes = hawk_profile_plus(to->bytes, from->bytes);
	to->bytes_error = add_errors(to->bytes_error, from->bytes_error);
}

static struct entry entry_of(const struct hawk_profile *profile, size_t number, unsigned side,
			     const uint64_t *signatures, const uint64_t *functions)
{
	const struct hawk_profile_sample *sample = &profile->samples[number];
	const int64_t *values = &profile->values[number * profile->column_count];
	uint32_t bytes = profile->shown_column;
	uint32_t error = hawk_profile_column(profile, "inuse_space_error");

	return (struct entry){
		.keys = {sample->labels.site
				 ? hash_text(hawk_profile_text(profile, sample->labels.site))
				 : ~signatures[sample->step],
			 signatures[sample->step], functions[sample->step]},
		.side = side,
		.sums = {.step = sample->step,
			 .site = sample->labels.site,
			 .sites = 1,
			 .objects = bytes ? values[bytes - 1] : 0,
			 .bytes = values[bytes],
			 .bytes_error = error < profile->column_count ? (double)values[error] : 0},
	};
}

static int compare(const struct entry *a, const struct entry *b, unsigned key)
{
	if (a->joined != b->joined)
		return a->joined - b->joined;
	if (a->keys[key] != b->keys[key])
		return a->keys[key] < b->keys[key] ? -1 : 1;
	if (a->side != b->side)
		return a->side < b->side ? -1 : 1;
	return a->sums.step < b->sums.step ? -1 : a->sums.step > b->sums.step;
}

/** Orders entries not yet joined first, those with equal keys side by side. */
static int compare_entries(const void *left, const void *right, void *context)
{
	return compare(left, right, *(const unsigned *)context);
}

static struct hawk_error *collect(struct joiner *joiner, const struct hawk_profile *profile,
				  unsigned side)
{
	CLEANUP(free_ptr) uint64_t *signatures = NULL;
	CLEANUP(free_ptr) uint64_t *functions = NULL;
	struct hawk_error *err = hawk_profile_signatures(profile, true, &signatures);

	if (!err)
		err = hawk_profile_signatures(profile, false, &functions);
	for (size_t i = 0; !err && i < profile->sample_count; i++) {
		struct entry entry = entry_of(profile, i, side, signatures, functions);

		/* Allocated once, and all freed. */
		if (entry.sums.bytes || entry.sums.objects)
			joiner->entries[joiner->count++] = entry;
	}
	return err;
}

static void sort(struct joiner *joiner, unsigned key)
{
	qsort_r(joiner->entries, joiner->count, sizeof(*joiner->entries), compare_entries, &key);
}

static void finish_row(struct hawk_diff_row *row)
{
	row->objects = hawk_profile_plus(row->after.objects, -row->before.objects);
	row->bytes = hawk_profile_plus(row->after.bytes, -row->before.bytes);
	row->bytes_error = add_errors(row->after.bytes_error, row->before.bytes_error);
	row->significant = fabs((double)row->bytes) > 2 * row->bytes_error;
}

/** Makes one row of entries [first, end). */
static void add_row(struct joiner *joiner, size_t first, size_t end, enum hawk_diff_match match)
{
	struct hawk_diff_row *row = &joiner->diff->rows[joiner->diff->count++];

	*row = (struct hawk_diff_row){.match = match};
	for (size_t i = first; i < end; i++) {
		struct entry *entry = &joiner->entries[i];

		add_side(entry->side == BEFORE ? &row->before : &row->after, &entry->sums);
		entry->joined = true;
	}
	finish_row(row);
}

/** Joins entries with equal keys that occur on both sides. */
static void join(struct joiner *joiner, unsigned key)
{
	size_t first = 0;

	sort(joiner, key);
	while (first < joiner->count && !joiner->entries[first].joined) {
		const struct entry *entries = joiner->entries;
		size_t end = first + 1;

		while (end < joiner->count && !entries[end].joined &&
		       entries[end].keys[key] == entries[first].keys[key])
			end++;
		if (entries[first].side != entries[end - 1].side)
			add_row(joiner, first, end, HAWK_DIFF_SITE + key);
		first = end;
	}
}

/** Makes a row for each remaining site, which is new or gone. */
static void add_rest(struct joiner *joiner)
{
	size_t first = 0;

	sort(joiner, BY_SITE);
	while (first < joiner->count && !joiner->entries[first].joined) {
		const struct entry *entries = joiner->entries;
		size_t end = first + 1;

		while (end < joiner->count && !entries[end].joined &&
		       entries[end].keys[BY_SITE] == entries[first].keys[BY_SITE])
			end++;
		add_row(joiner, first, end,
			entries[first].side == BEFORE ? HAWK_DIFF_GONE : HAWK_DIFF_NEW);
		first = end;
	}
}

static int compare_rows(const void *left, const void *right)
{
	const struct hawk_diff_row *a = left, *b = right;
	uint64_t size_a = a->bytes < 0 ? -(uint64_t)a->bytes : (uint64_t)a->bytes;
	uint64_t size_b = b->bytes < 0 ? -(uint64_t)b->bytes : (uint64_t)b->bytes;

	if (size_a != size_b)
		return size_a > size_b ? -1 : 1;
	if (a->after.bytes != b->after.bytes)
		return a->after.bytes > b->after.bytes ? -1 : 1;
	if (a->after.step != b->after.step)
		return a->after.step < b->after.step ? -1 : 1;
	return a->before.step < b->before.step ? -1 : a->before.step > b->before.step;
}

static void sum_up(struct hawk_diff *diff)
{
	for (size_t i = 0; i < diff->count; i++) {
		add_side(&diff->whole.before, &diff->rows[i].before);
		add_side(&diff->whole.after, &diff->rows[i].after);
		diff->kinds[diff->rows[i].match]++;
	}
	finish_row(&diff->whole);
}

struct hawk_error *hawk_diff_make(const struct hawk_profile *before,
				  const struct hawk_profile *after, struct hawk_diff *ret)
{
	size_t most = (size_t)before->sample_count + after->sample_count + 1;
	CLEANUP(free_ptr) struct entry *entries = calloc(most, sizeof(*entries));
	struct hawk_diff diff = {
		.before = before, .after = after, .rows = calloc(most, sizeof(*diff.rows))};
	struct joiner joiner = {.entries = entries, .diff = &diff};
	struct hawk_error *err = entries && diff.rows ? NULL : &hawk_enomem;

	if (!err)
		err = collect(&joiner, before, BEFORE);
	if (!err)
		err = collect(&joiner, after, AFTER);
	if (err) {
		hawk_diff_deinit(&diff);
		return err;
	}
	for (unsigned key = 0; key < KEYS; key++)
		join(&joiner, key);
	add_rest(&joiner);
	qsort(diff.rows, diff.count, sizeof(*diff.rows), compare_rows);
	sum_up(&diff);
	*ret = diff;
	return NULL;
}

void hawk_diff_deinit(struct hawk_diff *diff)
{
	free(diff->rows);
	*diff = (struct hawk_diff){0};
}

const char *hawk_diff_match_name(enum hawk_diff_match match)
{
	static const char *const names[] = {"new", "gone", "site", "signature", "functions"};

	return names[match];
}
