/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What the scheduler knows of memory: who has touched which word, and what was there before.
 *
 * The journal undoes an execution: each write is entered before it happens, so that a million
 * executions need no million copies of the table. The sharing map says which words matter: those
 * that two agents (threads, or a thread and its handler) touch, one of them writing. It grows
 * during a round of executions and takes effect in the next, so that executions repeat exactly.
 */
#ifndef MODEL_MEMORY_H
#define MODEL_MEMORY_H

#include "model.h"

/** Enters what is at `address` now. */
void model_journal_note(const void *address, size_t bytes);

/** Undoes everything noted since the last call. */
void model_journal_undo(void);

/** `agent` < 8 touches memory; `space` tells equal addresses of different threads apart. */
void model_sharing_note(const void *address, size_t bytes, unsigned space, unsigned agent,
			bool writes);

/** Whether the word was found to matter in earlier rounds. */
bool model_sharing_matters(const void *address, size_t bytes, unsigned space);

/** Ends a round: whether the map has grown in it. */
bool model_sharing_grew(void);

/** Forgets everything. */
void model_sharing_clear(void);

#endif
