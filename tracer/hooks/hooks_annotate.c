/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Functions that the annotation header (hawk_annotate.h) looks up by name. A program may be built
 * with another version of that header, so these exports keep their meaning for ever.
 */
#include "table/file.h"
#include "hooks.h"
#include "init.h"
#include "table/labels.h"
#include "table/marks.h"
#include "base/options.h"
#include "annotated.h"
#include "table/threads.h"

HAWK_EXPORT unsigned long hawk_tracer_scope_enter(void *object, const char *tag, size_t length);
HAWK_EXPORT void hawk_tracer_scope_leave(void *object, unsigned long token);
HAWK_EXPORT void hawk_tracer_annotate_type(void *pointer, const char *name, size_t length);
HAWK_EXPORT size_t hawk_tracer_pool_header_bytes(void);
HAWK_EXPORT void hawk_tracer_pool_begin(void *pointer, size_t size);
HAWK_EXPORT void hawk_tracer_pool_end(void *pointer);
HAWK_EXPORT void hawk_tracer_pool_reset(void *start, void *end);

unsigned long hawk_tracer_scope_enter(void *object, const char *tag, size_t length)
{
	struct hawk_frame_state caller = HAWK_CALLER();
	const struct hawk_stack *stack;
	struct hawk_slot *slot;

	if (!hawk_tracing() || !hawk_options.stacks)
		return 0;
	hawk_file_check_fork();
	slot = hawk_threads_current();
	if (!slot)
		return 0;
	/* A signal handler may interrupt its update. */
	stack = hawk_threads_is_idle(slot) ? &slot->stack : NULL;
	return hawk_scopes_enter(&slot->scopes, stack, &caller, (uint64_t)object, tag, length,
				 &slot->scope_key);
}

void hawk_tracer_scope_leave(void *object, unsigned long token)
{
	struct hawk_slot *slot = hawk_thread_slot;

	hawk_file_check_fork();
	if ((uintptr_t)slot > 1 && token)
		hawk_scopes_leave(&slot->scopes, (uint64_t)object, (uint32_t)token,
				  &slot->scope_key);
}

void hawk_tracer_annotate_type(void *pointer, const char *name, size_t length)
{
	if (hawk_tracing() && pointer)
		hawk_annotated_set_type(pointer, name, length);
}

size_t hawk_tracer_pool_header_bytes(void)
{
	return hawk_tracing() ? HAWK_HEADER_BYTES : 0;
}

void hawk_tracer_pool_begin(void *pointer, size_t size)
{
	struct hawk_frame_state caller = HAWK_CALLER();

	if (hawk_tracing())
		hawk_annotated_begin(&caller, pointer, size);
}

/* Works after tracing has ended too: earlier seals must still come off. */
void hawk_tracer_pool_end(void *pointer)
{
	if (hawk_table_header)
		hawk_annotated_end(pointer);
}

void hawk_tracer_pool_reset(void *start, void *end)
{
	if (hawk_table_header)
		hawk_annotated_reset(start, end);
}
