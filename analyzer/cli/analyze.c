/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core analyze: one screen about a core or a process.
 */
#include "hawk/base/memory.h"
#include "hawk/analysis/fragmentation.h"
#include "hawk/profile/sources.h"
#include "hawk/report/suspects.h"
#include "leaks.h"
#include "verify.h"
#include "hawk/analysis/threads.h"
#include "answer.h"
#include "session.h"

/** Indices of choices of --by and --sort. */
enum { BY_SITE = 1, BY_SCOPE = 5, SORT_CUM = 4 };

enum { GRAPH_BYTES_PER_BLOCK = 64, FREE_QUARTER = 4 };

/** For --full: lines of each section, sites with a schema, and "tree" of retained --by. */
enum { TOP = 10, SCHEMAS = 3, BY_TREE = 4 };

/** The suspects, printed at the end of the answer. */
struct suspects {
	struct hawk_suspects found;
	struct hawk_suspects_report report;
	struct hawk_leaks_session leaks; /**< what is definitely lost */
	struct hawk_text skipped;
	struct {
		const char *verb, *option, *why;
	} instead;   /**< a command that finds what was skipped; NULL = none */
	bool wanted; /**< the section is printed, perhaps only with the reason for its absence */
	bool has_leaks;
};

static bool is_grouped(const struct hawk_settings *settings)
{
	return settings->by > BY_SITE && settings->by != BY_SCOPE;
}

static struct hawk_site_filter filter_of(const struct hawk_settings *settings)
{
	return (struct hawk_site_filter){
		.focus = settings->focus,
		.ignore = settings->ignore,
		.min_bytes = settings->min_bytes,
	};
}

static enum hawk_site_sort sort_of(const struct hawk_settings *settings)
{
	return settings->sort && settings->sort != SORT_CUM
		       ? (enum hawk_site_sort)(settings->sort - 1)
		       : HAWK_SITE_SORT_SIZE;
}

/** Groups the listed sites by --by. */
static struct hawk_error *make_groups(struct hawk_session *session,
				      const struct hawk_site_list *list, bool filtered,
				      struct hawk_profile **profile,
				      struct hawk_profile_groups *groups)
{
	static const char *const columns[] = {
		[HAWK_SITE_SORT_SIZE] = "inuse_space",
		[HAWK_SITE_SORT_COUNT] = "inuse_objects",
		[HAWK_SITE_SORT_TOTAL] = "alloc_space",
	};
	const struct hawk_settings *settings = session->settings;
	const struct hawk_profile_style style = {.plumbing = false};
	struct hawk_error *err = hawk_profile_of_sites(session->heap, session->symbols, list,
						       filtered, &style, profile);

	if (err)
		return err;
	return hawk_profile_groups_make(*profile, (enum hawk_profile_by)(settings->by - BY_SITE),
					hawk_profile_column(*profile, columns[sort_of(settings)]),
					settings->sort == SORT_CUM, groups);
}

/** Prints to the session's screen, or JSON to `output` if that is not NULL. `sections` holds
 * answers of other verbs. */
static struct hawk_error *print(struct hawk_session *session, const struct hawk_report *sections,
				struct hawk_output *output)
{
	struct hawk_site_filter filter = filter_of(session->settings);
	struct hawk_site_list list = {0};
	struct hawk_profile *profile = NULL;
	struct hawk_profile_groups groups = {0};
	struct hawk_report report = {
		.target = session->target,
		.symbols = session->symbols,
		.heap = session->heap,
		.findings = &session->findings,
		.next = &session->next,
		.leaks = sections->leaks,
		.fragmentation = sections->fragmentation,
		.verify = sections->verify,
		.threads = sections->threads,
		.suspects = sections->suspects,
		.source = session->source,
		.filtered = filter.focus || filter.ignore || filter.min_bytes,
		.top = (size_t)session->settings->top,
		.depth = (size_t)session->settings->depth,
		.sorted = session->settings->sort,
		.sort = sort_of(session->settings),
		.by_scope = session->settings->by == BY_SCOPE,
	};
	struct hawk_error *err = NULL;

