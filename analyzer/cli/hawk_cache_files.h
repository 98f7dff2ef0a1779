/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The files of index caches: $XDG_CACHE_HOME/hawk-core/<identity of the core>.index, for this user
 * only. Internal to cli/.
 */
#ifndef HAWK_CACHE_FILES_H
#define HAWK_CACHE_FILES_H

#include "hawk_graph_cache.h"

enum { HAWK_CACHE_NAME_BYTES = 96 };

/** The folder, or -1; made if `make`. The caller's to close. */
int hawk_cache_folder(bool make);

/** `options`: a hash of what else the cache is about. False: there is no such file. */
bool hawk_cache_identify(const char *core, uint64_t options, struct hawk_core_identity *ret);

/** Name of the cache's file in the folder. */
void hawk_cache_name(const struct hawk_core_identity *identity, char name[HAWK_CACHE_NAME_BYTES]);

/** Its cache, if that can be believed, or -1. `access`: O_RDONLY, O_RDWR. The caller's to close. */
int hawk_cache_open(const struct hawk_core_identity *identity, int access);

/** Takes away the file `fd`, which is of no use: it has less than its header says, and whoever
 * believes that would let it stay. */
void hawk_cache_remove(const struct hawk_core_identity *identity, int fd);

/** `fd`: the core, or -1; `operation` as of flock(). True: the lock was to be had, or there are
 * none. False: somebody else still has it after `patience_ms` milliseconds, which progress is told
 * of. */
bool hawk_cache_lock(int fd, int operation, uint64_t patience_ms);

/** Removes caches that nobody has used for long, and the oldest beyond what all may take; not
 * `own`, which will have `coming_bytes`. */
void hawk_cache_tidy(int folder, const char *own, uint64_t coming_bytes);

/** Whether there is room for a file of so many bytes. */
bool hawk_cache_has_room(int folder, uint64_t bytes);

#endif
