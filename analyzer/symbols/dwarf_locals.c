/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Variables and parameters that are live in a thread's frames, with their places.
 *
 * A location is believed if it is one of the plain forms: a register, or an address computed from
 * registers, the frame, and memory. Others are as good as optimized out. Expressions run straight
 * through: none can loop, or divide.
 */
#include <stdlib.h>

#include <dwarf.h>

#include "hawk/base/array.h"
#include "state.h"

enum {
	FRAMES_MAX = 256,       /**< of a thread: the innermost ones */
	VARIABLES_MAX = 100000, /**< of a thread */
	CHILDREN_MAX = 100000,
	BLOCKS_MAX = 64, /**< nested in a function */
	STACK_MAX = 8,
};

struct frame {
	struct hawk_symbols *symbols;
	struct hawk_dwarf *dwarf;
	const struct hawk_frame_state *state;
	struct hawk_dwarf_variables *to;
	uint64_t bias;
	uint64_t at; /**< link-time address of the instruction */
	uint32_t number;
	Dwarf_Die function;
	const struct hawk_frame *lines; /**< of the inlined calls at `at`, innermost first */
	size_t line_count;
	size_t level; /**< the one whose variables are looked at */
};

struct walk {
	struct hawk_symbols *symbols;
	struct hawk_dwarf_variables *to;
};

struct evaluation {
	const struct frame *frame;
	uint64_t stack[STACK_MAX];
	size_t depth;
	bool is_value; /**< the result is the variable's value, not its address */
};

static bool push(struct evaluation *evaluation, uint64_t value)
{
	if (evaluation->depth == STACK_MAX)
		return false;
	evaluation->stack[evaluation->depth++] = value;
	return true;
}

static bool push_register(struct evaluation *evaluation, uint64_t number, uint64_t offset)
{
	const struct hawk_frame_state *state = evaluation->frame->state;

	return number < HAWK_CFI_REGISTERS_MAX && state->known >> number & 1 &&
	       push(evaluation, state->registers[number] + offset);
}

static bool evaluate(const struct frame *frame, Dwarf_Die *die, unsigned attribute, bool *is_value,
		     uint64_t *ret);

static bool push_frame_base(struct evaluation *evaluation, uint64_t offset)
{
	const struct frame *frame = evaluation->frame;
	Dwarf_Die function = frame->function;
	bool is_value;
	uint64_t base;

	return evaluate(frame, &function, DW_AT_frame_base, &is_value, &base) &&
	       push(evaluation, base + offset);
}

static bool dereference(struct evaluation *evaluation)
{
	const struct hawk_target *target = evaluation->frame->symbols->target;
	uint64_t *top = &evaluation->stack[evaluation->depth ? evaluation->depth - 1 : 0];

	return evaluation->depth &&
	       hawk_target_read_some(target, *top, top, sizeof(*top)) == sizeof(*top);
}

static bool run(struct evaluation *evaluation, const Dwarf_Op *op, bool in_base)
{
	uint64_t cfa = evaluation->frame->state->cfa;

	if (evaluation->is_value)
		return false; /* nothing follows a register, or DW_OP_stack_value, but pieces */
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31)
		return push_register(evaluation, op->atom - DW_OP_breg0, op->number);
	if (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31) {
		evaluation->is_value = true;
		return push_register(evaluation, op->atom - DW_OP_reg0, 0);
	}
	switch (op->atom) {
	case DW_OP_fbreg:
		return !in_base && push_frame_base(evaluation, op->number);
	case DW_OP_call_frame_cfa:
		return cfa && push(evaluation, cfa);
	case DW_OP_addr:
		return push(evaluation, op->number + evaluation->frame->bias);
	case DW_OP_plus_uconst:
		if (evaluation->depth)
			evaluation->stack[evaluation->depth - 1] += op->number;
		return evaluation->depth;
	case DW_OP_deref:
		return dereference(evaluation);
	case DW_OP_stack_value:
		evaluation->is_value = true;
		return true;
	default:
		return false;
	}
}

/* Evaluates the location in an attribute of `die`; false = it has none here, or an odd one. */
static bool evaluate(const struct frame *frame, Dwarf_Die *die, unsigned attribute, bool *is_value,
		     uint64_t *ret)
{
	struct evaluation evaluation = {.frame = frame};
	Dwarf_Attribute memory;
	Dwarf_Op *ops;
	size_t count;

	if (!dwarf_attr(die, attribute, &memory) ||
	    dwarf_getlocation_addr(&memory, frame->at, &ops, &count, 1) != 1)
		return false;
	for (size_t i = 0; i < count; i++)
		if (!run(&evaluation, &ops[i], attribute == DW_AT_frame_base))
			return false;
	*is_value = evaluation.is_value;
	if (evaluation.depth)
		*ret = evaluation.stack[evaluation.depth - 1];
	return evaluation.depth;
}

/* A place that holds a variable throughout its block may not have been filled yet: the frame must
 * be behind the line that declares it. */
