/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The contents of an address: a block, a thread's stack, a place in a module, a mapping, or
 * nothing. Finds all of these that apply.
 */
#ifndef HAWK_ANALYZER_ANALYSIS_WHATIS_H
#define HAWK_ANALYZER_ANALYSIS_WHATIS_H

#include "hawk/names/block_type.h"
#include "hawk/names/stack.h"
#include "hawk/objects/types.h"

/** Everything known about one address, collected while the target can be read. */
struct hawk_whatis {
	uint64_t address;
	const struct hawk_mapping *mapping; /**< NULL = not mapped */
	const struct hawk_module *module;
	enum hawk_block_state state;
	struct hawk_block block;
	struct hawk_type_words words;     /**< of a block that is live */
	const char *type;                 /**< with "?" if it is a guess; NULL = unknown */
	const char *member;               /**< at the address, in the block; NULL = unknown */
	const struct hawk_thread *thread; /**< whose stack it lies in */
	bool below_stack_pointer;         /**< in the dead part of that stack */
	uint32_t frame;                   /**< number of the frame; valid if `has_frame` */
	bool has_frame;
	struct hawk_stack_line frame_line;
	const char *variable; /**< of debug information, with its member; NULL = unknown */
	const char *symbol;   /**< NULL = unknown */
	uint64_t symbol_offset;
	const struct hawk_heap_span *span; /**< span of the heap's sources; NULL = none */
	bool tracer;                       /**< one of the tracer's own mappings */
};

/** Reads memory: call it before a live target is released. */
void hawk_whatis_find(const struct hawk_heap *heap, const struct hawk_block_types *types,
		      uint64_t address, struct hawk_whatis *ret);

/** Names type and member of a live block by `types`, which debug information gave. */
void hawk_whatis_name_member(const struct hawk_types *types, struct hawk_symbols *symbols,
			     struct hawk_whatis *whatis);

/** Looks up names. The target may run again. */
void hawk_whatis_resolve(struct hawk_symbols *symbols, struct hawk_block_types *types,
			 struct hawk_whatis *whatis);

#endif
