/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core html: the answers of other verbs, and profiles, in one page for a browser.
 */
#include "hawk/report/fragmentation.h"
#include "hawk/report/html.h"
#include "answer.h"
#include "html_objects.h"
#include "profile.h"

/** Limits of lists and stacks in the documents; profiles have all sites. */
enum { DOCUMENT_TOP = 1000, DOCUMENT_DEPTH = 1000, LEFT_OUT_MAX = 16, PINS = 50 };

/** A part that the page lacks, and the reason. */
struct left_out {
	const char *part;
	struct hawk_text reason;
};

/** Answers that are made while a process is held. */
enum { ANALYZE = 0, LEAKS, TYPES, MADE };

static const struct hawk_answer *const made_answers[MADE] = {
	&hawk_answer_analyze, &hawk_answer_leaks, &hawk_answer_types};

struct page {
	struct hawk_session *session;
	struct hawk_settings settings; /**< of the documents */
	void *made[MADE];
	struct hawk_objects objects;
	struct left_out left_out[LEFT_OUT_MAX];
	size_t left_out_count;
	struct hawk_html_map map;
	struct hawk_fragmentation fragmentation;
	bool graph; /**< blocks and pointers are known */
};

static struct hawk_error *check(struct hawk_settings *settings)
{
	return hawk_check_profile(settings);
}

/** Leaves out a part that this core or machine cannot provide. Destroys such an error. */
static struct hawk_error *leave_out(struct page *page, const char *part, struct hawk_error *err)
{
	struct left_out *left_out = &page->left_out[page->left_out_count];
	enum hawk_error_code code;

	if (!err || page->left_out_count == LEFT_OUT_MAX)
		return err;
	code = hawk_error_code(err);
	if (code != HAWK_ERROR_UNSUPPORTED && code != HAWK_ERROR_NOMEM &&
	    code != HAWK_ERROR_NOT_FOUND)
		return err;
	if (code == HAWK_ERROR_NOMEM)
		hawk_findings_add(&page->session->findings, HAWK_FINDING_MISSING, true,
				  "part-missing*", "%s is left out of the page for want of memory",
				  part);
	*left_out = (struct left_out){.part = part};
	hawk_text_puts(&left_out->reason, hawk_error_message(err));
	page->left_out_count++;
	hawk_error_destroy(err);
	return NULL;
}

/** Puts an answer's JSON document as a part. */
static struct hawk_error *put_document(struct page *page, const struct hawk_answer *answer)
{
	struct hawk_session *session = page->session;
	struct hawk_error *err = hawk_html_part_begin(session->output, answer->name);

	if (err)
		return err;
	err = hawk_answer_print_with(session, answer, &page->settings);
	session->code = HAWK_EXIT_OK; // leaks do not change the exit code here
	hawk_html_part_end(session->output);
	return leave_out(page, answer->name, err);
}

/** Puts an answer that was made before, if it was. */
static struct hawk_error *put_made(struct page *page, unsigned number)
{
	struct hawk_session *session = page->session;
	const struct hawk_answer *answer = made_answers[number];
	struct hawk_error *err;

	if (!page->made[number])
		return NULL;
	err = hawk_html_part_begin(session->output, answer->name);
	if (err)
		return err;
	err = hawk_answer_put(session, answer, &page->settings, page->made[number]);
	page->made[number] = NULL;
	hawk_html_part_end(session->output);
	return err;
}

static struct hawk_error *put_objects(struct page *page)
{
	struct hawk_session *session = page->session;
	struct hawk_error *err;

	if (!page->objects.count)
		return NULL;
	err = hawk_session_report(session);
	return err ? err
		   : hawk_html_put_objects(&session->report, session->dominators, &page->objects,
					   session->output);
}

static struct hawk_error *put_sources(struct hawk_session *session,
				      const struct hawk_profile *profile)
{
	struct hawk_source_lines lines = {0};
	struct hawk_error *err = hawk_source_lines_make(profile, NULL, &lines);
	const struct hawk_source_listing listing = hawk_session_listing(session, profile, &lines);

	if (!err)
		err = hawk_html_sources(&listing, session->output);
	hawk_source_lines_deinit(&lines);
	return err;
}