	if (session->heap->knows) {
		err = hawk_site_list_create(session->heap, session->symbols, &filter, &list);
		report.list = &list;
	}
	if (!err && report.list && is_grouped(session->settings)) {
		err = make_groups(session, &list, report.filtered, &profile, &groups);
		report.profile = profile;
		report.groups = &groups;
	}
	if (!err)
		err = !output                    ? hawk_report_text(&report, &session->screen)
		      : session->settings->brief ? hawk_report_brief(&report, output)
						 : hawk_report_json(&report, output);
	hawk_profile_groups_deinit(&groups);
	hawk_profile_destroy(profile);
	hawk_site_list_deinit(&list);
	return err;
}

/** Returns true if a filter or limit asks for a short answer. */
static bool is_filtered(const struct hawk_settings *settings)
{
	return settings->focus || settings->ignore || settings->min_bytes || settings->by ||
	       settings->sort;
}

static struct hawk_error *check(struct hawk_settings *settings)
{
	struct hawk_site_filter filter = filter_of(settings);

	settings->json |= settings->brief;
	if (settings->brief && is_filtered(settings))
		return hawk_error_create(HAWK_ERROR_USAGE,
					 "--brief is the whole first screen: no --by, --sort, "
					 "--focus, --ignore or --min-bytes");
	if (settings->sort == SORT_CUM && !is_grouped(settings))
		return hawk_error_create(HAWK_ERROR_USAGE,
					 "--sort cum needs --by function, file or module");
	return hawk_site_filter_check(&filter);
}

/** Returns true if suspects are wanted: not without blocks, and for a process, which stays stopped
 * meanwhile, only on request. */
static bool suspects_wanted(const struct hawk_session *session)
{
	return !session->settings->no_graph && !session->settings->no_suspects &&
	       !is_filtered(session->settings) && hawk_session_has_blocks(session) &&
	       (!session->settings->pid || session->settings->full || session->settings->suspects);
}

/** Returns true if the answer lists what is lost. */
static bool leaks_wanted(const struct hawk_session *session)
{
	return session->settings->full && !session->settings->json &&
	       !session->settings->no_graph && hawk_session_has_blocks(session);
}

/** Returns the number of blocks whose graph fits into the memory that is available. */
static uint64_t graph_blocks_max(void)
{
	return hawk_memory_available() / 4 * 3 / GRAPH_BYTES_PER_BLOCK;
}

/** Returns true if there is no memory for the heap's graph. */
static bool is_too_large(const struct hawk_heap *heap)
{
	return heap->sums.blocks > heap->blocks_max || heap->sums.blocks > graph_blocks_max();
}

/** Adds a finding: parts that this machine cannot compute are missing in the answer. */
static void note_skipped(struct hawk_session *session)
{
	hawk_findings_add(&session->findings, HAWK_FINDING_MISSING, true, "suspects-missing",
			  "what is lost, suspects, and who holds them, are left out for want of "
			  "memory");
}

/** Names the command that finds what was skipped, after a sentence. */
static void refuse(struct hawk_session *session, const char *verb, const char *option,
		   const char *why, const char *sentence, struct suspects *ret)
{
	struct hawk_next next = {0};

	ret->instead.verb = verb;
	ret->instead.option = option;
	ret->instead.why = why;
	hawk_settings_append_core(session->opened, session->source, &next.core);
	hawk_next_add(&next, verb, option, NULL, why);
	hawk_text_puts(&ret->skipped, sentence);
	hawk_next_append_shell(&ret->skipped, &next.items[0]);
	hawk_next_deinit(&next);
}

