/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Smallest memories of each allocator that its walker reads: seeds of fuzz targets, and worlds of
 * unit tests. Each adds to the description; the caller frees it.
 */
#ifndef ALLOCATOR_WORLDS_H
#define ALLOCATOR_WORLDS_H

#include "sparse_core.h"

/** glibc 2.27 to 2.42: two arenas, a thread's cache, a mapped chunk. */
enum { GLIBC_LIVE = 3 };
#define GLIBC_HEAP   UINT64_C(0x555555600000)
#define GLIBC_ARENA  UINT64_C(0x7f0000001c00)
#define GLIBC_HEAP2  UINT64_C(0x7f3000000000)
#define GLIBC_ARENA2 (GLIBC_HEAP2 + 0x30)
void glibc_world(struct sparse_text *text);

/** jemalloc 5.3: a slab of 128 objects of 32 bytes, three free and one cached; a large block. */
enum { JEMALLOC_LIVE = 128 - 4 + 1 };
#define JEMALLOC_PAGES UINT64_C(0x7f5000000000)
#define JEMALLOC_LEAF  UINT64_C(0x7f5100000000)
#define JEMALLOC_ROOT  UINT64_C(0x7f0000010000)
void jemalloc_world(struct sparse_text *text);

/** tcmalloc 2.6 to 2.18: a span of 512 objects of 16 bytes, two free, one cached; a large block. */
enum { TCMALLOC_LIVE = 512 - 3 + 1 };
#define TCMALLOC_SPAN UINT64_C(0x7f6000000000)
void tcmalloc_world(struct sparse_text *text);

/** mimalloc 3.0: a page of 100 blocks of 64 bytes, two free. 2.0.9: likewise, of 32 bytes. */
enum { MIMALLOC_LIVE = 98 };
#define MIMALLOC_HEAP UINT64_C(0x20000000000)
#define MIMALLOC_MAP  UINT64_C(0x7f7000000000)
#define MIMALLOC_PART UINT64_C(0x7f7100000000)
void mimalloc_world(struct sparse_text *text);
void mimalloc_segment_world(struct sparse_text *text);

/** musl: a group of five slots, one free, one with a group of two slots in it. */
enum { MUSL_LIVE = 3 + 2 };
#define MUSL_GROUP UINT64_C(0x7f9000001000)
#define MUSL_AREA  UINT64_C(0x7f8000000000)
void musl_world(struct sparse_text *text);

#endif