/** Puts the profile `what` as the part "profile-NAME". */
static struct hawk_error *put_profile(struct page *page, enum hawk_what what, const char *name)
{
	struct hawk_session *session = page->session;
	struct hawk_profiled profiled;
	struct hawk_error *err = hawk_session_profile_of(session, what, &profiled);

	if (!err)
		err = hawk_html_profile(profiled.profile, name, session->output);
	if (!err && what == HAWK_WHAT_LIVE && session->settings->with_source)
		err = put_sources(session, profiled.profile);
	hawk_profiled_deinit(&profiled);
	return leave_out(page, name, err);
}

/** Puts the memory added since --base. An unreadable base is an error. */
static struct hawk_error *put_difference(struct page *page)
{
	struct hawk_session *session = page->session;
	struct hawk_profile *difference = NULL;
	struct hawk_profiled ours, base = {0};
	struct hawk_error *err = hawk_session_profile(session, &ours);

	if (!err)
		err = hawk_profile_open(session->settings, session->settings->base,
					&session->findings, &base);
	if (!err)
		err = hawk_profiled_difference(&base, &ours, &difference);
	if (!err)
		err = hawk_html_profile(difference, "difference", session->output);
	hawk_profile_destroy(difference);
	hawk_profiled_deinit(&ours);
	hawk_profiled_deinit(&base);
	return err;
}

/** Puts data that no verb's document has. Comes last, since it lists the parts left out. */
static struct hawk_error *put_rest(struct page *page)
{
	struct hawk_session *session = page->session;
	struct hawk_error *err = hawk_html_part_begin(session->output, "page");
	struct hawk_json json;

	if (err)
		return err;
	hawk_json_init(&json, session->output, 1);
	hawk_json_object(&json);
	hawk_json_put_string(&json, "version", HAWK_VERSION);
	hawk_json_put_array(&json, "left_out");
	for (size_t i = 0; i < page->left_out_count; i++) {
		hawk_json_object(&json);
		hawk_json_put_string(&json, "part", page->left_out[i].part);
		hawk_json_put_string(&json, "reason", hawk_text_string(&page->left_out[i].reason));
		hawk_json_object_end(&json);
	}
	hawk_json_array_end(&json);
	hawk_html_put_findings(&session->findings, &json);
	hawk_html_put_names(session->symbols, &json);
	hawk_html_put_map(&page->map, &json);
	hawk_report_json_fragmentation(session->heap, &page->fragmentation, PINS, &json);
	hawk_json_object_end(&json);
	hawk_json_finish(&json);
	hawk_html_part_end(session->output);
	return NULL;
}

/** Puts the parts that need blocks and pointers. */
static struct hawk_error *put_graph(struct page *page)
{
	static const struct hawk_answer *const documents[] = {&hawk_answer_growth,
							      &hawk_answer_sites};
	static const struct {
		enum hawk_what what;
		const char *name;
	} profiles[] = {
		{HAWK_WHAT_LOST, "lost"},
		{HAWK_WHAT_RETAINED, "retained"},
		{HAWK_WHAT_PATHS, "paths"},
	};
	struct hawk_error *err = NULL;

	for (size_t i = 0; i < sizeof(profiles) / sizeof(profiles[0]) && !err; i++)
		err = put_profile(page, profiles[i].what, profiles[i].name);
	for (size_t i = 0; i < sizeof(documents) / sizeof(documents[0]) && !err; i++)
		err = put_document(page, documents[i]);
	return err ? err : put_objects(page);
}

static struct hawk_error *put_parts(struct page *page)
{
	struct hawk_session *session = page->session;
	const struct hawk_heap *heap = session->heap;
	struct hawk_error *err = put_made(page, ANALYZE);

	if (!err)
		err = put_made(page, LEAKS);
	if (!err)
		err = put_made(page, TYPES);
	if (!err && heap->knows)
		err = put_profile(page, HAWK_WHAT_LIVE, "live");
	if (!err && session->settings->base)
		err = put_difference(page);
	if (!err && page->graph)
		err = put_graph(page);
	return err ? err : put_rest(page);
}

/** Makes the memory map, and asks allocators about free memory. */
static struct hawk_error *make_map(struct page *page)
{
	struct hawk_session *session = page->session;
	const struct hawk_heap *allocators = session->heap;
	struct hawk_error *err = NULL;

