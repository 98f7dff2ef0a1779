/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Scope guards: `CLEANUP(free_ptr) char *p = ...` releases on every exit; take_ptr() and take_fd()
 * pass ownership on.
 */
#ifndef HAWK_ANALYZER_BASE_CLEANUP_H
#define HAWK_ANALYZER_BASE_CLEANUP_H

#include <stdlib.h>
#include <unistd.h>
#include <stdio.h>

#define CLEANUP(function) __attribute__((cleanup(hawk_cleanup_##function)))

static inline void hawk_cleanup_free_ptr(void *pointer_to_pointer)
{
	free(*(void **)pointer_to_pointer);
}

static inline void hawk_cleanup_close_fd(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void hawk_cleanup_close_file(FILE **file)
{
	if (*file)
		fclose(*file);
}

/** Returns the pointer and sets the variable to NULL, so the guard does nothing. */
#define take_ptr(pointer_to_pointer)                                                               \
	({                                                                                         \
		__typeof__(*(pointer_to_pointer)) taken_ = *(pointer_to_pointer);                  \
		*(pointer_to_pointer) = NULL;                                                      \
		taken_;                                                                            \
	})

static inline int take_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

#endif
