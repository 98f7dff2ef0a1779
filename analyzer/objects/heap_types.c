/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Types blocks by what is known of their trace or class, else by their first words. A trace is
 * looked at once; words are cached by their values.
 */
#include "stages.h"

#include <stdlib.h>
#include <string.h>

#include "hawk/base/cleanup.h"
#include "hawk/base/progress.h"
#include "hawk/names/class_name.h"

enum { WORDS = 4096 };

/** Flags of a trace's type. */
static const uint32_t ASKED = UINT32_C(1) << 31;
static const uint32_t IF_NO_TABLE = UINT32_C(1) << 30; /**< the first words may tell a better one */

struct stage {
	const struct hawk_heap *heap;
	struct hawk_types *types;
	struct hawk_block_types *names;
	struct hawk_symbols *symbols;
	const struct hawk_module_words *modules;
	struct hawk_near near, headers;
	uint32_t *of_trace; /**< by number; 0 = not asked */
	/** Direct-mapped. An empty slot (word 0) is correct: it has no type. */
	struct {
		uint64_t word; /**< with bit 0 set: of an array */
		uint32_t type;
	} words[WORDS];
};

/* Adds a type; one without a name is not known. Its id is its name's unless set. */
static struct hawk_error *add(struct stage *stage, struct hawk_type type, uint32_t *ret)
{
	*ret = 0;
	if (!type.name)
		return NULL;
	if (!type.id)
		type.id = hawk_type_id(type.name);
	return hawk_types_add(stage->types, &type, ret);
}

static enum hawk_type_origin origin_of(enum hawk_class_kind kind)
{
	switch (kind) {
	case HAWK_CLASS_VTABLE:
		return HAWK_TYPE_VTABLE;
	case HAWK_CLASS_TYPE:
		return HAWK_TYPE_GUEST;
	case HAWK_CLASS_INTERNAL:
		return HAWK_TYPE_INTERNAL;
	case HAWK_CLASS_SHAPE:
		return HAWK_TYPE_SHAPE;
	case HAWK_CLASS_SIZE:
	case HAWK_CLASS_RANGE:
		return HAWK_TYPE_SIZE;
	default: /* a stack */
		return HAWK_TYPE_NONE;
	}
}

/* Returns the id of a type without a name, of its virtual table or function: of that one's module's
 * build-id and its place there. */
static uint64_t id_of_place(const struct stage *stage, uint64_t address)
{
	const struct hawk_module *module = hawk_target_module_at(stage->heap->target, address);
	const struct hawk_class class = {.kind = HAWK_CLASS_VTABLE,
					 .offset = module ? address - module->bias : 0,
					 .module = module};

	return hawk_site_class_id(stage->heap->target, &class);
}

/* A flow knows more of its blocks than their class. */
static struct hawk_error *type_of_flow(struct stage *stage, const struct hawk_class *class,
				       uint32_t *ret)
{
	struct hawk_type type = {.name = class->name, .origin = HAWK_TYPE_DWARF};
	size_t size = class->name ? strlen(class->name) : 0;
	struct hawk_error *err;

	CLEANUP(text) struct hawk_text text = {0};
	if (size && class->name[size - 1] == '?') {
		hawk_text_append(&text, class->name, size - 1);
		type.name = hawk_symbols_intern(stage->symbols, hawk_text_string(&text));
		type.is_guess = true;
	}
	if (stage->types->flows && stage->heap->knows & HAWK_HEAP_CONTENTS)
		type.name = NULL;
	err = add(stage, type, ret);
	*ret |= ASKED;
	return err;
}

static struct hawk_error *type_of_class(struct stage *stage, const struct hawk_class *class,
					uint32_t *ret)
{
	struct hawk_type type = {.origin = (uint8_t)origin_of(class->kind)};
	struct hawk_error *err;

	if (class->kind == HAWK_CLASS_FLOW)
		return type_of_flow(stage, class, ret);
	if (type.origin != HAWK_TYPE_NONE)
		type.name = hawk_class_name(stage->symbols, class);
	if (class->kind == HAWK_CLASS_SIZE)
		type.bytes = class->size;
	if (class->kind == HAWK_CLASS_VTABLE && class->module &&
	    !hawk_vtable_class(stage->symbols, class->module, class->module->bias + class->offset))
		type.id = hawk_site_class_id(stage->heap->target, class);
	err = add(stage, type, ret);
	*ret |= ASKED;
	if (type.origin >= HAWK_TYPE_SHAPE)
		*ret |= IF_NO_TABLE;
	return err;
}

static struct hawk_error *type_of_trace(struct stage *stage, uint32_t trace, uint32_t *ret)
{
	const struct hawk_class *class = hawk_heap_class(stage->heap, trace);
	const char *name = class ? NULL : hawk_block_type_name(stage->names, trace);
	struct hawk_error *err;

	if (class)
		return type_of_class(stage, class, ret);
	err = add(stage, (struct hawk_type){.name = name, .origin = HAWK_TYPE_ANNOTATION}, ret);
	*ret |= name ? ASKED : ASKED | IF_NO_TABLE;
	return err;
}

