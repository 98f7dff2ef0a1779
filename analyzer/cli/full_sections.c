/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What `analyze --full` takes from other verbs: their answers about the same session, each cut to
 * its most important lines, because any of them can be asked for by itself.
 */
#include <stdio.h>

#include "full_sections.h"

enum { TOP = 10, SCHEMAS = 3, BY_TREE = 4 };

static struct hawk_error *ask(struct hawk_session *session, const struct hawk_verb *verb,
			      const struct hawk_settings *settings, int count, char **operands)
{
	int code;

	return verb->answer(session, settings, count, operands, &code);
}

/** The largest sites that have a stack, as verbs take them. */
static struct hawk_error *ask_schemas(struct hawk_session *session,
				      const struct hawk_settings *settings)
{
	struct hawk_settings plain = *settings;
	struct hawk_error *err = NULL;
	size_t asked = 0;

	plain.top = 0;
	for (size_t i = 0; i < session->heap.site_count && asked < SCHEMAS && !err; i++) {
		const struct hawk_site *site = &session->heap.sites[i];
		char text[17];
		char *operands[] = {text, NULL};

		if (!site->inuse_objects || !site->trace || site->trace == UINT32_MAX)
			continue;
		snprintf(text, sizeof(text), "%016llx", (unsigned long long)site->id);
		if (!asked)
			hawk_screen_heading(&session->screen,
					    "What blocks of the largest sites look like");
		err = ask(session, &hawk_verb_schema, &plain, 1, operands);
		asked++;
	}
	return err;
}

struct hawk_error *hawk_full_sections_print(struct hawk_session *session,
					    const struct hawk_settings *settings)
{
	struct hawk_settings sites = {.threads = settings->threads, .top = TOP};
	struct hawk_settings tree = {.threads = settings->threads, .by = BY_TREE};
	struct hawk_error *err;

	session->screen.full = false;
	err = ask(session, &hawk_verb_retained, &sites, 0, NULL);
	if (!err)
		err = ask(session, &hawk_verb_retained, &tree, 0, NULL);
	if (!err)
		err = ask(session, &hawk_verb_sites, &sites, 0, NULL);
	if (!err)
		err = ask(session, &hawk_verb_growth, &sites, 0, NULL);
	if (!err)
		err = ask_schemas(session, &sites);
	session->screen.full = settings->full;
	return err;
}
