/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core refs: the pointers to a block.
 */
#include "hawk/analysis/refs.h"
#include "hawk/base/cleanup.h"
#include "answer.h"

struct refs {
	const struct hawk_pointer_report *report;
	struct hawk_refs *items; /**< by address */
	size_t count;
	struct hawk_error *stopped; /**< by the address behind these; NULL = there is none */
};

static void deinit(void *made)
{
	struct refs *refs = made;

	for (size_t i = 0; i < refs->count; i++)
		hawk_refs_deinit(&refs->items[i]);
	free(refs->items);
	hawk_error_destroy(refs->stopped);
}

/** Finds the pointers to each address, up to the first in no block. */
static struct hawk_error *find(struct hawk_session *session, const uint64_t *chosen,
			       struct refs *ret)
{
	size_t count = (size_t)session->settings->count;
	uint64_t address;

	ret->items = calloc(count, sizeof(*ret->items));
	if (!ret->items)
		return &hawk_enomem;
	while (ret->count < count && !ret->stopped) {
		hawk_quantity_parse_hex(session->settings->operands[ret->count], &address);
		ret->stopped =
			hawk_refs_find(session->graph, chosen, address, &ret->items[ret->count]);
		if (ret->stopped)
			hawk_refs_deinit(&ret->items[ret->count]);
		else
			ret->count++;
	}
	return NULL;
}

/* Types the blocks, and the examples of those that point to them. */
static struct hawk_error *know_types(struct hawk_session *session, const struct refs *refs)
{
	size_t count = refs->count, at = 0;

	if (!(session->heap->knows & HAWK_HEAP_CONTENTS))
		return NULL; /* not even paths are needed */
	for (size_t i = 0; i < refs->count; i++)
		count += refs->items[i].group_count;
	CLEANUP(free_ptr) uint32_t *blocks = calloc(count + 1, sizeof(*blocks));
	if (!blocks)
		return &hawk_enomem;
	for (size_t i = 0; i < refs->count; i++) {
		blocks[at++] = refs->items[i].block;
		for (size_t j = 0; j < refs->items[i].group_count; j++)
			blocks[at++] = refs->items[i].groups[j].example;
	}
	return hawk_session_path_types(session, blocks, count);
}

static struct hawk_error *make(struct hawk_session *session, void *ret)
{
	CLEANUP(free_ptr) uint64_t *chosen = NULL;
	const struct hawk_selector *selector;
	struct refs *refs = ret;
	struct hawk_error *err = hawk_session_graph(session);

	if (!err)
		err = hawk_session_report(session);
	refs->report = &session->report;
	selector = hawk_block_filter_selector(session->report.filter);
	if (!err && selector)
		err = hawk_selection_bits_make(session->heap, selector, false, &chosen);
	if (!err)
		err = find(session, chosen, refs);
	return err ? err : know_types(session, refs);
}

static void add_next(void *made, struct hawk_next *ret)
{
	struct refs *refs = made;

	if (refs->count)
		hawk_next_add_address(ret, "path", refs->items[0].address,
				      "why the block is alive");
}

static struct hawk_error *print_text(void *made, const struct hawk_screen *screen)
{
	struct refs *refs = made;

	hawk_report_refs(refs->report, refs->items, refs->count, screen);
	return take_ptr(&refs->stopped);
}

static struct hawk_error *print_json(void *made, struct hawk_output *output)
{
	struct refs *refs = made;
	struct hawk_json json;

	hawk_report_json_begin(refs->report, &json, output, "hawk-core/refs", 4);
	hawk_report_refs_json(refs->report, refs->items, refs->count, &json);
	hawk_report_json_end(refs->report, &json);
	return take_ptr(&refs->stopped);
}

static const struct hawk_answer prints = {
	.name = "refs",
	.bytes = sizeof(struct refs),
	.make = make,
	.next = add_next,
	.text = print_text,
	.json = print_json,
	.deinit = deinit,
};

const struct hawk_verb hawk_verb_refs = {
	.name = "refs",
	.arguments = "[options] CORE ADDRESS... | --pid PID ADDRESS...",
	.summary = "who points at a block",
	.details = "Lists the pointers to the block at each hexadecimal ADDRESS: roots by name, "
		   "and pointers in other blocks by the site that allocated those and the offset "
		   "in them. Filters choose the blocks that point.",
	.shared = HAWK_TAKES_POINTERS | HAWK_TAKES_QUERY | HAWK_TAKES_TARGET | HAWK_TAKES_OUTPUT |
		  HAWK_TAKES_COLOR,
	.exit_codes = hawk_verb_address_exit_codes,
	.needs = "a core file (or --pid) and addresses",
	.live = true,
	.operands_min = 1,
	.operands_max = -1,
	.findings = HAWK_FINDINGS_IN_JSON,
	.check = hawk_check_addresses,
	.prints = &prints,
};
