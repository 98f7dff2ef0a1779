/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * When suspects are worth their time: not for a table file, which has no blocks; not for a process
 * that stands still meanwhile, unless asked for; not for a heap whose graph memory cannot hold.
 */
#include "hawk/base/memory.h"
#include "suspects_session.h"

enum { GRAPH_BYTES_PER_BLOCK = 64 };

static bool is_filtered(const struct hawk_settings *settings)
{
	return settings->focus || settings->ignore || settings->min_bytes || settings->by ||
	       settings->sort;
}

static bool is_table_file(const struct hawk_session *session)
{
	return hawk_target_process(session->target)->table_file;
}

bool hawk_suspects_wanted(const struct hawk_session *session, const struct hawk_settings *settings)
{
	return !settings->no_suspects && !is_filtered(settings) && !is_table_file(session) &&
	       (!settings->pid || settings->full || settings->suspects);
}

static void append_path(struct hawk_text *text, const char *option, const char *path)
{
	if (!path)
		return;
	hawk_text_puts(text, option);
	hawk_append_shell_word(text, path);
	hawk_text_puts(text, " ");
}

static void append_target(const struct hawk_session *session, const struct hawk_settings *settings,
			  struct hawk_text *text)
{
	append_path(text, "--sysroot=", settings->sysroot);
	append_path(text, "--debug-dir=", settings->debug_directory);
	append_path(text, "--exe=", settings->executable);
	append_path(text, "--table=", settings->table_file);
	if (!session->source) {
		hawk_text_printf(text, "--pid %llu", (unsigned long long)settings->pid);
		return;
	}
	hawk_text_puts(text, session->source[0] == '-' ? "./" : "");
	hawk_append_shell_word(text, session->source);
}

/** Why not; nothing if they are to be looked for. */
static void append_refusal(const struct hawk_session *session, const struct hawk_settings *settings,
			   const char *target, struct hawk_text *text)
{
	uint64_t need = session->heap.sweep.blocks * GRAPH_BYTES_PER_BLOCK;
	uint64_t have = hawk_memory_available();

	if (is_table_file(session))
		hawk_text_puts(text, "No suspects: a table file has counts but no memory, so it "
				     "cannot show who holds a block, or for how long.");
	else if (settings->pid && !settings->full && !settings->suspects)
		hawk_text_printf(text,
				 "Suspects, and who holds them, take a longer stop of the process: "
				 "hawk-core analyze --suspects %s",
				 target);
	else if (need > have / 4 * 3)
		hawk_text_printf(text,
				 "No suspects: the pointers of %s blocks need about %s of memory, "
				 "and %s are available. To try it: hawk-core retained %s",
				 hawk_quantity_count(session->heap.sweep.blocks).text,
				 hawk_quantity_bytes(need).text, hawk_quantity_bytes(have).text,
				 target);
}

static struct hawk_error *find(struct hawk_session *session, const struct hawk_settings *settings,
			       struct hawk_suspects_session *ret)
{
	struct hawk_error *err = hawk_session_dominators(session, HAWK_EDGES_ALL);

	if (!err)
		err = hawk_pointer_session_open(session, settings, &ret->pointers);
	if (!err)
		err = hawk_suspects_find(&ret->suspects, settings->full);
	if (!err || (hawk_error_code(err) != HAWK_ERROR_UNSUPPORTED &&
		     hawk_error_code(err) != HAWK_ERROR_NOMEM))
		return err;
	/* More than can be numbered, or held: the rest of the answer stands. */
	hawk_text_printf(&ret->skipped, "No suspects: %s.", hawk_error_message(err));
	hawk_error_destroy(err);
	hawk_suspects_deinit(&ret->suspects); /* what has been found of them */
	ret->suspects.skipped = ret->skipped.bytes;
	return ret->skipped.failed ? &hawk_enomem : NULL;
}

struct hawk_error *hawk_suspects_session_make(struct hawk_session *session,
					      const struct hawk_settings *settings,
					      struct hawk_suspects_session *ret)
{
	*ret = (struct hawk_suspects_session){0};
	if (settings->no_suspects || is_filtered(settings) || !session->heap.table ||
	    !session->heap.sweep.blocks)
		return NULL;
	ret->wanted = true;
	append_target(session, settings, &ret->target);
	append_refusal(session, settings, ret->target.bytes ? ret->target.bytes : "",
		       &ret->skipped);
	if (ret->target.failed || ret->skipped.failed)
		return &hawk_enomem;
	ret->suspects.pointers = &ret->pointers;
	ret->suspects.target = ret->target.bytes;
	ret->suspects.skipped = ret->skipped.size ? ret->skipped.bytes : NULL;
	return ret->suspects.skipped ? NULL : find(session, settings, ret);
}

void hawk_suspects_session_deinit(struct hawk_suspects_session *suspects)
{
	hawk_suspects_deinit(&suspects->suspects);
	hawk_pointer_session_deinit(&suspects->pointers);
	hawk_text_deinit(&suspects->target);
	hawk_text_deinit(&suspects->skipped);
}
