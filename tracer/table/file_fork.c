/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A forked child and its parent's table file: the child copies the contents, at the same addresses,
 * into its own file or into private memory. Its counts start from the parent's at that moment.
 */
#include "file_state.h"

#include <signal.h>

#include "arena.h"
#include "base/options.h"
#include "base/phase.h"
#include "threads.h"

enum { SIGNAL_SET_BYTES = 8 };

/** True inside fork(): a new file may be made, since no sandbox was entered in between. */
static bool forking;
static uint32_t leaving;

/** Header used without memory for a copy: holds the key, and counts dropped blocks. */
static struct hawk_table_header last_resort;

static void *copies[HAWK_TABLE_EXTENTS];

static uint32_t extent_count(void)
{
	uint32_t count = hawk_file.extent_count;

	return count < HAWK_TABLE_EXTENTS ? count : HAWK_TABLE_EXTENTS;
}

static void drop_copies(void)
{
	for (uint32_t i = 0; i < HAWK_TABLE_EXTENTS; i++) {
		if (copies[i])
			hawk_unmap(copies[i], hawk_file.extents[i].bytes);
		copies[i] = NULL;
	}
}

/** Copies the header first: then the rest holds all records that its counts include. `fd` < 0
 * copies into private memory. */
static bool make_copies(int fd)
{
	for (uint32_t i = 0; i < extent_count(); i++) {
		const struct hawk_file_extent *extent = &hawk_file.extents[i];

		if (!extent->bytes)
			continue;
		copies[i] = fd >= 0 ? hawk_file_map_part(fd, extent->offset, extent->bytes)
				    : hawk_map(0, extent->bytes, false);
		if (!copies[i]) {
			drop_copies();
			return false;
		}
		__builtin_memcpy(copies[i], (const void *)extent->address, extent->bytes);
	}
	return true;
}

/** Replaces the parent's mappings by the copies, one by one. */
static bool install_copies(void)
{
	for (uint32_t i = 0; i < extent_count(); i++) {
		const struct hawk_file_extent *extent = &hawk_file.extents[i];

		if (copies[i] && hawk_syscall6(SYS_mremap, (long)copies[i], (long)extent->bytes,
					       (long)extent->bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
					       (long)extent->address, 0) != (long)extent->address)
			return false;
		copies[i] = NULL;
	}
	return true;
}

static bool copy_into_own_file(void)
{
	int fd;
	bool copied;

	if (!forking || !hawk_file.renames)
		return false;
	fd = hawk_file_open(hawk_file.size);
	if (fd < 0)
		return false;
	copied = make_copies(fd);
	hawk_syscall3(SYS_close, fd, 0, 0);
	if (copied)
		return true;
	hawk_file_complain("no space left");
	hawk_file_remove();
	return false;
}

/** Returns the bytes copied of the extent at `address`; 0 if none. */
static uint64_t known_bytes(uint64_t address)
{
	for (uint32_t i = 0; i < extent_count(); i++)
		if (hawk_file.extents[i].address == address)
			return hawk_file.extents[i].bytes;
	return 0;
}

/** Goes on without a table: existing headers are still understood, and the parent's table is not
 * written. */
static void do_without(void)
{
	hawk_options.stacks = false;
	hawk_options.live = false;
	hawk_file_lost = true;
	hawk_phase = HAWK_PHASE_PASSIVE;
	hawk_thread_slot = HAWK_SLOT_GONE;
	__builtin_memcpy(&last_resort, hawk_table_header, sizeof(last_resort));
	hawk_table_header = &last_resort;
}

/** Settles counters that the parent's threads changed during the copy, after its number of traces
 * was copied. A counter being flushed is found either in the thread's entry or in the trace
 * record. */
static void settle_counters(void)
{
	for (uint32_t i = 0; i < hawk_table_header->thread_count; i++) {
		struct hawk_head *head = hawk_arena_element(HAWK_ARRAY_THREADS, i);

		hawk_counters_forget(head, hawk_table_header->trace_count);
		hawk_counters_recover(head);
	}
}

static void take_own_table(bool file)
{
	hawk_file.active = file;
	hawk_arena_adopt(known_bytes, file);
	settle_counters();
	if ((uintptr_t)hawk_thread_slot > 1)
		hawk_threads_restore(hawk_thread_slot);
}

static void leave(void)
{
	bool file;

	hawk_file.quiet = true;
	file = copy_into_own_file();
	if ((file || make_copies(-1)) && install_copies())
		take_own_table(file);
	else
		do_without();
}

static uint64_t bit_of(int number)
{
	return UINT64_C(1) << (number - 1);
}

/** Blocks signals, except those that an instruction raises: blocked, these kill. A sandbox, or a
 * debugger in the process, may turn our system calls into such signals. */
static void block(struct hawk_file_pause *pause)
{
	uint64_t mask = ~(bit_of(SIGILL) | bit_of(SIGTRAP) | bit_of(SIGBUS) | bit_of(SIGFPE) |
			  bit_of(SIGSEGV) | bit_of(SIGSYS));

	pause->blocked = !hawk_syscall6(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask,
					(long)&pause->mask, SIGNAL_SET_BYTES, 0, 0);
}

void hawk_file_unblock(const struct hawk_file_pause *pause)
{
	hawk_syscall6(SYS_rt_sigprocmask, SIG_SETMASK, (long)&pause->mask, 0, SIGNAL_SET_BYTES, 0,
		      0);
}

void hawk_file_block(struct hawk_file_pause *pause)
{
	block(pause);
	hawk_file_check_fork();
}

void hawk_file_leave(void)
{
	struct hawk_file_pause pause;
	uint32_t expected = 0;

	/* A handler running now would wait for the call that it interrupted. */
	block(&pause);
	if (!*hawk_file_mark && __atomic_compare_exchange_n(&leaving, &expected, 1, false,
							    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
		leave();
		__atomic_store_n(hawk_file_mark, 1, __ATOMIC_RELEASE);
		__atomic_store_n(&leaving, 0, __ATOMIC_RELEASE);
	}
	while (!__atomic_load_n(hawk_file_mark, __ATOMIC_ACQUIRE))
		hawk_syscall3(SYS_sched_yield, 0, 0, 0);
	if (pause.blocked)
		hawk_file_unblock(&pause);
}

static void before_fork(void)
{
	forking = true;
}

static void after_fork_in_parent(void)
{
	forking = false;
}

static void after_fork_in_child(void)
{
	hawk_file_check_fork();
	forking = false;
}

void hawk_file_watch_forks(void)
{
	extern int __register_atfork(void (*prepare)(void), void (*parent)(void),
				     void (*child)(void), void *library);

	if (hawk_file.active)
		__register_atfork(before_fork, after_fork_in_parent, after_fork_in_child, NULL);
}
