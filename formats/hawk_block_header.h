/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The 16-byte sealed header in front of every traced block: written by the tracer, swept up by the
 * analyzer.
 *
 *      63    60 59    56 55      48 47                                              0
 *     +--------+--------+----------+------------------------------------------------+
 *     |  kind  | offset |  birth   |  requested size in bytes                       |  word 0
 *     +--------+--------+----------+------------------------------------------------+
 *     |  seal (32)                            |  trace id (32)                      |  word 1
 *     +---------------------------------------+-------------------------------------+
 *     |  the pointer the user holds; 16-byte aligned                                |
 *
 * Invariant: the seal is a keyed mix of word 0, the trace id and the header's own address, so a
 * granule of writable memory is a live header if and only if its seal fits the place where it lies.
 * A copy elsewhere never fits. Prose twin: docs/format-block-header.md. Includes nothing of ours.
 */
#ifndef HAWK_BLOCK_HEADER_H
#define HAWK_BLOCK_HEADER_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

enum {
	HAWK_HEADER_BYTES = 16,
	/** Headers lie on multiples of this; also the sweep's step. */
	HAWK_GRANULE_BYTES = 16,
};

/** Largest requested size that a header can hold, in bytes; larger requests go to the allocator
 * untraced. */
#define HAWK_SIZE_MAX ((UINT64_C(1) << 48) - 1)

/**
 * Entry point that made the block. All codes have the top bit set, so word 0 of a live header is
 * negative as int64_t: the sweep's one-instruction test, which null words, user-space pointers,
 * small integers and ASCII text all fail.
 */
enum hawk_block_kind {
	HAWK_KIND_MALLOC = 0x8,
	HAWK_KIND_CALLOC = 0x9,
	HAWK_KIND_REALLOC = 0xa, /**< realloc, reallocarray: the block was last (re)sized by them */
	HAWK_KIND_ALIGNED = 0xb, /**< aligned_alloc, posix_memalign, memalign, valloc, pvalloc */
	HAWK_KIND_NEW = 0xc,     /**< operator new, also its aligned forms */
	HAWK_KIND_NEW_ARRAY = 0xd, /**< operator new[], also its aligned forms */
	HAWK_KIND_LOADER = 0xe, /**< calloc called by the dynamic loader itself (a link_map, say) */
	HAWK_KIND_POOL = 0xf,   /**< stamped by a pool allocator through the annotation header */
};

/** Code in the `offset` field that says "log2(offset) did not fit; it is in the 8 bytes before the
 * header". */
enum { HAWK_OFFSET_LARGE = 15 };

struct hawk_block_header {
	uint64_t word0;
	uint64_t word1; /**< written last when sealing, overwritten first when un-sealing */
};
static_assert(sizeof(struct hawk_block_header) == HAWK_HEADER_BYTES,
	      "the header is frozen at 16 bytes");

/** The per-process random key; lives in the trace table header, so that the analyzer finds it in
 * the core. */
struct hawk_seal_key {
	uint64_t k[2];
};
static_assert(sizeof(struct hawk_seal_key) == 16, "part of the table header");

/**
 * @param kind        one of enum hawk_block_kind
 * @param offset_log2 log2 of the bytes from the allocator's pointer to the user's: 4 for ordinary
 *                    blocks, the alignment's log2 for aligned ones. Values of 4 + 15 and more are
 *                    stored as HAWK_OFFSET_LARGE.
 * @param birth       coarse age code, see hawk_birth_encode()
 * @param size        requested bytes, at most HAWK_SIZE_MAX
 */
static inline uint64_t hawk_header_word0(unsigned kind, unsigned offset_log2, uint8_t birth,
					 uint64_t size)
{
	unsigned code = offset_log2 - 4;

	if (code > HAWK_OFFSET_LARGE)
		code = HAWK_OFFSET_LARGE;
	return (uint64_t)kind << 60 | (uint64_t)code << 56 | (uint64_t)birth << 48 | size;
}

