/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Ledgers. Rows are kept in the order of signatures while inputs are added, so that an input,
 * sorted likewise, is merged into them in one pass.
 */
#include "hawk/profile/ledger.h"

#include <stdlib.h>
#include <string.h>

#include "hawk/base/array.h"
#include "hawk/base/cleanup.h"
#include "hawk/names/function_name.h"

enum { SLOPE_SNAPSHOTS_MIN = 3 };
static const double NS_PER_HOUR = 3600e9;

struct hawk_ledger_value {
	uint64_t signature;
	int64_t bytes;
	uint32_t snapshot;
};

/** The part of an input with one signature. */
struct entry {
	uint64_t signature;
	int64_t bytes;
	int64_t largest; /**< its sample's stack and site represent all */
	uint32_t step, site;
};

struct hawk_error *hawk_ledger_create(struct hawk_ledger **ret)
{
	static const struct hawk_profile_column column = {"inuse_space", "bytes"};
	struct hawk_ledger *ledger = calloc(1, sizeof(*ledger));
	struct hawk_error *err =
		ledger ? hawk_profile_create(&column, 1, &ledger->stacks) : &hawk_enomem;

	if (err)
		free(ledger);
	else
		*ret = ledger;
	return err;
}

void hawk_ledger_destroy(struct hawk_ledger *ledger)
{
	if (!ledger)
		return;
	for (uint32_t i = 0; i < ledger->snapshot_count; i++) {
		free(ledger->snapshots[i].source);
		free(ledger->snapshots[i].build_id);
		free(ledger->snapshots[i].holder);
	}
	free(ledger->snapshots);
	free(ledger->rows);
	free(ledger->bugs);
	free(ledger->values);
	hawk_profile_destroy(ledger->stacks);
	free(ledger);
}

bool hawk_ledger_is_later(const struct hawk_ledger *ledger, uint32_t a, uint32_t b)
{
	const struct hawk_ledger_snapshot *left = &ledger->snapshots[a];
	const struct hawk_ledger_snapshot *right = &ledger->snapshots[b];

	if (left->end_ns && right->end_ns && left->end_ns != right->end_ns)
		return left->end_ns > right->end_ns;
	return a > b;
}

static bool is_known(const struct hawk_ledger *ledger, uint64_t snapshot)
{
	for (uint32_t i = 0; i < ledger->snapshot_count; i++)
		if (ledger->snapshots[i].id == snapshot)
			return true;
	return false;
}

static int compare_entries(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;

	if (a->signature != b->signature)
		return a->signature < b->signature ? -1 : 1;
	return a->step < b->step ? -1 : a->step > b->step;
}

static void add_entry(struct entry *to, const struct entry *entry)
{
	to->bytes = hawk_profile_plus(to->bytes, entry->bytes);
	if (entry->largest <= to->largest)
		return;
	to->largest = entry->largest;
	to->step = entry->step;
	to->site = entry->site;
}

/** Makes one entry per signature, sorted; returns their number. `entries` has room for all
 * samples. */
static size_t make_entries(const struct hawk_profile *profile, const uint64_t *signatures,
			   struct entry *entries)
{
	size_t count = 0;

	for (size_t i = 0; i < profile->sample_count; i++) {
		const struct hawk_profile_sample *sample = &profile->samples[i];
		int64_t bytes = profile->values[i * profile->column_count + profile->shown_column];

		entries[i] = (struct entry){signatures[sample->step], bytes, bytes, sample->step,
					    sample->labels.site};
	}
	qsort(entries, profile->sample_count, sizeof(*entries), compare_entries);
	for (size_t i = 0; i < profile->sample_count; i++) {
		if (count && entries[count - 1].signature == entries[i].signature)
			add_entry(&entries[count - 1], &entries[i]);
		else
			entries[count++] = entries[i];
	}
	return count;
}

static struct hawk_profile_frame copy_frame(const struct hawk_profile *from,
					    const struct hawk_profile_frame *frame,
					    struct hawk_profile *to)
{
	const struct hawk_symbol_module module = {
		.path = hawk_path_base(from->strings[from->modules[frame->module].path])};

	return (struct hawk_profile_frame){
		.kind = frame->kind,
		.function = hawk_profile_string(to, from->strings[frame->function]),
		.file = hawk_profile_string(to, from->strings[frame->file]),
		.line = frame->line,
		.module = frame->module ? hawk_profile_module(to, &module) : 0,
		.offset = frame->offset,
	};
}

