/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Decides about memory, granule by granule.
 */
#include "redactor.h"

#include <stdlib.h>
#include <string.h>

#include "hawk/base/array.h"

enum {
	WORD = 8,
	VERDICT_BYTES_MAX = 127,
};

void hawk_redactor_init(struct hawk_redactor *redactor, const struct hawk_heap *heap)
{
	size_t count;
	const struct hawk_mapping *mappings = hawk_target_mappings(heap->target, &count);

	*redactor = (struct hawk_redactor){
		.target = heap->target,
		.context = &hawk_target_arch(heap->target)->context,
		.heap = heap,
		.magic = hawk_table_magic(),
	};
	if (count) {
		redactor->lowest = mappings[0].start;
		redactor->highest = mappings[count - 1].end;
	}
}

void hawk_redactor_deinit(struct hawk_redactor *redactor)
{
	free(redactor->spans);
	free(redactor->verdicts);
	*redactor = (struct hawk_redactor){0};
}

struct hawk_error *hawk_redactor_add_span(struct hawk_redactor *redactor, uint64_t start,
					  uint64_t end)
{
	if (start >= end)
		return NULL;
	if (!hawk_array_reserve(&redactor->spans, redactor->span_count, &redactor->span_capacity,
				sizeof(*redactor->spans)))
		return &hawk_enomem;
	redactor->spans[redactor->span_count++] = (struct hawk_span){start, end};
	return NULL;
}

static int compare_spans(const void *left, const void *right)
{
	const struct hawk_span *a = left, *b = right;

	return a->start < b->start ? -1 : a->start > b->start;
}

void hawk_redactor_finish_spans(struct hawk_redactor *redactor)
{
	struct hawk_span *spans = redactor->spans;
	size_t kept = 0;

	if (redactor->span_count)
		qsort(spans, redactor->span_count, sizeof(*spans), compare_spans);
	for (size_t i = 0; i < redactor->span_count; i++) {
		if (!kept || spans[i].start > spans[kept - 1].end)
			spans[kept++] = spans[i];
		else if (spans[i].end > spans[kept - 1].end)
			spans[kept - 1].end = spans[i].end;
	}
	redactor->span_count = kept;
}

/* Returns true for the tracer's own memory: no kept word points there, but numbers might seem
 * to. */
static bool is_tracers(const struct hawk_redactor *redactor, uint64_t address)
{
	const struct hawk_heap_span *span = hawk_heap_spans_at(&redactor->heap->spans, address);

	return span && span->kind == HAWK_SPAN_METADATA &&
	       redactor->heap->origins[span->source].knows & HAWK_HEAP_STACKS;
}

static bool is_mapped(struct hawk_redactor *redactor, uint64_t word)
{
	const uint64_t page = word / HAWK_REDACT_PAGE_BYTES;
	uint64_t *known = &redactor->pages[page % HAWK_REDACT_PAGES];
	const struct hawk_mapping *mapping;
	bool ret;

	if (word < redactor->lowest || word >= redactor->highest)
		return false;
	if (*known >> 1 == page)
		return *known & 1;
	mapping = hawk_target_mapping_at(redactor->target, word);
	ret = mapping && !is_tracers(redactor, word);
	if (mapping && mapping->start <= page * HAWK_REDACT_PAGE_BYTES &&
	    mapping->end - page * HAWK_REDACT_PAGE_BYTES >= HAWK_REDACT_PAGE_BYTES)
		*known = page << 1 | ret;
	return ret;
}

bool hawk_redactor_is_pointer(struct hawk_redactor *redactor, uint64_t word)
{
	/* One past the end of a block may be one past that of a mapping. */
	return is_mapped(redactor, word) ||
	       (word && word % HAWK_REDACT_PAGE_BYTES == 0 && is_mapped(redactor, word - 1));
}

/** The memory being redacted. */
struct piece {
	struct hawk_redactor *redactor;
	uint64_t address;
	const uint8_t *from;
	size_t size;
	uint8_t *to;
	uint64_t
		array_bytes; /**< of the block of new[] that begins at the next granule; 0 = none */
};

