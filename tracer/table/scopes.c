/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Entering and leaving a scope costs two clock readings, one label lookup and two additions to its
 * record.
 */
#include "scopes.h"

#include <time.h>

#include "arena.h"
#include "labels.h"
#include "unwind/rules.h"
#include "clock.h"
#include "unwind/walk.h"

enum {
	/** An object farther than this from the stack pointer is not on this stack: a sanitizer
	 * moved it. */
	FRAME_BYTES_MAX = 1 << 20,
};

static uint64_t read_clock(void)
{
	uint64_t now = hawk_clock_now_ns(CLOCK_MONOTONIC);

	return now ? now : 1;
}

static uint64_t position_of(uint64_t sp, uint64_t object)
{
	return object - sp < FRAME_BYTES_MAX ? object : sp;
}

static uint64_t mix(uint64_t outer, uint64_t position, uint32_t label)
{
	unsigned __int128 product = (unsigned __int128)(outer ^ position) *
				    (UINT64_C(0x9e3779b97f4a7c15) + ((uint64_t)label << 20));
	uint64_t key = (uint64_t)product ^ (uint64_t)(product >> 64) ^ label;

	return key ? key : 1;
}

/** Returns the innermost scope open below `depth`; NULL if none. */
static const struct hawk_open_scope *innermost(const struct hawk_scopes *scopes, uint32_t depth)
{
	while (depth-- > 0)
		if (scopes->open[depth].label)
			return &scopes->open[depth];
	return NULL;
}

static void set_key(const struct hawk_scopes *scopes, uint32_t depth, uint64_t *key)
{
	const struct hawk_open_scope *scope = innermost(scopes, depth);

	__atomic_store_n(key, scope ? scope->key : 0, __ATOMIC_RELAXED);
}

static void close_scope(struct hawk_scopes *scopes, uint32_t index, uint64_t now)
{
	struct hawk_open_scope *scope = &scopes->open[index];
	struct hawk_open_scope old = *scope;

	scope->label = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	scopes->depth = index;
	if (old.label && old.start_ns && now > old.start_ns)
		__atomic_fetch_add(&hawk_arena_label(old.label)->total_ns, now - old.start_ns,
				   __ATOMIC_RELAXED);
}

/**
 * Returns true if the frame of `scope` is gone: its return address was overwritten. Returns false
 * if unknown.
 */
static bool is_overwritten(const struct hawk_open_scope *scope, const struct hawk_stack *stack,
			   uint64_t sp)
{
	uint64_t start = stack ? stack->readable_start : 0;
	uint64_t bytes = stack ? stack->readable_end - start : 0;

	if (!scope->frame_end || sp - start >= bytes || scope->frame_end - 8 - start >= bytes)
		return false;
	return *(const uint64_t *)(scope->frame_end - 8) != scope->return_address;
}

/** Closes scopes that are over: those below the stack pointer or in a gone frame, and an earlier
 * scope at the same place with all scopes inside it. */
static void close_stale(struct hawk_scopes *scopes, const struct hawk_stack *stack, uint64_t sp,
			uint64_t object, uint64_t now)
{
	uint32_t keep = scopes->depth;

	while (keep && (scopes->open[keep - 1].position < sp ||
			is_overwritten(&scopes->open[keep - 1], stack, sp)))
		keep--;
	for (uint32_t i = 0; i < keep; i++)
		if (scopes->open[i].object == object)
			keep = i;
	while (scopes->depth > keep)
		close_scope(scopes, scopes->depth - 1, now);
}

static uint32_t drop(void)
{
	__atomic_fetch_add(&hawk_table_header->dropped_scopes, 1, __ATOMIC_RELAXED);
	return 0;
}

/** Takes the next entry. Writes it twice, because a handler may use it in between. */
static struct hawk_open_scope *reserve(struct hawk_scopes *scopes, uint64_t position,
				       uint64_t object)
{
	struct hawk_open_scope *scope = &scopes->open[scopes->depth];

	scope->label = 0;
	scope->position = position;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	scopes->depth++;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	scope->position = position;
	scope->object = object;
	return scope;
}

/** Notes how to recognize the entering frame: by its own return address. Uses only exact rules, so
 * that the address read is really there. */
