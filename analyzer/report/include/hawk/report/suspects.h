/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The end of analyze: each suspect in prose, with the command to type next, or as JSON.
 */
#ifndef HAWK_ANALYZER_REPORT_SUSPECTS_H
#define HAWK_ANALYZER_REPORT_SUSPECTS_H

#include "hawk/analysis/suspects.h"
#include "hawk/report/growth.h"
#include "hawk/report/leaks.h"
#include "hawk/report/next.h"

/** The input of the report. Owns nothing. */
struct hawk_suspects_report {
	const struct hawk_pointer_report *pointers;
	const struct hawk_next *next; /**< the first commands are those of the suspects */
	const char *skipped; /**< the reason why suspects were not searched, a sentence; NULL = they
				were */
	const struct hawk_suspects *found;
	const struct hawk_leaks_report *leaks; /**< types and cycles */
};

/** Returns the cycle that lost blocks of the suspect's site are in, or those that they keep; NULL =
 * none. */
const struct hawk_leak_cycle *hawk_suspects_cycle(const struct hawk_suspects_report *suspects,
						  const struct hawk_suspect *suspect);

/** Returns the type of the suspect's example; NULL = not known, or the site's own name. */
const char *hawk_suspects_type(const struct hawk_suspects_report *suspects,
			       const struct hawk_suspect *suspect);

/** Prints the section with its heading. */
void hawk_report_suspects(const struct hawk_suspects_report *suspects,
			  const struct hawk_screen *screen);

/** Appends "Server::open(int)  app.cpp:89  [Session]", fitted to the screen. */
void hawk_suspects_append_title(const struct hawk_suspects_report *suspects,
				const struct hawk_screen *screen, size_t number,
				struct hawk_text *text);
/** Appends sentences: how much, who holds it, how it grows. */
void hawk_suspects_append_story(const struct hawk_suspects_report *suspects,
				const struct hawk_screen *screen,
				const struct hawk_suspect *suspect, struct hawk_text *text);

/** "suspects" and "suspects_skipped" */
void hawk_report_suspects_json(const struct hawk_suspects_report *suspects, struct hawk_json *json);

#endif
