/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Recognizes a crash inside of an allocator by names of functions: those of abort(), then the
 * allocator's, innermost first.
 */
#include "hawk/analysis/crash.h"

#include <signal.h>
#include <string.h>

#include "hawk/names/stack.h"

enum { FRAMES_MAX = 64 };

static bool is_among(const char *name, size_t length, const char *const *names)
{
	for (; *names; names++)
		if (strlen(*names) == length && !strncmp(name, *names, length))
			return true;
	return false;
}

/* Returns the name without "__", "__GI_", "__libc_", and its length without ".part.0". */
static const char *bare_name(const char *name, size_t *length)
{
	static const char *const prefixes[] = {"__GI_", "__libc_", "__"};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			name += strlen(prefixes[i]);
	*length = strcspn(name, ".@");
	return name;
}

static bool is_abort(const char *name)
{
	static const char *const names[] = {"pthread_kill_implementation",
					    "pthread_kill_internal",
					    "pthread_kill",
					    "raise",
					    "gsignal",
					    "abort",
					    "message",
					    "message_impl",
					    "message_wrapper",
					    "fatal",
					    "fortify_fail",
					    "malloc_assert",
					    "assert_fail",
					    "assert_fail_base",
					    "kernel_vsyscall",
					    NULL};
	size_t length;

	name = bare_name(name, &length);
	return is_among(name, length, names);
}

static bool is_allocator(const char *name)
{
	static const char *const names[] = {"malloc",
					    "free",
					    "calloc",
					    "realloc",
					    "reallocarray",
					    "cfree",
					    "memalign",
					    "posix_memalign",
					    "aligned_alloc",
					    "valloc",
					    "pvalloc",
					    "_int_malloc",
					    "_int_free",
					    "_int_free_chunk",
					    "_int_free_check",
					    "_int_free_merge_chunk",
					    "_int_free_maybe_consolidate",
					    "_int_realloc",
					    "_int_memalign",
					    "_mid_memalign",
					    "malloc_printerr",
					    "malloc_consolidate",
					    "unlink_chunk",
					    "sysmalloc",
					    "systrim",
					    "munmap_chunk",
					    "mremap_chunk",
					    "tcache_get",
					    "tcache_put",
					    "tcache_init",
					    "tcache_double_free_verify",
					    "tcache_thread_shutdown",
					    "arena_for_chunk",
					    "heap_for_ptr",
					    "get_meta", /* of musl, as those that follow */
					    "get_nominal_size",
					    "alloc_slot",
					    "alloc_group",
					    "nontrivial_free",
					    NULL};
	static const char *const prefixes[] = {
		"je_", "mi_", "_mi_", "tc_", "tcmalloc::", "operator delete", "operator new"};
	size_t length;
	const char *bare = bare_name(name, &length);

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return true;
	return is_among(bare, length, names);
}

static bool is_tracer(const struct hawk_stack_line *line)
{
	return line->has_module && line->module.path &&
	       strstr(line->module.path, "/libhawk_tracer.so");
}

/* Returns true if two frames lie in one module. */
static bool is_beside(const struct hawk_stack_line *line, const struct hawk_stack_line *other)
{
	return line->has_module && other->has_module && line->module.path && other->module.path &&
	       strcmp(line->module.path, other->module.path) == 0;
}

/* Returns the number of the frame that called the allocator, 0 if the thread was not in it. */
static uint32_t find_caller(const struct hawk_stack *stack, const char **function)
{
	uint32_t caller = 0;

	*function = NULL;
	for (size_t i = 0; i < stack->count; i++) {
		const struct hawk_stack_line *line = &stack->lines[i];
		const char *name = line->name.symbol ? line->name.symbol : line->name.function;

		/* Without its debug file, only exported functions of a library have names. */
		if (!name && is_beside(line, &stack->lines[0]))
			continue;
		if (!name || (!is_allocator(name) && !is_abort(name) && !is_tracer(line)))
			break;
		if (is_allocator(name)) {
			*function = name;
			caller = line->frame + 1;
		}
	}
	return caller;
}

/* Returns true if the thread died of what it did: by a fault, or abort(). General protection faults
 * have no address; musl's assertions end in one. */
static bool is_own_crash(const struct hawk_process *process)
{
	return process->signal && !process->live &&
	       (process->has_fault_address || process->sender_pid == process->pid ||
		(process->signal == SIGSEGV && process->signal_code == SI_KERNEL));
}

void hawk_crash_find(const struct hawk_target *target, struct hawk_symbols *symbols,
		     struct hawk_crash *ret)
{
	const struct hawk_thread *thread = hawk_target_crashed_thread(target);
	struct hawk_thread_frames frames;
	struct hawk_stack stack = {0};
	uint32_t caller;

	*ret = (struct hawk_crash){0};
	if (!thread || !is_own_crash(hawk_target_process(target)))
		return;
	hawk_stack_of_thread(symbols, thread, &stack);
	caller = find_caller(&stack, &ret->function);
	if (ret->function) {
		ret->thread = thread;
		hawk_abort_message_find(target, &ret->message);
		hawk_error_swallow(hawk_symbols_unwind(symbols, thread, FRAMES_MAX, &frames));
		ret->stack_start = hawk_target_stack_start(target, thread);
		if (caller < frames.count)
			ret->stack_end = frames.frames[caller].sp;
		hawk_thread_frames_deinit(&frames);
	}
	hawk_stack_deinit(&stack);
}
