/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Names for roots: whose memory a pointer lies in, as text for people and as a JSON object.
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
#ifndef HAWK_ROOT_NAME_H
#define HAWK_ROOT_NAME_H

#include "hawk_block_graph.h"
#include "hawk_json.h"
#include "hawk_symbols.h"
#include "hawk_text.h"

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

/** Graph (with HAWK_PART_ROOTS) and symbols must outlive the namer. */
struct hawk_error *hawk_root_namer_create(const struct hawk_block_graph *graph,
					  struct hawk_symbols *symbols,
					  struct hawk_root_namer **ret);
/** Accepts NULL. */
void hawk_root_namer_destroy(struct hawk_root_namer *namer);

/** All that is known of the root with index `root`. */
struct hawk_error *hawk_root_find(struct hawk_root_namer *namer, uint32_t root,
				  struct hawk_root_name *ret);

/** Appends the text of the root, safe for a terminal. */
struct hawk_error *hawk_root_name(struct hawk_root_namer *namer, uint32_t root,
				  struct hawk_text *text);

/**
 * The group of what holds the root, for folds: all roots with the same short name, "`g_sessions` in
 * redis-server .bss", "thread 4711, frame 3 `conn_loop`", "thread 4711, registers". Groups are
 * numbered in the order in which they are first asked for. Cheap where roots are asked for in
 * order.
 */
struct hawk_error *hawk_root_group(struct hawk_root_namer *namer, uint32_t root, uint32_t *ret);

/** How many groups have been asked for. */
uint32_t hawk_root_group_count(const struct hawk_root_namer *namer);

/** Its short name, which belongs to the namer. */
const char *hawk_root_group_name(const struct hawk_root_namer *namer, uint32_t group);

/** Writes the root as one object; see hawk_root_name_json(). */
struct hawk_error *hawk_root_json(struct hawk_root_namer *namer, uint32_t root,
				  struct hawk_json *json);

/** Appends the text, safe for a terminal; names of functions are cut to `width` columns. */
void hawk_root_name_append(struct hawk_text *text, const struct hawk_root_name *name, size_t width);

/** Appends the same without offset, of anonymous memory the region: what hawk_root_group() names.
 */
void hawk_root_name_append_group(struct hawk_text *text, const struct hawk_root_name *name);

/** Writes one object: name (the text), kind, address, thread, register, frame, function, symbol,
 * module, section, mapping, offset; null where it does not apply. */
void hawk_root_name_json(const struct hawk_root_name *name, struct hawk_json *json);

/** "register", "stack", "tls", "module", "other", "unowned" */
const char *hawk_root_kind_name(enum hawk_root_kind kind);

#endif
