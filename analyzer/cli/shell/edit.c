/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The line editor: libedit on a terminal, plain lines elsewhere. Completion of verbs, options,
 * functions and types. History in $XDG_STATE_HOME/hawk-core/history, for this user's
 * eyes only.
 */
#include <errno.h>
#include <histedit.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wchar.h>

#include "hawk/base/cleanup.h"
#include "shell.h"
#include "hawk/names/stack.h"

enum {
	HISTORY_LINES = 1000,
	LISTED_MAX = 60,
	BLOCKS_MAX = 1 << 20, /**< whose types are looked at: the first ones */
	SITES_MAX = 20000,    /**< whose stacks are looked at: the largest */
};

/** What can be written at some place. */
struct words {
	char **items; /**< owned, like the texts */
	size_t count;
	bool known; /**< no need to look again */
};

/* The library's interface has no context. */
static struct {
	struct hawk_session *session;
	bool (*was_interrupted)(void);
	sigset_t signals; /**< those outside of the editor, which blocks ^C */
	bool terminal;
	EditLine *editor; /**< NULL = no terminal */
	History *history;
	char *history_path; /**< NULL = none is kept */
	char *line;         /**< the last one that was read */
	size_t capacity;
	struct words functions, types;
	struct words others; /**< verbs, or options of one */
} edit;

static void clear_words(struct words *words)
{
	for (size_t i = 0; i < words->count; i++)
		free(words->items[i]);
	free(words->items);
	*words = (struct words){0};
}

/** Without memory there is less to choose from. */
static void add_word(struct words *words, const char *start, const char *word, size_t length)
{
	char **items = words->items;

	if (!(words->count & (words->count - 1))) // a power of two: full
		items = reallocarray(items, 2 * words->count + 1, sizeof(*items));
	if (!items)
		return;
	words->items = items;
	if (asprintf(&items[words->count], "%s%.*s", start, (int)length, word) >= 0)
		words->count++;
}

/** What has a meaning in a command or in a regular expression becomes '.', which matches it. */
static void add_pattern(struct words *words, const char *name, size_t length)
{
	size_t before = words->count;

	add_word(words, "", name, length);
	for (char *at = words->count > before ? words->items[before] : NULL; at && *at; at++)
		if (strchr(" \t\"'\\|>#$%()[]{}*+?^", *at))
			*at = '.';
}

