/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Reading suppression files: lines of a private copy, cut into strings in place.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hawk_cleanup.h"
#include "suppressions_state.h"

enum {
	/** What Valgrind's entries are about if they do not say. */
	ALL_KINDS = 1u << HAWK_REACH_REACHABLE | 1u << HAWK_REACH_POSSIBLY |
		    1u << HAWK_REACH_DEFINITELY_LOST | 1u << HAWK_REACH_INDIRECTLY_LOST,
	READ_STEP_BYTES = 64 << 10,
};

struct parser {
	struct hawk_suppressions *suppressions;
	const char *file;
	char *at;
	char *end; /**< there is a NUL */
	unsigned line;
};

static struct hawk_error *complain(const struct parser *parser, const char *what)
{
	return hawk_error_create(HAWK_ERROR_USAGE, "%s:%u: %s", parser->file, parser->line, what);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

/* The next line that says something, trimmed; NULL at the end. */
static char *next_line(struct parser *parser)
{
	while (parser->at < parser->end) {
		char *line = parser->at;
		char *stop = memchr(line, '\n', (size_t)(parser->end - line));

		if (!stop)
			stop = parser->end;
		parser->at = stop < parser->end ? stop + 1 : stop;
		parser->line++;
		while (line < stop && is_blank(*line))
			line++;
		while (stop > line && is_blank(stop[-1]))
			stop--;
		*stop = '\0';
		if (*line && *line != '#')
			return line;
	}
	return NULL;
}

static bool has_prefix(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

static struct hawk_error *add_pattern(struct hawk_suppressions *suppressions,
				      struct hawk_suppression_pattern pattern)
{
	if (suppressions->pattern_count == suppressions->pattern_capacity) {
		size_t more =
			suppressions->pattern_capacity ? 2 * suppressions->pattern_capacity : 32;
		void *moved =
			reallocarray(suppressions->patterns, more, sizeof(*suppressions->patterns));

		if (!moved)
			return &hawk_enomem;
		suppressions->patterns = moved;
		suppressions->pattern_capacity = more;
	}
	suppressions->patterns[suppressions->pattern_count++] = pattern;
	return NULL;
}

static struct hawk_error *add_entry(struct hawk_suppressions *suppressions,
				    struct hawk_suppression_entry entry)
{
	if (suppressions->count == suppressions->capacity) {
		size_t more = suppressions->capacity ? 2 * suppressions->capacity : 16;
		void *moved =
			reallocarray(suppressions->entries, more, sizeof(*suppressions->entries));

		if (!moved)
			return &hawk_enomem;
		suppressions->entries = moved;
		suppressions->capacity = more;
	}
	suppressions->entries[suppressions->count++] = entry;
	return NULL;
}

static struct hawk_error *parse_leak_line(struct parser *parser, const char *pattern)
{
	struct hawk_suppressions *suppressions = parser->suppressions;
	struct hawk_suppression_entry entry = {
		.told = {.text = pattern, .file = parser->file, .line = parser->line},
		.kinds = ALL_KINDS,
		.first = suppressions->pattern_count,
		.count = 1,
	};
	struct hawk_error *err;

	if (!*pattern)
		return complain(parser, "\"leak:\" without a pattern");
	err = add_pattern(suppressions,
			  (struct hawk_suppression_pattern){.part = HAWK_SUPPRESSION_ANYWHERE,
							    .text = pattern});
	return err ? err : add_entry(suppressions, entry);
}

/* "definite,possible", "all", "none"; false = some other word. */
static bool parse_kinds(const char *text, unsigned *ret)
{
	static const struct {
		const char *word;
		unsigned kinds;
	} words[] = {
		{"definite", 1u << HAWK_REACH_DEFINITELY_LOST},
		{"indirect", 1u << HAWK_REACH_INDIRECTLY_LOST},
		{"possible", 1u << HAWK_REACH_POSSIBLY},
		{"reachable", 1u << HAWK_REACH_REACHABLE},
		{"all", ALL_KINDS},
		{"none", 0},
	};
	unsigned kinds = 0;

	for (;;) {
		size_t length, i;

		text += strspn(text, " \t,");
		length = strcspn(text, " \t,");
		if (!length)
			break;
		for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
			if (strlen(words[i].word) == length &&
			    !strncmp(words[i].word, text, length))
				break;
		if (i == sizeof(words) / sizeof(words[0]))
			return false;
		kinds |= words[i].kinds;
		text += length;
	}
	*ret = kinds;
	return true;
}

/* "FILE" or "FILE:LINE", cut in place. */
static uint32_t cut_line_number(char *text)
{
	char *colon = strrchr(text, ':');
	uint64_t number = 0;

	if (!colon || !colon[1])
		return 0;
	for (const char *digit = colon + 1; *digit; digit++) {
		if (*digit < '0' || *digit > '9' || number > UINT32_MAX / 16)
			return 0;
		number = 10 * number + (uint64_t)(*digit - '0');
	}
	*colon = '\0';
	return (uint32_t)number;
}

static struct hawk_error *parse_frame(struct parser *parser, char *line)
{
	struct hawk_suppression_pattern pattern = {.text = line + 4};

	if (!strcmp(line, "..."))
		pattern.part = HAWK_SUPPRESSION_ELLIPSIS;
	else if (has_prefix(line, "fun:"))
		pattern.part = HAWK_SUPPRESSION_FUNCTION;
	else if (has_prefix(line, "obj:"))
		pattern.part = HAWK_SUPPRESSION_OBJECT;
	else if (has_prefix(line, "src:"))
		pattern.part = HAWK_SUPPRESSION_SOURCE;
	else
		return complain(parser, "a frame is fun:PATTERN, obj:PATTERN, src:PATTERN or ...");
	if (pattern.part == HAWK_SUPPRESSION_ELLIPSIS)
		pattern.text = line;
	else if (!*pattern.text)
		return complain(parser, "a frame without a pattern");
	if (pattern.part == HAWK_SUPPRESSION_SOURCE)
		pattern.line = cut_line_number(line + 4);
	return add_pattern(parser->suppressions, pattern);
}

/* Is "Tool,Tool:Kind" Memcheck's leaks? */
static bool is_memcheck_leak(const char *line)
{
	size_t tools = strcspn(line, ":");

	if (strcmp(line + tools, ":Leak") != 0)
		return false;
	for (const char *at = line; at < line + tools;) {
		size_t length = strcspn(at, ",:");

		if (length == strlen("Memcheck") && !strncmp(at, "Memcheck", length))
			return true;
		at += length + 1;
	}
	return false;
}

static struct hawk_error *skip_entry(struct parser *parser)
{
	const char *line;

	while ((line = next_line(parser)))
		if (!strcmp(line, "}"))
			return NULL;
	return complain(parser, "an entry does not end: \"}\" is missing");
}

/* Behind the second line of an entry about leaks. */
static struct hawk_error *parse_frames(struct parser *parser, struct hawk_suppression_entry *entry)
{
	struct hawk_error *err = NULL;
	char *line;

	while ((line = next_line(parser)) && strcmp(line, "}") != 0 && !err) {
		if (has_prefix(line, "match-leak-kinds:")) {
			if (entry->count ||
			    !parse_kinds(line + strlen("match-leak-kinds:"), &entry->kinds))
				return complain(parser, "match-leak-kinds: comes before the frames "
							"and names definite, indirect, possible, "
							"reachable, all or none");
			continue;
		}
		if (entry->count == HAWK_SUPPRESSION_FRAMES_MAX)
			return complain(parser, "an entry of too many frames");
		err = parse_frame(parser, line);
		entry->count += !err;
	}
	if (err)
		return err;
	if (!line)
		return complain(parser, "an entry does not end: \"}\" is missing");
	return entry->count ? NULL : complain(parser, "an entry without frames");
}

static struct hawk_error *parse_entry(struct parser *parser)
{
	struct hawk_suppression_entry entry = {
		.told = {.file = parser->file, .line = parser->line},
		.kinds = ALL_KINDS,
		.first = parser->suppressions->pattern_count,
	};
	const char *line;
	struct hawk_error *err;

	entry.told.text = next_line(parser);
	line = entry.told.text ? next_line(parser) : NULL;
	if (!line)
		return complain(parser, "an entry does not end: \"}\" is missing");
	if (!strchr(line, ':'))
		return complain(parser, "\"Memcheck:Leak\", or another tool and kind, is missing");
	if (!is_memcheck_leak(line))
		return skip_entry(parser);
	err = parse_frames(parser, &entry);
	return err ? err : add_entry(parser->suppressions, entry);
}

/* "==123== text": what memcheck prints between the entries of --gen-suppressions. */
static bool is_log(const char *line)
{
	size_t digits = strspn(line + (has_prefix(line, "==") ? 2 : 0), "0123456789");

	return has_prefix(line, "==") && digits && has_prefix(line + 2 + digits, "==");
}

static struct hawk_error *parse(struct parser *parser)
{
	struct hawk_error *err = NULL;
	char *line;

	while (!err && (line = next_line(parser))) {
		if (is_log(line))
			continue;
		if (!strcmp(line, "{"))
			err = parse_entry(parser);
		else if (has_prefix(line, "leak:"))
			err = parse_leak_line(parser, line + strlen("leak:"));
		else
			err = complain(parser, "neither leak:PATTERN nor \"{\", with which an "
					       "entry of Valgrind begins");
	}
	return err;
}

/* Takes `text` over, also after an error. */
static struct hawk_error *keep(struct hawk_suppressions *suppressions, char *text)
{
	void *moved = reallocarray(suppressions->texts, suppressions->text_count + 1,
				   sizeof(*suppressions->texts));

	if (!moved) {
		free(text);
		return &hawk_enomem;
	}
	suppressions->texts = moved;
	suppressions->texts[suppressions->text_count++] = text;
	return NULL;
}

struct hawk_error *hawk_suppressions_parse(struct hawk_suppressions *suppressions, const char *name,
					   const void *bytes, size_t size)
{
	char *file = strdup(name);
	char *text = malloc(size + 1);
	struct parser parser = {.suppressions = suppressions, .file = file, .at = text};
	struct hawk_error *err = &hawk_enomem;

	if (!file || !text) {
		free(file);
		free(text);
		return err;
	}
	memcpy(text, bytes, size);
	text[size] = '\0';
	parser.end = text + size;
	err = keep(suppressions, file);
	if (err) {
		free(text);
		return err;
	}
	err = keep(suppressions, text);
	if (err)
		return err;
	if (memchr(text, '\0', size))
		return hawk_error_create(HAWK_ERROR_USAGE, "%s: is no text", name);
	return parse(&parser);
}

/* All of it, whatever it is: a pipe, too. */
static struct hawk_error *read_file(const char *path, char **ret, size_t *size)
{
	CLEANUP(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	CLEANUP(free_ptr) char *bytes = NULL;
	size_t used = 0;

	if (fd < 0)
		return hawk_error_os(errno, "cannot open", path);
	for (;;) {
		char *moved = realloc(bytes, used + READ_STEP_BYTES);
		ssize_t got;

		if (!moved)
			return &hawk_enomem;
		bytes = moved;
		got = read(fd, bytes + used, READ_STEP_BYTES);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return hawk_error_os(errno, "cannot read", path);
		if (!got)
			break;
		used += (size_t)got;
		if (used > HAWK_SUPPRESSION_BYTES_MAX)
			return hawk_error_create(HAWK_ERROR_USAGE,
						 "%s: is too large for suppressions", path);
	}
	*ret = take_ptr(&bytes);
	*size = used;
	return NULL;
}

struct hawk_error *hawk_suppressions_read(struct hawk_suppressions *suppressions, const char *path)
{
	CLEANUP(free_ptr) char *bytes = NULL;
	size_t size = 0;
	struct hawk_error *err = read_file(path, &bytes, &size);

	return err ? err : hawk_suppressions_parse(suppressions, path, bytes, size);
}