/** Copies a stack without addresses, which differ between processes. */
static struct hawk_error *copy_stack(const struct hawk_profile *from, uint32_t step,
				     struct hawk_profile *to, uint32_t *ret)
{
	CLEANUP(profile_path) struct hawk_profile_path path = {0};

	*ret = 0;
	if (!hawk_profile_path_of(from, step, &path))
		return &hawk_enomem;
	for (size_t i = path.count; i-- > 0;)
		for (uint32_t j = from->locations[path.locations[i]].count; j-- > 0;) {
			struct hawk_profile_frame frame = copy_frame(
				from, hawk_profile_location_frame(from, path.locations[i], j), to);

			*ret = hawk_profile_frame_step(to, *ret, &frame);
		}
	return hawk_profile_finish(to);
}

static struct hawk_error *add_row(struct hawk_ledger *ledger, const struct hawk_profile *profile,
				  const struct entry *entry, uint32_t snapshot)
{
	struct hawk_ledger_row row = {
		.signature = entry->signature, .latest = snapshot, .first = snapshot};
	struct hawk_error *err = copy_stack(profile, entry->step, ledger->stacks, &row.step);

	if (!err && !hawk_array_reserve(&ledger->rows, ledger->row_count, &ledger->row_capacity,
					sizeof(*ledger->rows)))
		err = &hawk_enomem;
	if (!err)
		ledger->rows[ledger->row_count++] = row;
	return err;
}

static void update_row(struct hawk_ledger *ledger, struct hawk_ledger_row *row,
		       const struct hawk_profile *profile, const struct entry *entry,
		       uint32_t snapshot)
{
	row->estimated |= profile->estimated;
	if (hawk_ledger_is_later(ledger, row->first, snapshot))
		row->first = snapshot;
	if (snapshot != row->latest && !hawk_ledger_is_later(ledger, snapshot, row->latest))
		return;
	row->latest = snapshot;
	snprintf(row->site, sizeof(row->site), "%s", hawk_profile_text(profile, entry->site));
}

static int compare_rows(const void *left, const void *right)
{
	const struct hawk_ledger_row *a = left, *b = right;

	return a->signature < b->signature ? -1 : a->signature > b->signature;
}

/** Merges an input into the rows. A site without live blocks is left out. */
static struct hawk_error *merge(struct hawk_ledger *ledger, const struct hawk_profile *profile,
				const struct entry *entries, size_t count, uint32_t snapshot)
{
	size_t known = ledger->row_count, at = 0;
	struct hawk_error *err = NULL;

	for (size_t i = 0; i < count && !err; i++) {
		const struct entry *entry = &entries[i];
		size_t row;

		if (!entry->bytes)
			continue;
		while (at < known && ledger->rows[at].signature < entry->signature)
			at++;
		row = at < known && ledger->rows[at].signature == entry->signature
			      ? at
			      : ledger->row_count;
		if (row == ledger->row_count)
			err = add_row(ledger, profile, entry, snapshot);
		if (!err && !hawk_array_reserve(&ledger->values, ledger->value_count,
						&ledger->value_capacity, sizeof(*ledger->values)))
			err = &hawk_enomem;
		if (err)
			break;
		update_row(ledger, &ledger->rows[row], profile, entry, snapshot);
		ledger->values[ledger->value_count++] =
			(struct hawk_ledger_value){entry->signature, entry->bytes, snapshot};
	}
	if (ledger->row_count != known)
		qsort(ledger->rows, ledger->row_count, sizeof(*ledger->rows), compare_rows);
	return err;
}

static struct hawk_error *add_snapshot(struct hawk_ledger *ledger,
				       const struct hawk_ledger_input *input,
				       const uint64_t *signatures)
{
	struct hawk_ledger_snapshot snapshot = {
		.id = input->snapshot,
		.source = strdup(input->source),
		.build_id = strdup(input->build_id),
		.end_ns = input->end_ns,
		.life_ns = input->life_ns,
		.signal = input->signal,
		.suspect = input->suspect ? signatures[input->suspect] : 0,
		.holder = input->suspect ? strdup(input->holder) : NULL,
	};

	if (snapshot.source && snapshot.build_id && (snapshot.holder || !input->suspect) &&
	    ledger->snapshot_count < UINT32_MAX &&
	    hawk_array_reserve(&ledger->snapshots, ledger->snapshot_count,
			       &ledger->snapshot_capacity, sizeof(*ledger->snapshots))) {
		ledger->snapshots[ledger->snapshot_count++] = snapshot;
		return NULL;
	}
	free(snapshot.source);
	free(snapshot.build_id);
	free(snapshot.holder);
	return &hawk_enomem;
}

