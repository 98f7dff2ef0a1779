/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The layouts, by the number of bytes before the pointer.
 */
#include "length_prefix.h"

#include <string.h>

/* Strings of redis, hiredis and valkey: sds.h (2.0). A packed header of length, capacity and one
 * byte of type; the shortest strings have only that byte, with the length in it. */
enum {
	SDS_5_BYTES = 1,
	SDS_8_BYTES = 3,
	SDS_16_BYTES = 5,
	SDS_32_BYTES = 9,
	SDS_64_BYTES = 17,
	SDS_TYPE_BITS = 3,
};

/* Other headers. */
enum {
	U32_BYTES = 4,      /**< BSTR of 7-Zip, and many strings of no name */
	U64_BYTES = 8,      /**< likewise; sds.h (1.0): two numbers of 32 bits, length and free */
	MARIADB_BYTES = 24, /**< mysys/my_malloc.c: owner, size, key */
	BOX_BYTES = 32, /**< glib/grcboxprivate.h; mysys/my_malloc.cc of MySQL: key, magic, size */
	TALLOC_BYTES = 96, /**< talloc.c (2.4): struct talloc_chunk, rounded up */
};

/* An object's attributes: Objects/dictobject.c of Python 3.11 and 3.12, new_values(). Before them
 * lie the order in which they were set, backwards, their number, and the size of all that. */
enum { PYTHON_STEP = 8, PYTHON_MAX_BYTES = 32, PYTHON_USED_AT = 2, PYTHON_ORDER_AT = 3 };

/* Elements of an array: Zend/zend_types.h of PHP 7.3 to 8.4, HT_DATA_SIZE_EX(). Before them lie two
 * slots each, with the number of an element or -1. Elements with numbers as keys have two empty
 * slots in all, and no hash. */
enum { PHP_SLOT_BYTES = 4, PHP_ELEMENT_BYTES = 32, PHP_VALUE_BYTES = 16, PHP_ELEMENTS_MIN = 8 };

enum {
	TERMINATOR_MAX = 4, /**< bytes of a character of 32 bits */
	MARIADB_SIZE_AT = 8,
	MARIADB_FLAGS = 3, /**< the low bits of a size, which is a multiple of 8 */
	MYSQL_MAGIC_AT = 4,
	MYSQL_MAGIC = 1234,
	MYSQL_SIZE_AT = 8,
	GLIB_SIZE_AT = 8,
	GLIB_ROUNDING = 16,
	GLIB_MAGIC_AT = 24,
	GLIB_MAGIC = 0x44ae2bf0,
	TALLOC_SIZE_AT = 64,
};

/* Returns the little-endian number of `bytes` bytes (1, 2, 4, 8) at `at`. */
static uint64_t number(const uint8_t *at, unsigned bytes)
{
	uint64_t value = 0;

	memcpy(&value, at, bytes);
	return value;
}

/* An allocator may give more than requested, and redis uses it (malloc_usable_size). Allocators
 * round up by a quarter at most, small blocks to the next 16 bytes; the tracer's header counts. */
static bool fits_usable(uint64_t bytes, struct hawk_requested block)
{
	const uint64_t header_bytes = 16, rounding = 16;

	if (block.least < block.most)
		return hawk_requested_has(block, bytes);
	return bytes >= block.most &&
	       bytes - block.most <= rounding + (block.most + header_bytes) / 4;
}

/* Length, capacity, type: a string of `width` bits. */
static bool is_sds(const uint8_t *header, unsigned type, unsigned width,
		   struct hawk_requested block, struct hawk_length_prefix *ret)
{
	unsigned bytes = width / 8;
	uint64_t header_bytes = 2 * bytes + 1;
	uint64_t length = number(header, bytes);
	uint64_t capacity = number(header + bytes, bytes);

