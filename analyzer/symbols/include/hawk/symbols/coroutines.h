/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * C++20 coroutines by the two functions that the first words of their frames point to: the one that
 * resumes, and the one that destroys. They are known by the compiler's names of both functions, or
 * in stripped files by their machine code.
 *
 * Reads only files, never the target. Knows gcc and clang; the machine code is that of x86-64.
 */
#ifndef HAWK_ANALYZER_SYMBOLS_COROUTINES_H
#define HAWK_ANALYZER_SYMBOLS_COROUTINES_H

#include "hawk/symbols/symbols.h"

/** The type of a frame, in front of its coroutine's name. */
#define HAWK_COROUTINE_FRAME "coroutine frame of "

/** Offset of the promise in a frame, unless its alignment is above 16. */
enum { HAWK_COROUTINE_PROMISE = 16 };

struct hawk_coroutine {
	struct hawk_symbol_module module;
	const char *type;       /**< of frames: "coroutine frame of reader(int)" */
	const char *name;       /**< the end of that; "server+0x1a40" if it has no symbols */
	uint64_t resume;        /**< address of the function */
	uint64_t destroy;       /**< likewise */
	uint64_t index_at;      /**< offset in the frame of the suspend point's number */
	uint64_t promise_bytes; /**< 0 = not known */
	uint8_t index_bytes;    /**< 0 = the number is not known, or not kept */
	bool by_gcc;            /**< which counts in twos, and keeps the frame's address behind the
				   promise; else by clang */
	bool is_place;          /**< `name` is the function's place */
	bool is_guess;          /**< known by machine code that others could have, too */
};

/** Returns the coroutine of the module whose frames begin with these words; NULL = none. `resume`
 * is 0 in a frame at its end. The same frames give the same pointer; it lives as long as the
 * symbols object. */
const struct hawk_coroutine *hawk_symbols_coroutine(struct hawk_symbols *symbols,
						    const struct hawk_symbol_module *module,
						    uint64_t resume, uint64_t destroy);

struct hawk_coroutine_line {
	const char *file; /**< NULL = unknown */
	uint32_t line;
	bool is_guess; /**< the code is optimized: it may have been merged with another's */
};

/** Finds the line of the co_await that the coroutine waits at if its frame has this number. */
struct hawk_coroutine_line hawk_symbols_coroutine_line(struct hawk_symbols *symbols,
						       const struct hawk_coroutine *coroutine,
						       uint64_t index);

#endif
