/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core whatis: what lies at an address.
 */
#include <stdlib.h>

#include "answer.h"
#include "hawk/report/whatis.h"

struct whatis {
	struct hawk_report report;
	struct hawk_whatis *items; /**< by address */
	size_t count;
};

static void deinit(void *made)
{
	struct whatis *whatis = made;

	free(whatis->items);
}

/* Asks debug information about live blocks. A process is not stopped for so long. */
static struct hawk_error *name_members(struct hawk_session *session, struct whatis *whatis)
{
	const struct hawk_types *table;
	struct hawk_error *err;
	size_t live = 0;

	for (size_t i = 0; i < whatis->count; i++)
		live += whatis->items[i].state == HAWK_BLOCK_LIVE;
	if (!live || !session->source || !(session->heap->knows & HAWK_HEAP_CONTENTS))
		return NULL;
	err = hawk_session_type_table(session, &(struct hawk_types_wish){.flows = true}, &table);
	for (size_t i = 0; !err && i < whatis->count; i++)
		hawk_whatis_name_member(table, session->symbols, &whatis->items[i]);
	return err;
}

/** Reads everything about the addresses, then lets a process go. */
static struct hawk_error *find(struct hawk_session *session, const struct hawk_block_types *types,
			       struct whatis *ret)
{
	size_t count = (size_t)session->settings->count;
	uint64_t address;

	ret->items = calloc(count, sizeof(*ret->items));
	if (!ret->items)
		return &hawk_enomem;
	for (; ret->count < count; ret->count++) {
		hawk_quantity_parse_hex(session->settings->operands[ret->count], &address);
		hawk_whatis_find(session->heap, types, address, &ret->items[ret->count]);
	}
	return hawk_session_release(session, name_members(session, ret));
}

static struct hawk_error *make(struct hawk_session *session, void *ret)
{
	struct whatis *whatis = ret;
	struct hawk_block_types *types = NULL;
	struct hawk_error *err = hawk_session_heap(session);

	if (!err)
		err = hawk_session_types(session, &types);
	if (!err)
		err = find(session, types, whatis);
	if (err)
		return err;
	hawk_session_check(session);
	for (size_t i = 0; i < whatis->count; i++)
		hawk_whatis_resolve(session->symbols, types, &whatis->items[i]);
	whatis->report = (struct hawk_report){
		.symbols = session->symbols,
		.heap = session->heap,
		.findings = &session->findings,
		.next = &session->next,
		.depth = (size_t)session->settings->depth,
	};
	return NULL;
}

static void add_next(void *made, struct hawk_next *ret)
{
	struct whatis *whatis = made;

	for (size_t i = 0; i < whatis->count; i++) {
		if (whatis->items[i].state != HAWK_BLOCK_LIVE)
			continue;
		hawk_next_add_address(ret, "refs", whatis->items[i].address,
				      "who points at the block");
		return;
	}
}

static struct hawk_error *print_text(void *made, const struct hawk_screen *screen)
{
	struct whatis *whatis = made;

	hawk_report_whatis_text(&whatis->report, whatis->items, whatis->count, screen);
	return NULL;
}

static struct hawk_error *print_json(void *made, struct hawk_output *output)
{
	struct whatis *whatis = made;

	hawk_report_whatis_json(&whatis->report, whatis->items, whatis->count, output);
	return NULL;
}

static const struct hawk_answer prints = {
	.name = "whatis",
	.bytes = sizeof(struct whatis),
	.make = make,
	.next = add_next,
	.text = print_text,
	.json = print_json,
	.deinit = deinit,
};

const struct hawk_verb hawk_verb_whatis = {
	.name = "whatis",
	.arguments = "[options] CORE ADDRESS... | --pid PID ADDRESS...",
	.summary = "what lies at an address",
	.details = "Says for each hexadecimal ADDRESS which block, stack, symbol or mapping "
		   "it lies in.",
	.shared = HAWK_TAKES_PID | HAWK_TAKES_DEPTH | HAWK_TAKES_FULL | HAWK_TAKES_JSON |
		  HAWK_TAKES_TARGET | HAWK_TAKES_OUTPUT | HAWK_TAKES_COLOR,
	.exit_codes = hawk_verb_exit_codes,
	.needs = "a core file (or --pid) and addresses",
	.live = true,
	.operands_min = 1,
	.operands_max = -1,
	.findings = HAWK_FINDINGS_IN_JSON,
	.check = hawk_check_addresses,
	.prints = &prints,
};
