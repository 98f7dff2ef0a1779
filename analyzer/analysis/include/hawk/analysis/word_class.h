/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Guesses what a word of memory is: a pointer (and to what), text or a number. Depends on its value
 * alone.
 */
#ifndef HAWK_ANALYZER_ANALYSIS_WORD_CLASS_H
#define HAWK_ANALYZER_ANALYSIS_WORD_CLASS_H

#include "hawk/heap/heap.h"
#include "hawk/names/block_type.h"

enum hawk_word_class {
	HAWK_WORD_NULL = 0,
	HAWK_WORD_BLOCK,        /**< to the first byte of a block; key: its site */
	HAWK_WORD_INTERIOR,     /**< into a block; key: its site */
	HAWK_WORD_END,          /**< right behind a block; key: its site */
	HAWK_WORD_VTABLE,       /**< key: the word */
	HAWK_WORD_CODE,         /**< key: the word */
	HAWK_WORD_DATA,         /**< to data of a module; key: the word */
	HAWK_WORD_TEXT_POINTER, /**< to text in a module; key: the word */
	HAWK_WORD_STACK,        /**< to a thread's stack */
	HAWK_WORD_FREE,         /**< to heap memory outside live blocks: perhaps stale */
	HAWK_WORD_MAPPED,       /**< to other memory */
	HAWK_WORD_TEXT,         /**< at least four printable characters */
	HAWK_WORD_INTEGER,      /**< fits into 32 bits, signed or not; key: the word */
	HAWK_WORD_PAIR,         /**< two small 32-bit integers */
	HAWK_WORD_REAL,         /**< plausible as a double */
	HAWK_WORD_FLOATS,       /**< plausible as two floats */
	HAWK_WORD_OTHER,
	HAWK_WORD_CLASSES
};

struct hawk_word {
	enum hawk_word_class class;
	uint64_t key; /**< 0, unless the class has one */
};

/** Families of classes that may share a field. */
enum hawk_word_family {
	HAWK_FAMILY_NULL = 0,
	HAWK_FAMILY_POINTER,
	HAWK_FAMILY_FIXED, /**< virtual tables, code */
	HAWK_FAMILY_NUMBER,
	HAWK_FAMILY_STALE,
	HAWK_FAMILY_TEXT,
	HAWK_FAMILY_REAL,
	HAWK_FAMILY_OTHER,
	HAWK_FAMILIES
};
enum hawk_word_family hawk_word_family_of(enum hawk_word_class class);

/** Returns "null", "block" ..., for JSON documents. */
const char *hawk_word_class_name(enum hawk_word_class class);

struct hawk_word_classes;

/** `types` tell virtual tables, and may be NULL. Both must outlive the result. */
struct hawk_error *hawk_word_classes_create(const struct hawk_heap *heap,
					    struct hawk_block_types *types,
					    struct hawk_word_classes **ret);
/** Accepts NULL. */
void hawk_word_classes_destroy(struct hawk_word_classes *words);

struct hawk_word hawk_word_classify(struct hawk_word_classes *words, uint64_t word);

/** Returns the lowest possible address; smaller words point nowhere. */
uint64_t hawk_word_classes_lowest(const struct hawk_word_classes *words);

/** Counts printable characters and white space at the head of `bytes`, up to a NUL or `size`; 0 if
 * another byte comes first. */
size_t hawk_text_length(const uint8_t *bytes, size_t size);

#endif
