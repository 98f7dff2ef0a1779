/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The words that name a question's core again, for suggested commands.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "hawk/base/cleanup.h"
#include "session.h"

enum { NUMBER_BYTES = 24, WORD_BYTES = 48 };

static void append_option(struct hawk_text *words, const char *option, const char *value)
{
	CLEANUP(text) struct hawk_text word = {0};

	if (!value)
		return;
	hawk_text_printf(&word, "%s%s", option, value);
	hawk_next_append_word(words, hawk_text_string(&word));
}

void hawk_settings_append_core(const struct hawk_settings *settings, const char *core,
			       struct hawk_text *words)
{
	static const char *const guests[] = {
		[HAWK_GUEST_CHOICE_LUA] = "lua",
		[HAWK_GUEST_CHOICE_PYTHON] = "python",
		[HAWK_GUEST_CHOICE_JAVA] = "java",
		[HAWK_GUEST_CHOICE_NONE] = "none",
	};
	char pid[NUMBER_BYTES], word[WORD_BYTES];

	append_option(words, "--sysroot=", settings->sysroot);
	append_option(words, "--debug-dir=", settings->debug_directory);
	append_option(words, "--module-dir=", settings->module_directory);
	append_option(words,
		      settings->debuginfod && *settings->debuginfod ? "--debuginfod="
								    : "--debuginfod",
		      settings->debuginfod);
	if (settings->max_download) {
		snprintf(word, sizeof(word), "--max-download=%" PRIu64, settings->max_download);
		hawk_next_append_word(words, word);
	}
	append_option(words, "--exe=", settings->executable);
	append_option(words, "--table=", settings->table_file);
	if (settings->no_native)
		hawk_next_append_word(words, "--no-native");
	append_option(words, "--guest=", guests[settings->guest]);
	if (settings->no_types)
		hawk_next_append_word(words, "--no-types");
	if (core) {
		append_option(words, core[0] == '-' && core[1] ? "./" : "", core);
		return;
	}
	snprintf(pid, sizeof(pid), "%" PRIu64, settings->pid);
	hawk_next_append_word(words, "--pid");
	hawk_next_append_word(words, pid);
}

void hawk_session_begin_next(struct hawk_session *session)
{
	hawk_next_deinit(&session->next);
	if (session->opened)
		hawk_settings_append_core(session->opened, session->source, &session->next.core);
}

bool hawk_session_can_ask_again(const struct hawk_session *session)
{
	const char *table = session->opened ? session->opened->table_file : NULL;

	return session->opened && !session->opened->watch &&
	       (!session->source || strcmp(session->source, "-")) && (!table || strcmp(table, "-"));
}
