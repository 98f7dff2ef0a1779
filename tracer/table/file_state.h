/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What the parts of the table file share: the file itself, its name, the copy in a forked child.
 * All of it is private memory, so that a child finds it as it was at the fork.
 */
#ifndef HAWK_TRACER_TABLE_FILE_STATE_H
#define HAWK_TRACER_TABLE_FILE_STATE_H

#include "file.h"

enum {
	HAWK_FILE_PAGE_BYTES = 4096,
	HAWK_FILE_PATH_BYTES = 4096,
};

struct hawk_file_extent {
	uint64_t address;
	uint64_t offset;
	uint64_t bytes; /**< 0 = not there (yet); written last */
};

struct hawk_file {
	bool active;
	bool grows;    /**< pages can be had later on; else they all were at the start */
	bool quiet;    /**< in a forked child: what descriptor 2 is by now nobody knows */
	bool renames;  /**< the name has a %p: children make files of their own */
	uint64_t size; /**< of the file, mostly a hole */
	uint64_t next; /**< offset of what is not handed out yet */
	uint32_t extent_count;
	struct hawk_file_extent extents[HAWK_TABLE_EXTENTS];
	uint64_t device, inode;
	char name[HAWK_FILE_PATH_BYTES]; /**< as given, but absolute */
	char path[HAWK_FILE_PATH_BYTES]; /**< %p and %t replaced */
};
extern struct hawk_file hawk_file;

/** Opens a new file of `hawk_file.name`, and sizes it. A descriptor, or -1 after a complaint. */
int hawk_file_open(uint64_t limit);

/** Gives mapped pages of the file their space. False: there is none. */
bool hawk_file_back(void *memory, size_t bytes);

/** Maps a part of the file that is open as `fd`, with its space. NULL: cannot be had. */
void *hawk_file_map_part(int fd, uint64_t offset, size_t bytes);

/** Removes the file that was made last, if its name still means it. */
void hawk_file_remove(void);

/** table/file_name.c: name -> path. False: too long. */
bool hawk_file_expand_name(void);
/** Sets hawk_file.name, made absolute, and `renames`. False: too long. */
bool hawk_file_set_name(const char *name);

/** "libhawk_tracer: table=PATH: WHAT", but in a forked child nothing. */
void hawk_file_complain(const char *what);

#endif
