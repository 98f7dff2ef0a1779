/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * "Cannot go on": struct hawk_error * is returned, NULL is success; results come last and are
 * touched only on success. Damage in the input that can be worked around is not an error but a
 * finding (base/findings.h).
 */
#ifndef HAWK_ANALYZER_BASE_ERROR_H
#define HAWK_ANALYZER_BASE_ERROR_H

#include <stdbool.h>
#include <stdint.h>

enum hawk_error_code {
	HAWK_ERROR_NOMEM = 1,
	HAWK_ERROR_OS,     /**< a system call failed; the message says why */
	HAWK_ERROR_FORMAT, /**< the file is not what it should be (no core, foreign architecture,
			      too short) */
	HAWK_ERROR_UNSUPPORTED, /**< understood and refused: a newer version, a 32-bit core */
	HAWK_ERROR_NOT_FOUND,   /**< asked for something that is not there */
	HAWK_ERROR_NO_BLOCK,    /**< no live block lies at an address */
	HAWK_ERROR_FAULT,       /**< memory that the target, or the core, does not have */
	HAWK_ERROR_USAGE, /**< the caller's arguments: a bad regular expression, a bad number */
};

struct hawk_error;

/** For out-of-memory: needs no allocation; destroying it is allowed and does nothing. */
extern struct hawk_error hawk_enomem;

/** To be called where out-of-memory is swallowed and an answer lacks something for it; on any
 * thread.
 */
void hawk_enomem_swallow(void);

/** The same for an `error`, which is destroyed, where only memory can run out; false for NULL. */
bool hawk_error_swallow(struct hawk_error *error);

/** Whether that has happened in this process. */
bool hawk_enomem_swallowed(void);

/** A new error owned by the caller. The format's result is one sentence without a full stop. */
struct hawk_error *hawk_error_create(enum hawk_error_code code, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/** "operation path: strerror(errnum)". `path` may be NULL. */
struct hawk_error *hawk_error_os(int errnum, const char *operation, const char *path);

/** HAWK_ERROR_FAULT at `address` of the target. */
struct hawk_error *hawk_error_fault(uint64_t address, uint64_t bytes);

/** Puts "prefix: " in front of the message; consumes `error` and returns it (or &hawk_enomem). */
struct hawk_error *hawk_error_prefix(struct hawk_error *error, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

enum hawk_error_code hawk_error_code(const struct hawk_error *error);

/** Valid until the error is destroyed; never NULL. */
const char *hawk_error_message(const struct hawk_error *error);

/** Accepts NULL. */
void hawk_error_destroy(struct hawk_error *error);

static inline void hawk_cleanup_error(struct hawk_error **error)
{
	hawk_error_destroy(*error);
}

#endif
