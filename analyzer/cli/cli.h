/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Shared by the verbs of the `hawk-core` command: exit codes, settings, the table of verbs.
 *
 * A verb is a row of the table: names, help and options are data, so that usage texts and shell
 * completion cannot differ from what is parsed. Only this folder prints messages and exits.
 */
#ifndef HAWK_ANALYZER_CLI_CLI_H
#define HAWK_ANALYZER_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hawk/base/error.h"
#include "hawk/base/quantity.h"
#include "hawk/names/site_prefix.h"
#include "hawk/base/text.h"

/** Words of --paths. */
enum hawk_paths_choice { HAWK_PATHS_CHOICE_FULL = 1, HAWK_PATHS_CHOICE_BASE };

enum hawk_exit {
	HAWK_EXIT_OK = 0,
	HAWK_EXIT_CONDITION = 1,  /**< leaks were found, or a block was not */
	HAWK_EXIT_USAGE = 2,      /**< wrong command line */
	HAWK_EXIT_UNREADABLE = 3, /**< input that cannot be read, output that cannot be written */
	HAWK_EXIT_PARTIAL = 4,    /**< the answer is incomplete */
	HAWK_EXIT_LEAKS = 23,     /**< of `run --leaks`; LeakSanitizer's */
	HAWK_EXIT_CANNOT_RUN = 126,
	HAWK_EXIT_NOT_FOUND = 127,
	HAWK_EXIT_SIGPIPE = 141,
};

/** Upper limit on values of a repeated option. */
enum { HAWK_STRINGS_MAX = 32 };

/** Words of --guest, as the option's table numbers them. */
enum hawk_guest_choice {
	HAWK_GUEST_CHOICE_DEFAULT = 0, /**< all */
	HAWK_GUEST_CHOICE_ALL,
	HAWK_GUEST_CHOICE_LUA,
	HAWK_GUEST_CHOICE_PYTHON,
	HAWK_GUEST_CHOICE_JAVA,
	HAWK_GUEST_CHOICE_NONE,
};

/** Values of the options of all verbs; all zero = not given. Choices are 1, 2 ... in their order in
 * the option's `argument`. */
struct hawk_settings {
	bool help;
	bool quiet;
	bool json;
	bool full;
	int color; /**< auto, always, never */
	int sort;  /**< size, count, total, cum */
	int by;    /**< site, function, file, module */
	uint64_t top;
	uint64_t depth;
	uint64_t pid;
	uint64_t min_bytes;
	const char *focus;
	const char *ignore;
	const char *sysroot;
	const char *debug_directory;
	const char *module_directory;
	const char *debuginfod; /**< URL; "" = DEBUGINFOD_URLS, NULL = servers are not asked */
	uint64_t max_download;
	const char *executable;
	const char *output;     /**< a file; NULL = standard output, also for "-" */
	bool force;             /**< replace an existing file */
	bool no_native;         /**< do not read allocators' own structures */
	bool types;             /**< the verb names untraced blocks by debug information */
	bool no_types;          /**< it is not to */
	int guest;              /**< enum hawk_guest_choice: interpreters whose objects are named */
	const char *table_file; /**< of the tracer (table=FILE) */
	const char *last;       /**< the newest core of this program or process; "" = of any */
	const char *module;
	const char *function;
	const char *tracer;
	const char *type;
	const char *kinds;      /**< of leaks: "definite,possible" */
	const char *heuristics; /**< "stdstring,newarray" */
	const char *copy;       /**< file for a copy of the core; "-" = standard output */
	bool replace;           /**< replace an existing copy */
	int rows;               /**< table, csv, json */
	int format;             /**< of export */
	int what;               /**< live, total, lost */
	int paths;              /**< of snapshot and mcp: enum hawk_paths_choice */
	const char *filter;     /**< of mcp */
	bool sites_only;        /**< of snapshot */
	bool plumbing;
	bool with_source; /**< embed source files */
	const char *base; /**< core to compare with */
	const char *fail_if_grown;
	const char *files_from; /**< a list of inputs; "-" = standard input */
	bool folded;
	bool dot;
	bool no_suspects;
	int containers;     /**< of types */
	bool no_graph;      /**< of analyze, types, duplicates */
	bool only_repeated; /**< of strings */
	bool brief;         /**< of analyze */
	bool suspects;
	uint64_t threads; /**< 0 = one for each processor */
	struct hawk_number {
		bool given;
		uint64_t value;
	} exit_code, context, timeout, tid;
	struct hawk_strings {
		const char *items[HAWK_STRINGS_MAX];
		size_t count;
	} suppressions, source_directories;
	struct hawk_site_query {
		bool given;
		struct hawk_site_prefix prefix;
	} site;
	struct hawk_range_bytes {
		bool given;
		struct hawk_range range;
	} size;
	struct hawk_range_seconds {
		bool given;
		struct hawk_seconds_range range;
	} age;

