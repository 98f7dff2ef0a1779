/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A snapshot: the facts about one heap, in a file that holds no byte of the heap itself.
 *
 *     +--------+-------+----------+-------+----------+-   -+-------+
 *     | header | frame | contents | frame | contents | ... | frame |
 *     +--------+-------+----------+-------+----------+-   -+-------+
 *       64 B     64 B    stored_bytes                        HAWK_SNAPSHOT_END
 *
 * Frames of one section follow each other, and hold its items in ascending order. A frame can be
 * read without any other one; its checksum covers its header and its contents as stored. The last
 * one carries the table of contents: the number of frames and a checksum of their headers. So a
 * frame with damaged contents costs one section, and a file that is cut off keeps what lies before
 * the cut. The sections' contents are described in docs/format-snapshot.md.
 *
 * All numbers are little-endian. Written to the end and in one go: the writer never seeks.
 */
#ifndef HAWK_SNAPSHOT_H
#define HAWK_SNAPSHOT_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

enum { HAWK_SNAPSHOT_VERSION = 1 };

/** Bits of `hawk_snapshot_header.compatible_flags`: parts left out. */
enum hawk_snapshot_flag {
	HAWK_SNAPSHOT_SITES_ONLY = 1u << 0, /**< no blocks, no pointers */
	HAWK_SNAPSHOT_BASE_PATHS = 1u << 1, /**< paths are names of files without folders */
};

struct hawk_snapshot_header {
	uint8_t magic[8];  /**< "HAWKSNAP" */
	uint32_t version;  /**< HAWK_SNAPSHOT_VERSION */
	uint32_t reserved; /**< 0 */
	/** Features that a reader must know; a reader refuses a file with a bit that it does not
	 * know. None are defined. */
	uint64_t incompatible_flags;
	uint64_t compatible_flags; /**< enum hawk_snapshot_flag; unknown bits are ignored */
	uint64_t reserved_words[3];
	uint64_t check; /**< XXH3 (64 bits) of everything above */
};
static_assert(sizeof(struct hawk_snapshot_header) == 64, "frozen");
static_assert(offsetof(struct hawk_snapshot_header, check) == 56, "frozen");

/** Kind of a frame's items. Readers skip sections that they do not know. */
enum hawk_snapshot_section {
	/** The last frame. `first` is the number of frames before it; its contents are, plain, a
	 * u64: the checksum of their headers (docs/format-snapshot.md). Older files have none. */
	HAWK_SNAPSHOT_END = 1,
	HAWK_SNAPSHOT_TARGET = 2,  /**< process, threads, mappings, modules: one record */
	HAWK_SNAPSHOT_MEMORY = 3,  /**< the trace table's memory: bytes at addresses */
	HAWK_SNAPSHOT_SYMBOLS = 4, /**< names of files, functions and variables: one record */
	HAWK_SNAPSHOT_HEAP = 5,    /**< sums of the heap: one record */
	HAWK_SNAPSHOT_BLOCKS = 6,  /**< blocks */
	HAWK_SNAPSHOT_GRAPH = 7,   /**< sums of the graph: one record */
	HAWK_SNAPSHOT_DEGREES = 8, /**< by number in the index: how many pointers a block holds */
	HAWK_SNAPSHOT_EDGES = 9,   /**< pointers: which block they lead to */
	HAWK_SNAPSHOT_PLACES = 10, /**< pointers: where they lie, and how far behind the start
				      of their target they lead */
	HAWK_SNAPSHOT_ROOTS = 11,  /**< roots */
	HAWK_SNAPSHOT_TYPES = 12,  /**< by number in the index: blocks that begin with a virtual
				      table that has a name */
	HAWK_SNAPSHOT_WAITS = 13,  /**< by number: what a thread waits for */
	/* Older files have none of these. */
	HAWK_SNAPSHOT_ALLOCATORS = 14, /**< what allocators and guests said: one record */
	HAWK_SNAPSHOT_GUESTS = 15,     /**< by number in the index: blocks with a guest's object */
	HAWK_SNAPSHOT_BALANCE = 16,    /**< all memory by use, and fragmentation: one record */
	HAWK_SNAPSHOT_SECTIONS = 17,
};

/** How the contents of a frame are stored. */
enum hawk_snapshot_encoding {
	HAWK_SNAPSHOT_PLAIN = 0,
	HAWK_SNAPSHOT_ZSTD = 1,
};

enum {
	HAWK_SNAPSHOT_FRAME_MAGIC = 0x4d415246, /**< "FRAM" */
	/** More raw bytes in one frame are refused. */
	HAWK_SNAPSHOT_FRAME_BYTES_MAX = 1 << 28,
};

struct hawk_snapshot_frame {
	uint32_t magic;        /**< HAWK_SNAPSHOT_FRAME_MAGIC */
	uint16_t section;      /**< enum hawk_snapshot_section */
	uint16_t encoding;     /**< enum hawk_snapshot_encoding */
	uint64_t first;        /**< number of the first item */
	uint64_t items;        /**< how many there are */
	uint64_t raw_bytes;    /**< of the contents, decoded */
	uint64_t stored_bytes; /**< of the contents, in the file */
	uint64_t reserved[2];
	uint64_t check; /**< XXH3 (64 bits) of everything above, seed of that of the contents */
};
static_assert(sizeof(struct hawk_snapshot_frame) == 64, "frozen");
static_assert(offsetof(struct hawk_snapshot_frame, check) == 56, "frozen");

#endif
