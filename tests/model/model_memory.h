/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The scheduler's records of memory: the agents that touched each word, and its former value.
 *
 * The journal undoes an execution: each write is entered before it happens, so that a million
 * executions need no million copies of the table. The sharing map says which words matter: those
 * that two agents (threads, or a thread and its handler) touch, one of them writing. It grows
 * during a round of executions and takes effect in the next, so that executions repeat exactly.
 */
#ifndef MODEL_MEMORY_H
#define MODEL_MEMORY_H

#include "model.h"

/** Enters the present bytes at `address`. */
void model_journal_note(const void *address, size_t bytes);

/** Undoes everything noted since the last call. */
void model_journal_undo(void);

/** `agent` < 8 touches memory; `space` tells equal addresses of different threads apart. */
void model_sharing_note(const void *address, size_t bytes, unsigned space, unsigned agent,
			bool writes);

/** Returns true if earlier rounds found that the word matters. */
bool model_sharing_matters(const void *address, size_t bytes, unsigned space);

/** Ends a round; returns true if the map has grown in it. */
bool model_sharing_grew(void);

/** Forgets everything. */
void model_sharing_clear(void);

#endif