	const char *leaks;         /**< of run: kinds; "" = the usual ones, NULL = not wanted */
	const char *exit_snapshot; /**< of run: a file */
	bool follow;               /**< of run: processes that the program starts, too */
	struct hawk_watch *watch;  /**< `pid` is the process that it has stopped */
	struct {
		const char *to;     /**< a directory */
		const char *socket; /**< a path; NULL = the core comes from standard input */
		uint64_t keep, max_size, max_time, min_free;
		bool no_core;
		bool install;
	} handler;
	struct {
		const char *tables; /**< a directory */
		bool once;
	} collect;
	bool running;        /**< the process is read without a stop */
	uint64_t interval;   /**< of watch: seconds */
	uint64_t looks;      /**< of watch; 0 = any number */
	const char *log;     /**< of watch: a file */
	bool on_stderr;      /**< the answer, unless it goes to a file */
	bool only_condition; /**< no answer unless it sets the exit code */

	struct hawk_text tracer_options; /**< joined by ':' */
	char **operands;                 /**< for verbs that ask a core: the operands behind it */
	int count;                       /**< of operands */
};

enum hawk_option_kind {
	HAWK_OPTION_FLAG,    /**< bool */
	HAWK_OPTION_COUNT,   /**< uint64_t, at least 1 */
	HAWK_OPTION_BYTES,   /**< uint64_t */
	HAWK_OPTION_NUMBER,  /**< struct hawk_number, 0 or more */
	HAWK_OPTION_STRING,  /**< const char * */
	HAWK_OPTION_PERHAPS, /**< const char *: an argument in brackets, "" without */
	HAWK_OPTION_STRINGS, /**< struct hawk_strings: may be repeated */
	HAWK_OPTION_CHOICE,  /**< int; the argument's name lists the words: "size|count" */
	HAWK_OPTION_SITE,    /**< struct hawk_site_query */
	HAWK_OPTION_SIZES,   /**< struct hawk_range_bytes */
	HAWK_OPTION_AGES,    /**< struct hawk_range_seconds */
	HAWK_OPTION_TRACER,  /**< struct hawk_text: KEY=VALUE is appended */
	HAWK_OPTION_TRACERS, /**< the same for a whole HAWK_OPTS text */
	HAWK_OPTION_DEPTH,   /**< the same, as depth=N */
};

struct hawk_option {
	const char *name; /**< NULL ends a table */
	char letter;      /**< '\0' = none */
	enum hawk_option_kind kind;
	size_t offset;        /**< in struct hawk_settings */
	const char *argument; /**< NULL = takes none */
	const char *help;
};

/** The offset of an option's value. */
#define HAWK_AT(member) offsetof(struct hawk_settings, member)