static void note_frame(struct hawk_open_scope *scope, const struct hawk_frame_state *caller)
{
	uint32_t rule;

	scope->frame_end = 0;
	if (!hawk_rules_table || hawk_unwind_options.mode == HAWK_UNWIND_FP)
		return;
	rule = hawk_rules_lookup(caller->pc, false);
	if (!rule)
		rule = hawk_rules_make(caller->pc, false);
	if (hawk_rule_kind(rule) == HAWK_RULE_SP)
		scope->frame_end = caller->sp + hawk_rule_cfa(rule);
	else if (hawk_rule_kind(rule) == HAWK_RULE_BP)
		scope->frame_end = caller->bp + hawk_rule_signed_cfa(rule);
	else if (hawk_rule_kind(rule) == HAWK_RULE_SP_FAR)
		scope->frame_end = caller->sp + hawk_rule_far_cfa(rule); /* 0 if not a rule */
	if (scope->frame_end - caller->sp - 8 >= FRAME_BYTES_MAX || scope->frame_end & 7)
		scope->frame_end = 0;
	else
		scope->return_address = *(const uint64_t *)(scope->frame_end - 8);
}

uint32_t hawk_scopes_enter(struct hawk_scopes *scopes, const struct hawk_stack *stack,
			   const struct hawk_frame_state *caller, uint64_t object, const char *tag,
			   size_t length, uint64_t *key)
{
	uint64_t now = read_clock();
	const struct hawk_open_scope *outer;
	struct hawk_open_scope *scope;
	uint32_t label, index;
	bool again;

	close_stale(scopes, stack, caller->sp, object, now);
	index = scopes->depth;
	outer = innermost(scopes, index);
	again = outer && hawk_labels_equal(outer->label, HAWK_LABEL_SCOPE, tag, length);
	if (again)
		label = outer->label;
	else
		label = hawk_labels_intern(HAWK_LABEL_SCOPE, outer ? outer->label : 0, tag, length);
	if (index == HAWK_SCOPES_DEPTH || !label) {
		set_key(scopes, scopes->depth, key);
		return drop();
	}
	scope = reserve(scopes, position_of(caller->sp, object), object);
	note_frame(scope, caller);
	scope->start_ns = again ? 0 : now;
	scope->key = mix(outer ? outer->key : 0, scope->position, label);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	scope->label = label;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(key, scope->key, __ATOMIC_RELAXED);
	__atomic_fetch_add(&hawk_arena_label(label)->entries, 1, __ATOMIC_RELAXED);
	return index + 1;
}

void hawk_scopes_leave(struct hawk_scopes *scopes, uint64_t object, uint32_t token, uint64_t *key)
{
	uint32_t index = token - 1;
	uint64_t now;

	if (index >= scopes->depth || scopes->open[index].object != object ||
	    !scopes->open[index].label)
		return; /* closed already, or another thread's */
	now = read_clock();
	while (scopes->depth > index)
		close_scope(scopes, scopes->depth - 1, now);
	set_key(scopes, scopes->depth, key);
}

void hawk_scopes_clear(struct hawk_scopes *scopes, uint64_t *key)
{
	while (scopes->depth)
		scopes->open[--scopes->depth].label = 0;
	__atomic_store_n(key, 0, __ATOMIC_RELAXED);
}

/**
 * Returns the number of frames outside the scope at `position`, or UINT32_MAX if it is over. A
 * frame reaches from its sp to the next outer frame's sp; the outermost frame's end is unknown. A
 * position beyond it lies outside all frames: on the stack that called this coroutine.
 */
static uint32_t find_frame(const struct hawk_stack *stack, const struct hawk_open_scope *scope)
{
	uint64_t position = scope->position;

	for (uint32_t i = stack->count; i-- > 1;) {
		const struct hawk_frame_state *outer = &stack->frames[i - 1].state;

		if (position < stack->frames[i].state.sp || position >= outer->sp)
			continue;
		if (scope->frame_end &&
		    (scope->frame_end != outer->sp || scope->return_address != outer->pc))
			return UINT32_MAX; /* another frame lies there now */
		return i + 1;
	}
	return position >= stack->frames[0].state.sp ? 0 : UINT32_MAX;
}

uint32_t hawk_scopes_marks(const struct hawk_scopes *scopes, const struct hawk_stack *stack,
			   uint64_t sp, bool placed, uint64_t *marks)
{
	uint32_t count = 0;

	for (uint32_t i = scopes->depth; i-- > 0;) {
		const struct hawk_open_scope *scope = &scopes->open[i];
		uint32_t frames = HAWK_MARK_UNPLACED;

		if (!scope->label)
			continue;
		if (stack && stack->count)
			frames = find_frame(stack, scope);
		else if (scope->position < sp)
			frames = UINT32_MAX;
		if (frames == UINT32_MAX)
			continue;
		marks[count++] =
			hawk_mark(scope->label, placed ? (uint16_t)frames : HAWK_MARK_UNPLACED);
	}
	return count;
}
