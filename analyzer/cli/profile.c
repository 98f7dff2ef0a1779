/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Profiles of sessions: live and allocated memory by site, what leaked, and trees of retained
 * memory and of paths.
 */
#include "profile.h"

#include <stdlib.h>
#include <string.h>

#include "hawk/base/cleanup.h"
#include "hawk/base/numbers.h"
#include "leaks.h"
#include "tree.h"

static const char *const whats[] = {
	[HAWK_WHAT_LIVE] = "live",  [HAWK_WHAT_TOTAL] = "allocated",
	[HAWK_WHAT_LOST] = "lost",  [HAWK_WHAT_RETAINED] = "retained",
	[HAWK_WHAT_PATHS] = "live",
};

bool hawk_is_profile_filtered(const struct hawk_settings *settings)
{
	return settings->focus || settings->ignore || settings->min_bytes;
}

static struct hawk_site_filter filter_of(const struct hawk_settings *settings)
{
	return (struct hawk_site_filter){
		.focus = settings->focus,
		.ignore = settings->ignore,
		.min_bytes = settings->min_bytes,
	};
}

struct hawk_error *hawk_check_profile(const struct hawk_settings *settings)
{
	struct hawk_site_filter filter = filter_of(settings);

	return hawk_site_filter_check(&filter);
}

static struct hawk_error *list_sites(struct hawk_session *session, struct hawk_site_list *ret)
{
	struct hawk_site_filter filter = filter_of(session->settings);

	return hawk_site_list_create(session->heap, session->symbols, &filter, ret);
}

static struct hawk_error *profile_sites(struct hawk_session *session, struct hawk_profile **ret)
{
	const struct hawk_profile_style style = {.plumbing = session->settings->plumbing};
	struct hawk_site_list list = {0};
	struct hawk_error *err = hawk_session_sites(session);

	err = hawk_session_release(session, err);
	if (!err)
		err = list_sites(session, &list);
	if (!err)
		err = hawk_profile_of_sites(session->heap, session->symbols, &list,
					    hawk_is_profile_filtered(session->settings), &style,
					    ret);
	hawk_site_list_deinit(&list);
	return err;
}

/** Finds the sites that the filters choose, by site; NULL = all. Caller frees. */
static struct hawk_error *choose_sites(struct hawk_session *session, bool **ret)
{
	struct hawk_site_list list = {0};
	struct hawk_error *err;

	*ret = NULL;
	if (!hawk_is_profile_filtered(session->settings))
		return NULL;
	err = list_sites(session, &list);
	if (err)
		return err;
	*ret = calloc(session->heap->site_count + 1, sizeof(**ret));
	for (size_t i = 0; *ret && i < list.count; i++)
		(*ret)[list.sites[i]] = true;
	hawk_site_list_deinit(&list);
	return *ret ? NULL : &hawk_enomem;
}

/** Makes a bit for each block of these sites; NULL = all. Caller frees. */
static struct hawk_error *choose_blocks(struct hawk_session *session, uint64_t **ret)
{
	const struct hawk_heap *heap = session->heap;
	CLEANUP(free_ptr) bool *chosen = NULL;
	struct hawk_error *err = choose_sites(session, &chosen);

	*ret = NULL;
	if (err || !chosen)
		return err;
	*ret = calloc((size_t)heap->index.count / 64 + 1, sizeof(**ret));
	if (!*ret)
		return &hawk_enomem;
	for (uint32_t i = 0; i < heap->index.count; i++) {
		uint32_t site = hawk_heap_site_at(heap, i);

		if (site < heap->site_count && chosen[site])
			(*ret)[i / 64] |= UINT64_C(1) << i % 64;
	}
	return NULL;
}

static struct hawk_error *profile_leaks(struct hawk_session *session, struct hawk_profile **ret)
{
	const struct hawk_profile_style style = {.plumbing = session->settings->plumbing};
	CLEANUP(free_ptr) bool *chosen = NULL;
	struct hawk_leaks_session leaks = {0};
	struct hawk_error *err = hawk_leaks_session_make(session, HAWK_LEAKS_KINDS_LOST, &leaks);

	if (!err)
		err = choose_sites(session, &chosen);
	if (!err)
		err = hawk_profile_of_leaks(session->heap, session->symbols, &leaks.leaks, chosen,
					    &style, ret);
	hawk_leaks_session_deinit(&leaks);
	return err;
}

static struct hawk_error *profile_tree(struct hawk_session *session, bool paths,
				       struct hawk_profile **ret)
{
	static const char *const columns[][2] = {
		{"retained_objects", "retained_space"},
		{"inuse_objects", "inuse_space"},
	};
	CLEANUP(free_ptr) uint64_t *chosen = NULL;
	struct hawk_session_tree tree = {0};
	struct hawk_error *err = hawk_session_reach_report(session, false);

