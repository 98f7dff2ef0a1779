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

#include "hawk_cleanup.h"
#include "hawk_shell.h"

enum { HISTORY_LINES = 1000, LISTED_MAX = 60 };

/** Words that can stand somewhere; sorted, owned. */
struct words {
	char **items;
	size_t count;
	bool known;
};

struct hawk_shell_edit {
	struct hawk_session *session;
	bool (*was_interrupted)(void); /**< by ^C, since it was asked to read */
	sigset_t signals;              /**< blocked while nothing is edited */
	bool terminal;
	EditLine *editor;
	History *history;
	char *history_path;
	char *line;
	size_t capacity;
	struct words functions;
	struct words types;
};

static char *prompt(EditLine *editor)
{
	static char text[] = "hawk> ";

	(void)editor;
	return text;
}

static const struct words *words_of(struct hawk_shell_edit *edit, const char *option)
{
	struct words *words;

	if (!strcmp(option, "--function") || !strcmp(option, "--focus") ||
	    !strcmp(option, "--ignore"))
		words = &edit->functions;
	else if (!strcmp(option, "--type"))
		words = &edit->types;
	else
		return NULL;
	if (!words->known)
		words->items = (words == &edit->functions
					? hawk_shell_functions
					: hawk_shell_types)(edit->session, &words->count);
	words->known = true;
	return words;
}

/** What could be written at the cursor: `start` is a prefix of all. */
struct matches {
	const char *start;
	size_t length;
	char *common; /**< prefix of all, owned */
	size_t count;
	const char *listed[LISTED_MAX];
};

static void offer(struct matches *matches, const char *word)
{
	if (strncmp(word, matches->start, matches->length) != 0)
		return;
	if (matches->count < LISTED_MAX)
		matches->listed[matches->count] = word;
	matches->count++;
	if (!matches->common) {
		matches->common = strdup(word);
		return;
	}
	for (size_t i = 0; matches->common[i]; i++)
		if (matches->common[i] != word[i])
			matches->common[i] = '\0';
}

static void offer_verbs(struct matches *matches)
{
	for (const struct hawk_verb *const *verb = hawk_verbs; *verb; verb++)
		if ((*verb)->answer)
			offer(matches, (*verb)->name);
	offer(matches, "help");
	offer(matches, "quit");
}

/** "--name" of every option, kept for the life of the program. */
static const char *dashed(const char *name)
{
	enum { KEPT = 128 };
	static char kept[KEPT][64];
	static size_t count;

	for (size_t i = 0; i < count; i++)
		if (!strcmp(kept[i] + 2, name))
			return kept[i];
	if (count == KEPT)
		return "";
	snprintf(kept[count], sizeof(kept[count]), "--%s", name);
	return kept[count++];
}

static void offer_options(struct matches *matches, const struct hawk_verb *verb)
{
	for (size_t table = 0; table < HAWK_OPTION_TABLES && verb->options[table]; table++) {
		if (verb->options[table] == hawk_target_options)
			continue; /* the target is open */
		for (const struct hawk_option *option = verb->options[table]; option->name;
		     option++)
			if (strcmp(option->name, "pid") != 0)
				offer(matches, dashed(option->name));
	}
}

/** Puts what all matches share behind the cursor; lists them if that is nothing. */
static unsigned char insert(EditLine *editor, struct matches *matches)
{
	const char *more = matches->common ? matches->common + matches->length : "";

	if (*more && el_insertstr(editor, more) != 0)
		return CC_ERROR;
	if (matches->count == 1)
		return el_insertstr(editor, " ") == 0 ? CC_REFRESH : CC_ERROR;
	if (*more)
		return CC_REFRESH;
	if (matches->count < 2)
		return CC_ERROR;
	printf("\n");
	for (size_t i = 0; i < matches->count && i < LISTED_MAX; i++)
		printf("%s\n", matches->listed[i]);
	if (matches->count > LISTED_MAX)
		printf("... %zu more\n", matches->count - LISTED_MAX);
	return CC_REDISPLAY;
}