struct hawk_error *hawk_ledger_add(struct hawk_ledger *ledger,
				   const struct hawk_ledger_input *input)
{
	const struct hawk_profile *profile = input->profile;
	CLEANUP(free_ptr) uint64_t *signatures = NULL;
	CLEANUP(free_ptr) struct entry *entries = NULL;
	struct hawk_error *err;

	if (is_known(ledger, input->snapshot)) {
		ledger->repeated++;
		return NULL;
	}
	ledger->has_stacks |= !profile->has_classes;
	err = hawk_profile_signatures(profile, true, &signatures);
	if (err)
		return err;
	entries = calloc((size_t)profile->sample_count + 1, sizeof(*entries));
	if (!entries)
		return &hawk_enomem;
	err = add_snapshot(ledger, input, signatures);
	return err ? err
		   : merge(ledger, profile, entries, make_entries(profile, signatures, entries),
			   ledger->snapshot_count - 1);
}

static int compare_values(const void *left, const void *right)
{
	const struct hawk_ledger_value *a = left, *b = right;

	if (a->signature != b->signature)
		return a->signature < b->signature ? -1 : 1;
	return a->bytes < b->bytes ? -1 : a->bytes > b->bytes;
}

/** Finds the slope by least squares of bytes on hours, about their means: sums of large squares
 * would lose digits. */
static void find_slope(const struct hawk_ledger *ledger, const struct hawk_ledger_value *values,
		       uint32_t count, struct hawk_ledger_row *row)
{
	double hours = 0, bytes = 0, products = 0, squares = 0;
	uint32_t known = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct hawk_ledger_snapshot *snapshot =
			&ledger->snapshots[values[i].snapshot];

		if (!snapshot->life_ns)
			continue;
		known++;
		hours += (double)snapshot->life_ns / NS_PER_HOUR;
		bytes += (double)values[i].bytes;
	}
	for (uint32_t i = 0; i < count; i++) {
		const struct hawk_ledger_snapshot *snapshot =
			&ledger->snapshots[values[i].snapshot];
		double apart = (double)snapshot->life_ns / NS_PER_HOUR - hours / known;

		if (!snapshot->life_ns)
			continue;
		products += apart * ((double)values[i].bytes - bytes / known);
		squares += apart * apart;
	}
	row->has_slope = known >= SLOPE_SNAPSHOTS_MIN && squares > 0;
	row->slope = row->has_slope ? products / squares : 0;
}

/** Rows and values are in the order of signatures, a row's values the smallest first. */
static void sum_up(struct hawk_ledger *ledger)
{
	const struct hawk_ledger_value *values = ledger->values;
	size_t first = 0;

	for (size_t i = 0; i < ledger->row_count; i++) {
		struct hawk_ledger_row *row = &ledger->rows[i];
		size_t end = first;

		while (end < ledger->value_count && values[end].signature == row->signature)
			end++;
		row->count = (uint32_t)(end - first);
		row->median = values[first + row->count / 2].bytes;
		row->maximum = values[end - 1].bytes;
		find_slope(ledger, &values[first], row->count, row);
		first = end;
	}
}

static int compare_suspects(const struct hawk_ledger_snapshot *a,
			    const struct hawk_ledger_snapshot *b)
{
	if (a->suspect != b->suspect)
		return a->suspect < b->suspect ? -1 : 1;
	return strcmp(a->holder, b->holder);
}

static int compare_by_suspect(const void *left, const void *right, void *context)
{
	const struct hawk_ledger_snapshot *snapshots = context;
	const uint32_t *a = left, *b = right;
	int order = compare_suspects(&snapshots[*a], &snapshots[*b]);

	return order ? order : *a < *b ? -1 : *a > *b;
}