	if (session->heap->knows & HAWK_HEAP_BLOCKS)
		err = hawk_session_allocators(session, &allocators);
	if (!err && session->heap->index.count)
		err = hawk_session_fragmentation(session, &page->fragmentation);
	return err ? err : hawk_html_map_make(session->target, allocators, &page->map);
}

/** Makes an answer's document. */
static struct hawk_error *make_answer(struct page *page, unsigned number)
{
	struct hawk_session *session = page->session;
	const struct hawk_answer *answer = made_answers[number];
	struct hawk_error *err =
		hawk_answer_make(session, answer, &page->settings, &page->made[number]);

	session->code = HAWK_EXIT_OK; // leaks do not change the exit code here
	return leave_out(page, answer->name, err);
}

/** Makes what needs blocks and pointers. */
static struct hawk_error *make_graph(struct page *page)
{
	struct hawk_session *session = page->session;
	struct hawk_error *err;

	if (!session->heap->knows || hawk_target_process(session->target)->table_file)
		return NULL;
	err = hawk_session_reach_report(session, true);
	page->graph = !err;
	err = leave_out(page, "graph", err);
	if (err || !page->graph)
		return err;
	err = make_answer(page, TYPES);
	if (!err)
		err = make_answer(page, LEAKS);
	if (err || !page->made[LEAKS])
		return err;
	err = hawk_html_choose_objects(session, page->made[LEAKS], &page->fragmentation,
				       &page->objects);
	return leave_out(page, "objects", err);
}

/** Does all reading of the process, then releases it. */
static struct hawk_error *load(struct page *page)
{
	struct hawk_session *session = page->session;
	struct hawk_error *err;

	hawk_target_hold(session->target, true);
	err = hawk_session_sites(session);
	if (!err)
		err = make_map(page);
	if (!err)
		err = make_graph(page);
	if (!err) // last: suspects have names of the session's report
		err = make_answer(page, ANALYZE);
	hawk_target_hold(session->target, false);
	return hawk_session_release(session, err);
}

static struct hawk_error *answer(struct hawk_session *session)
{
	struct page page = {.session = session, .settings = *session->settings};
	struct hawk_error *err = hawk_output_refuse_terminal(session->output, "a page");

	page.settings.json = true;
	page.settings.top = DOCUMENT_TOP;
	page.settings.depth = DOCUMENT_DEPTH;
	page.settings.suspects = true; // of a process, too
	if (!err)
		err = load(&page);
	if (!err) {
		hawk_html_begin(session->output);
		err = put_parts(&page);
		hawk_html_end(session->output);
	}
	for (unsigned i = 0; i < MADE; i++)
		hawk_answer_destroy(made_answers[i], page.made[i]);
	hawk_objects_deinit(&page.objects);
	hawk_fragmentation_deinit(&page.fragmentation);
	hawk_html_map_deinit(&page.map);
	for (size_t i = 0; i < page.left_out_count; i++)
		hawk_text_deinit(&page.left_out[i].reason);
	return err;
}

static const struct hawk_option options[] = {
	{"base", '\0', HAWK_OPTION_STRING, HAWK_AT(base), "CORE",
	 "also show the memory added since CORE"},
	{"with-source", '\0', HAWK_OPTION_FLAG, HAWK_AT(with_source), NULL,
	 "put the source files that are found here into the page"},
	{0},
};

const struct hawk_verb hawk_verb_html = {
	.name = "html",
	.arguments = "[options] -o FILE CORE | TABLE | --pid PID",
	.summary = "the answer as one page for a browser, which needs no network",
	.details = "Writes how the process died, who owns the memory, suspects and what is "
		   "missing, with stacks to zoom into, as a single file that makes no request.",
	.options = options,
	.shared = HAWK_TAKES_PID | HAWK_TAKES_SOURCE_DIRECTORY | HAWK_TAKES_PLUMBING |
		  HAWK_TAKES_FOCUS | HAWK_TAKES_IGNORE | HAWK_TAKES_MIN_BYTES | HAWK_TAKES_TARGET |
		  HAWK_TAKES_OUTPUT,
	.types = true,
	.exit_codes = hawk_verb_exit_codes,
	.needs = "one core file, or --pid",
	.live = true,
	.findings = HAWK_FINDINGS_NOWHERE,
	.check = check,
	.answer = answer,
};