static int compare(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

/** Sorts the words, and leaves each once. */
static void finish_words(struct words *words)
{
	size_t kept = 0;

	if (words->count)
		qsort(words->items, words->count, sizeof(*words->items), compare);
	for (size_t i = 0; i < words->count; i++) {
		if (kept && !strcmp(words->items[kept - 1], words->items[i]))
			free(words->items[i]);
		else
			words->items[kept++] = words->items[i];
	}
	words->count = kept;
	words->known = true;
}

/** Functions in the stacks of sites, up to where a name is still one word of a command: no
 * parameters, no template arguments. */
static void find_functions(struct words *words)
{
	const struct hawk_heap *heap = &edit.session->heap;
	size_t end = heap->site_count < SITES_MAX ? heap->site_count : SITES_MAX;
	struct hawk_stack stack;

	hawk_stack_init(&stack);
	for (size_t i = 0; i < end && heap->knows & HAWK_HEAP_STACKS; i++) {
		hawk_stack_of_trace(edit.session->symbols, heap->table, heap->sites[i].trace,
				    &stack);
		for (size_t j = 0; j < stack.count; j++) {
			const char *function = stack.lines[j].name.function;

			if (function && strcspn(function, "(< "))
				add_pattern(words, function, strcspn(function, "(< "));
		}
	}
	hawk_stack_deinit(&stack);
}

static void find_types(struct words *words)
{
	const struct hawk_heap *heap = &edit.session->heap;
	uint32_t end = heap->index.count < BLOCKS_MAX ? heap->index.count : BLOCKS_MAX;
	struct hawk_block_types *types;
	struct hawk_error *err = hawk_session_types(edit.session, &types);
	const char *before = NULL;

	for (uint32_t i = 0; !err && i < end; i++) {
		struct hawk_block block;
		const char *type;

		hawk_heap_block(heap, i, &block);
		type = hawk_block_type(types, &block);
		/* The same type is the same pointer, and neighbours are often of one. */
		if (type && type != before) {
			add_pattern(words, type, strlen(type));
			before = type;
		}
	}
	hawk_error_destroy(err);
}

/** The values of an option; NULL = they are not known. */
static const struct words *values_of(const char *option)
{
	bool is_type = !strcmp(option, "--type");
	struct words *words = is_type ? &edit.types : &edit.functions;

	if (!is_type && strcmp(option, "--function") != 0 && strcmp(option, "--focus") != 0 &&
	    strcmp(option, "--ignore") != 0)
		return NULL;
	if (!words->known) {
		(is_type ? find_types : find_functions)(words);
		finish_words(words);
	}
	return words;
}

static void find_verbs(struct words *words)
{
	for (const struct hawk_verb *const *verb = hawk_verbs; *verb; verb++)
		if ((*verb)->answer)
			add_word(words, "", (*verb)->name, strlen((*verb)->name));
	add_word(words, "", "help", 4);
	add_word(words, "", "quit", 4);
}

static void find_options(struct words *words, const struct hawk_verb *verb)
{
	for (size_t table = 0; table < HAWK_OPTION_TABLES && verb->options[table]; table++) {
		if (verb->options[table] == hawk_target_options)
			continue; /* the target is open */
		for (const struct hawk_option *option = verb->options[table]; option->name;
		     option++)
			if (strcmp(option->name, "pid") != 0)
				add_word(words, "--", option->name, strlen(option->name));
	}
}

/** What can stand behind `line`, which is taken apart, in place of `word`. */
static const struct words *choose(char *line, const char *word)
{
	size_t length = strlen(line);
	bool is_value = length && line[length - 1] == '=';
	const struct words *values;
	const char *option;

	clear_words(&edit.others);
	while (length && strchr(" =", line[length - 1]))
		line[--length] = '\0';
	if (!length) {
		find_verbs(&edit.others);
		return &edit.others;
	}
	option = strrchr(line, ' ');
	values = option ? values_of(option + 1) : NULL;
	line[strcspn(line, " ")] = '\0';
	if (!values && !is_value && word[0] == '-' && hawk_verb_find(line))
		find_options(&edit.others, hawk_verb_find(line));
	return values ? values : &edit.others;
}

/** Puts what all words that begin with `word` share behind the cursor; lists them if that is
 * nothing. */
static unsigned char offer(const struct words *words, const char *word)
{
	size_t length = strlen(word), common = 0, count = 0;
	CLEANUP(free_ptr) char *more = NULL;
	const char *matches[LISTED_MAX];

	for (size_t i = 0; i < words->count; i++) {
		const char *match = words->items[i];

		if (strncmp(match, word, length) != 0)
			continue;
		if (!count)
			common = strlen(match);
		if (count < LISTED_MAX)
			matches[count] = match;
		while (strncmp(match, matches[0], common) != 0)
			common--;
		count++;
	}
	if (count == 1 || common > length) {
		more = strndup(matches[0] + length, common - length);
		if (!more || (*more && el_insertstr(edit.editor, more) != 0) ||
		    (count == 1 && el_insertstr(edit.editor, " ") != 0))
			return CC_ERROR;
		return CC_REFRESH;
	}
	if (!count)
		return CC_ERROR;
	printf("\n");
	for (size_t i = 0; i < count && i < LISTED_MAX; i++)
		printf("%s\n", matches[i]);
	if (count > LISTED_MAX)
		printf("... %zu more\n", count - LISTED_MAX);
	return CC_REDISPLAY;
}

static unsigned char complete(EditLine *editor, int key)
{
	const LineInfo *info = el_line(editor);
	size_t start = (size_t)(info->cursor - info->buffer);
	CLEANUP(free_ptr) char *line = strndup(info->buffer, start);
	CLEANUP(free_ptr) char *word = NULL;

	(void)key;
	while (line && start && !strchr(" =", line[start - 1]))
		start--;
	word = line ? strdup(line + start) : NULL;
	if (!word)
		return CC_ERROR;
	line[start] = '\0';
	return offer(choose(line, word), word);
}

/** $XDG_STATE_HOME/hawk-core/history, with its folders made; NULL = nowhere. Caller frees. */
static char *find_history(void)
{
	const char *state = getenv("XDG_STATE_HOME");
	const char *home = getenv("HOME");
	bool has_state = state && *state == '/';
	char *path;

	if (!has_state && !(home && *home == '/'))
		return NULL;
	if (asprintf(&path, "%s%s/hawk-core/history", has_state ? state : home,
		     has_state ? "" : "/.local/state") < 0)
		return NULL;
	for (char *slash = path + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
	return path;
}

/** Waits for a byte, and lets ^C through only here: one that came between two reads would be
 * forgotten by the next. 1, 0 at the end of the input, or -1 after ^C. */
static int read_byte(char *ret)
{
	for (;;) {
		fd_set in;
		int ready;

		if (edit.was_interrupted())
			return -1;
		FD_ZERO(&in);
		FD_SET(STDIN_FILENO, &in);
		ready = pselect(STDIN_FILENO + 1, &in, NULL, NULL, NULL, &edit.signals);
		if (ready < 0 && errno != EINTR)
			return -1;
		if (ready > 0)
			return (int)read(STDIN_FILENO, ret, 1);
	}
}

/** A character, as the editor's own function reads it. */
static int read_key(EditLine *editor, wchar_t *ret)
{
	mbstate_t state = {0};
	size_t length;
	char byte;

	(void)editor;
	do {
		int count = read_byte(&byte);

		if (count != 1)
			return count;
		length = mbrtowc(ret, &byte, 1, &state);
	} while (length == (size_t)-2); // the character goes on
	if (length == (size_t)-1)
		*ret = (unsigned char)byte;
	return 1;
}

static char *prompt(EditLine *editor)
{
	static char text[] = "hawk> ";

	(void)editor;
	return text;
}

void hawk_shell_edit_open(struct hawk_session *session, bool (*was_interrupted)(void))
{
	HistEvent event;

	edit.session = session;
	edit.was_interrupted = was_interrupted;
	edit.terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	if (!edit.terminal)
		return;
	edit.editor = el_init("hawk-core", stdin, stdout, stderr);
	edit.history = history_init();
	if (!edit.editor || !edit.history)
		return;
	history(edit.history, &event, H_SETSIZE, HISTORY_LINES);
	history(edit.history, &event, H_SETUNIQUE, 1);
	edit.history_path = find_history();
	if (edit.history_path)
		history(edit.history, &event, H_LOAD, edit.history_path);
	el_set(edit.editor, EL_PROMPT, prompt);
	el_set(edit.editor, EL_SIGNAL, 1);
	el_set(edit.editor, EL_EDITOR, "emacs");
	el_set(edit.editor, EL_HIST, history, edit.history);
	el_set(edit.editor, EL_GETCFN, read_key);
	el_set(edit.editor, EL_ADDFN, "hawk-complete", "complete a word", complete);
	el_set(edit.editor, EL_BIND, "^I", "hawk-complete", NULL);
	el_set(edit.editor, EL_BIND, "^R", "em-inc-search-prev", NULL);
	el_source(edit.editor, NULL);
}

void hawk_shell_edit_close(void)
{
	HistEvent event;

	if (edit.history && edit.history_path) // readable for this user only
		history(edit.history, &event, H_SAVE, edit.history_path);
	if (edit.history)
		history_end(edit.history);
	if (edit.editor)
		el_end(edit.editor);
	clear_words(&edit.functions);
	clear_words(&edit.types);
	clear_words(&edit.others);
	free(edit.history_path);
	free(edit.line);
}

static const char *read_edited(void)
{
	int count;
	const char *line;
	sigset_t interrupt;
	HistEvent event;

	sigemptyset(&interrupt);
	sigaddset(&interrupt, SIGINT);
	sigprocmask(SIG_BLOCK, &interrupt, &edit.signals);
	line = el_gets(edit.editor, &count);
	sigprocmask(SIG_SETMASK, &edit.signals, NULL);
	if (!line || count <= 0)
		return NULL;
	if (edit.history && line[strspn(line, " \t\n")])
		history(edit.history, &event, H_ENTER, line);
	free(edit.line);
	edit.line = strdup(line);
	return edit.line;
}

const char *hawk_shell_edit_read(void)
{
	if (edit.editor ? !read_edited() : getline(&edit.line, &edit.capacity, stdin) < 0)
		return NULL;
	edit.line[strcspn(edit.line, "\n")] = '\0';
	return edit.line;
}

bool hawk_shell_edit_is_terminal(void)
{
	return edit.terminal;
}
