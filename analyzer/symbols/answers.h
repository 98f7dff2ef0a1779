/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A snapshot's answers, used in place of files: frames by address, places of variables, the frames
 * of threads. Addresses are link-time addresses in one file. A question not asked when the snapshot
 * was made is answered "unknown". Internal to symbols/.
 */
#ifndef HAWK_ANALYZER_SYMBOLS_ANSWERS_H
#define HAWK_ANALYZER_SYMBOLS_ANSWERS_H

#include "state.h"

struct hawk_snapshot;

/** All answers of one file; none if the snapshot lacks the file. */
struct hawk_answer_file;

/** Reads the answers of `snapshot`; `symbols` owns their strings. */
struct hawk_error *hawk_answers_read(const struct hawk_snapshot *snapshot,
				     struct hawk_symbols *symbols);

/** Accepts NULL. */
void hawk_answers_destroy(struct hawk_answers *answers);

/** Fills in the saved result of opening the file, and adds its findings. */
void hawk_answers_load(const struct hawk_symbols *symbols, struct hawk_symbol_file *file);

/** Opens the snapshot's file that `key` describes, unless it is open. */
struct hawk_error *hawk_symbols_open_answers(struct hawk_symbols *symbols,
					     const struct hawk_symbol_file *key);

/** Sets frames, count and nameless of `entry` by its address. */
void hawk_answers_lookup(const struct hawk_answer_file *file, struct hawk_symbols_cached *entry);

size_t hawk_answers_aliases(const struct hawk_answer_file *file, uint64_t address, bool exact,
			    const char **names, size_t max);

struct hawk_symbol_place hawk_answers_place(const struct hawk_answer_file *file, uint64_t address);

/** Finds a thread-local variable. Leaves `ret` unchanged if unknown; `address` is that in the
 * process. */
void hawk_answers_tls_place(const struct hawk_answer_file *file, uint64_t address,
			    struct hawk_symbol_place *ret);

struct hawk_error *hawk_answers_unwind(struct hawk_symbols *symbols,
				       const struct hawk_thread *thread, size_t max,
				       struct hawk_thread_frames *ret);

/** The places asked for so far. */
struct hawk_questions;

struct hawk_error *hawk_questions_add_place(struct hawk_questions *questions,
					    const struct hawk_symbol_file *file, uint64_t address,
					    const struct hawk_symbol_place *place);
struct hawk_error *hawk_questions_add_tls(struct hawk_questions *questions,
					  const struct hawk_symbol_file *file, uint64_t address,
					  const struct hawk_symbol_place *place);

/** Accepts NULL. */
void hawk_questions_destroy(struct hawk_questions *questions);

/** Fills in the names of the function at link-time `address`, best first; returns their number. */
size_t hawk_symbols_file_aliases(const struct hawk_symbol_file *file, uint64_t address,
				 const char **names, size_t max);

#endif
