/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core path: why a block is alive.
 */
#include "hawk/base/cleanup.h"
#include "answer.h"

enum { CHOSEN_TOP = 5 }; /* paths to blocks that filters choose */

struct path {
	struct hawk_session *session;
	struct hawk_path_targets targets;
	bool unknown;               /**< filters were given, and the heap is unknown */
	struct hawk_error *stopped; /**< by the address behind the targets; NULL = there is none */
};

static void deinit(void *made)
{
	struct path *path = made;

	hawk_path_targets_deinit(&path->targets);
	hawk_error_destroy(path->stopped);
}

/** Finds the blocks at the addresses, up to the first in none. */
static struct hawk_error *find(struct hawk_session *session, struct path *ret)
{
	struct hawk_path_targets *targets = &ret->targets;
	size_t count = (size_t)session->settings->count;
	uint64_t address;

	targets->blocks = calloc(count + 1, sizeof(*targets->blocks));
	if (!targets->blocks)
		return &hawk_enomem;
	while (targets->count < count && !ret->stopped) {
		uint32_t *block = &targets->blocks[targets->count];

		hawk_quantity_parse_hex(session->settings->operands[targets->count], &address);
		ret->stopped = hawk_heap_find_block(session->heap, address, block);
		if (ret->stopped)
			break;
		targets->unreached.objects += !hawk_paths_lead_to(session->paths, *block);
		targets->count++;
	}
	return NULL;
}

/** Chooses blocks by the filter. */
static struct hawk_error *choose(struct hawk_session *session, struct hawk_path_targets *ret)
{
	size_t most =
		hawk_report_limit(&session->report, CHOSEN_TOP, SIZE_MAX, session->screen.full);
	struct hawk_error *err = hawk_path_targets_choose(session->heap, session->paths,
							  session->report.filter, most, ret);

	/* A block may lie in missing memory, as for an address. */
	if (!err && !ret->all.objects && !hawk_findings_partial(&session->findings))
		session->code = HAWK_EXIT_CONDITION;
	return err;
}

static struct hawk_error *make(struct hawk_session *session, void *ret)
{
	struct path *path = ret;
	struct hawk_error *err = hawk_session_reach_report(session, true);

	if (!err)
		err = hawk_session_paths(session);
	if (err)
		return err;
	path->session = session;
	path->unknown = !session->settings->count && !session->report.filter;
	err = session->report.filter ? choose(session, &path->targets) : find(session, path);
	if (!err)
		err = hawk_path_targets_find_holders(session->graph, &path->targets);
	return err ? err
		   : hawk_session_path_types(session, path->targets.blocks, path->targets.count);
}

static void add_next(void *made, struct hawk_next *ret)
{
	struct path *path = made;
	const struct hawk_heap *heap = path->session->heap;

	for (size_t i = 0; i < path->targets.count; i++) {
		uint32_t block = path->targets.blocks[i], site = hawk_heap_site_at(heap, block);

		if (!hawk_paths_lead_to(path->session->paths, block) && site < heap->site_count) {
			hawk_next_add_site(ret, "leaks", heap->sites[site].id,
					   "who lost the block");
			return;
		}
	}
	if (path->targets.count)
		hawk_next_add_address(ret, "refs",
				      hawk_block_start(&heap->index, path->targets.blocks[0]),
				      "what else points at the block");
}

static struct hawk_error *print_text(void *made, const struct hawk_screen *screen)
{
	struct path *path = made;
	struct hawk_session *session = path->session;
	struct hawk_error *err;

	if (path->unknown) {
		hawk_report_put_unknown(session->heap, screen, "Paths", "see why blocks are alive");
		return NULL;
	}
	err = hawk_report_paths(&session->report, session->paths, &path->targets, screen);
	if (err || path->stopped)
		return err ? err : take_ptr(&path->stopped);
	if (path->targets.unreached.objects) { // missing memory may hold the block
		hawk_report_findings(&session->findings, hawk_findings_partial(&session->findings),
				     screen);
		session->findings_said = session->findings.count;
	}
	return NULL;
}

static struct hawk_error *print_json(void *made, struct hawk_output *output)
{
	struct path *path = made;
	const struct hawk_pointer_report *report = &path->session->report;
	struct hawk_error *err;
	struct hawk_json json;

	hawk_report_json_begin(report, &json, output, "hawk-core/path", 4);
	err = hawk_report_paths_json(report, path->session->paths, &path->targets, &json);
	hawk_report_json_end(report, &json);
	return err ? err : take_ptr(&path->stopped);
}

static const struct hawk_answer prints = {
	.name = "path",
	.bytes = sizeof(struct path),
	.make = make,
	.next = add_next,
	.text = print_text,
	.json = print_json,
	.deinit = deinit,
};

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
	.prints = &prints,
};
