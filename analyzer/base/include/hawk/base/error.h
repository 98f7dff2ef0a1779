/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Errors that stop the work: functions return struct hawk_error *, NULL on success. Results come
 * last and are written only on success. Damage that can be worked around is a finding
 * (base/findings.h), not an error.
 */
#ifndef HAWK_ANALYZER_BASE_ERROR_H
#define HAWK_ANALYZER_BASE_ERROR_H

#include <stdbool.h>
#include <stdint.h>

enum hawk_error_code {
	HAWK_ERROR_NOMEM = 1,
	HAWK_ERROR_OS,          /**< a system call failed; the message says why */
	HAWK_ERROR_FORMAT,      /**< wrong file: no core, foreign architecture, too short */
	HAWK_ERROR_UNSUPPORTED, /**< recognised but refused: a newer version, a 32-bit core */
	HAWK_ERROR_NOT_FOUND,   /**< the requested thing does not exist */
	HAWK_ERROR_NO_BLOCK,    /**< no live block at the address */
	HAWK_ERROR_FAULT,       /**< memory missing from the target or the core */
	HAWK_ERROR_USAGE,       /**< bad argument: a regular expression, a number */
	HAWK_ERROR_LIMIT,       /**< stopped at a limit of time or memory */
};

struct hawk_error;

/** The out-of-memory error: needs no allocation; destroying it does nothing. */
extern struct hawk_error hawk_enomem;

/**
 * Records that out-of-memory was swallowed, so the answer is incomplete. Any thread may call it.
 */
void hawk_enomem_swallow(void);

/** Destroys `error`, which can only be out-of-memory, and records it likewise. Returns false for
 * NULL. */
bool hawk_error_swallow(struct hawk_error *error);

/** Returns true if this process has swallowed out-of-memory. */
bool hawk_enomem_swallowed(void);

/**
 * Ends the process, for foreign libraries that can neither go on without memory nor report it.
 * Calls the function of hawk_enomem_set_end(), and aborts if that returns or is NULL. The attribute
 * belongs to the type that libdw wants; clang leaves _Noreturn out of it.
 */
__attribute__((noreturn)) void hawk_enomem_end(void);

/** Sets the function that ends the process then; it must not allocate. */
void hawk_enomem_set_end(void (*end)(void));

/** Creates an error owned by the caller. The message is one sentence without a full stop. */
struct hawk_error *hawk_error_create(enum hawk_error_code code, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/** Creates "operation path: strerror(errnum)". `path` may be NULL. */
struct hawk_error *hawk_error_os(int errnum, const char *operation, const char *path);

/** Creates HAWK_ERROR_FAULT for `address` in the target. */
struct hawk_error *hawk_error_fault(uint64_t address, uint64_t bytes);

/** Prepends "prefix: " to the message; consumes `error` and returns it (or &hawk_enomem). */
struct hawk_error *hawk_error_prefix(struct hawk_error *error, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

enum hawk_error_code hawk_error_code(const struct hawk_error *error);

/** Returns the message, never NULL; valid until the error is destroyed. */
const char *hawk_error_message(const struct hawk_error *error);

/** Accepts NULL. */
void hawk_error_destroy(struct hawk_error *error);

static inline void hawk_cleanup_error(struct hawk_error **error)
{
	hawk_error_destroy(*error);
}

#endif
