/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * madvise(): watches advice about core dumps. All other advice costs two comparisons.
 */
#include <errno.h>
#include <sys/mman.h>

#include "table/arena.h"
#include "table/file.h"
#include "unwind/loader.h"
#include "hooks.h"
#include "init.h"

/* Returns `hawk_table_header`, made first if necessary; NULL if there is no table. */
static struct hawk_table_header *own_table(void)
{
	hawk_init_once();
	if (hawk_table_header)
		hawk_file_check_fork();
	return hawk_table_header;
}

static int advise(void *address, size_t length, int advice)
{
	long result;

	if (hawk_next.madvise)
		return hawk_next.madvise(address, length, advice);
	result = hawk_syscall3(SYS_madvise, (long)address, (long)length, advice);
	if (result >= 0)
		return (int)result;
	errno = (int)-result;
	return -1;
}

HAWK_EXPORT int madvise(void *address, size_t length, int advice)
{
	uint64_t start = (uint64_t)address;
	struct hawk_table_header *table;
	int result;

	if (advice != MADV_DONTDUMP && advice != MADV_DODUMP)
		return advise(address, length, advice);
	table = own_table();
	if (table && advice == MADV_DONTDUMP)
		hawk_undumped_add(table, start, start + length);
	result = advise(address, length, advice);
	if (table && advice == MADV_DODUMP && !result)
		hawk_undumped_remove(table, start, start + length);
	return result;
}

void hawk_hooks_madvise_resolve(void)
{
	if (hawk_loader_is_first("madvise", (void *)madvise))
		__atomic_store_n(&hawk_table_header->undumped_watched, 1, __ATOMIC_RELAXED);
}
