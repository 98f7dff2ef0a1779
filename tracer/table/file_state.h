/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * State shared by the parts of the table file: the file itself, its name, the copy in a forked
 * child. It is private memory, so that a child finds it as it was at the fork.
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
	uint64_t bytes; /**< 0 = not mapped yet; written last */
};

struct hawk_file {
	bool active;
	bool grows;    /**< pages are allocated as the file grows; else all at the start */
	bool quiet;    /**< in a forked child, whose descriptor 2 may be anything by now */
	bool renames;  /**< the name has a %p: children make files of their own */
	uint64_t size; /**< of the file, mostly a hole */
	uint64_t next; /**< offset of the first byte not handed out yet */
	uint32_t extent_count;
	struct hawk_file_extent extents[HAWK_TABLE_EXTENTS];
	uint64_t device, inode;
	char name[HAWK_FILE_PATH_BYTES]; /**< as given, but absolute */
	char path[HAWK_FILE_PATH_BYTES]; /**< %p and %t replaced */
};
extern struct hawk_file hawk_file;

/** Opens a new file of `hawk_file.name` and sizes it. Returns a descriptor, or -1 after a
 * complaint. */
int hawk_file_open(uint64_t limit);

/** Allocates space for mapped pages of the file. Returns false if there is none. */
bool hawk_file_back(void *memory, size_t bytes);

/** Maps a part of the file open as `fd` and allocates its space. Returns NULL on failure. */
void *hawk_file_map_part(int fd, uint64_t offset, size_t bytes);

/** Removes the last file made, if its name still refers to it. */
void hawk_file_remove(void);

/** Expands hawk_file.name into hawk_file.path (table/file_name.c). Returns false if too long. */
bool hawk_file_expand_name(void);
/** Sets hawk_file.name, made absolute, and `renames`. Returns false if too long. */
bool hawk_file_set_name(const char *name);

/** Prints "libhawk_tracer: table=PATH: WHAT"; in a forked child, nothing. */
void hawk_file_complain(const char *what);

#endif
