/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The commands that answer what an answer leaves open, as words that a program can run. Made once,
 * then printed for a shell or as JSON.
 */
#ifndef HAWK_ANALYZER_REPORT_NEXT_H
#define HAWK_ANALYZER_REPORT_NEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hawk/base/text.h"
#include "hawk/names/site_names.h"

struct hawk_diff_report;
struct hawk_growth_report;
struct hawk_leaks_report;
struct hawk_balance_report;
struct hawk_pointer_report;
struct hawk_schema_report;
struct hawk_source_report;
struct hawk_site_tree;
struct hawk_suspects_report;
struct hawk_verify_report;
struct hawk_json;
struct hawk_screen;

enum { HAWK_NEXT_MAX = 16 };

struct hawk_next_command {
	struct hawk_text words; /**< "hawk-core", the verb ...: each with its NUL */
	const char *why;        /**< what the answer will say: "why the block is alive" */
};

struct hawk_next {
	struct hawk_text core; /**< options for files, and the core or --pid: each with its NUL */
	struct hawk_next_command items[HAWK_NEXT_MAX];
	size_t count;
};

void hawk_next_deinit(struct hawk_next *next);

/** Appends a word and its NUL to `words`. */
void hawk_next_append_word(struct hawk_text *words, const char *word);

/** Adds "hawk-core VERB [OPTION] CORE [OPERAND]"; both may be NULL. `why` is static. Beyond
 * HAWK_NEXT_MAX, nothing is added. */
void hawk_next_add(struct hawk_next *next, const char *verb, const char *option,
		   const char *operand, const char *why);
/** As hawk_next_add(), with --site=ID. */
void hawk_next_add_site(struct hawk_next *next, const char *verb, uint64_t id, const char *why);
/** As hawk_next_add(), about an address. */
void hawk_next_add_address(struct hawk_next *next, const char *verb, uint64_t address,
			   const char *why);
/** As hawk_next_add(), with --type=TYPE. Adds nothing, and returns false, if its name is too long
 * to type. */
bool hawk_next_add_type(struct hawk_next *next, const char *verb, const char *type,
			const char *why);
/** Adds `source` of a function, unless its name is too long to type. */
void hawk_next_add_source(struct hawk_next *next, const char *function);

/* Add what the answers of verbs leave open. */
/** One command for each suspect, in their order. */
void hawk_next_of_suspects(const struct hawk_suspects_report *report, struct hawk_next *ret);
void hawk_next_of_leaks(const struct hawk_leaks_report *report, struct hawk_next *ret);
void hawk_next_of_growth(const struct hawk_growth_report *report, struct hawk_next *ret);
void hawk_next_of_verify(const struct hawk_verify_report *report, struct hawk_next *ret);
void hawk_next_of_heap(const struct hawk_balance_report *report, struct hawk_next *ret);
/** About the site of most blocks in a tree of paths; of most retained bytes in one of holders. */
void hawk_next_of_paths(const struct hawk_pointer_report *report, const struct hawk_site_tree *tree,
			struct hawk_next *ret);
void hawk_next_of_holders(const struct hawk_pointer_report *report,
			  const struct hawk_site_tree *tree, struct hawk_next *ret);
void hawk_next_of_schema(const struct hawk_schema_report *report, struct hawk_next *ret);
/** `functions`: the pattern that was asked for. */
void hawk_next_of_source(const struct hawk_source_report *report, const char *functions,
			 struct hawk_next *ret);
/** `has_blocks`: the later core's blocks can be asked for. */
void hawk_next_of_diff(const struct hawk_diff_report *report, bool has_blocks,
		       struct hawk_next *ret);

/** Appends `word` quoted for a shell, in printable ASCII. */
void hawk_append_shell_word(struct hawk_text *text, const char *word);

/** Appends a command as a line for a shell. */
void hawk_next_append_shell(struct hawk_text *text, const struct hawk_next_command *command);

/** Prints a command on one line, or on several that a shell reads as one. */
void hawk_report_next_command(const struct hawk_next_command *command, unsigned indent,
			      const struct hawk_screen *screen);

/** Prints the first two commands at the end of an answer. */
void hawk_report_next(const struct hawk_next *next, const struct hawk_screen *screen);

/** "next"; an empty array for NULL. */
void hawk_report_next_json(const struct hawk_next *next, struct hawk_json *json);

#endif
