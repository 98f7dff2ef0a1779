/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Reads suppression files (lines of a private copy, cut into strings in place), and matches stacks.
 * No recursion: a star, and an ellipsis of frames, go back to the last one only, which suffices
 * because earlier matches stay valid.
 */
#include "hawk/analysis/suppressions.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hawk/base/array.h"
#include "hawk/base/cleanup.h"

enum hawk_suppression_part {
	HAWK_SUPPRESSION_ANYWHERE, /**< LeakSanitizer's: any frame's function, file or module */
	HAWK_SUPPRESSION_FUNCTION,
	HAWK_SUPPRESSION_OBJECT,
	HAWK_SUPPRESSION_SOURCE,
	HAWK_SUPPRESSION_ELLIPSIS, /**< any number of frames */
};

struct hawk_suppression_pattern {
	enum hawk_suppression_part part;
	const char *text; /**< part of the file's copy */
	uint32_t line;    /**< of the source; 0 = any */
};

struct hawk_suppression_entry {
	struct hawk_suppression told;
	unsigned kinds; /**< bits 1u << enum hawk_reach_kind */
	size_t first;   /**< index into patterns */
	size_t count;
};

struct hawk_suppressions {
	struct hawk_suppression_entry *entries;
	size_t count;
	size_t capacity;
	struct hawk_suppression_pattern *patterns;
	size_t pattern_count;
	size_t pattern_capacity;
	char **texts; /**< copies of files and of their names */
	size_t text_count;
};

/* Valgrind's text for an unknown name. */
static const char unknown[] = "???";

/* Valgrind's own library, which holds the allocation functions of its stacks. */
static const char preload[] = "/usr/libexec/valgrind/vgpreload_memcheck-amd64-linux.so";

enum glob_rules {
	GLOB_ANY_CHARACTER = 1, /* '?' */
	GLOB_OPEN_START = 2,    /* any text may come before the pattern */
	GLOB_OPEN_END = 4,      /* and behind it */
};

/* `pattern` up to `end` against `text`. */
static bool glob(const char *pattern, const char *end, const char *text, unsigned rules)
{
	const char *star = rules & GLOB_OPEN_START ? pattern : NULL;
	const char *resume = text;

	for (;;) {
		if (pattern == end && (!*text || rules & GLOB_OPEN_END))
			return true;
		if (pattern < end && *pattern == '*') {
			star = ++pattern;
			resume = text;
		} else if (*text && pattern < end &&
			   (*pattern == *text || (rules & GLOB_ANY_CHARACTER && *pattern == '?'))) {
			pattern++;
			text++;
		} else if (star && *resume) {
			pattern = star;
			text = ++resume;
		} else {
			return false;
		}
	}
}

static bool glob_whole(const char *pattern, const char *text)
{
	return glob(pattern, pattern + strlen(pattern), text ? text : unknown, GLOB_ANY_CHARACTER);
}

/* LeakSanitizer's way. */
static bool contains(const char *pattern, const char *text)
{
	const char *end = pattern + strlen(pattern);
	unsigned rules = GLOB_OPEN_START | GLOB_OPEN_END;

	if (!text || !*text)
		return false;
	if (*pattern == '^') {
		rules &= ~(unsigned)GLOB_OPEN_START;
		pattern++;
	}
	if (end > pattern && end[-1] == '$') {
		rules &= ~(unsigned)GLOB_OPEN_END;
		end--;
	}
	return glob(pattern, end, text, rules);
}

static bool frame_contains(const struct hawk_suppression_frame *frame, const char *pattern)
{
	return contains(pattern, frame->function) || contains(pattern, frame->file) ||
	       contains(pattern, frame->module);
}

static bool matches_function(const char *pattern, const struct hawk_suppression_frame *frame)
{
	if (glob_whole(pattern, frame->symbol) || glob_whole(pattern, frame->function) ||
	    (frame->plain && glob_whole(pattern, frame->plain)))
		return true;
	for (size_t i = 0; frame->aliases && frame->aliases[i]; i++)
		if (glob_whole(pattern, frame->aliases[i]))
			return true;
	return false;
}

