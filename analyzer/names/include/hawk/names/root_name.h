/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Names for roots: where a root pointer lies, in words.
 *
 *     thread 4711, frame 3 `conn_loop`, rsp+0x18 (or, if known, `server.peers`)
 *     thread 4711, register rbx (or xmm3, ymm5)
 *     `g_sessions`+0x10 in redis-server .bss
 *     TLS of thread 4711, `tls_var`+0x8
 *     mapping /dev/shm/x+0x40
 *     an interpreter's garbage
 *     anonymous memory 0x563f80000 (194 mappings, 48.5 MiB)  (as a group)
 *
 * A thread is unwound once, when a root on its stack is first named. Stacks of a live process must
 * be captured before the release.
 */
#ifndef HAWK_ANALYZER_NAMES_ROOT_NAME_H
#define HAWK_ANALYZER_NAMES_ROOT_NAME_H

#include "hawk/graph/dominators.h"
#include "hawk/symbols/symbols.h"
#include "hawk/base/text.h"

struct hawk_root_namer;

/** Facts known about a root. Strings belong to target and symbols. */
struct hawk_root_name {
	enum hawk_root_kind kind;
	uint64_t address;          /**< address of the pointer; 0 for registers */
	uint32_t tid;              /**< registers, stacks, TLS */
	bool main_thread;          /**< that thread is the process's first */
	char reg[16];              /**< name of the register, or "signal stack"; else "" */
	const char *stack_pointer; /**< what the machine calls it */
	bool is_signal_stack;      /**< known to the kernel only: sigaltstack() */
	bool has_frame; /**< stacks: `frame` is valid, `offset` is from its stack pointer */
	uint32_t frame; /**< 0 = innermost */
	uint64_t frame_pc;
	uint64_t frame_offset; /**< offset of frame_pc in `module`, if known */
	const char *function;  /**< of that frame; NULL = not known */
	/**
	 * Offset from the first of these that is known for the kind: the frame's stack pointer
	 * (negative in the red zone), the thread's stack pointer, the symbol's start, the thread
	 * pointer, the start of the module or mapping.
	 */
	int64_t offset;
	const char *variable; /**< with members, by debug information; NULL = not asked, or none */
	const char *symbol;   /**< variable; NULL = not known */
	const char *module;   /**< path; NULL = none */
	const char *section;  /**< ".data"; NULL = not known */
	const char *mapping;  /**< path; NULL = anonymous memory */
	bool is_garbage;      /**< none: an interpreter's collector will free the block */
};

/** Graph and symbols must outlive the namer. */
struct hawk_error *hawk_root_namer_create(const struct hawk_graph *graph,
					  struct hawk_symbols *symbols,
					  struct hawk_root_namer **ret);
/** Names variables and their members from now on. Reads debug information of modules and frames
 * that have the roots. */
void hawk_root_namer_ask_variables(struct hawk_root_namer *namer);
/** Accepts NULL. */
void hawk_root_namer_destroy(struct hawk_root_namer *namer);

/** Returns all that is known about root `number`. */
struct hawk_root_name hawk_root_find(struct hawk_root_namer *namer, uint32_t number);

/** Appends the text of the root, safe for a terminal. */
void hawk_root_name(struct hawk_root_namer *namer, uint32_t root, struct hawk_text *text);

/** Roots grouped by names that other runs of the program have, too: "`g_sessions` in redis-server
 * .bss", "worker thread, `conn_loop`", "main thread, registers", "anonymous memory". */
struct hawk_tree_roots {
	uint32_t *groups;   /**< by root; owned */
	const char **names; /**< by group; owned, the strings belong to the namer */
	uint32_t count;
};
struct hawk_error *hawk_tree_roots_make(struct hawk_root_namer *namer, struct hawk_tree_roots *ret);
void hawk_tree_roots_deinit(struct hawk_tree_roots *groups);

/** Appends the text, safe for a terminal; names of functions are cut to `width` columns. */
void hawk_root_name_append(struct hawk_text *text, const struct hawk_root_name *name, size_t width);

/** Appends the name of the root's group: without offset, thread number and address. */
void hawk_root_name_append_group(struct hawk_text *text, const struct hawk_root_name *name);

/** "register", "stack", "tls", "module", "other", "unowned" */
const char *hawk_root_kind_name(enum hawk_root_kind kind);

#endif
