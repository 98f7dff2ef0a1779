/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Layouts of C libraries by version. No other place knows their offsets.
 *
 * No symbol and no version number is needed. Each structure is read by the first row that it fits,
 * so the rows of one library must exclude each other by shape.
 *
 *     row            threads                 malloc
 *     glibc 2.43     struct pthread          a mapped chunk counts its mapping
 *     glibc 2.42     the same                a mapped chunk counts from its header
 */
#ifndef HAWK_ANALYZER_LIBC_VERSION_H
#define HAWK_ANALYZER_LIBC_VERSION_H

#include <stddef.h>
#include <stdint.h>

/** A thread's descriptor (struct pthread). Offsets in bytes from its start, unless noted. */
struct hawk_thread_layout {
	uint16_t bytes;        /**< of the descriptor, in the largest version */
	uint16_t alignment;    /**< of its address, at least */
	uint16_t below;        /**< bytes from its start to the thread pointer */
	uint16_t self;         /**< its own address, a copy of the word at 0 */
	uint16_t vector;       /**< address of the vector of thread-local storage (DTV) */
	uint16_t vector_entry; /**< offset in the DTV to which `vector` points */
	uint16_t ring;         /**< links to the next and the previous thread; 0 = no such list */
	uint16_t tid;          /**< 32 bits: 0 or -1 once the thread has ended */
	uint16_t block;        /**< start and size of its memory lie here or later */
	uint16_t guard;        /**< size of the guard, from the start of the memory's address */
	uint32_t tls_surplus;  /**< bytes of static TLS that the loader keeps for later modules */
};

/** malloc: chunks. */
struct hawk_malloc_layout {
	uint8_t mapped_uncounted; /**< bytes of a mapped chunk that its size field leaves out */
	uint8_t mapped_flags;     /**< bits before a mapped chunk that are no part of its gap */
};

struct hawk_libc_version {
	const char *name; /**< the last version that has this layout */
	const struct hawk_thread_layout *threads;
	struct hawk_malloc_layout malloc;
};

enum { HAWK_LIBC_VERSIONS = 2 };

/** The rows, newest first. The last one is the fallback. */
extern const struct hawk_libc_version hawk_libc_versions[HAWK_LIBC_VERSIONS];

#endif
