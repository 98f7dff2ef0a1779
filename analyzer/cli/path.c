/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core path: why a block is alive.
 */
#include "hawk/analysis/block_order.h"
#include "hawk/base/cleanup.h"
#include "session.h"

enum { CHOSEN_TOP = 5 }; /* paths to blocks that filters choose */

/** Returns the block at an address, or none. */
static uint32_t block_at(const struct hawk_heap *heap, const char *operand)
{
	uint64_t address;
	uint32_t block;
	bool interior;

	hawk_quantity_parse_hex(operand, &address);
	block = hawk_block_index_find(&heap->index, address, &interior);
	return block;
}

/** Prints findings once if missing memory may hold a block. */
static void print_findings(struct hawk_session *session)
{
	hawk_report_findings(&session->findings, hawk_findings_partial(&session->findings),
			     &session->screen);
	session->findings_said = session->findings.count;
}

static struct hawk_error *print_text(struct hawk_session *session)
{
	const struct hawk_settings *settings = session->settings;
	const struct hawk_paths *paths = session->paths;
	struct hawk_error *err = NULL;
	bool unreached = false;
	uint64_t address;

	for (int i = 0; i < settings->count && !err; i++) {
		if (i)
			hawk_output_puts(session->output, "\n");
		hawk_quantity_parse_hex(settings->operands[i], &address);
		err = hawk_report_path(&session->report, paths, address, &session->screen);
		unreached |= !err && !hawk_paths_lead_to(
					     paths, block_at(session->heap, settings->operands[i]));
	}
	if (!err && unreached)
		print_findings(session);
	return err;
}

static struct hawk_error *print_json(struct hawk_session *session)
{
	const struct hawk_settings *settings = session->settings;
	struct hawk_error *err = NULL;
	struct hawk_json json;
	uint64_t address;

	hawk_report_json_begin(&session->report, &json, session->output, "hawk-core/path", 4);
	hawk_json_put_array(&json, "addresses");
	for (int i = 0; i < settings->count && !err; i++) {
		hawk_quantity_parse_hex(settings->operands[i], &address);
		err = hawk_report_path_json(&session->report, session->paths, address, &json);
	}
	hawk_json_array_end(&json);
	hawk_report_json_end(&session->report, &json);
	return err;
}

static struct hawk_error *prepare_addresses(struct hawk_session *session)
{
	const struct hawk_settings *settings = session->settings;
	CLEANUP(free_ptr) uint32_t *blocks = calloc((size_t)settings->count, sizeof(*blocks));
	size_t found = 0;

	if (!blocks)
		return &hawk_enomem;
	for (int i = 0; i < settings->count; i++) {
		blocks[found] = block_at(session->heap, settings->operands[i]);
		found += blocks[found] != HAWK_BLOCK_NOWHERE;
	}
	return hawk_paths_prepare(session->paths, blocks, found);
}

/** Prints paths to addresses; to none if filters were given and the heap is unknown. */
static struct hawk_error *print_addresses(struct hawk_session *session)
{
	struct hawk_error *err = NULL;

	if (session->settings->count) {
		err = hawk_session_paths(session);
		if (!err)
			err = prepare_addresses(session);
	}
	if (err)
		return err;
	if (session->settings->json)
		return print_json(session);
	if (session->settings->count)
		return print_text(session);
	hawk_report_put_unknown(session->heap, &session->screen, "Paths",
				"see why blocks are alive");
	return NULL;
}

static struct hawk_error *prepare_targets(const struct hawk_path_targets *targets,
					  struct hawk_paths *paths)
{
	const struct hawk_numbered_block *shown = targets->shown.items;
	size_t count = targets->shown.count;
	CLEANUP(free_ptr) uint32_t *blocks = calloc(count + 1, sizeof(*blocks));

	if (!blocks)
		return &hawk_enomem;
	for (size_t i = 0; i < count; i++)
		blocks[i] = shown[i].number;
	return hawk_paths_prepare(paths, blocks, count);
}

static struct hawk_error *print_targets(struct hawk_session *session,
					const struct hawk_path_targets *targets)
{
	struct hawk_error *err;
	struct hawk_json json;

	if (!session->settings->json) {
		err = hawk_report_paths(&session->report, session->paths, targets,
					&session->screen);
		if (!err && targets->unreached.objects)
			print_findings(session);
		return err;
	}
	hawk_report_json_begin(&session->report, &json, session->output, "hawk-core/path", 4);
	err = hawk_report_paths_json(&session->report, session->paths, targets, &json);
	hawk_report_json_end(&session->report, &json);
	return err;
}

/** Prints paths to the blocks that the filter chooses, with one search for all. */
static struct hawk_error *print_chosen(struct hawk_session *session)
{
	size_t most =
		hawk_report_limit(&session->report, CHOSEN_TOP, SIZE_MAX, session->screen.full);
	struct hawk_path_targets targets = {0};
	struct hawk_error *err = hawk_session_paths(session);

	if (!err)
		err = hawk_path_targets_choose(session->heap, session->paths,
					       session->report.filter, most, &targets);
	if (!err)
		err = prepare_targets(&targets, session->paths);
	/* A block may lie in missing memory, as for an address. */
	if (!err && !targets.all.objects && !hawk_findings_partial(&session->findings))
		session->code = HAWK_EXIT_CONDITION;
	if (!err)
		err = print_targets(session, &targets);
	hawk_path_targets_deinit(&targets);
	return err;
}

static struct hawk_error *check(struct hawk_settings *settings)
{
	struct hawk_block_query query = hawk_settings_query(settings);
	bool filtered = !hawk_block_query_is_all(&query);

	if (settings->count && filtered)
		return hawk_error_create(HAWK_ERROR_USAGE,
					 "addresses, or filters that choose blocks: not both");
	if (!settings->count && !filtered)
		return hawk_error_create(HAWK_ERROR_USAGE,
					 "path needs addresses, or filters that choose blocks; see "
					 "hawk-core help path");
	return hawk_check_addresses(settings);
}

static struct hawk_error *answer(struct hawk_session *session)
{
	struct hawk_error *err = hawk_session_reach_report(session, true);

	if (!err)
		err = session->report.filter ? print_chosen(session) : print_addresses(session);
	return err;
}

const struct hawk_verb hawk_verb_path = {
	.name = "path",
	.arguments = "[options] CORE [ADDRESS...] | --pid PID [ADDRESS...]",
	.summary = "why a block is alive: the shortest path from a root",
	.details = "Names the root and every block on a shortest path to the block at each "
		   "hexadecimal ADDRESS, with the offset of each pointer and what allocated each "
		   "block; or to the largest, then oldest, of the blocks that filters choose "
		   "(--top says how many), and how many of all of these no root leads to.",
	.shared = HAWK_TAKES_POINTERS | HAWK_TAKES_QUERY | HAWK_TAKES_TARGET | HAWK_TAKES_OUTPUT |
		  HAWK_TAKES_COLOR,
	.exit_codes = "Exit codes: 0 ok, 1 no live block at the address, or none that the filters "
		      "choose, 2 usage, 3 not readable, 4 the answer is incomplete.",
	.needs = "a core file (or --pid), and addresses or filters",
	.live = true,
	.operands_max = -1,
	.findings = HAWK_FINDINGS_IN_JSON,
	.check = check,
	.answer = answer,
};