/** Options shared by several verbs, in the order of shared_options.c. */
enum hawk_takes {
	HAWK_TAKES_PID = UINT64_C(1) << 0,
	HAWK_TAKES_LAST = UINT64_C(1) << 1,
	HAWK_TAKES_TOP = UINT64_C(1) << 2,
	HAWK_TAKES_DEPTH = UINT64_C(1) << 3,
	HAWK_TAKES_FULL = UINT64_C(1) << 4,
	HAWK_TAKES_THREADS = UINT64_C(1) << 5,
	HAWK_TAKES_JSON = UINT64_C(1) << 6,
	HAWK_TAKES_FOLDED = UINT64_C(1) << 7,
	HAWK_TAKES_SOURCE_DIRECTORY = UINT64_C(1) << 8,
	HAWK_TAKES_WHAT = UINT64_C(1) << 9,
	HAWK_TAKES_PLUMBING = UINT64_C(1) << 10,
	HAWK_TAKES_FOCUS = UINT64_C(1) << 11,
	HAWK_TAKES_IGNORE = UINT64_C(1) << 12,
	HAWK_TAKES_MIN_BYTES = UINT64_C(1) << 13,
	HAWK_TAKES_SITE = UINT64_C(1) << 14,
	HAWK_TAKES_SIZE = UINT64_C(1) << 15,
	HAWK_TAKES_AGE = UINT64_C(1) << 16,
	HAWK_TAKES_TYPE = UINT64_C(1) << 17,
	HAWK_TAKES_MODULE = UINT64_C(1) << 18,
	HAWK_TAKES_FUNCTION = UINT64_C(1) << 19,
	HAWK_TAKES_SYSROOT = UINT64_C(1) << 20,
	HAWK_TAKES_DEBUG_DIRECTORY = UINT64_C(1) << 21,
	HAWK_TAKES_MODULE_DIRECTORY = UINT64_C(1) << 22,
	HAWK_TAKES_DEBUGINFOD = UINT64_C(1) << 23,
	HAWK_TAKES_MAX_DOWNLOAD = UINT64_C(1) << 24,
	HAWK_TAKES_EXECUTABLE = UINT64_C(1) << 25,
	HAWK_TAKES_TABLE = UINT64_C(1) << 26,
	HAWK_TAKES_NO_NATIVE = UINT64_C(1) << 27,
	HAWK_TAKES_GUEST = UINT64_C(1) << 28,
	HAWK_TAKES_TYPES = UINT64_C(1) << 29,
	HAWK_TAKES_QUIET = UINT64_C(1) << 30,
	HAWK_TAKES_FILE = UINT64_C(1) << 31,
	HAWK_TAKES_FORCE = UINT64_C(1) << 32,
	HAWK_TAKES_COLOR = UINT64_C(1) << 33,
	HAWK_TAKES_POINTERS = HAWK_TAKES_PID | HAWK_TAKES_TOP | HAWK_TAKES_DEPTH | HAWK_TAKES_FULL |
			      HAWK_TAKES_THREADS | HAWK_TAKES_JSON,
	/** Options that choose stacks and values. */
	HAWK_TAKES_PROFILE = HAWK_TAKES_WHAT | HAWK_TAKES_PLUMBING | HAWK_TAKES_FOCUS |
			     HAWK_TAKES_IGNORE | HAWK_TAKES_MIN_BYTES,
	/** Options that choose blocks: hawk_settings_query(). */
	HAWK_TAKES_QUERY = HAWK_TAKES_SITE | HAWK_TAKES_SIZE | HAWK_TAKES_AGE | HAWK_TAKES_TYPE |
			   HAWK_TAKES_MODULE | HAWK_TAKES_FUNCTION,
	/** Options for reading cores or processes. */
	HAWK_TAKES_FILES = HAWK_TAKES_SYSROOT | HAWK_TAKES_DEBUG_DIRECTORY |
			   HAWK_TAKES_MODULE_DIRECTORY | HAWK_TAKES_DEBUGINFOD |
			   HAWK_TAKES_MAX_DOWNLOAD | HAWK_TAKES_EXECUTABLE | HAWK_TAKES_TABLE |
			   HAWK_TAKES_NO_NATIVE | HAWK_TAKES_GUEST | HAWK_TAKES_TYPES |
			   HAWK_TAKES_QUIET,
	/** Likewise, for verbs that read one. */
	HAWK_TAKES_TARGET = HAWK_TAKES_LAST | HAWK_TAKES_FILES,
	/** Options for the answer's destination. */
	HAWK_TAKES_OUTPUT = HAWK_TAKES_FILE | HAWK_TAKES_FORCE,
};

struct hawk_session;
struct hawk_answer;

/** The place of findings that make an answer incomplete: the answer itself, else stderr. */
enum hawk_verb_findings {
	HAWK_FINDINGS_IN_ANSWER = 0,
	HAWK_FINDINGS_IN_JSON, /**< not in the text */
	HAWK_FINDINGS_NOWHERE,
};

/**
 * One verb; each has a file of its own, with its options. Verbs that ask one core or process have
 * `prints` or `answer`, and may be asked again and again with the same session (hawk-core shell);
 * the others have `run`.
 */
struct hawk_verb {
	const char *name;
	const char *arguments;
	const char *summary;               /**< one line, no full stop */
	const char *details;               /**< description in the help text */
	const char *exit_codes;            /**< a sentence of the help text */
	const struct hawk_option *options; /**< its own; NULL = none */
	uint64_t shared;                   /**< bits of enum hawk_takes */
	bool stops_at_operand; /**< words after the first operand belong to another program */
	/** Returns the exit code. */
	int (*run)(struct hawk_settings *settings);

	const char *needs; /**< complaint about a wrong number of operands: "one core file" */
	bool types;        /**< names untraced blocks by debug information, not by size */
	bool live;         /**< takes --pid instead of a core */
	int operands_min;  /**< besides the core */
	int operands_max;  /**< -1 = any number */
	enum hawk_verb_findings findings;
	/** Checks settings and reads operands into them, before any file is opened. Returns
	 * mistakes as HAWK_ERROR_USAGE. May be NULL. */
	struct hawk_error *(*check)(struct hawk_settings *settings);
	/** What the verb makes and prints; `answer` is NULL then. */
	const struct hawk_answer *prints;
	/**
	 * Prints the answer to session->output. May change session->code, which is HAWK_EXIT_OK.
	 * Findings show an incomplete answer, unless session->answer_complete is set.
	 */
	struct hawk_error *(*answer)(struct hawk_session *session);
};

/** In the order of the help text; NULL ends the list. */
extern const struct hawk_verb *const hawk_verbs[];