	if (header[2 * bytes] != type || length > capacity ||
	    capacity > UINT64_MAX - header_bytes - 1)
		return false;
	if (!fits_usable(header_bytes + capacity + 1, block))
		return false;
	*ret = (struct hawk_length_prefix){header_bytes + length, 1};
	return true;
}

/* One byte holds the type, which is 0, and above it the length. Empty strings do not count: redis
 * gives them a larger type, and two bytes of 0 are no header. */
static bool is_sds_5(const uint8_t *header, struct hawk_requested block,
		     struct hawk_length_prefix *ret)
{
	unsigned length = header[0] >> SDS_TYPE_BITS;

	if (header[0] & ((1u << SDS_TYPE_BITS) - 1) || !length ||
	    !hawk_requested_has(block, SDS_5_BYTES + length + 1))
		return false;
	*ret = (struct hawk_length_prefix){SDS_5_BYTES + length, 1};
	return true;
}

/* Length and free bytes of 32 bits each, to the byte. */
static bool is_old_sds(const uint8_t *header, struct hawk_requested block,
		       struct hawk_length_prefix *ret)
{
	uint64_t length = number(header, 4);

	if (!hawk_requested_has(block, U64_BYTES + length + number(header + 4, 4) + 1))
		return false;
	*ret = (struct hawk_length_prefix){U64_BYTES + length, 1};
	return true;
}

/* A length in bytes, then characters of 1, 2 or 4 bytes, and one that is 0. */
static bool is_terminated(const uint8_t *header, unsigned width, struct hawk_requested block,
			  struct hawk_length_prefix *ret)
{
	uint64_t length = number(header, width);

	if (length > block.most)
		return false;
	for (unsigned zeros = 1; zeros <= TERMINATOR_MAX; zeros *= 2) {
		if (length % zeros || !hawk_requested_has(block, width + length + zeros))
			continue;
		*ret = (struct hawk_length_prefix){width + length, zeros};
		return true;
	}
	return false;
}

/* Returns true if the number at `at` is the length of what follows the header. */
static bool is_rest(const uint8_t *header, unsigned at, uint64_t flags, uint64_t header_bytes,
		    struct hawk_requested block, struct hawk_length_prefix *ret)
{
	uint64_t size = number(header + at, 8) & ~flags;

	if (size > block.most || !hawk_requested_has(block, header_bytes + size))
		return false;
	*ret = (struct hawk_length_prefix){header_bytes + size, 0};
	return true;
}

/* Returns true for the header of a g_rc_box or g_ref_string, or of my_malloc(). */
static bool is_box(const uint8_t *header, struct hawk_requested block,
		   struct hawk_length_prefix *ret)
{
	uint64_t size = number(header + GLIB_SIZE_AT, 8);

	if (number(header + GLIB_MAGIC_AT, 4) == GLIB_MAGIC && size <= block.most - BOX_BYTES &&
	    BOX_BYTES + size + GLIB_ROUNDING > block.least) {
		*ret = (struct hawk_length_prefix){block.most, 0};
		return true;
	}
	return number(header + MYSQL_MAGIC_AT, 4) == MYSQL_MAGIC &&
	       is_rest(header, MYSQL_SIZE_AT, 0, BOX_BYTES, block, ret);
}

/* `room` attributes, for which there is a header of so many bytes. */
static bool has_room(const uint8_t *end, uint64_t header_bytes, uint64_t room)
{
	if (header_bytes != ((room + PYTHON_USED_AT + PYTHON_STEP - 1) & -(uint64_t)PYTHON_STEP) ||
	    end[-PYTHON_USED_AT] > room)
		return false;
	for (int i = 0; i < end[-PYTHON_USED_AT]; i++)
		if (end[-PYTHON_ORDER_AT - i] >= room)
			return false;
	return true;
}

static bool is_python_values(const uint8_t *header, uint64_t header_bytes,
			     struct hawk_requested block, struct hawk_length_prefix *ret)
{
	const uint8_t *end = header + header_bytes;

