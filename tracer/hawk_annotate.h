/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Annotations for programs that may run under libhawk_tracer.so: scopes, types, pools. Header only;
 * for C99 and C++11 and later, gcc and clang.
 *
 *     HAWK_SCOPE("parse request");          until the end of the enclosing block
 *     hawk_annotate_type(node, "Node");     names the type of a block from malloc
 *     hawk_block_begin(object, size);       makes an object of your own pool a block
 *     hawk_block_end(object);               ends it
 *
 * No library to link: the tracer's functions are weak symbols. Without the tracer (also in static
 * executables) an annotation is one load and one test. Annotations never allocate, lock, fail or
 * change errno. Manual: docs/annotations.md.
 */
#ifndef HAWK_ANNOTATE_H
#define HAWK_ANNOTATE_H

#include <stddef.h>

/**
 * HAWK_ANNOTATE_FIND(pointer, symbol) gives the address of a tracer function, NULL without the
 * tracer. It reads the global offset table: an immediate operand, as in executables at a fixed
 * address, would stay 0 for ever.
 */
#if defined(__x86_64__) && defined(__ELF__) && defined(__LP64__)
#define HAWK_ANNOTATE_FIND(pointer, symbol)                                                        \
	__asm__(".weak " symbol "\n\tmovq " symbol "@GOTPCREL(%%rip), %0" : "=r"(pointer))
#else
#define HAWK_ANNOTATE_FIND(pointer, symbol) ((pointer) = NULL)
#endif

#define HAWK_ANNOTATE_INLINE static inline __attribute__((always_inline, unused))

#define HAWK_ANNOTATE_JOIN2(a, b) a##b
#define HAWK_ANNOTATE_JOIN(a, b)  HAWK_ANNOTATE_JOIN2(a, b)

#ifdef __cplusplus
extern "C" {
#endif

typedef unsigned long hawk_annotate_enter(void *object, const char *tag, size_t length);
typedef void hawk_annotate_leave(void *object, unsigned long token);
typedef void hawk_annotate_name(void *pointer, const char *name, size_t length);
typedef size_t hawk_annotate_bytes(void);
typedef void hawk_annotate_begin(void *pointer, size_t size);
typedef void hawk_annotate_end(void *pointer);
typedef void hawk_annotate_range(void *start, void *end);

/** Enters a scope that belongs to the stack frame holding `object`. Returns 0 if there is nothing
 * to leave. */
HAWK_ANNOTATE_INLINE unsigned long hawk_scope_enter(void *object, const char *tag)
{
	hawk_annotate_enter *function;

	HAWK_ANNOTATE_FIND(function, "hawk_tracer_scope_enter");
	return function ? function(object, tag, tag ? __builtin_strlen(tag) : 0) : 0;
}

/** Leaves the scope, and all scopes entered in it that are still open. */
HAWK_ANNOTATE_INLINE void hawk_scope_leave(void *object, unsigned long token)
{
	hawk_annotate_leave *function;

	if (!token)
		return;
	HAWK_ANNOTATE_FIND(function, "hawk_tracer_scope_leave");
	if (function)
		function(object, token);
}

/**
 * Names the type of the live block at `pointer`, returned by malloc or one of its family. The text
 * is copied. Any other pointer is ignored, NULL too. A later name replaces an earlier one. A block
 * returned by realloc is new and has no name.
 */
HAWK_ANNOTATE_INLINE void hawk_annotate_type(void *pointer, const char *name)
{
	hawk_annotate_name *function;

	HAWK_ANNOTATE_FIND(function, "hawk_tracer_annotate_type");
	if (function)
		function(pointer, name, name ? __builtin_strlen(name) : 0);
}

/**
 * Pools. A pool allocator carves objects from its own memory (malloc, mmap, a static array). These
 * functions make each object a block with its own stack:
 *
 *     | ... | 16 bytes for the tracer | the object, `size` bytes | ... | 16 bytes | the next | ...
 *                                     ^ a multiple of 16
 *
 * - When creating the pool, call hawk_pool_header_bytes() once and keep the answer: 16, or 0
 *   without the tracer. Leave that many bytes free before each object, and align objects to 16.
 *   With 0, no other function needs to be called.
 * - Call hawk_block_begin() after carving an object and before handing it out, hawk_block_end()
 *   when it comes back. The 16 bytes belong to the tracer in between.
 * - Call hawk_pool_reset() before memory with open objects is used again or given back (free,
 *   munmap, realloc). It ends all objects in that memory.
 * - An object of the pool may itself be a pool's memory: reset the inner pool first.
 * - Threads: same rules as malloc; begin and end of one object must not race.
 */
enum { HAWK_POOL_HEADER_BYTES = 16 };

/** Returns HAWK_POOL_HEADER_BYTES if pool objects must carry headers, else 0. */
HAWK_ANNOTATE_INLINE size_t hawk_pool_header_bytes(void)
{
	hawk_annotate_bytes *function;

	HAWK_ANNOTATE_FIND(function, "hawk_tracer_pool_header_bytes");
	return function ? function() : 0;
}

/** Makes the object at `pointer` a block of `size` bytes. Writes the 16 bytes before it. */
HAWK_ANNOTATE_INLINE void hawk_block_begin(void *pointer, size_t size)
{
	hawk_annotate_begin *function;

	HAWK_ANNOTATE_FIND(function, "hawk_tracer_pool_begin");
	if (function)
		function(pointer, size);
}

/** Ends a block begun by hawk_block_begin(). Ignores NULL and pointers to anything else. */
HAWK_ANNOTATE_INLINE void hawk_block_end(void *pointer)
{
	hawk_annotate_end *function;

	HAWK_ANNOTATE_FIND(function, "hawk_tracer_pool_end");
	if (function)
		function(pointer);
}

/** Ends all objects whose 16 bytes lie in [start, end), all of which must be writable. */
HAWK_ANNOTATE_INLINE void hawk_pool_reset(void *start, void *end)
{
	hawk_annotate_range *function;

	HAWK_ANNOTATE_FIND(function, "hawk_tracer_pool_reset");
	if (function)
		function(start, end);
}

#ifdef __cplusplus
}
#endif

/**
 * HAWK_SCOPE(tag) puts all the thread does until the end of the enclosing block into the scope
 * `tag`, a C string, which is copied. It is a declaration; a block may have several.
 */
#ifdef __cplusplus

class hawk_scope
{
      public:
	__attribute__((always_inline)) explicit hawk_scope(const char *tag)
	    : token(hawk_scope_enter(this, tag))
	{
	}
	__attribute__((always_inline)) ~hawk_scope()
	{
		hawk_scope_leave(this, token);
	}
	hawk_scope(const hawk_scope &) = delete;
	hawk_scope &operator=(const hawk_scope &) = delete;

      private:
	unsigned long token;
};

#define HAWK_SCOPE(tag)                                                                            \
	__attribute__((unused)) hawk_scope HAWK_ANNOTATE_JOIN(hawk_scope_, __COUNTER__)(tag)

#else

struct hawk_scope {
	unsigned long token;
};

HAWK_ANNOTATE_INLINE void hawk_scope_end(struct hawk_scope *scope)
{
	hawk_scope_leave(scope, scope->token);
}

#define HAWK_SCOPE_NAMED(name, tag)                                                                \
	__attribute__((cleanup(hawk_scope_end), unused)) struct hawk_scope name = {                \
		hawk_scope_enter(&name, tag)}

#define HAWK_SCOPE(tag) HAWK_SCOPE_NAMED(HAWK_ANNOTATE_JOIN(hawk_scope_, __COUNTER__), tag)

#endif

#endif