static struct hawk_error *ask_word(struct stage *stage, uint64_t word, bool array, uint32_t *ret)
{
	struct hawk_type type = {.origin = HAWK_TYPE_VTABLE};

	type.name = array ? hawk_block_type_of_array(stage->names, word)
			  : hawk_block_type_of_vtable(stage->names, word);
	if (type.name && hawk_block_type_is_place(stage->names, word))
		type.id = array ? ~id_of_place(stage, word) : id_of_place(stage, word);
	return add(stage, type, ret);
}

/* Returns the type of objects whose virtual table is at `word`, or of arrays of these. */
static struct hawk_error *type_of_word(struct stage *stage, uint64_t word, bool array,
				       uint32_t *ret)
{
	size_t slot = (word / 8 + word / 8 / WORDS) % WORDS;
	struct hawk_error *err = NULL;

	if (stage->words[slot].word != (word | array)) {
		err = ask_word(stage, word, array, &stage->words[slot].type);
		stage->words[slot].word = word | array;
	}
	*ret = stage->words[slot].type;
	return err;
}

static struct hawk_error *type_of_frame(struct stage *stage, const struct hawk_type_words *words,
					uint32_t *ret)
{
	const struct hawk_coroutine *coroutine = hawk_block_coroutine(stage->names, words);
	struct hawk_type type = {.origin = HAWK_TYPE_COROUTINE};

	if (!coroutine)
		return NULL;
	type.name = coroutine->type;
	type.is_guess = coroutine->is_guess;
	type.id = coroutine->is_place ? id_of_place(stage, coroutine->resume) : 0;
	return add(stage, type, ret);
}

static struct hawk_error *type_of_words(struct stage *stage, uint32_t block, uint32_t *ret)
{
	const struct hawk_block_index *index = &stage->heap->index;
	struct hawk_type_words words =
		hawk_type_words_at(stage->modules, &stage->near, hawk_block_start(index, block),
				   hawk_block_size(index, block));
	struct hawk_error *err = NULL;
	struct hawk_block header;

	*ret = 0;
	if (words.first)
		err = type_of_word(stage, words.first, false, ret);
	if (!err && !*ret && words.destroy)
		err = type_of_frame(stage, &words, ret);
	if (err || *ret || !words.second)
		return err;
	hawk_heap_next_block(stage->heap, &stage->headers, block, &header);
	return header.kind == HAWK_KIND_NEW_ARRAY ? type_of_word(stage, words.second, true, ret)
						  : NULL;
}

/* Types the guest's object in a block that has a stack. */
static struct hawk_error *type_of_guest(struct stage *stage, uint32_t block, uint32_t *ret)
{
	const struct hawk_guest_type *type = hawk_guests_type(&stage->heap->guests, block);

	return add(stage,
		   (struct hawk_type){.name = type ? type->name : NULL, .origin = HAWK_TYPE_GUEST},
		   ret);
}

static struct hawk_error *type_of(struct stage *stage, uint32_t block, uint32_t *ret)
{
	uint32_t trace = stage->heap->index.traces[block], of_trace = ASKED | IF_NO_TABLE;
	struct hawk_error *err = NULL;

	if (trace < stage->heap->trace_count) {
		if (!stage->of_trace[trace])
			err = type_of_trace(stage, trace, &stage->of_trace[trace]);
		of_trace = stage->of_trace[trace];
	}
	*ret = 0;
	if (!err && of_trace & IF_NO_TABLE)
		err = type_of_guest(stage, block, ret);
	if (!err && !*ret && of_trace & IF_NO_TABLE)
		err = type_of_words(stage, block, ret);
	if (!*ret)
		*ret = of_trace & ~(ASKED | IF_NO_TABLE);
	return err;
}

struct hawk_error *hawk_types_from_heap(struct hawk_types *types, struct hawk_block_types *names,
					struct hawk_symbols *symbols,
					const struct hawk_types_wish *wish)
{
	const struct hawk_heap *heap = types->heap;
	struct hawk_progress progress;
	struct hawk_error *err = NULL;

	CLEANUP(free_ptr)
	uint32_t *of_trace = calloc((size_t)heap->trace_count + 1, sizeof(*of_trace));
	CLEANUP(free_ptr) struct stage *stage = calloc(1, sizeof(*stage));
	if (!of_trace || !stage)
		return &hawk_enomem;
	*stage = (struct stage){.heap = heap,
				.types = types,
				.names = names,
				.symbols = symbols,
				.modules = hawk_block_types_modules(names),
				.near = {.target = heap->target},
				.headers = {.target = heap->target},
				.of_trace = of_trace};
	hawk_progress_begin(&progress, "finding types", heap->index.count);
	for (uint32_t i = 0; !err && i < heap->index.count; i++) {
		if (hawk_types_bit(wish->only, i))
			err = type_of(stage, i, &types->of_block[i]);
		hawk_progress_tick(i);
	}
	hawk_progress_end(&progress);
	return err;
}
