/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds the vDSO's clock_gettime() by name: the kernel maps that function into every process.
 * Births count sixteenths of a second, so the kernel's coarse clock, some milliseconds late, is
 * good enough for them.
 */
#include "clock.h"

#include <sys/auxv.h>

#include "arena.h"
#include "unwind/elf.h"
#include "syscall.h"
#include "threads.h"

static int (*clock_of_vdso)(clockid_t clock, struct timespec *time);

void hawk_clock_init(void)
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

uint64_t hawk_clock_now_ns(clockid_t clock)
{
	struct timespec now;

	if ((!clock_of_vdso || clock_of_vdso(clock, &now)) &&
	    hawk_syscall3(SYS_clock_gettime, clock, (long)&now, 0))
		return 0;
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

enum {
	INTERVAL_MAX = 64,
	SPACING_NS = 4000000, /**< target time between two readings, per thread */
};

uint8_t hawk_clock_birth;

static void publish_clock(uint64_t now_ns)
{
	struct hawk_table_header *header = hawk_table_header;
	uint64_t known, units;

	if (now_ns < header->start_monotonic_ns)
		return;
	units = (now_ns - header->start_monotonic_ns) / HAWK_BIRTH_UNIT_NS;
	known = __atomic_load_n(&header->clock_units, __ATOMIC_RELAXED);
	do {
		if (units <= known)
			return; /* another thread read a later time meanwhile */
	} while (!__atomic_compare_exchange_n(&header->clock_units, &known, units, false,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	__atomic_store_n(&hawk_clock_birth, hawk_birth_encode(units), __ATOMIC_RELAXED);
}

void hawk_clock_refresh(struct hawk_slot *slot)
{
	uint64_t now = hawk_clock_now_ns(CLOCK_MONOTONIC_COARSE);
	uint64_t spent = now - slot->clock_last_ns;
	uint32_t interval = slot->clock_interval;

	if (spent < SPACING_NS)
		interval = interval ? 2 * interval : 1;
	else
		interval /= 2;
	if (interval > INTERVAL_MAX)
		interval = INTERVAL_MAX;
	slot->clock_interval = interval;
	slot->clock_countdown = interval;
	slot->clock_last_ns = now;
	if (spent) /* otherwise this thread published it */
		publish_clock(now);
}