/** Appends the reason why suspects are not searched; nothing if they are. */
static void append_refusal(struct hawk_session *session, struct suspects *ret)
{
	struct hawk_text *text = &ret->skipped;
	uint64_t blocks = session->heap->sums.blocks;

	if (session->settings->no_graph)
		hawk_text_puts(text, "Leaks and suspects: not asked for (--no-graph).");
	else if (hawk_target_process(session->target)->table_file)
		hawk_text_puts(text, "No suspects: a table file has counts but no memory, so it "
				     "cannot show who holds a block, or for how long.");
	else if (!hawk_session_has_blocks(session))
		hawk_text_puts(text, "No suspects: this snapshot holds sites and no blocks, so it "
				     "cannot show who holds one, or for how long.");
	else if (session->settings->pid && !session->settings->full && !session->settings->suspects)
		refuse(session, "analyze", "--suspects", "what is lost, and suspects",
		       "Suspects, and what is lost, take a longer stop of the process: ", ret);
	else if (is_too_large(session->heap)) {
		hawk_text_printf(text,
				 "No leaks and suspects: the graph of %s blocks would take about "
				 "%s of memory, and %s are available. ",
				 hawk_quantity_count(blocks).text,
				 hawk_quantity_bytes(blocks * GRAPH_BYTES_PER_BLOCK).text,
				 hawk_quantity_bytes(hawk_memory_available()).text);
		refuse(session, "leaks", NULL, "what is lost, in half of the memory",
		       "What is lost takes half of it: ", ret);
		note_skipped(session);
	}
}

/** Returns true if the snapshot lost parts behind its heap. */
static bool is_damaged(struct hawk_session *session, const struct hawk_error *err)
{
	if (hawk_error_code(err) != HAWK_ERROR_FORMAT || !hawk_target_snapshot(session->target))
		return false;
	hawk_findings_add(&session->findings, HAWK_FINDING_DAMAGE, true, "snapshot-damaged",
			  "it %s", hawk_error_message(err));
	return true;
}

/** Finds sums, cycles and their types: all that suspects need of a process's memory. */
static struct hawk_error *make_leaks(struct hawk_session *session, struct suspects *ret)
{
	struct hawk_error *err =
		hawk_leaks_session_make(session, 1u << HAWK_REACH_DEFINITELY_LOST, &ret->leaks);

	ret->has_leaks = !err;
	ret->report.leaks = &ret->leaks.report;
	return err;
}

static struct hawk_error *make_suspects(struct hawk_session *session, struct suspects *ret)
{
	struct hawk_error *err = ret->has_leaks ? NULL : make_leaks(session, ret);

	if (!err)
		err = hawk_session_dominators(session);
	if (!err)
		err = hawk_session_report(session);
	if (!err)
		err = hawk_suspects_find(session->graph, session->report.reach, session->dominators,
					 session->report.roots, session->report.names,
					 hawk_block_types_modules(ret->leaks.report.types),
					 session->settings->full, &ret->found);
	if (!err || (hawk_error_code(err) != HAWK_ERROR_UNSUPPORTED &&
		     hawk_error_code(err) != HAWK_ERROR_NOMEM && !is_damaged(session, err)))
		return err;
	/* Too many blocks, too little memory or missing data: the rest of the answer stands. */
	if (hawk_error_code(err) == HAWK_ERROR_NOMEM)
		note_skipped(session);
	hawk_text_printf(&ret->skipped, "No suspects: %s%s.",
			 hawk_error_code(err) == HAWK_ERROR_FORMAT ? "the file " : "",
			 hawk_error_message(err));
	hawk_error_destroy(err);
	hawk_suspects_deinit(&ret->found); /* those found so far */
	ret->report.skipped = ret->skipped.bytes;
	return ret->skipped.failed ? &hawk_enomem : NULL;
}

static struct hawk_error *find_suspects(struct hawk_session *session, struct suspects *ret)
{
	if (session->settings->no_suspects || is_filtered(session->settings) ||
	    !session->heap->knows || !session->heap->sums.blocks)
		return NULL;
	ret->wanted = true;
	append_refusal(session, ret);
	if (ret->skipped.failed)
		return &hawk_enomem;
	ret->report.pointers = &session->report;
	ret->report.found = &ret->found;
	ret->report.next = &session->next;
	ret->report.skipped = ret->skipped.size ? ret->skipped.bytes : NULL;
	return ret->report.skipped ? NULL : make_suspects(session, ret);
}

static void deinit_suspects(struct suspects *suspects)
{
	hawk_suspects_deinit(&suspects->found);
	hawk_leaks_session_deinit(&suspects->leaks);
	hawk_text_deinit(&suspects->skipped);
}

