/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * sigaltstack(): only the kernel points to a block used as a thread's alternate signal stack. The
 * thread's record notes its address, so that the block is not reported as lost.
 */
#include <errno.h>
#include <signal.h>

#include "hooks.h"
#include "init.h"
#include "table/file.h"
#include "table/threads.h"

static int set_stack(const stack_t *stack, stack_t *before)
{
	long result;

	if (hawk_next.sigaltstack)
		return hawk_next.sigaltstack(stack, before);
	result = hawk_syscall3(SYS_sigaltstack, (long)stack, (long)before, 0);
	if (result >= 0)
		return (int)result;
	errno = (int)-result;
	return -1;
}

/** Reads the stack back from the kernel: the call's two arguments may be the same memory. */
static void note(void)
{
	struct hawk_slot *slot;
	stack_t now;

	if (hawk_syscall3(SYS_sigaltstack, 0, (long)&now, 0) < 0)
		return;
	if (now.ss_flags & SS_DISABLE)
		now = (stack_t){0};
	hawk_file_check_fork();
	slot = hawk_threads_current();
	if (slot)
		hawk_threads_note_signal_stack(hawk_threads_head(slot), (uint64_t)now.ss_sp,
					       now.ss_size);
}

HAWK_EXPORT int sigaltstack(const stack_t *stack, stack_t *before)
{
	int result;

	hawk_init_once();
	result = set_stack(stack, before);
	if (!result && stack && hawk_tracing())
		note();
	return result;
}