/* Returns the original's word, also beyond the piece; 0 if unreadable. */
static uint64_t word_at(const struct piece *piece, uint64_t address)
{
	uint64_t word = 0;

	if (address >= piece->address && address - piece->address + WORD <= piece->size)
		memcpy(&word, piece->from + (address - piece->address), WORD);
	else if (hawk_target_read_some(piece->redactor->target, address, &word, WORD) != WORD)
		word = 0;
	return word;
}

static bool is_mark(const struct hawk_arch_context *context, uint64_t word)
{
	return word == context->mark_value || word == context->mark_low;
}

/* Returns true for words of a signal's context: from the segments, and the size of the alternate
 * stack before them, the analyzer and gdb know the interrupted place. */
static bool is_of_context(const struct piece *piece, uint64_t address, uint64_t word)
{
	const struct hawk_arch_context *context = piece->redactor->context;

	return is_mark(context, word) ||
	       is_mark(context, word_at(piece, address + context->mark - context->stack_bytes));
}

static bool keeps_word(const struct piece *piece, uint64_t address, uint64_t word)
{
	return hawk_redactor_is_pointer(piece->redactor, word) ||
	       is_of_context(piece, address, word);
}

static bool is_live(const struct piece *piece, uint64_t address, const uint64_t words[2])
{
	const struct hawk_heap *heap = piece->redactor->heap;

	return heap->table && hawk_header_is_live(&hawk_table_header(heap->table)->key, words[0],
						  words[1], address);
}

static bool is_dead(const struct piece *piece, uint64_t address, uint64_t word)
{
	const struct hawk_heap *heap = piece->redactor->heap;

	return heap->table && word >> 32 &&
	       hawk_header_trace(word) < hawk_table_trace_limit(heap->table) &&
	       hawk_header_is_dead(&hawk_table_header(heap->table)->key, word, address);
}

/* Uses a header's facts about the words around it. */
static void use_header(struct piece *piece, uint64_t address, uint64_t word)
{
	if (hawk_header_offset_code(word) == HAWK_OFFSET_LARGE && address - piece->address >= WORD)
		memcpy(piece->to + (address - piece->address) - WORD,
		       piece->from + (address - piece->address) - WORD, WORD);
	piece->array_bytes =
		hawk_header_kind(word) == HAWK_KIND_NEW_ARRAY ? hawk_header_size(word) : 0;
}

/* Returns true for an object count in front of an array, which identifies the array's class. */
static bool is_array_count(const struct piece *piece, const uint64_t words[2])
{
	return piece->array_bytes >= 2 * WORD && words[0] <= piece->array_bytes / WORD - 1 &&
	       hawk_target_module_at(piece->redactor->target, words[1]);
}

static void put_word(struct piece *piece, uint64_t address, uint64_t word, bool keep)
{
	uint64_t kept = keep ? word : 0;

	memcpy(piece->to + (address - piece->address), &kept, WORD);
	if (!word)
		return;
	if (keep)
		piece->redactor->words_kept++;
	else
		piece->redactor->words_zeroed++;
}

static void decide(struct piece *piece, uint64_t address)
{
	uint64_t words[2];
	bool live, keep;

	memcpy(words, piece->from + (address - piece->address), sizeof(words));
	if (!(words[0] | words[1])) {
		memset(piece->to + (address - piece->address), 0, sizeof(words));
		piece->array_bytes = 0;
		return;
	}
	live = is_live(piece, address, words);
	keep = live || keeps_word(piece, address, words[0]) || is_array_count(piece, words);
	put_word(piece, address, words[0], keep);
	keep = live || is_dead(piece, address, words[1]) ||
	       keeps_word(piece, address + WORD, words[1]);
	put_word(piece, address + WORD, words[1], keep);
	piece->array_bytes = 0;
	if (live)
		use_header(piece, address, words[0]);
}