/** Shows the schemas of the largest sites that have a stack. */
static struct hawk_error *ask_schemas(struct hawk_session *session)
{
	struct hawk_error *err = NULL;
	size_t asked = 0;

	if (!(session->heap->knows & HAWK_HEAP_CONTENTS)) {
		hawk_screen_heading(&session->screen,
				    "What blocks of the largest sites look like: a snapshot holds "
				    "no contents");
		return NULL;
	}
	for (size_t i = 0; i < session->heap->site_count && asked < SCHEMAS && !err; i++) {
		const struct hawk_site *site = &session->heap->sites[i];
		struct hawk_settings settings = {
			.site = {true, {site->id, HAWK_SITE_DIGITS}},
		};

		if (!site->inuse_objects || !site->trace || site->trace == UINT32_MAX)
			continue;
		if (!asked++)
			hawk_screen_heading(&session->screen,
					    "What blocks of the largest sites look like");
		err = hawk_answer_print_with(session, &hawk_answer_schema, &settings);
	}
	return err;
}

/** Prints answers of other verbs, each cut to its most important lines, since each verb can be run
 * by itself. Text only, and for cores only: a process was released by then. */
static struct hawk_error *print_sections(struct hawk_session *session)
{
	static const struct hawk_settings sites = {.top = TOP}, tree = {.by = BY_TREE};
	static const struct {
		const struct hawk_answer *answer;
		const struct hawk_settings *settings;
	} sections[] = {
		{&hawk_answer_retained, &sites},
		{&hawk_answer_retained, &tree},
		{&hawk_answer_sites, &sites},
		{&hawk_answer_growth, &sites},
	};
	struct hawk_error *err = NULL;

	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]) && !err; i++)
		err = hawk_answer_print_with(session, sections[i].answer, sections[i].settings);
	return err ? err : ask_schemas(session);
}

/** Loads all data before the first screen: a process is released by then. Without a graph, blocks
 * are only summed up, unless they get types. */
static struct hawk_error *load(struct hawk_session *session, struct suspects *suspects)
{
	bool blocks = suspects_wanted(session) || leaks_wanted(session);
	bool types = !session->settings->no_types && !session->settings->pid;
	uint64_t most = graph_blocks_max();
	struct hawk_error *err = hawk_session_sums(session, blocks ? most : 0, types ? most : 0);

	if (err || !session->settings->pid || !suspects_wanted(session))
		return err;
	err = leaks_wanted(session) ? hawk_session_graph(session) : make_leaks(session, suspects);
	if (!err || hawk_error_code(err) != HAWK_ERROR_UNSUPPORTED)
		return err;
	hawk_error_destroy(err); // the suspects report it
	return NULL;
}

struct answer {
	struct hawk_session *session;
	struct hawk_fragmentation fragmentation;
	bool is_fragmented; /**< free memory is more than a quarter of what is resident */
	struct hawk_leaks_session leaks; /**< for a full answer */
	bool has_leaks;
	struct hawk_threads threads;       /**< if there are several; without stacks */
	struct hawk_verify_session verify; /**< of a crash in the allocator */
	bool has_verify;
	struct suspects suspects; /**< for text, found after the first screen is printed */
};

static void deinit(void *made)
{
	struct answer *answer = made;

	hawk_fragmentation_deinit(&answer->fragmentation);
	deinit_suspects(&answer->suspects);
	hawk_leaks_session_deinit(&answer->leaks);
	hawk_verify_session_deinit(&answer->verify);
	hawk_threads_deinit(&answer->threads);
}

/** Finds out what threads wait for, and deadlocks. */
static struct hawk_error *make_threads(struct hawk_session *session, struct answer *answer)
{
	struct hawk_threads_wish wish = {.target = session->target,
					 .symbols = session->symbols,
					 .heap = session->heap,
					 .is_brief = true};
	struct hawk_error *err;
	size_t count;

