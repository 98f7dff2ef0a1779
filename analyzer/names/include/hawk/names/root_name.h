/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Names for roots: whose memory a pointer lies in, as text for people.
 *
 *     thread 4711, frame 3 `conn_loop`, rsp+0x18
 *     thread 4711, register rbx (or xmm3, ymm5)
 *     `g_sessions`+0x10 in redis-server .bss
 *     TLS of thread 4711, `tls_var`+0x8
 *     mapping /dev/shm/x+0x40
 *     anonymous memory 0x563f80000 (194 mappings, 48.5 MiB)  (as a group)
 *
 * Threads are unwound once, when a root on their stack is first named. Of a living process the
 * stacks must have been captured before the release.
 */
#ifndef HAWK_ANALYZER_NAMES_ROOT_NAME_H
#define HAWK_ANALYZER_NAMES_ROOT_NAME_H

#include "hawk/graph/dominators.h"
#include "hawk/symbols/symbols.h"
#include "hawk/base/text.h"

struct hawk_root_namer;

/** What is known of a root. Strings belong to target and symbols. */
struct hawk_root_name {
	enum hawk_root_kind kind;
	uint64_t address; /**< where the pointer lies; 0 for registers */
	uint32_t tid;     /**< registers, stacks, TLS */
	char reg[16];     /**< name of the register; else "" */
	bool has_frame;   /**< of a stack: `frame`, and `offset` is from its stack pointer */
	uint32_t frame;   /**< 0 = innermost */
	uint64_t frame_pc;
	uint64_t frame_offset; /**< of it in `module`, if there is one */
	const char *function;  /**< of that frame; NULL = not known */
	/**
	 * From the frame's stack pointer (below 0 in the red zone), the thread's stack pointer, the
	 * symbol's start, the thread pointer, the start of module or mapping: the first of these
	 * that is known for the kind.
	 */
	int64_t offset;
	const char *symbol;  /**< variable; NULL = not known */
	const char *module;  /**< path; NULL = none */
	const char *section; /**< ".data"; NULL = not known */
	const char *mapping; /**< path; NULL = anonymous memory */
	/**
	 * Of anonymous memory that holds roots: the mappings of its kind with nothing of a file
	 * between them. Garbage collectors map their heaps in hundreds of small pieces.
	 */
	struct hawk_root_region {
		uint64_t start; /**< of the first one */
		uint64_t bytes; /**< of all */
		uint32_t mappings;
	} region; /**< zeros = not known */
};

/** Graph and symbols must outlive the namer. */
struct hawk_error *hawk_root_namer_create(const struct hawk_graph *graph,
					  struct hawk_symbols *symbols,
					  struct hawk_root_namer **ret);
/** Accepts NULL. */
void hawk_root_namer_destroy(struct hawk_root_namer *namer);

/** All that is known of the root with index `root`. */
struct hawk_root_name hawk_root_find(struct hawk_root_namer *namer, uint32_t root);

/** Appends the text of the root, safe for a terminal. */
void hawk_root_name(struct hawk_root_namer *namer, uint32_t root, struct hawk_text *text);

/** Groups of roots with the same short name: "`g_sessions` in redis-server .bss", "thread 4711,
 * frame 3 `conn_loop`", "thread 4711, registers". */
struct hawk_tree_roots {
	uint32_t *groups;   /**< by root; owned */
	const char **names; /**< by group; owned, the strings belong to the namer */
	uint32_t count;
};
struct hawk_error *hawk_tree_roots_make(struct hawk_root_namer *namer, struct hawk_tree_roots *ret);
void hawk_tree_roots_deinit(struct hawk_tree_roots *groups);

/** Appends the text, safe for a terminal; names of functions are cut to `width` columns. */
void hawk_root_name_append(struct hawk_text *text, const struct hawk_root_name *name, size_t width);

/** Appends the same without offset, of anonymous memory the region: the name of its group. */
void hawk_root_name_append_group(struct hawk_text *text, const struct hawk_root_name *name);

/** "register", "stack", "tls", "module", "other", "unowned" */
const char *hawk_root_kind_name(enum hawk_root_kind kind);

#endif
