/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * heaptrack's data, format 3: strings, places in code, stacks, and a line for each live block, with
 * its own size. Numbers are hexadecimal; those of strings, places and stacks are the profile's
 * numbers of strings, locations and steps.
 *
 * A block belongs to the sample with its site's id. Blocks are written sorted by site and size;
 * blocks beyond hawk_export.blocks_max are merged into one per site: sums stay exact to the byte.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "hawk/base/cleanup.h"
#include "hawk/base/utf8.h"
#include "hawk/export/export.h"
#include "hawk/heap/heap.h"

enum { VERSION = 0x10400, FORMAT = 3, NS_PER_MS = 1000000 };

static const uint32_t NO_STEP = UINT32_MAX;

struct piece {
	uint64_t bytes;
	uint32_t step;
};

/** Blocks of a step without their own lines. */
struct joined {
	uint64_t blocks, bytes;
};

struct writer {
	const struct hawk_export *export;
	const struct hawk_profile *profile;
	struct hawk_output *output;
	uint32_t *steps; /**< by site of the heap; NO_STEP = its blocks are left out */
	struct piece *pieces;
	size_t piece_count;
	struct joined *joined; /**< by step */
	struct joined all_joined;
	uint32_t string_count;     /**< that were written */
	uint32_t not_sampled;      /**< step of blocks without a stack, behind the profile's */
	uint32_t allocation_count; /**< "a" lines */
};

/** Writes a string; returns its number. */
static uint32_t put_string(struct writer *writer, const char *string)
{
	CLEANUP(text) struct hawk_text text = {0};

	hawk_utf8_append_safe(&text, string);
	hawk_output_printf(writer->output, "s %zx %s\n", text.size, hawk_text_string(&text));
	return ++writer->string_count;
}

static void put_head(struct writer *writer)
{
	const struct hawk_process *process = writer->export->process;
	CLEANUP(text) struct hawk_text command = {0};

	hawk_utf8_append_safe(&command, process->program);
	hawk_output_printf(writer->output, "v %x %x\nX %s\nI %" PRIx64 " 0\n", VERSION, FORMAT,
			   hawk_text_string(&command), process->page_bytes);
	for (uint32_t i = 1; i < writer->profile->string_count; i++)
		put_string(writer, writer->profile->strings[i]);
}

/** Places are "i IP MODULE [FUNCTION FILE LINE]...", the innermost first. */
static void put_location(struct writer *writer, uint32_t number)
{
	const struct hawk_profile *profile = writer->profile;
	const struct hawk_profile_location *location = &profile->locations[number];
	CLEANUP(text) struct hawk_text name = {0};
	uint32_t nameless = 0;

	if (!hawk_profile_location_frame(profile, number, 0)->function) {
		hawk_profile_append_frame(profile, hawk_profile_location_frame(profile, number, 0),
					  &name);
		nameless = put_string(writer, hawk_text_string(&name));
	}
	hawk_output_printf(writer->output, "i %" PRIx64 " %x", location->address,
			   profile->modules[location->module].path);
	for (uint32_t i = 0; i < location->count; i++) {
		const struct hawk_profile_frame *frame =
			hawk_profile_location_frame(profile, number, i);

		hawk_output_printf(writer->output, " %x %x %x",
				   frame->function ? frame->function : nameless, frame->file,
				   frame->line);
	}
	hawk_output_puts(writer->output, "\n");
}

static void put_stacks(struct writer *writer)
{
	const struct hawk_profile *profile = writer->profile;
	uint32_t not_sampled = put_string(writer, "(not sampled)");

	for (uint32_t i = 1; i < profile->location_count; i++)
		put_location(writer, i);
	for (uint32_t i = 1; i < profile->step_count; i++)
		hawk_output_printf(writer->output, "t %x %x\n", profile->steps[i].location,
				   profile->steps[i].parent);
	writer->not_sampled = profile->step_count;
	hawk_output_printf(writer->output, "i 0 0 %x 0 0\nt %x 0\n", not_sampled,
			   profile->location_count);
}

struct site_step {
	uint64_t site;
	uint32_t step;
};

static int compare_sites(const void *left, const void *right)
{
	const struct site_step *a = left, *b = right;

	return a->site < b->site ? -1 : a->site > b->site;
}

/** The steps of the profile's samples, sorted by the ids of their sites; the caller's. */
static struct site_step *sort_samples(const struct hawk_profile *profile, size_t *count)
{
	struct site_step *known = calloc((size_t)profile->sample_count + 1, sizeof(*known));

	*count = 0;
	for (size_t i = 0; known && i < profile->sample_count; i++) {
		const struct hawk_profile_sample *sample = &profile->samples[i];

		if (sample->labels.site)
			known[(*count)++] = (struct site_step){
				strtoull(profile->strings[sample->labels.site], NULL, 16),
				sample->step};
	}
	if (known)
		qsort(known, *count, sizeof(*known), compare_sites);
	return known;
}

static struct hawk_error *find_steps(struct writer *writer)
{
	const struct hawk_heap *heap = writer->export->heap;
	size_t count;
	CLEANUP(free_ptr) struct site_step *known = sort_samples(writer->profile, &count);

	writer->steps = calloc(heap->site_count + 1, sizeof(*writer->steps));
	if (!known || !writer->steps)
		return &hawk_enomem;
	for (size_t i = 0; i < heap->site_count; i++) {
		const struct site_step key = {.site = heap->sites[i].id};
		const struct site_step *found =
			bsearch(&key, known, count, sizeof(*known), compare_sites);

		writer->steps[i] = found                      ? found->step
				   : writer->export->filtered ? NO_STEP
							      : writer->not_sampled;
	}
	return NULL;
}