	hawk_target_threads(session->target, &count);
	if (count < 2)
		return NULL;
	err = hawk_session_types(session, &wish.types);
	if (!err)
		err = hawk_threads_make(&wish, &answer->threads);
	if (!err)
		hawk_threads_resolve(&wish, &answer->threads);
	return err;
}

/** Checks the heap if the process died inside of the allocator. */
static struct hawk_error *make_verify(struct hawk_session *session, struct answer *answer)
{
	struct hawk_crash crash;

	/* Asked of a snapshot, too: findings about stacks come in the order of its core's. */
	hawk_crash_find(session->target, session->symbols, &crash);
	if (!crash.function || is_filtered(session->settings) ||
	    !hawk_session_has_blocks(session) || !(session->heap->knows & HAWK_HEAP_CONTENTS))
		return NULL;
	answer->has_verify = true;
	return hawk_verify_session_make(session, &answer->verify);
}

/** Asks allocators about free memory if that may be more than a quarter of what is resident. */
static struct hawk_error *find_fragmentation(struct hawk_session *session, struct answer *answer)
{
	const struct hawk_accounting *memory = &session->heap->accounting;
	struct hawk_fragmentation *found = &answer->fragmentation;
	uint64_t resident = hawk_target_process(session->target)->resident_bytes;
	struct hawk_error *err;

	if (!resident)
		resident = memory->measured ? memory->touched_bytes : memory->writable_bytes;
	if (memory->overhead_bytes <= resident / FREE_QUARTER)
		return NULL;
	err = hawk_session_fragmentation(session, found);
	answer->is_fragmented = !err && hawk_fragmentation_kept(found) > resident / FREE_QUARTER;
	return err;
}

static struct hawk_error *make(struct hawk_session *session, void *ret)
{
	struct answer *answer = ret;
	struct hawk_error *err = load(session, &answer->suspects);
	bool full = !err && leaks_wanted(session);

	answer->session = session;
	if (full && is_too_large(session->heap)) {
		note_skipped(session);
		full = false;
	}
	if (!err && session->heap->knows & HAWK_HEAP_BLOCKS)
		err = find_fragmentation(session, answer);
	if (!err)
		err = make_threads(session, answer);
	if (!err)
		err = make_verify(session, answer);
	if (!err && full)
		err = hawk_leaks_session_make(session, HAWK_LEAKS_KINDS_LISTED, &answer->leaks);
	err = hawk_session_release(session, err);
	if (err)
		return err;
	answer->has_leaks = full && session->heap->knows;
	hawk_session_check(session);
	return session->settings->json ? find_suspects(session, &answer->suspects) : NULL;
}

/** Returns the sections that text and JSON share. */
static struct hawk_report sections_of(const struct answer *answer)
{
	return (struct hawk_report){
		.fragmentation = answer->is_fragmented ? &answer->fragmentation : NULL,
		.verify = answer->has_verify ? &answer->verify.report : NULL,
		.threads = answer->threads.count && !answer->threads.waits_unknown
				   ? &answer->threads
				   : NULL,
	};
}

/** Adds commands about the suspects, then about what damaged the heap. */
static void add_next(void *made, struct hawk_next *ret)
{
	struct answer *answer = made;
	const struct suspects *suspects = &answer->suspects;

	if (suspects->instead.verb)
		hawk_next_add(ret, suspects->instead.verb, suspects->instead.option, NULL,
			      suspects->instead.why);
	hawk_next_of_suspects(&suspects->report, ret);
	if (answer->threads.deadlocks)
		hawk_next_add(ret, "threads", NULL, NULL, "where the threads wait for each other");
	if (answer->has_verify && answer->session->settings->json)
		hawk_next_of_verify(&answer->verify.report, ret);
}

/** Prints the first screen, and follows pointers for leaks and suspects while it is read. */
static struct hawk_error *print_text(void *made, const struct hawk_screen *screen)
{
	struct answer *answer = made;
	struct hawk_session *session = answer->session;
	struct suspects *suspects = &answer->suspects;
	struct hawk_report sections = sections_of(answer);
	struct hawk_error *err;

