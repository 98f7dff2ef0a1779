/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Direct system calls: they never touch errno, and no other library can intercept them. Results are
 * the kernel's: negative values are -errno.
 */
#ifndef HAWK_TRACER_TABLE_SYSCALL_H
#define HAWK_TRACER_TABLE_SYSCALL_H

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#ifdef HAWK_MODEL
/** Provided by the model checker of tests/model instead of the kernel. */
long hawk_syscall6(long number, long a, long b, long c, long d, long e, long f);
#else
static inline long hawk_syscall6(long number, long a, long b, long c, long d, long e, long f)
{
	long result;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}
#endif

static inline long hawk_syscall3(long number, long a, long b, long c)
{
	return hawk_syscall6(number, a, b, c, 0, 0, 0);
}

/** Maps anonymous zeroed memory, exactly at `hint` if `fixed` (never replacing), else anywhere;
 * NULL on failure. */
static inline void *hawk_map(uint64_t hint, size_t bytes, bool fixed)
{
	long flags = MAP_PRIVATE | MAP_ANONYMOUS | (fixed ? MAP_FIXED_NOREPLACE : 0);
	long result = hawk_syscall6(SYS_mmap, (long)hint, (long)bytes, PROT_READ | PROT_WRITE,
				    flags, -1, 0);

	return result < 0 && result > -4096 ? NULL : (void *)result;
}

static inline void hawk_unmap(void *memory, size_t bytes)
{
	hawk_syscall3(SYS_munmap, (long)memory, (long)bytes, 0);
}

/**
 * Returns true if 8 bytes at `address` can be read, without faulting: rt_sigprocmask with an
 * impossible `how` first copies the set from user memory (EFAULT), then refuses `how` (EINVAL). A
 * sandbox must allow this call to any program that uses signals. Any other result comes from a
 * sandbox and proves nothing.
 */
static inline bool hawk_readable(uint64_t address)
{
	const long einval = -22;

	/* A null set is not copied, so it would not fault. */
	return address &&
	       hawk_syscall6(SYS_rt_sigprocmask, ~0, (long)address, 0, 8, 0, 0) == einval;
}

/** Reads the start of a file as text: at least one page, which the kernel gives at once. Returns
 * false if unreadable. */
static inline bool hawk_read_text(const char *path, char *to, size_t size)
{
	/* Open as the C library does: a sandbox may allow nothing else. */
	long fd = hawk_syscall6(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
	long got = -1;

	if (fd >= 0) {
		got = hawk_syscall3(SYS_read, fd, (long)to, (long)size - 1);
		hawk_syscall3(SYS_close, fd, 0, 0);
	}
	to[got > 0 ? got : 0] = '\0';
	return got >= 0;
}

#endif