	if (!err)
		err = choose_blocks(session, &chosen);
	if (!err)
		err = hawk_session_tree(session, paths, chosen, NULL, &tree);
	if (!err)
		err = hawk_profile_of_tree(session->graph, session->symbols, &tree.groups,
					   &tree.tree, columns[paths], ret);
	hawk_session_tree_deinit(&tree);
	return err;
}

/** Returns the time of the end; for a core the best estimate. */
static uint64_t end_time(const struct hawk_process *process)
{
	const struct hawk_end_times *times = &process->end;

	return process->live         ? hawk_now_ns(CLOCK_REALTIME)
	       : times->attribute_ns ? times->attribute_ns
				     : times->file_ns;
}

static char *copy_of(const char *text)
{
	char *copy = text && text[0] ? strdup(text) : NULL;

	if (text && text[0] && !copy)
		hawk_enomem_swallow();
	return copy;
}

static uint32_t column_of(int what, const struct hawk_profile *profile)
{
	uint32_t column =
		what == HAWK_WHAT_TOTAL ? hawk_profile_column(profile, "alloc_space") : UINT32_MAX;

	return column == UINT32_MAX ? profile->shown_column : column;
}

struct hawk_error *hawk_session_profile_of(struct hawk_session *session, enum hawk_what what,
					   struct hawk_profiled *ret)
{
	const struct hawk_process *process = hawk_target_process(session->target);
	struct hawk_error *err;

	*ret = (struct hawk_profiled){
		.source = copy_of(session->source),
		.program = copy_of(process->program),
		.pid = process->pid,
		.end_ns = end_time(process),
	};
	if (what == HAWK_WHAT_LOST)
		err = profile_leaks(session, &ret->profile);
	else if (what == HAWK_WHAT_RETAINED || what == HAWK_WHAT_PATHS)
		err = profile_tree(session, what == HAWK_WHAT_PATHS, &ret->profile);
	else
		err = profile_sites(session, &ret->profile);
	if (err)
		return err;
	ret->life_ns = session->heap->life.end_units * HAWK_BIRTH_UNIT_NS;
	ret->profile->what = whats[what];
	ret->has_blocks = hawk_session_has_blocks(session);
	ret->column = column_of(what, ret->profile);
	ret->unknown = hawk_heap_unknown_text(session->heap);
	hawk_session_check(session);
	return NULL;
}

struct hawk_error *hawk_session_profile(struct hawk_session *session, struct hawk_profiled *ret)
{
	int what = session->settings->what;

	return hawk_session_profile_of(session, what ? (enum hawk_what)what : HAWK_WHAT_LIVE, ret);
}

void hawk_profiled_deinit(struct hawk_profiled *profiled)
{
	hawk_profile_destroy(profiled->profile);
	free(profiled->source);
	free(profiled->program);
	*profiled = (struct hawk_profiled){0};
}

struct hawk_error *hawk_profiled_difference(const struct hawk_profiled *before,
					    const struct hawk_profiled *after,
					    struct hawk_profile **ret)
{
	const struct hawk_profiled *blind = before->unknown ? before : after;

	if (blind->unknown)
		return hawk_error_create(
			HAWK_ERROR_UNSUPPORTED, "%s cannot be compared, its heap is unknown: %s",
			blind->source ? blind->source : "the process", blind->unknown);
	return hawk_profile_difference(after->profile, before->profile, ret);
}

/** Passes on the other side's findings with its name. */
static void pass_on(const struct hawk_session *from, struct hawk_findings *to)
{
	for (size_t i = 0; i < from->findings.count; i++) {
		const struct hawk_finding *finding = &from->findings.items[i];

		hawk_findings_add(to, finding->sort, finding->partial, "base*", "%s: %s",
				  from->source ? from->source : "the process", finding->text);
	}
}

struct hawk_error *hawk_profile_open(const struct hawk_settings *settings, const char *core,
				     struct hawk_findings *findings, struct hawk_profiled *ret)
{
	struct hawk_settings own = *settings;
	struct hawk_session session;
	struct hawk_error *err;

	*ret = (struct hawk_profiled){0};
	own.output = NULL;
	own.executable = own.table_file = NULL; // the other side's
	if (core)
		own.pid = 0;
	err = hawk_session_open(&session, &own, core);
	if (!err)
		err = hawk_session_profile(&session, ret);
	pass_on(&session, findings);
	hawk_session_close_report(&session);
	hawk_session_deinit(&session);
	return err && core ? hawk_error_prefix(err, "%s", core) : err;
}

struct hawk_source_listing hawk_session_listing(struct hawk_session *session,
						const struct hawk_profile *profile,
						const struct hawk_source_lines *lines)
{
	const struct hawk_strings *folders = &session->settings->source_directories;

	return (struct hawk_source_listing){
		.profile = profile,
		.lines = lines,
		.symbols = session->symbols,
		.directories = {folders->items, folders->count},
		.findings = &session->findings,
	};
}
