/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Looks for the few instructions of x86-64 by which compilers' coroutines are known. All functions
 * take a function's code as bytes; they search it and decode nothing, so they are for functions
 * that are known, or likely, to be a coroutine's.
 */
#ifndef HAWK_ANALYZER_SYMBOLS_COROUTINE_CODE_H
#define HAWK_ANALYZER_SYMBOLS_COROUTINE_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A function's code, cut to what is of interest. */
struct hawk_code {
	const uint8_t *bytes;
	size_t size;
	uint64_t start; /**< link-time address */
};

/** Finds the next call or jump from `*at` on, and moves `*at` behind it; false = there is none. */
bool hawk_code_next_target(const struct hawk_code *code, size_t *at, uint64_t *ret);

/** gcc's destroying function sets bit 0 of the suspend point's number: finds its place in frames.
 */
bool hawk_code_sets_bit(const struct hawk_code *code, uint64_t *ret);

/** Returns true if the code stores a null pointer where a register points to. */
bool hawk_code_clears_word(const struct hawk_code *code);

/** Returns true if the code compares the word that a register points to with null. */
bool hawk_code_tests_word(const struct hawk_code *code);

/** Finds the next instruction from `*at` on that stores the constant of 1 or 2 bytes `value` at
 * that offset of a register, and moves `*at` behind it. */
bool hawk_code_next_store(const struct hawk_code *code, uint64_t offset, unsigned bytes,
			  uint64_t value, size_t *at);

/** Finds the next instruction from `*at` on that takes the address of a table near it, and moves
 * `*at` behind it. */
bool hawk_code_next_table(const struct hawk_code *code, size_t *at, uint64_t *ret);

/** Returns true if unoptimized code begins so: it stores its argument first. */
bool hawk_code_is_plain(const struct hawk_code *code);

#endif