/* The first `allocators` frames are allocation functions: posix_memalign() calls memalign(). */
static bool matches_frame(const struct hawk_suppression_pattern *pattern,
			  const struct hawk_suppression_stack *stack, size_t i, size_t allocators)
{
	const struct hawk_suppression_frame *frame;

	if (i < allocators) {
		if (pattern->part == HAWK_SUPPRESSION_OBJECT)
			return glob_whole(pattern->text, preload);
		for (size_t j = 0; stack->allocators[j]; j++)
			if (pattern->part == HAWK_SUPPRESSION_FUNCTION &&
			    glob_whole(pattern->text, stack->allocators[j]))
				return true;
		return false;
	}
	frame = &stack->frames[i - allocators];
	switch (pattern->part) {
	case HAWK_SUPPRESSION_FUNCTION:
		return matches_function(pattern->text, frame);
	case HAWK_SUPPRESSION_OBJECT:
		return glob_whole(pattern->text, frame->module) ||
		       (frame->mapped && glob_whole(pattern->text, frame->mapped));
	case HAWK_SUPPRESSION_SOURCE:
		return frame->file && glob_whole(pattern->text, frame->file) &&
		       (!pattern->line || pattern->line == frame->line);
	default:
		return false;
	}
}

/* Matches patterns against frames from the first on; further frames may follow. */
static bool matches_stack(const struct hawk_suppression_pattern *patterns, size_t count,
			  const struct hawk_suppression_stack *stack, size_t allocators)
{
	size_t frames = stack->count + allocators;
	size_t after = SIZE_MAX; /* the pattern behind the last ellipsis */
	size_t resume = 0;
	size_t at = 0;

	for (size_t i = 0; i < count;) {
		if (patterns[i].part == HAWK_SUPPRESSION_ELLIPSIS) {
			after = ++i;
			resume = at;
		} else if (at < frames && matches_frame(&patterns[i], stack, at, allocators)) {
			i++;
			at++;
		} else if (after != SIZE_MAX && resume < frames) {
			i = after;
			at = ++resume;
		} else {
			return false;
		}
	}
	return true;
}

static bool matches(const struct hawk_suppressions *suppressions,
		    const struct hawk_suppression_entry *entry,
		    const struct hawk_suppression_stack *stack)
{
	const struct hawk_suppression_pattern *patterns = suppressions->patterns + entry->first;

	if (patterns->part != HAWK_SUPPRESSION_ANYWHERE)
		return matches_stack(patterns, entry->count, stack, 0) ||
		       matches_stack(patterns, entry->count, stack, 1) ||
		       matches_stack(patterns, entry->count, stack, 2);
	for (size_t i = 0; i < stack->count; i++)
		if (frame_contains(&stack->frames[i], patterns->text))
			return true;
	return false;
}

struct hawk_suppression *hawk_suppressions_match(struct hawk_suppressions *suppressions,
						 enum hawk_reach_kind kind,
						 const struct hawk_suppression_stack *stack)
{
	for (size_t i = 0; i < suppressions->count; i++) {
		struct hawk_suppression_entry *entry = &suppressions->entries[i];

		if (entry->kinds >> kind & 1 && matches(suppressions, entry, stack))
			return &entry->told;
	}
	return NULL;
}

enum {
	/** Kinds of Valgrind entries without match-leak-kinds. */
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

/* Returns the next line that is neither empty nor a comment, trimmed; NULL at the end. */
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
	if (!hawk_array_reserve(&suppressions->patterns, suppressions->pattern_count,
				&suppressions->pattern_capacity, sizeof(pattern)))
		return &hawk_enomem;
	suppressions->patterns[suppressions->pattern_count++] = pattern;
	return NULL;
}

static struct hawk_error *add_entry(struct hawk_suppressions *suppressions,
				    struct hawk_suppression_entry entry)
{
	if (!hawk_array_reserve(&suppressions->entries, suppressions->count,
				&suppressions->capacity, sizeof(entry)))
		return &hawk_enomem;
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

/* Returns true if "Tool,Tool:Kind" means Memcheck's leaks. */
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

/* Returns true for "==123== text", which memcheck prints between the entries of
 * --gen-suppressions. */
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

/* Reads all of a file, even from a pipe. */
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

size_t hawk_suppressions_count(const struct hawk_suppressions *suppressions)
{
	return suppressions->count;
}

struct hawk_suppression *hawk_suppressions_at(struct hawk_suppressions *suppressions, size_t i)
{
	return &suppressions->entries[i].told;
}

struct hawk_error *hawk_suppressions_create(struct hawk_suppressions **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? NULL : &hawk_enomem;
}

void hawk_suppressions_destroy(struct hawk_suppressions *suppressions)
{
	if (!suppressions)
		return;
	for (size_t i = 0; i < suppressions->text_count; i++)
		free(suppressions->texts[i]);
	free(suppressions->texts);
	free(suppressions->entries);
	free(suppressions->patterns);
	free(suppressions);
}
