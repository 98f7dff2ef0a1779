/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The vDSO's clock_gettime(), found by name: a function that the kernel maps into every process.
 */
#include "hawk_vdso.h"

#include <sys/auxv.h>

#include "hawk_elf.h"
#include "hawk_syscall.h"

static int (*clock_of_vdso)(clockid_t clock, struct timespec *time);

void hawk_vdso_init(void)
{
	uint64_t start = getauxval(AT_SYSINFO_EHDR); /* 0 under valgrind */
	const Elf64_Sym *symbol;
	struct hawk_elf vdso;

	if (!start || !hawk_elf_open_vdso(start, &vdso))
		return;
	symbol = hawk_elf_find(&vdso, "__vdso_clock_gettime");
	if (symbol)
		clock_of_vdso =
			(int (*)(clockid_t, struct timespec *))(vdso.bias + symbol->st_value);
}

uint64_t hawk_vdso_now_ns(clockid_t clock)
{
	struct timespec now;

	if ((!clock_of_vdso || clock_of_vdso(clock, &now)) &&
	    hawk_syscall3(SYS_clock_gettime, clock, (long)&now, 0))
		return 0;
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}