static inline unsigned hawk_header_kind(uint64_t word0)
{
	return (unsigned)(word0 >> 60);
}

/** log2(offset) - 4, or HAWK_OFFSET_LARGE. */
static inline unsigned hawk_header_offset_code(uint64_t word0)
{
	return (unsigned)(word0 >> 56) & 0xf;
}

static inline uint8_t hawk_header_birth(uint64_t word0)
{
	return (uint8_t)(word0 >> 48);
}

static inline uint64_t hawk_header_size(uint64_t word0)
{
	return word0 & HAWK_SIZE_MAX;
}

static inline uint32_t hawk_header_trace(uint64_t word1)
{
	return (uint32_t)word1;
}

/** One 64x64->128 multiply, a fold, one multiply: cheap enough for every malloc, wide enough for
 * every granule. */
static inline uint32_t hawk_seal_mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;
	uint64_t fold = (uint64_t)product ^ (uint64_t)(product >> 64);

	return (uint32_t)((fold * UINT64_C(0x9e3779b97f4a7c15)) >> 32);
}

/** Returns the live seal of a header at `address` (of the header, not of the user's pointer). */
static inline uint32_t hawk_seal(const struct hawk_seal_key *key, uint64_t word0, uint32_t trace,
				 uint64_t address)
{
	return hawk_seal_mix(word0 ^ key->k[0], address ^ (uint64_t)trace << 32 ^ key->k[1]);
}

/**
 * Returns the seal of a freed header. Independent of word 0, which allocators overwrite with their
 * free-list links; word 1 survives under tcmalloc and mimalloc, always under jemalloc and sometimes
 * under glibc: "a block of trace T died here".
 */
static inline uint32_t hawk_dead_seal(const struct hawk_seal_key *key, uint32_t trace,
				      uint64_t address)
{
	return hawk_seal_mix(key->k[0] ^ UINT64_C(0xdeadb10c0ddba115),
			     address ^ (uint64_t)trace << 32 ^ ~key->k[1]);
}

static inline uint64_t hawk_header_word1(uint32_t trace, uint32_t seal)
{
	return (uint64_t)seal << 32 | trace;
}

static inline int hawk_header_is_live(const struct hawk_seal_key *key, uint64_t word0,
				      uint64_t word1, uint64_t address)
{
	return (int64_t)word0 < 0 &&
	       (uint32_t)(word1 >> 32) == hawk_seal(key, word0, hawk_header_trace(word1), address);
}

static inline int hawk_header_is_dead(const struct hawk_seal_key *key, uint64_t word1,
				      uint64_t address)
{
	return (uint32_t)(word1 >> 32) == hawk_dead_seal(key, hawk_header_trace(word1), address);
}

/**
 * Birth: units of HAWK_BIRTH_UNIT_NS since the tracer started, as a tiny float: 5-bit exponent,
 * 3-bit mantissa.
 *
 *     units           exponent   mantissa
 *     0 .. 7          0          units       exact
 *     8 .. 15         1          units - 8   exact
 *     (8 + m) << n    n + 1      m           rounded down, within 12.5 %
 *
 * Example: 100 s = 1600 units = 12.5 << 7, so m is 4 and n is 7: code (7 + 1) * 8 + 4 = 68, read
 * back as 12 << 7 = 1536 units = 96 s.
 */
#define HAWK_BIRTH_UNIT_NS UINT64_C(62500000)

static inline uint8_t hawk_birth_encode(uint64_t units)
{
	unsigned shift;

	if (units < 8)
		return (uint8_t)units;
	shift = 63 - (unsigned)__builtin_clzll(units) - 3;
	if (shift > 30)
		return 255;
	return (uint8_t)((shift + 1) << 3 | ((units >> shift) & 7));
}

/** Returns the earliest time, in units, that encodes to `code`. */
static inline uint64_t hawk_birth_decode(uint8_t code)
{
	if (code < 8)
		return code;
	return (uint64_t)(8 + (code & 7)) << ((code >> 3) - 1);
}

#endif