extern const struct hawk_verb hawk_verb_run;
extern const struct hawk_verb hawk_verb_list;
extern const struct hawk_verb hawk_verb_analyze;
extern const struct hawk_verb hawk_verb_whatis;
extern const struct hawk_verb hawk_verb_blocks;
extern const struct hawk_verb hawk_verb_heap;
extern const struct hawk_verb hawk_verb_types;
extern const struct hawk_verb hawk_verb_tasks;
extern const struct hawk_verb hawk_verb_leaks;
extern const struct hawk_verb hawk_verb_verify;
extern const struct hawk_verb hawk_verb_threads;
extern const struct hawk_verb hawk_verb_refs;
extern const struct hawk_verb hawk_verb_path;
extern const struct hawk_verb hawk_verb_merge_paths;
extern const struct hawk_verb hawk_verb_retained;
extern const struct hawk_verb hawk_verb_sites;
extern const struct hawk_verb hawk_verb_source;
extern const struct hawk_verb hawk_verb_schema;
extern const struct hawk_verb hawk_verb_strings;
extern const struct hawk_verb hawk_verb_duplicates;
extern const struct hawk_verb hawk_verb_growth;
extern const struct hawk_verb hawk_verb_sql;
extern const struct hawk_verb hawk_verb_diff;
extern const struct hawk_verb hawk_verb_ledger;
extern const struct hawk_verb hawk_verb_export;
extern const struct hawk_verb hawk_verb_redact;
extern const struct hawk_verb hawk_verb_pack;
extern const struct hawk_verb hawk_verb_dump;
extern const struct hawk_verb hawk_verb_watch;
extern const struct hawk_verb hawk_verb_handler;
extern const struct hawk_verb hawk_verb_collect;
extern const struct hawk_verb hawk_verb_snapshot;
extern const struct hawk_verb hawk_verb_html;
extern const struct hawk_verb hawk_verb_shell;
extern const struct hawk_verb hawk_verb_mcp;
extern const struct hawk_verb hawk_verb_help;

/** "Exit codes: ..." of verbs that read a core. */
extern const char hawk_verb_exit_codes[];
/** Likewise, for verbs that ask about one address. */
extern const char hawk_verb_address_exit_codes[];

/** Returns true if `verb` asks one core or process. */
static inline bool hawk_verb_asks(const struct hawk_verb *verb)
{
	return verb->prints || verb->answer;
}

/** Returns true if `verb` accepts `count` operands behind the core. */
bool hawk_verb_takes(const struct hawk_verb *verb, int count);

/** Has `verb` answer with an open session; prints errors. Returns the exit code. */
int hawk_verb_answer(const struct hawk_verb *verb, struct hawk_session *session);

/** Opens the core or process of the first operand or --pid, has `verb` answer, closes. Returns the
 * exit code. */
int hawk_verb_ask(const struct hawk_verb *verb, struct hawk_settings *settings);

/** list.c: finds the core that settings->last asks for, and says which it is; caller frees. */
struct hawk_error *hawk_last_core(const struct hawk_settings *settings, char **ret);

/** Returns option `index` of `verb`: its own options, then shared ones, --help last; NULL behind
 * the last. */
const struct hawk_option *hawk_option_at(const struct hawk_verb *verb, size_t index);

const struct hawk_verb *hawk_verb_find(const char *name);

/**
 * Returns true if `name` may be a misspelt `other` and is nearer than `*best` letters (UINT_MAX at
 * first), which it updates. At most two letters, and half of the word, may be added or left out.
 */
bool hawk_is_nearer(const char *name, const char *other, unsigned *best);

/** Returns the verb whose name is nearest to `name`, or NULL if none is near. */
const struct hawk_verb *hawk_verb_nearest(const char *name);

/**
 * Parses argv[1..] of a verb (argv[0] is the verb's name). Prints complaints to stderr; returns
 * false to exit with HAWK_EXIT_USAGE. The remaining words become settings->operands.
 */
bool hawk_options_read(const struct hawk_verb *verb, int argc, char **argv,
		       struct hawk_settings *settings);

/** Prints usage, description and options of a verb to stdout. */
int hawk_help_verb(const struct hawk_verb *verb);
/** Prints the list of verbs to stdout. */
int hawk_help_all(void);
/** Flushes stdout; returns the exit code. */
int hawk_help_finish(void);
/** Prints a completion script for `shell` (bash, zsh, fish), made from the tables, to stdout. */
int hawk_completion(const char *shell);

/** Prints "hawk-core: message" to stderr; escapes characters that steer terminals. */
void hawk_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** Appends later complaints to `text`, a line each, instead of printing them; NULL prints again. */
void hawk_complain_into(struct hawk_text *text);

/** Prints and destroys `error`; returns its exit code. */
int hawk_fail(struct hawk_error *error);

#endif
