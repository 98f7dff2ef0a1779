/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What lies at an address: a block, a thread's stack, a place in a module, a mapping, or nothing.
 * An address can be several of these; all are reported.
 */
#ifndef HAWK_ANALYZER_REPORT_WHATIS_H
#define HAWK_ANALYZER_REPORT_WHATIS_H

#include "hawk/names/block_type.h"
#include "hawk/report/report.h"

/** Everything known about one address, collected while the target can be read. */
struct hawk_whatis {
	uint64_t address;
	const struct hawk_mapping *mapping; /**< NULL = not mapped */
	const struct hawk_module *module;
	enum hawk_block_state state;
	struct hawk_block block;
	struct hawk_type_words words;     /**< of a block that is live */
	const char *type;                 /**< NULL = unknown */
	const struct hawk_thread *thread; /**< whose stack it lies in */
	size_t thread_index;
	bool below_stack_pointer; /**< in the dead part of that stack */
	uint32_t frame;           /**< number of the frame; valid if `has_frame` */
	bool has_frame;
	struct hawk_stack_line frame_line;
	const char *symbol; /**< NULL = unknown */
	uint64_t symbol_offset;
	bool tracer; /**< one of the tracer's own mappings */
};

/** Collects; reads memory, so call it before the release of a live target. `report->heap` comes
 * from hawk_heap_load_table(). */
void hawk_whatis_find(const struct hawk_report *report, const struct hawk_block_types *types,
		      uint64_t address, struct hawk_whatis *ret);

/** Looks up names; works after the release. */
void hawk_whatis_resolve(const struct hawk_report *report, struct hawk_block_types *types,
			 struct hawk_whatis *whatis);

void hawk_report_whatis_text(const struct hawk_report *report, const struct hawk_whatis *whatis,
			     const struct hawk_screen *screen);
void hawk_report_whatis_json(const struct hawk_report *report, const struct hawk_whatis *whatis,
			     size_t count, struct hawk_output *output);

#endif