static bool is_set(const struct frame *frame, Dwarf_Die *die)
{
	Dwarf_Attribute memory;
	Dwarf_Word line = 0;

	if (dwarf_tag(die) == DW_TAG_formal_parameter)
		return true;
	if (!dwarf_attr(die, DW_AT_location, &memory) ||
	    dwarf_whatform(&memory) == DW_FORM_sec_offset ||
	    dwarf_whatform(&memory) == DW_FORM_loclistx)
		return true;
	dwarf_formudata(dwarf_attr_integrate(die, DW_AT_decl_line, &memory), &line);
	return frame->level < frame->line_count && frame->lines[frame->level].line > line;
}

static void add_variable(struct frame *frame, Dwarf_Die *die)
{
	struct hawk_dwarf_variables *to = frame->to;
	struct hawk_dwarf_variable variable = {.frame = frame->number};
	const char *name;
	Dwarf_Attribute memory;
	bool is_value;
	uint64_t place;

	if (to->count >= VARIABLES_MAX || !is_set(frame, die) ||
	    !evaluate(frame, die, DW_AT_location, &is_value, &place))
		return;
	name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_name, &memory));
	variable.name = name ? hawk_symbols_intern(frame->symbols, name) : "";
	variable.type = hawk_dwarf_type_attribute(frame->symbols, frame->dwarf, die);
	variable.address = is_value ? 0 : place;
	variable.value = is_value ? place : 0;
	if (variable.type && variable.name &&
	    hawk_array_reserve(&to->items, to->count, &to->capacity, sizeof(*to->items)))
		to->items[to->count++] = variable;
}

static bool is_block(int tag)
{
	return tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine ||
	       tag == DW_TAG_try_block || tag == DW_TAG_catch_block;
}

/* Adds the variables of a function or block, and of the blocks in it that contain the frame's
 * instruction. */
static void visit_block(struct frame *frame, Dwarf_Die *block, int depth)
{
	Dwarf_Die die;

	if (depth > BLOCKS_MAX || dwarf_child(block, &die) != 0 || !hawk_dwarf_has_room())
		return;
	for (int i = 0; i < CHILDREN_MAX; i++) {
		int tag = dwarf_tag(&die);

		if (tag == DW_TAG_variable || tag == DW_TAG_formal_parameter) {
			add_variable(frame, &die);
		} else if (is_block(tag) && dwarf_haspc(&die, frame->at) == 1) {
			bool inlined = tag == DW_TAG_inlined_subroutine && frame->level > 0;

			frame->level -= inlined;
			visit_block(frame, &die, depth + 1);
			frame->level += inlined;
		}
		if (dwarf_siblingof(&die, &die) != 0)
			break;
	}
}

/* Finds the function's entry: the outermost node at the address. */
static bool find_function(struct frame *frame)
{
	const struct hawk_range *range;
	struct hawk_dwarf_unit *unit;
	uint32_t node;

	if (hawk_error_swallow(hawk_dwarf_unit_at(frame->dwarf, frame->at, &unit)) || !unit)
		return false;
	range = hawk_ranges_find(&unit->ranges, frame->at);
	if (!range)
		return false;
	for (node = range->id; unit->nodes[node].parent != HAWK_DWARF_NO_NODE;)
		node = unit->nodes[node].parent;
	frame->function = unit->nodes[node].die;
	return !unit->nodes[node].inlined;
}

static void visit_frame(void *context, uint32_t number, const struct hawk_frame_state *state)
{
	struct walk *walk = context;
	struct frame frame = {
		.symbols = walk->symbols, .state = state, .to = walk->to, .number = number};
	uint64_t at = state->pc - !state->exact;
	struct hawk_symbol_module module;
	struct hawk_symbol_file *file;

	if (!hawk_symbols_module_at(walk->symbols, at, &module) ||
	    hawk_dwarf_is_c_library(&module) ||
	    hawk_error_swallow(hawk_symbols_file(walk->symbols, &module, &file)) || !file->dwarf)
		return;
	frame.dwarf = file->dwarf;
	frame.bias = hawk_symbols_bias(file, &module);
	frame.at = at - frame.bias;
	if (!find_function(&frame) ||
	    hawk_error_swallow(hawk_symbols_lookup(walk->symbols, &module, state->pc, state->exact,
						   &frame.lines, &frame.line_count)))
		return;
	frame.level = frame.line_count ? frame.line_count - 1 : 0;
	visit_block(&frame, &frame.function, 0);
}

void hawk_dwarf_locals(struct hawk_symbols *symbols, const struct hawk_thread *thread,
		       struct hawk_dwarf_variables *ret)
{
	struct walk walk = {.symbols = symbols, .to = ret};
	struct hawk_thread_frames frames;

	hawk_error_swallow(hawk_symbols_unwind_frames(symbols, thread, FRAMES_MAX, visit_frame,
						      &walk, &frames));
	hawk_thread_frames_deinit(&frames);
}
