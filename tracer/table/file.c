/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The table file: made, sized, and mapped piece by piece. It keeps no descriptor, since a host may
 * close all of them: mremap() of zero bytes at a shared page makes one more mapping of its file.
 */
#include "file_state.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "file.h"
#include "base/say.h"

enum {
	PAGE_BYTES = HAWK_FILE_PAGE_BYTES,
	MADV_POPULATE_WRITE_LINUX = 23, /**< Linux 5.14 */
	MADV_WIPEONFORK_LINUX = 18,     /**< Linux 4.14 */
	SIZE_MIN = 3 << 20,             /**< header and first segments */
	/** File size without MADV_POPULATE_WRITE: its space is allocated from the start. */
	SIZE_WITHOUT_GROWTH = 16 << 20,
	MODE = 0600,
};

/** File systems that can rewrite a page without new space. */
static const uint64_t safe_file_systems[] = {
	0x01021994, /* tmpfs */
	0x858458f6, /* ramfs */
	0xef53,     /* ext2, ext3, ext4 */
	0x58465342, /* xfs */
};

struct hawk_file hawk_file;
volatile uint32_t *hawk_file_mark;
bool hawk_file_lost;

void hawk_file_complain(const char *what)
{
	if (hawk_file.quiet)
		return;
	hawk_say("libhawk_tracer: table=");
	hawk_say(hawk_file.path[0] ? hawk_file.path : hawk_file.name);
	hawk_say(": ");
	hawk_say(what);
	hawk_say("; the table is in anonymous memory\n");
}

bool hawk_file_active(void)
{
	return hawk_file.active;
}

bool hawk_file_back(void *memory, size_t bytes)
{
	return !hawk_file.grows ||
	       !hawk_syscall3(SYS_madvise, (long)memory, (long)bytes, MADV_POPULATE_WRITE_LINUX);
}

static bool lies_safely(int fd)
{
	struct statfs status;

	if (hawk_syscall3(SYS_fstatfs, fd, (long)&status, 0))
		return false;
	for (size_t i = 0; i < sizeof(safe_file_systems) / sizeof(safe_file_systems[0]); i++)
		if ((uint64_t)status.f_type == safe_file_systems[i])
			return true;
	return false;
}

/** Clamps to the host's file size limit: exceeding it raises a deadly signal. */
static uint64_t clamp_to_limit(uint64_t size)
{
	struct rlimit limit;

	if (!hawk_syscall6(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, (long)&limit, 0, 0) &&
	    limit.rlim_cur < size)
		size = limit.rlim_cur;
	return size & -(uint64_t)PAGE_BYTES;
}

static void remember(int fd)
{
	struct stat status = {0};

	hawk_syscall3(SYS_fstat, fd, (long)&status, 0);
	hawk_file.device = status.st_dev;
	hawk_file.inode = status.st_ino;
}

void hawk_file_remove(void)
{
	const long at_cwd = AT_FDCWD;
	struct stat status;

	if (hawk_syscall6(SYS_newfstatat, at_cwd, (long)hawk_file.path, (long)&status,
			  AT_SYMLINK_NOFOLLOW, 0, 0) ||
	    status.st_dev != hawk_file.device || status.st_ino != hawk_file.inode)
		return;
	hawk_syscall3(SYS_unlink, (long)hawk_file.path, 0, 0);
}

static long create_new(void)
{
	const long flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;

	return hawk_syscall3(SYS_open, (long)hawk_file.path, flags, MODE);
}

/** Removes the old file if this process made it before an exec. */
static bool remove_own_past(void)
{
	const long flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	long fd = hawk_syscall3(SYS_open, (long)hawk_file.path, flags, 0);
	bool own = fd >= 0 && hawk_file_owner_is_self((int)fd);

	if (own) {
		remember((int)fd);
		hawk_file_remove();
	}
	if (fd >= 0)
		hawk_syscall3(SYS_close, fd, 0, 0);
	return own;
}

static const char *set_size(int fd, uint64_t size)
{
	if (!lies_safely(fd))
		return "not on a tmpfs, ext4 or xfs file system";
	if (!hawk_file.grows && size > SIZE_WITHOUT_GROWTH)
		size = SIZE_WITHOUT_GROWTH;
	size = clamp_to_limit(size);
	if (size < SIZE_MIN)
		return "the file size limit is too low (ulimit -f)";
	if (hawk_syscall3(SYS_ftruncate, fd, (long)size, 0))
		return "cannot be made long enough";
	if (!hawk_file.grows && hawk_syscall6(SYS_fallocate, fd, 0, 0, (long)size, 0, 0))
		return "no space left";
	hawk_file.size = size;
	return NULL;
}

int hawk_file_open(uint64_t limit)
{
	const char *trouble;
	long fd;

	if (!hawk_file_expand_name()) {
		hawk_file_complain("the name is too long");
		return -1;
	}
	fd = create_new();
	if (fd == -EEXIST && remove_own_past())
		fd = create_new();
	if (fd < 0) {
		hawk_file_complain(fd == -EEXIST ? "exists, and is left as it is (%p in a name is "
						   "the process id, %t the time)"
						 : "cannot be created");
		return -1;
	}
	remember((int)fd);
	trouble = set_size((int)fd, limit);
	if (!trouble)
		return (int)fd;
	hawk_file_complain(trouble);
	hawk_file_remove();
	hawk_syscall3(SYS_close, fd, 0, 0);
	return -1;
}

