/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Answers: made once, then printed as text or JSON. The ones declared here serve several verbs:
 * `html`, `redact` and `analyze --full` make and print them; none runs another verb.
 */
#ifndef HAWK_ANALYZER_CLI_ANSWER_H
#define HAWK_ANALYZER_CLI_ANSWER_H

#include "session.h"

struct hawk_answer {
	const char *name; /**< of the verb */
	size_t bytes;     /**< size of the struct that make() fills */
	/** Makes the answer to session->settings in `ret`, which is zeros, and lets a process go.
	 */
	struct hawk_error *(*make)(struct hawk_session *session, void *ret);
	/** Adds what the answer leaves open to `ret`. NULL = nothing. */
	void (*next)(void *made, struct hawk_next *ret);
	bool text_has_next; /**< text() prints the next commands itself */
	struct hawk_error *(*text)(void *made, const struct hawk_screen *screen);
	struct hawk_error *(*json)(void *made, struct hawk_output *output);
	void (*deinit)(void *made); /**< also after make() failed */
};

extern const struct hawk_answer hawk_answer_analyze;
extern const struct hawk_answer hawk_answer_leaks;
extern const struct hawk_answer hawk_answer_retained;
extern const struct hawk_answer hawk_answer_sites;
extern const struct hawk_answer hawk_answer_schema;
extern const struct hawk_answer hawk_answer_growth;
extern const struct hawk_answer hawk_answer_types;

/** Makes the answer to `settings`, which must outlive it, in `*ret`; NULL after an error. */
struct hawk_error *hawk_answer_make(struct hawk_session *session, const struct hawk_answer *answer,
				    const struct hawk_settings *settings, void **ret);

/** Prints what was made of these settings, and destroys it. */
struct hawk_error *hawk_answer_put(struct hawk_session *session, const struct hawk_answer *answer,
				   const struct hawk_settings *settings, void *made);

/** Accepts NULL. */
void hawk_answer_destroy(const struct hawk_answer *answer, void *made);

/** Makes and prints the answer to session->settings, to session->output; as text with the commands
 * to type next. */
struct hawk_error *hawk_answer_print(struct hawk_session *session,
				     const struct hawk_answer *answer);

/** Likewise, to other settings. */
struct hawk_error *hawk_answer_print_with(struct hawk_session *session,
					  const struct hawk_answer *answer,
					  const struct hawk_settings *settings);

/** Makes and prints an answer that needs no core of its own. Returns the exit code. */
int hawk_answer_run(struct hawk_settings *settings, const struct hawk_answer *answer);

#endif