static void take_block(struct writer *writer, uint32_t block)
{
	const struct hawk_heap *heap = writer->export->heap;
	uint32_t site = hawk_heap_site_at(heap, block);
	uint64_t bytes = hawk_block_own_bytes(&heap->index, block);
	uint32_t step = site < heap->site_count ? writer->steps[site] : writer->not_sampled;

	if (step == NO_STEP)
		return;
	if (writer->piece_count < writer->export->blocks_max) {
		writer->pieces[writer->piece_count++] = (struct piece){bytes, step};
		return;
	}
	writer->joined[step].blocks++;
	writer->joined[step].bytes += bytes;
	writer->all_joined.blocks++;
	writer->all_joined.bytes += bytes;
}

static struct hawk_error *take_blocks(struct writer *writer)
{
	const struct hawk_block_index *index = &writer->export->heap->index;
	uint32_t blocks_max = writer->export->blocks_max;
	size_t most = index->count < blocks_max ? index->count : blocks_max;

	writer->pieces = calloc(most + 1, sizeof(*writer->pieces));
	writer->joined = calloc((size_t)writer->profile->step_count + 1, sizeof(*writer->joined));
	if (!writer->pieces || !writer->joined)
		return &hawk_enomem;
	for (uint32_t block = 0; block < index->count; block++)
		take_block(writer, block);
	return NULL;
}

static int compare_pieces(const void *left, const void *right)
{
	const struct piece *a = left, *b = right;

	if (a->step != b->step)
		return a->step < b->step ? -1 : 1;
	return a->bytes < b->bytes ? -1 : a->bytes > b->bytes;
}

/** Writes `count` blocks of one size: "a SIZE STACK" once, and "+ ALLOCATION" for each. */
static void put_blocks(struct writer *writer, const struct piece *piece, size_t count)
{
	uint32_t allocation = writer->allocation_count++;

	hawk_output_printf(writer->output, "a %" PRIx64 " %x\n", piece->bytes, piece->step);
	for (size_t i = 0; i < count; i++) {
		char *to = hawk_output_room(writer->output, HAWK_HEX_MAX + 3);

		*to++ = '+';
		*to++ = ' ';
		to = hawk_format_hex(to, allocation);
		*to++ = '\n';
		hawk_output_advance(writer->output, to);
	}
}

static void put_pieces(struct writer *writer)
{
	size_t end;

	qsort(writer->pieces, writer->piece_count, sizeof(*writer->pieces), compare_pieces);
	for (size_t i = 0; i < writer->piece_count; i = end) {
		for (end = i + 1; end < writer->piece_count; end++)
			if (compare_pieces(&writer->pieces[i], &writer->pieces[end]))
				break;
		put_blocks(writer, &writer->pieces[i], end - i);
	}
}

static void put_joined(struct writer *writer)
{
	const struct joined *all = &writer->all_joined;

	for (uint32_t step = 0; step <= writer->profile->step_count; step++) {
		const struct piece piece = {writer->joined[step].bytes, step};

		if (writer->joined[step].blocks)
			put_blocks(writer, &piece, 1);
	}
	if (all->blocks)
		hawk_findings_add(
			writer->export->findings, HAWK_FINDING_MISSING, true, "heaptrack-joined",
			"%" PRIu64 " blocks (%" PRIu64 " bytes) beyond the first %" PRIu32 " are "
			"one block for each stack in heaptrack's file; sums in bytes are "
			"right, counts are not",
			all->blocks, all->bytes, writer->export->blocks_max);
}

/** Refuses all but a heap's live blocks: only these have their own sizes. */
static struct hawk_error *refuse(const struct hawk_export *export)
{
	const struct hawk_heap *heap = export->heap;

	if (export->column != hawk_profile_column(export->profile, "inuse_space"))
		return hawk_error_create(HAWK_ERROR_USAGE,
					 "heaptrack's format holds live blocks: --what=%s has "
					 "other formats",
					 strcmp(export->profile->what, "live") != 0
						 ? export->profile->what
						 : "total");
	if (export->process->table_file)
		return hawk_error_create(HAWK_ERROR_UNSUPPORTED,
					 "heaptrack's format has a line for each block, and a "
					 "table file has no blocks; other formats can be written");
	if (heap->refusal)
		return hawk_error_create(HAWK_ERROR_UNSUPPORTED, "%s", heap->refusal);
	return NULL;
}

static struct hawk_error *put_all(struct writer *writer)
{
	struct hawk_error *err;

	put_head(writer);
	put_stacks(writer);
	err = find_steps(writer);
	if (!err)
		err = take_blocks(writer);
	if (err)
		return err;
	put_pieces(writer);
	put_joined(writer);
	hawk_output_printf(writer->output, "c %" PRIx64 "\n", writer->export->life_ns / NS_PER_MS);
	return NULL;
}

struct hawk_error *hawk_export_heaptrack(const struct hawk_export *export,
					 struct hawk_output *output)
{
	struct writer writer = {.export = export, .profile = export->profile, .output = output};
	struct hawk_error *err = refuse(export);

	if (!err)
		err = put_all(&writer);
	free(writer.steps);
	free(writer.pieces);
	free(writer.joined);
	return err;
}