	if (header_bytes % PYTHON_STEP || header_bytes > PYTHON_MAX_BYTES ||
	    end[-1] != header_bytes)
		return false;
	for (uint64_t room = 1; room < header_bytes; room++) {
		uint64_t bytes = header_bytes + 8 * room;

		if (!hawk_requested_has(block, bytes) || !has_room(end, header_bytes, room))
			continue;
		*ret = (struct hawk_length_prefix){bytes, 0};
		return true;
	}
	return false;
}

/* Returns true if the slots that are known lead to some of `elements`, neighbours to different
 * ones.
 */
static bool are_php_slots(const uint8_t *slots, uint64_t header_bytes, uint64_t elements)
{
	uint64_t last = UINT32_MAX;

	for (uint64_t at = 0; at < header_bytes && at < HAWK_LENGTH_PREFIX_MAX;
	     at += PHP_SLOT_BYTES) {
		uint64_t slot = number(slots + at, PHP_SLOT_BYTES);

		if (slot != UINT32_MAX && (slot >= elements || slot == last))
			return false;
		last = slot;
	}
	return true;
}

static bool is_php_array(const uint8_t *slots, uint64_t header_bytes, struct hawk_requested block,
			 struct hawk_length_prefix *ret)
{
	uint64_t elements = header_bytes / (2 * PHP_SLOT_BYTES);
	uint64_t bytes = header_bytes + elements * PHP_ELEMENT_BYTES;

	if (header_bytes % (2 * PHP_SLOT_BYTES) || elements & (elements - 1) ||
	    (elements > 1 && elements < PHP_ELEMENTS_MIN))
		return false;
	if (elements == 1) { /* no hash: a power of two of values */
		elements = 0;
		bytes = PHP_ELEMENTS_MIN * PHP_VALUE_BYTES;
		while (bytes + header_bytes < block.least)
			bytes *= 2;
		bytes += header_bytes;
	}
	*ret = (struct hawk_length_prefix){bytes, 0};
	return hawk_requested_has(block, bytes) && are_php_slots(slots, header_bytes, elements);
}

static bool is_zero(const uint8_t *header, uint64_t header_bytes)
{
	for (uint64_t i = 0; i < header_bytes && i < HAWK_LENGTH_PREFIX_MAX; i++)
		if (header[i])
			return false;
	return true;
}

bool hawk_length_prefix_fits(const uint8_t *header, uint64_t header_bytes,
			     struct hawk_requested block, struct hawk_length_prefix *ret)
{
	if (block.most <= header_bytes)
		return false;
	/* Where only usable sizes are known, length 0 fits any small block of zeros. */
	if (block.least < block.most && is_zero(header, header_bytes))
		return false;
	if (header_bytes && (is_python_values(header, header_bytes, block, ret) ||
			     is_php_array(header, header_bytes, block, ret)))
		return true;
	switch (header_bytes) {
	case SDS_5_BYTES:
		return is_sds_5(header, block, ret);
	case SDS_8_BYTES:
		return is_sds(header, 1, 8, block, ret);
	case SDS_16_BYTES:
		return is_sds(header, 2, 16, block, ret);
	case SDS_32_BYTES:
		return is_sds(header, 3, 32, block, ret);
	case SDS_64_BYTES:
		return is_sds(header, 4, 64, block, ret);
	case U32_BYTES:
		return is_terminated(header, 4, block, ret);
	case U64_BYTES:
		return is_terminated(header, 8, block, ret) || is_old_sds(header, block, ret);
	case MARIADB_BYTES:
		return is_rest(header, MARIADB_SIZE_AT, MARIADB_FLAGS, header_bytes, block, ret);
	case BOX_BYTES:
		return is_box(header, block, ret);
	case TALLOC_BYTES:
		return is_rest(header, TALLOC_SIZE_AT, 0, header_bytes, block, ret);
	default:
		return false;
	}
}
