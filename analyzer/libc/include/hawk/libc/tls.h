/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Static thread-local storage, which lies around the thread pointer, and the vector (DTV) that
 * holds the storage of modules loaded later.
 */
#ifndef HAWK_ANALYZER_LIBC_TLS_H
#define HAWK_ANALYZER_LIBC_TLS_H

#include "hawk/base/span.h"
#include "hawk/libc/version.h"
#include "hawk/target/target.h"

/**
 * Returns the bytes of static TLS of every thread, as the loader lays it out: the blocks of all
 * modules, and room for later ones. The result is slightly too large if modules loaded later have
 * TLS. Returns 0 if the core does not hold the modules' headers.
 */
uint64_t hawk_tls_static_bytes(const struct hawk_target *target);

/** Returns the start of static TLS and descriptor. With 0 bytes of TLS only the known part counts.
 */
uint64_t hawk_tls_start(const struct hawk_arch *arch, uint64_t thread_pointer,
			uint64_t static_bytes);

/** Returns the static TLS and the descriptor around a thread pointer. With 0 bytes of TLS it
 * assumes a generous size. */
struct hawk_span hawk_tls_around(const struct hawk_arch *arch, uint64_t thread_pointer,
				 uint64_t static_bytes);

/** The place where a thread holds its vector of thread-local storage. */
struct hawk_tls_vector {
	uint64_t address; /**< of the word that points into the vector; 0 = not known */
	uint32_t entry;   /**< offset in the vector to which that word points */
};

/** Returns the vector of the thread with this thread pointer. */
struct hawk_tls_vector hawk_tls_vector_of(const struct hawk_arch *arch, uint64_t thread_pointer);

/** Returns the address of a thread's static storage at `distance` bytes from its thread pointer, on
 * the side where the machine has it. The distance of a variable is the same in all threads. */
static inline uint64_t hawk_tls_at(const struct hawk_arch *arch, uint64_t thread_pointer,
				   uint64_t distance)
{
	return arch->tls_variant == HAWK_TLS_BELOW ? thread_pointer - distance
						   : thread_pointer + distance;
}

#endif
