/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Choosing loss records: matching suppressions with named stacks, and parsing the words.
 */
#include "hawk/analysis/leak_selection.h"

#include <stdlib.h>
#include <string.h>

#include "hawk/base/cleanup.h"
#include "hawk/names/stack.h"

struct word {
	const char *text;
	unsigned bits;
};

/** The bits of words separated by commas. */
static struct hawk_error *parse_words(const char *text, const char *what, const char *selection,
				      const struct word *words, size_t count, unsigned *ret)
{
	unsigned all = 0;

	for (const char *at = text;; at++) {
		size_t length = strcspn(at, ","), i = 0;

		while (i < count &&
		       (strlen(words[i].text) != length || strncmp(at, words[i].text, length) != 0))
			i++;
		if (i == count)
			return hawk_error_create(HAWK_ERROR_USAGE,
						 "'%.*s' is no %s; there are %s, and all",
						 (int)length, at, what, selection);
		all |= words[i].bits;
		at += length;
		if (!*at)
			break;
	}
	*ret = all;
	return NULL;
}

struct hawk_error *hawk_leaks_parse_kinds(const char *text, unsigned *ret)
{
	static const struct word words[] = {
		{"all", HAWK_LEAKS_KINDS_ALL},
		{"definite", 1u << HAWK_REACH_DEFINITELY_LOST},
		{"indirect", 1u << HAWK_REACH_INDIRECTLY_LOST},
		{"possible", 1u << HAWK_REACH_POSSIBLY},
		{"reachable", 1u << HAWK_REACH_REACHABLE},
	};

	return parse_words(text, "leak kind", "definite, indirect, possible, reachable", words,
			   sizeof(words) / sizeof(words[0]), ret);
}

struct hawk_error *hawk_leaks_parse_heuristics(const char *text, unsigned *ret)
{
	struct word words[HAWK_HEURISTIC_COUNT + 3] = {
		{"none", 0},
		{"all", HAWK_HEURISTICS_ALL},
		{"valgrind", HAWK_HEURISTICS_VALGRIND},
	};

	for (unsigned i = 0; i < HAWK_HEURISTIC_COUNT; i++)
		words[3 + i] = (struct word){hawk_heuristic_names[i], 1u << i};
	return parse_words(text, "heuristic",
			   "stdstring, length64, newarray, multipleinheritance, "
			   "lengthprefix, listnode, backpointer, valgrind, none",
			   words, HAWK_HEURISTIC_COUNT + 3, ret);
}

/* Names of the functions that make blocks of a kind, as files for Valgrind have them. */
static const char *const *allocators_of(uint8_t kind)
{
	static const char *const by_malloc[] = {"malloc", NULL};
	static const char *const by_calloc[] = {"calloc", NULL};
	static const char *const by_realloc[] = {"realloc", "reallocarray", "malloc", NULL};
	static const char *const aligned[] = {"memalign", "posix_memalign", "aligned_alloc",
					      "valloc",   "pvalloc",        NULL};
	static const char *const by_new[] = {"_Znwm",
					     "_ZnwmRKSt9nothrow_t",
					     "_ZnwmSt11align_val_t",
					     "_ZnwmSt11align_val_tRKSt9nothrow_t",
					     "operator new(unsigned long)",
					     "operator new(unsigned long, std::nothrow_t const&)",
					     NULL};
	static const char *const by_new_array[] = {
		"_Znam",
		"_ZnamRKSt9nothrow_t",
		"_ZnamSt11align_val_t",
		"_ZnamSt11align_val_tRKSt9nothrow_t",
		"operator new[](unsigned long)",
		"operator new[](unsigned long, std::nothrow_t const&)",
		NULL};

	switch (kind) {
	case HAWK_KIND_CALLOC:
	case HAWK_KIND_LOADER:
		return by_calloc;
	case HAWK_KIND_REALLOC:
		return by_realloc;
	case HAWK_KIND_ALIGNED:
		return aligned;
	case HAWK_KIND_NEW:
		return by_new;
	case HAWK_KIND_NEW_ARRAY:
		return by_new_array;
	default:
		return by_malloc;
	}
}

enum { ALIASES_MAX = 15 };