/** Where the cursor is in `line`, which is taken apart. */
struct place {
	const char *verb;   /**< NULL = the verb itself is being written */
	const char *option; /**< whose value is being written, or the word before; "" = none */
	const char *word;   /**< what is written of the word or of the value */
	bool is_value;      /**< behind "=" */
};

static struct place find_place(char *line)
{
	char *blank = strrchr(line, ' ');
	struct place place = {.option = "", .word = line};
	char *equals;

	if (!blank)
		return place;
	*blank = '\0';
	place.word = blank + 1;
	equals = strchr(place.word, '=');
	if (equals) {
		*equals = '\0';
		place.option = place.word;
		place.word = equals + 1;
		place.is_value = true;
	} else if (strrchr(line, ' ')) {
		place.option = strrchr(line, ' ') + 1;
	}
	place.verb = line;
	return place;
}

static void offer_all(struct hawk_shell_edit *edit, const struct place *place, char *line,
		      struct matches *matches)
{
	const struct words *words;

	if (!place->verb) {
		offer_verbs(matches);
		return;
	}
	words = words_of(edit, place->option);
	for (size_t i = 0; words && i < words->count; i++)
		offer(matches, words->items[i]);
	line[strcspn(line, " ")] = '\0';
	if (!words && !place->is_value && place->word[0] == '-' && hawk_verb_find(line))
		offer_options(matches, hawk_verb_find(line));
}

static unsigned char complete(EditLine *editor, int key)
{
	const LineInfo *info = el_line(editor);
	struct hawk_shell_edit *edit = NULL;
	CLEANUP(free_ptr)
	char *line = strndup(info->buffer, (size_t)(info->cursor - info->buffer));
	struct matches matches = {0};
	unsigned char result;
	struct place place;

	(void)key;
	el_get(editor, EL_CLIENTDATA, &edit);
	if (!line || !edit)
		return CC_ERROR;
	place = find_place(line);
	matches.start = place.word;
	matches.length = strlen(place.word);
	offer_all(edit, &place, line, &matches);
	result = insert(editor, &matches);
	free(matches.common);
	return result;
}

/** $XDG_STATE_HOME/hawk-core/history, with its folders made; NULL = nowhere. Caller frees. */
static char *find_history(void)
{
	const char *state = getenv("XDG_STATE_HOME");
	const char *home = getenv("HOME");
	CLEANUP(free_ptr) char *folder = NULL;
	char *path = NULL;

	if (!(state && *state == '/') && !(home && *home == '/'))
		return NULL;
	if (asprintf(&folder, "%s%s/hawk-core", state && *state == '/' ? state : home,
		     state && *state == '/' ? "" : "/.local/state") < 0)
		return NULL;
	for (char *slash = folder + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(folder, 0700);
		*slash = '/';
	}
	if (mkdir(folder, 0700) != 0 && errno != EEXIST)
		return NULL;
	return asprintf(&path, "%s/history", folder) < 0 ? NULL : path;
}

/** Waits for a byte, and lets ^C through only here: one that came between two reads would be
 * forgotten by the next. 1, 0 at the end of the input, or -1 after ^C. */
static int read_byte(const struct hawk_shell_edit *edit, char *ret)
{
	for (;;) {
		fd_set in;
		int ready;

		if (edit->was_interrupted())
			return -1;
		FD_ZERO(&in);
		FD_SET(STDIN_FILENO, &in);
		ready = pselect(STDIN_FILENO + 1, &in, NULL, NULL, NULL, &edit->signals);
		if (ready < 0 && errno != EINTR)
			return -1;
		if (ready > 0)
			return (int)read(STDIN_FILENO, ret, 1);
	}
}

/** A character, as the editor's own function reads it. */
static int read_key(EditLine *editor, wchar_t *ret)
{
	const struct hawk_shell_edit *edit;
	mbstate_t state = {0};
	size_t length;
	char byte;

	el_get(editor, EL_CLIENTDATA, &edit);
	do {
		int count = read_byte(edit, &byte);

		if (count != 1)
			return count;
		length = mbrtowc(ret, &byte, 1, &state);
	} while (length == (size_t)-2); // the character goes on
	if (length == (size_t)-1)
		*ret = (unsigned char)byte;
	return 1;
}