static int compare_bugs(const void *left, const void *right, void *context)
{
	const struct hawk_ledger_bug *a = left, *b = right;

	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	if (a->example == b->example)
		return 0;
	return hawk_ledger_is_later(context, a->example, b->example) ? -1 : 1;
}

/** `rows` are in the order of signatures. A suspect without a live byte has no row. */
static uint32_t step_of(const struct hawk_ledger *ledger, uint64_t signature)
{
	const struct hawk_ledger_row key = {.signature = signature};
	const struct hawk_ledger_row *row =
		bsearch(&key, ledger->rows, ledger->row_count, sizeof(key), compare_rows);

	return row ? row->step : 0;
}

static void add_to_bug(const struct hawk_ledger *ledger, struct hawk_ledger_bug *bug,
		       uint32_t snapshot)
{
	bug->count++;
	if (hawk_ledger_is_later(ledger, snapshot, bug->example))
		bug->example = snapshot;
	if (hawk_ledger_is_later(ledger, bug->first, snapshot))
		bug->first = snapshot;
}

static struct hawk_error *find_bugs(struct hawk_ledger *ledger)
{
	const struct hawk_ledger_snapshot *snapshots = ledger->snapshots;
	CLEANUP(free_ptr)
	uint32_t *numbers = calloc((size_t)ledger->snapshot_count + 1, sizeof(*numbers));
	uint32_t count = 0;

	ledger->bugs = calloc((size_t)ledger->snapshot_count + 1, sizeof(*ledger->bugs));
	if (!numbers || !ledger->bugs)
		return &hawk_enomem;
	for (uint32_t i = 0; i < ledger->snapshot_count; i++)
		if (snapshots[i].holder)
			numbers[count++] = i;
	qsort_r(numbers, count, sizeof(*numbers), compare_by_suspect, ledger->snapshots);
	for (uint32_t i = 0; i < count; i++) {
		const struct hawk_ledger_snapshot *snapshot = &snapshots[numbers[i]];

		if (!i || compare_suspects(&snapshots[numbers[i - 1]], snapshot))
			ledger->bugs[ledger->bug_count++] = (struct hawk_ledger_bug){
				.signature = snapshot->suspect,
				.holder = snapshot->holder,
				.step = step_of(ledger, snapshot->suspect),
				.example = numbers[i],
				.first = numbers[i],
			};
		add_to_bug(ledger, &ledger->bugs[ledger->bug_count - 1], numbers[i]);
	}
	qsort_r(ledger->bugs, ledger->bug_count, sizeof(*ledger->bugs), compare_bugs, ledger);
	return NULL;
}

static int compare_numbers(double a, double b)
{
	return a > b ? -1 : a < b;
}

/** Rows without a slope come last. */
static int compare_keys(const struct hawk_ledger_row *a, const struct hawk_ledger_row *b,
			enum hawk_ledger_sort sort)
{
	switch (sort) {
	case HAWK_LEDGER_MAXIMUM:
		return a->maximum > b->maximum ? -1 : a->maximum < b->maximum;
	case HAWK_LEDGER_SLOPE:
		return a->has_slope != b->has_slope ? b->has_slope - a->has_slope
						    : compare_numbers(a->slope, b->slope);
	case HAWK_LEDGER_COUNT:
		return a->count > b->count ? -1 : a->count < b->count;
	case HAWK_LEDGER_MEDIAN:
		break;
	}
	return a->median > b->median ? -1 : a->median < b->median;
}

static int compare_answers(const void *left, const void *right, void *context)
{
	const struct hawk_ledger_row *a = left, *b = right;
	int order = compare_keys(a, b, *(const enum hawk_ledger_sort *)context);

	if (!order)
		order = compare_keys(a, b, HAWK_LEDGER_MEDIAN);
	return order ? order : compare_rows(a, b);
}

struct hawk_error *hawk_ledger_finish(struct hawk_ledger *ledger, enum hawk_ledger_sort sort)
{
	struct hawk_error *err;

	if (ledger->value_count)
		qsort(ledger->values, ledger->value_count, sizeof(*ledger->values), compare_values);
	sum_up(ledger);
	err = find_bugs(ledger);
	if (!err && ledger->row_count)
		qsort_r(ledger->rows, ledger->row_count, sizeof(*ledger->rows), compare_answers,
			&sort);
	return err;
}