static void name_frame(const struct hawk_heap *heap, struct hawk_symbols *symbols,
		       const struct hawk_stack_line *line, const char **aliases,
		       struct hawk_suppression_frame *ret)
{
	uint64_t at = line->pc - !line->exact;
	const struct hawk_mapping *mapping = hawk_target_mapping_at(heap->target, at);
	size_t count;

	*ret = (struct hawk_suppression_frame){
		.function = line->name.function,
		.symbol = line->name.symbol,
		.file = line->name.file,
		.line = line->name.line,
		.module = line->has_module ? line->module.path : NULL,
		.mapped = line->has_module && mapping ? mapping->path : NULL,
		.plain = line->name.plain,
		.aliases = aliases,
	};
	if (line->has_module && !line->name.inlined && line->kind == HAWK_LINE_FUNCTION)
		hawk_error_swallow(hawk_symbols_aliases(symbols, &line->module, line->pc,
							line->exact, aliases, ALIASES_MAX, &count));
}

static struct hawk_error *find_suppression(const struct hawk_heap *heap,
					   struct hawk_symbols *symbols,
					   struct hawk_suppressions *suppressions,
					   const struct hawk_leak_record *record,
					   struct hawk_stack *stack, struct hawk_suppression **ret)
{
	CLEANUP(free_ptr) struct hawk_suppression_frame *frames = NULL;
	CLEANUP(free_ptr) const char **aliases = NULL; /**< of all frames */
	struct hawk_suppression_stack names;
	struct hawk_block block;

	*ret = NULL;
	if (!suppressions || !hawk_suppressions_count(suppressions))
		return NULL;
	hawk_stack_of_blocks(symbols, heap,
			     record->site < heap->site_count ? heap->sites[record->site].trace
							     : UINT32_MAX,
			     stack);
	aliases = calloc((stack->count + 1) * (ALIASES_MAX + 1), sizeof(*aliases));
	frames = calloc(stack->count + 1, sizeof(*frames));
	if (!aliases || !frames)
		return &hawk_enomem;
	for (size_t i = 0; i < stack->count; i++)
		name_frame(heap, symbols, &stack->lines[i], aliases + i * (ALIASES_MAX + 1),
			   frames + i);
	hawk_heap_block(heap, record->example, &block);
	names = (struct hawk_suppression_stack){
		.frames = frames,
		.count = stack->count,
		.allocators = allocators_of(block.kind),
	};
	*ret = hawk_suppressions_match(suppressions, record->kind, &names);
	return NULL;
}

static void suppress(const struct hawk_leak_record *record, struct hawk_suppression *suppression,
		     struct hawk_leak_selection *selection)
{
	suppression->records++;
	suppression->objects += record->objects;
	suppression->bytes += record->bytes;
	selection->suppressed.objects += record->objects;
	selection->suppressed.bytes += record->bytes;
	selection->sums[record->kind].objects -= record->objects;
	selection->sums[record->kind].bytes -= record->bytes;
}

struct hawk_error *hawk_leak_selection_make(const struct hawk_heap *heap,
					    struct hawk_symbols *symbols,
					    const struct hawk_leaks *leaks,
					    struct hawk_suppressions *suppressions, unsigned kinds,
					    struct hawk_leak_selection *ret)
{
	struct hawk_stack stack = {0};
	struct hawk_error *err = NULL;

	*ret = (struct hawk_leak_selection){0};
	memcpy(ret->sums, leaks->sums, sizeof(ret->sums));
	ret->records = malloc((leaks->count + 1) * sizeof(const struct hawk_leak_record *));
	if (!ret->records)
		return &hawk_enomem;
	for (size_t i = 0; i < leaks->count && !err; i++) {
		const struct hawk_leak_record *record = &leaks->records[i];
		struct hawk_suppression *suppression;

		err = find_suppression(heap, symbols, suppressions, record, &stack, &suppression);
		if (err)
			break;
		if (suppression) {
			suppress(record, suppression, ret);
		} else if (kinds >> record->kind & 1) {
			ret->records[ret->count++] = record;
			ret->kind_counts[record->kind]++;
		}
	}
	hawk_stack_deinit(&stack);
	return err;
}

void hawk_leak_selection_deinit(struct hawk_leak_selection *selection)
{
	free(selection->records);
	*selection = (struct hawk_leak_selection){0};
}