	sections.leaks = answer->has_leaks ? &answer->leaks.report : NULL;
	err = print(session, &sections, NULL);
	hawk_output_flush(screen->output);
	if (err || screen->output->errnum) // the reader has gone
		return err;
	err = find_suspects(session, suspects);
	hawk_session_begin_next(session); // those of before lack the suspects
	add_next(made, &session->next);
	if (!err && suspects->has_leaks && !answer->has_leaks)
		hawk_leaks_report_sums(&suspects->leaks.report, screen);
	if (answer->has_leaks) // made while a process could be read
		suspects->report.leaks = &answer->leaks.report;
	if (!err && suspects->wanted)
		hawk_report_suspects(&suspects->report, screen);
	if (!err && session->settings->full && !session->settings->pid && suspects->wanted &&
	    !suspects->report.skipped)
		err = print_sections(session);
	hawk_report_findings(&session->findings, hawk_findings_partial(&session->findings), screen);
	return err;
}

static struct hawk_error *print_json(void *made, struct hawk_output *output)
{
	struct answer *answer = made;
	struct suspects *suspects = &answer->suspects;
	struct hawk_report sections = sections_of(answer);

	sections.leaks = suspects->has_leaks ? &suspects->leaks.report : NULL;
	sections.suspects = suspects->wanted ? &suspects->report : NULL;
	return print(answer->session, &sections, output);
}

const struct hawk_answer hawk_answer_analyze = {
	.name = "analyze",
	.bytes = sizeof(struct answer),
	.make = make,
	.next = add_next,
	.text_has_next = true,
	.text = print_text,
	.json = print_json,
	.deinit = deinit,
};

static const struct hawk_option options[] = {
	{"sort", 's', HAWK_OPTION_CHOICE, HAWK_AT(sort), "size|count|total|cum",
	 "order by live bytes, live blocks, bytes allocated since start; cum: with --by, live "
	 "bytes of "
	 "all that was called"},
	{"full", 'f', HAWK_OPTION_FLAG, HAWK_AT(full), NULL,
	 "everything: all sites, whole stacks, leaks, all threads, memory map, modules"},
	{"by", 'b', HAWK_OPTION_CHOICE, HAWK_AT(by), "site|function|file|module|scope",
	 "add up by what allocated (flat) and what called that (cum), or by HAWK_SCOPE"},
	{"suspects", '\0', HAWK_OPTION_FLAG, HAWK_AT(suspects), NULL,
	 "show lost memory and the holders of the largest sites also with --pid; stops the process "
	 "for longer"},
	{"brief", '\0', HAWK_OPTION_FLAG, HAWK_AT(brief), NULL,
	 "the first screen as JSON, in at most 8 kB"},
	{"no-graph", '\0', HAWK_OPTION_FLAG, HAWK_AT(no_graph), NULL,
	 "only sum blocks up, in little memory: neither lost memory nor suspects"},
	{"no-suspects", '\0', HAWK_OPTION_FLAG, HAWK_AT(no_suspects), NULL,
	 "leave out lost memory and the holders of the largest sites, which take longest"},
	{0},
};

const struct hawk_verb hawk_verb_analyze = {
	.name = "analyze",
	.arguments = "[options] CORE | TABLE | --pid PID",
	.summary = "who owns the memory of a dead or living process",
	.details = "Prints how the process died, where its memory went, and which stacks "
		   "allocated most of it; then what is lost, and suspects: the few sites that "
		   "explain most of the memory, who holds them, how they grow, and what to ask "
		   "next; last, what was missing.",
	.options = options,
	.shared = HAWK_TAKES_PID | HAWK_TAKES_TOP | HAWK_TAKES_DEPTH | HAWK_TAKES_JSON |
		  HAWK_TAKES_FOCUS | HAWK_TAKES_IGNORE | HAWK_TAKES_MIN_BYTES | HAWK_TAKES_TARGET |
		  HAWK_TAKES_OUTPUT | HAWK_TAKES_COLOR,
	.types = true,
	.exit_codes = hawk_verb_exit_codes,
	.needs = "one core file, or --pid",
	.live = true,
	.check = check,
	.prints = &hawk_answer_analyze,
};