/* Looks for a header before the piece that makes it begin with a new[] block. */
static void look_back(struct piece *piece)
{
	uint64_t address = piece->address - HAWK_GRANULE_BYTES;
	uint64_t words[2];

	if (piece->address < HAWK_GRANULE_BYTES ||
	    hawk_target_read_some(piece->redactor->target, address, words, sizeof(words)) !=
		    sizeof(words))
		return;
	if (is_live(piece, address, words) && hawk_header_kind(words[0]) == HAWK_KIND_NEW_ARRAY)
		piece->array_bytes = hawk_header_size(words[0]);
}

/* Puts ones in place of redacted words; pointers in between stay. */
static void fill_bytes(const struct piece *piece, uint64_t start, uint64_t end)
{
	for (uint64_t at = start; at < end; at++) {
		uint64_t place = at & -(uint64_t)WORD;

		if (!keeps_word(piece, place, word_at(piece, place)))
			piece->to[at - piece->address] = 0xff;
	}
}

/* Writes [start, end), as far as it is in the piece: the original's bytes, or ones. */
static void put_bytes(const struct piece *piece, uint64_t start, uint64_t end, bool fill)
{
	uint64_t piece_end = piece->address + piece->size;

	if (start < piece->address)
		start = piece->address;
	if (end > piece_end)
		end = piece_end;
	if (start >= end)
		return;
	if (fill)
		fill_bytes(piece, start, end);
	else
		memcpy(piece->to + (start - piece->address), piece->from + (start - piece->address),
		       end - start);
}

static void put_spans(const struct piece *piece)
{
	const struct hawk_redactor *redactor = piece->redactor;
	size_t i = hawk_array_first_above(redactor->spans, redactor->span_count,
					  sizeof(*redactor->spans), offsetof(struct hawk_span, end),
					  piece->address);

	for (; i < redactor->span_count && redactor->spans[i].start < piece->address + piece->size;
	     i++)
		put_bytes(piece, redactor->spans[i].start, redactor->spans[i].end, false);
}

/* Keeps headers of trace tables, their copies and remains of damaged ones: they locate the
 * table. */
static void put_table_headers(const struct piece *piece)
{
	enum {
		BYTES = sizeof(struct hawk_table_header),
		SELF = offsetof(struct hawk_table_header, self_address)
	};
	uint64_t first = piece->address > BYTES ? piece->address - BYTES : 0;
	uint64_t at = (first + HAWK_REDACT_PAGE_BYTES - 1) & -(uint64_t)HAWK_REDACT_PAGE_BYTES;

	for (; at < piece->address + piece->size; at += HAWK_REDACT_PAGE_BYTES)
		if (word_at(piece, at) == piece->redactor->magic && word_at(piece, at + SELF) == at)
			put_bytes(piece, at, at + BYTES, false);
}

static void put_verdicts(const struct piece *piece)
{
	const struct hawk_redactor *redactor = piece->redactor;
	uint64_t first =
		piece->address > VERDICT_BYTES_MAX ? piece->address - VERDICT_BYTES_MAX : 0;
	size_t i = hawk_array_first_above(redactor->verdicts, redactor->verdict_count,
					  sizeof(*redactor->verdicts), 0, first << 8);

	for (; i < redactor->verdict_count; i++) {
		uint64_t start = redactor->verdicts[i] >> 8;

		if (start >= piece->address + piece->size)
			break;
		put_bytes(piece, start, start + (redactor->verdicts[i] >> 1 & VERDICT_BYTES_MAX),
			  redactor->verdicts[i] & 1);
	}
}

void hawk_redactor_apply(struct hawk_redactor *redactor, uint64_t address, const uint8_t *from,
			 size_t size, uint8_t *to)
{
	struct piece piece = {
		.redactor = redactor,
		.address = address,
		.from = from,
		.size = size,
		.to = to,
	};

	look_back(&piece);
	for (uint64_t at = 0; at < size; at += HAWK_GRANULE_BYTES)
		decide(&piece, address + at);
	put_spans(&piece);
	put_table_headers(&piece);
	put_verdicts(&piece);
}