void *hawk_file_map_part(int fd, uint64_t offset, size_t bytes)
{
	long memory = hawk_syscall6(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
				    fd, (long)offset);

	if (memory < 0 && memory > -PAGE_BYTES)
		return NULL;
	if (hawk_file_back((void *)memory, bytes))
		return (void *)memory;
	hawk_unmap((void *)memory, bytes);
	return NULL;
}

/** Records an extent before anybody can use the memory, so that a child knows all memory in use. */
static bool enter_extent(const void *memory, uint64_t offset, size_t bytes)
{
	uint32_t index = __atomic_fetch_add(&hawk_file.extent_count, 1, __ATOMIC_RELAXED);

	if (index >= HAWK_TABLE_EXTENTS)
		return false;
	hawk_file.extents[index].address = (uint64_t)memory;
	hawk_file.extents[index].offset = offset;
	__atomic_store_n(&hawk_file.extents[index].bytes, bytes, __ATOMIC_RELEASE);
	return true;
}

/** Tries calls that kernels before 4.14 or 5.14 lack. Stores `mark` in hawk_file_mark. */
static bool try_kernel(void)
{
	volatile uint32_t *mark = hawk_map(0, PAGE_BYTES, false);

	if (!mark)
		return false;
	hawk_file.grows =
		!hawk_syscall3(SYS_madvise, (long)mark, PAGE_BYTES, MADV_POPULATE_WRITE_LINUX);
	if (hawk_syscall3(SYS_madvise, (long)mark, PAGE_BYTES, MADV_WIPEONFORK_LINUX)) {
		hawk_unmap((void *)mark, PAGE_BYTES);
		return false;
	}
	*mark = 1;
	hawk_file_mark = mark;
	return true;
}

static void give_up(void)
{
	if (hawk_file_mark)
		hawk_unmap((void *)hawk_file_mark, PAGE_BYTES);
	hawk_file_mark = NULL;
}

bool hawk_file_create(const char *name, uint64_t limit)
{
	struct hawk_table_header *header;
	int fd;

	if (!hawk_file_set_name(name) || !try_kernel()) {
		hawk_file_complain("not possible here");
		return false;
	}
	fd = hawk_file_open(limit);
	if (fd < 0) {
		give_up();
		return false;
	}
	header = hawk_file_map_part(fd, 0, HAWK_TABLE_HEADER_BYTES);
	if (!header) {
		hawk_file_complain("no space left");
		hawk_file_remove();
	}
	hawk_syscall3(SYS_close, fd, 0, 0);
	if (!header) {
		give_up();
		return false;
	}
	enter_extent(header, 0, HAWK_TABLE_HEADER_BYTES);
	hawk_file.next = HAWK_TABLE_HEADER_BYTES;
	hawk_file.active = true;
	return true;
}

struct hawk_table_header *hawk_file_header(void)
{
	return (struct hawk_table_header *)hawk_file.extents[0].address;
}

uint64_t hawk_file_room(void)
{
	uint64_t next = __atomic_load_n(&hawk_file.next, __ATOMIC_RELAXED);

	return next < hawk_file.size ? hawk_file.size - next : 0;
}

static bool take(size_t bytes, uint64_t *offset)
{
	uint64_t next = __atomic_load_n(&hawk_file.next, __ATOMIC_RELAXED);

	do {
		if (bytes > hawk_file.size || next > hawk_file.size - bytes)
			return false;
	} while (!__atomic_compare_exchange_n(&hawk_file.next, &next, next + bytes, false,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	*offset = next;
	return true;
}

/** Returns the file's last mapped page before `offset`. */
static uint64_t page_before(uint64_t offset, uint64_t *page_offset)
{
	uint64_t address = 0;

	*page_offset = 0;
	for (uint32_t i = 0; i < HAWK_TABLE_EXTENTS; i++) {
		const struct hawk_file_extent *extent = &hawk_file.extents[i];
		uint64_t bytes = __atomic_load_n(&extent->bytes, __ATOMIC_ACQUIRE);
		uint64_t last = extent->offset + bytes - PAGE_BYTES;

		if (!bytes || last >= offset || (address && last <= *page_offset))
			continue;
		address = extent->address + bytes - PAGE_BYTES;
		*page_offset = last;
	}
	return address;
}

/** Takes and maps the next `bytes`. Returns NULL if none are left. */
static void *map_next(size_t bytes, uint64_t *offset)
{
	uint64_t page, page_offset, front;
	long memory;

	if (!take(bytes, offset))
		return NULL;
	page = page_before(*offset, &page_offset);
	front = *offset - page_offset;
	memory = hawk_syscall6(SYS_mremap, (long)page, 0, (long)(front + bytes), MREMAP_MAYMOVE, 0,
			       0);
	if (memory < 0 && memory > -PAGE_BYTES)
		return NULL;
	hawk_unmap((void *)memory, front);
	memory += (long)front;
	if (hawk_file_back((void *)memory, bytes))
		return (void *)memory;
	hawk_unmap((void *)memory, bytes);
	return NULL;
}

void *hawk_file_map(size_t bytes, uint64_t *offset)
{
	void *memory = map_next(bytes, offset);

	if (!memory || enter_extent(memory, *offset, bytes))
		return memory;
	hawk_unmap(memory, bytes);
	return NULL;
}

bool hawk_file_wipe_on_fork(void *memory, size_t bytes)
{
	return !hawk_file.active ||
	       !hawk_syscall3(SYS_madvise, (long)memory, (long)bytes, MADV_WIPEONFORK_LINUX);
}

void hawk_file_discard(void)
{
	if (!hawk_file.active)
		return;
	hawk_file.renames = false;
	hawk_file_remove();
}
