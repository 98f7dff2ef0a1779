/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Layouts of C libraries by version and machine. No other place knows their offsets.
 *
 * No symbol and no version number is needed. Threads are the same in all versions, but not on all
 * machines. A chunk is read by the first row that it fits, so the rows must exclude each other by
 * shape.
 *
 *     row            malloc
 *     glibc 2.43     a mapped chunk counts its mapping
 *     glibc 2.42     a mapped chunk counts from its header
 */
#ifndef HAWK_ANALYZER_LIBC_VERSION_H
#define HAWK_ANALYZER_LIBC_VERSION_H

#include <stddef.h>
#include <stdint.h>

#include "hawk/target/arch.h"

/** A word of a descriptor that holds an address in it. */
struct hawk_own_pointer {
	uint16_t at, to;
};

/** A thread's descriptor (struct pthread). Offsets in bytes from its start, unless noted. */
struct hawk_thread_layout {
	uint16_t machine;    /**< as in struct hawk_arch */
	uint16_t bytes;      /**< of the descriptor, in the largest version */
	uint16_t alignment;  /**< of its address, at least */
	uint16_t below_step; /**< a multiple of it from the descriptor's start to the thread
				pointer; 0 = they are the same address */
	struct hawk_own_pointer own[2]; /**< they tell a descriptor from other memory */
	uint16_t vector;       /**< address of the vector of thread-local storage (DTV), from the
				    thread pointer */
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
	struct hawk_malloc_layout malloc;
};

enum { HAWK_LIBC_VERSIONS = 2 };

/** The rows, newest first. The last one is the fallback. */
extern const struct hawk_libc_version hawk_libc_versions[HAWK_LIBC_VERSIONS];

/** Returns the layout of threads on the machine. */
const struct hawk_thread_layout *hawk_thread_layout_of(const struct hawk_arch *arch);

#endif