static void start_editor(struct hawk_shell_edit *edit)
{
	HistEvent event;

	edit->editor = el_init("hawk-core", stdin, stdout, stderr);
	edit->history = history_init();
	if (!edit->editor || !edit->history)
		return;
	history(edit->history, &event, H_SETSIZE, HISTORY_LINES);
	history(edit->history, &event, H_SETUNIQUE, 1);
	edit->history_path = find_history();
	if (edit->history_path)
		history(edit->history, &event, H_LOAD, edit->history_path);
	el_set(edit->editor, EL_PROMPT, prompt);
	el_set(edit->editor, EL_SIGNAL, 1);
	el_set(edit->editor, EL_EDITOR, "emacs");
	el_set(edit->editor, EL_HIST, history, edit->history);
	el_set(edit->editor, EL_CLIENTDATA, edit);
	el_set(edit->editor, EL_GETCFN, read_key);
	el_set(edit->editor, EL_ADDFN, "hawk-complete", "complete a word", complete);
	el_set(edit->editor, EL_BIND, "^I", "hawk-complete", NULL);
	el_set(edit->editor, EL_BIND, "^R", "em-inc-search-prev", NULL);
	el_source(edit->editor, NULL);
}

struct hawk_shell_edit *hawk_shell_edit_create(struct hawk_session *session,
					       bool (*was_interrupted)(void))
{
	struct hawk_shell_edit *edit = calloc(1, sizeof(*edit));

	if (!edit)
		return NULL;
	edit->session = session;
	edit->was_interrupted = was_interrupted;
	edit->terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	if (edit->terminal)
		start_editor(edit);
	return edit;
}

static void save_history(struct hawk_shell_edit *edit)
{
	mode_t mask = umask(077);
	HistEvent event;

	history(edit->history, &event, H_SAVE, edit->history_path);
	umask(mask);
}

static void free_words(struct words *words)
{
	for (size_t i = 0; i < words->count; i++)
		free(words->items[i]);
	free(words->items);
}

void hawk_shell_edit_destroy(struct hawk_shell_edit *edit)
{
	if (!edit)
		return;
	if (edit->history && edit->history_path)
		save_history(edit);
	if (edit->history)
		history_end(edit->history);
	if (edit->editor)
		el_end(edit->editor);
	free_words(&edit->functions);
	free_words(&edit->types);
	free(edit->history_path);
	free(edit->line);
	free(edit);
}

static bool is_blank(const char *line)
{
	return line[strspn(line, " \t\n")] == '\0';
}

static const char *read_edited(struct hawk_shell_edit *edit)
{
	int count;
	const char *line;
	sigset_t interrupt;
	HistEvent event;

	sigemptyset(&interrupt);
	sigaddset(&interrupt, SIGINT);
	sigprocmask(SIG_BLOCK, &interrupt, &edit->signals);
	line = el_gets(edit->editor, &count);
	sigprocmask(SIG_SETMASK, &edit->signals, NULL);
	if (!line || count <= 0)
		return NULL;
	if (!is_blank(line) && edit->history)
		history(edit->history, &event, H_ENTER, line);
	free(edit->line);
	edit->line = strdup(line);
	return edit->line;
}

const char *hawk_shell_edit_read(struct hawk_shell_edit *edit)
{
	const char *line = edit->line;

	if (edit->editor) {
		line = read_edited(edit);
	} else {
		if (getline(&edit->line, &edit->capacity, stdin) < 0)
			return NULL;
		line = edit->line;
	}
	if (line)
		edit->line[strcspn(edit->line, "\n")] = '\0';
	return line;
}

bool hawk_shell_edit_is_terminal(const struct hawk_shell_edit *edit)
{
	return edit->terminal;
}
