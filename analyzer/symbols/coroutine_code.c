/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Byte patterns of instructions. A register is any but those whose number means another form of
 * address.
 */
#include "coroutine_code.h"

#include <string.h>

enum {
	REGISTER = 0x07,     /**< bits of a ModRM byte that name the register */
	OPERATION = 0x38,    /**< bits that name the operation, or the other register */
	MODE = 0xc0,         /**< bits that tell the size of the offset */
	MODE_NONE = 0x00,    /**< no offset */
	MODE_BYTE = 0x40,    /**< an offset of 1 byte */
	MODE_LONG = 0x80,    /**< an offset of 4 bytes */
	WITH_INDEX = 0x04,   /**< in place of a register */
	AT_ADDRESS = 0x05,   /**< in place of a register, without an offset */
	PROLOGUE_BYTES = 32, /**< in which unoptimized code stores its argument */
};

/* Returns true if the code has `bytes` at `at`. */
static bool has(const struct hawk_code *code, size_t at, const char *bytes, size_t size)
{
	return at <= code->size && code->size - at >= size &&
	       !memcmp(code->bytes + at, bytes, size);
}

/* Reads the offset behind the ModRM byte at `at`; returns its size, 0 = another form. */
static size_t offset_at(const struct hawk_code *code, size_t at, uint64_t *ret)
{
	uint8_t mode;
	int32_t wide;

	if (at >= code->size || (code->bytes[at] & REGISTER) == WITH_INDEX)
		return 0;
	mode = code->bytes[at] & MODE;
	if (mode == MODE_BYTE && code->size - at > 1) {
		*ret = (uint64_t)(int8_t)code->bytes[at + 1];
		return 1;
	}
	if (mode != MODE_LONG || code->size - at <= sizeof(wide))
		return 0;
	memcpy(&wide, code->bytes + at + 1, sizeof(wide));
	*ret = (uint64_t)wide;
	return sizeof(wide);
}

/* Reads an address relative to the one behind the 4 bytes at `at`. */
static bool near_address(const struct hawk_code *code, size_t at, uint64_t *ret)
{
	int32_t distance;

	if (at > code->size || code->size - at < sizeof(distance))
		return false;
	memcpy(&distance, code->bytes + at, sizeof(distance));
	*ret = code->start + at + sizeof(distance) + (uint64_t)distance;
	return true;
}

bool hawk_code_next_target(const struct hawk_code *code, size_t *at, uint64_t *ret)
{
	for (size_t i = *at; i < code->size; i++) {
		if ((code->bytes[i] != 0xe8 && code->bytes[i] != 0xe9) ||
		    !near_address(code, i + 1, ret))
			continue;
		*at = i + 1;
		return true;
	}
	return false;
}

bool hawk_code_sets_bit(const struct hawk_code *code, uint64_t *ret)
{
	for (size_t i = 0; i < code->size; i++) {
		size_t bytes;

		/* orw $1, offset(register) */
		if (has(code, i, "\x66\x83", 2) && i + 2 < code->size &&
		    (code->bytes[i + 2] & OPERATION) == 1 << 3) {
			bytes = offset_at(code, i + 2, ret);
			if (bytes && has(code, i + 3 + bytes, "\x01", 1))
				return true;
		}
		/* movzwl offset(register), %eax; or $1, %eax */
		if (has(code, i, "\x0f\xb7", 2)) {
			bytes = offset_at(code, i + 2, ret);
			if (bytes && has(code, i + 3 + bytes, "\x83\xc8\x01", 3))
				return true;
		}
	}
	return false;
}

/* Returns true if a ModRM byte means the word that a register points to. */
static bool is_plain_word(uint8_t modrm, uint8_t operation)
{
	return (modrm & MODE) == MODE_NONE && (modrm & OPERATION) == operation &&
	       (modrm & REGISTER) != WITH_INDEX && (modrm & REGISTER) != AT_ADDRESS;
}

bool hawk_code_clears_word(const struct hawk_code *code)
{
	for (size_t i = 0; i + 2 < code->size; i++) /* movq $0, (register) */
		if ((has(code, i, "\x48\xc7", 2) || has(code, i, "\x49\xc7", 2)) &&
		    is_plain_word(code->bytes[i + 2], 0) && has(code, i + 3, "\0\0\0\0", 4))
			return true;
	return false;
}

bool hawk_code_tests_word(const struct hawk_code *code)
{
	for (size_t i = 0; i + 2 < code->size; i++) /* cmpq $0, (register) */
		if ((has(code, i, "\x48\x83", 2) || has(code, i, "\x49\x83", 2)) &&
		    is_plain_word(code->bytes[i + 2], 7 << 3) && has(code, i + 3, "\0", 1))
			return true;
	return false;
}

bool hawk_code_next_store(const struct hawk_code *code, uint64_t offset, unsigned bytes,
			  uint64_t value, size_t *at)
{
	const char *start = bytes == 1 ? "\xc6" : "\x66\xc7"; /* movb, movw */

	for (size_t i = *at; i < code->size; i++) {
		size_t modrm = i + bytes, end;
		uint64_t found = 0;

		if (!has(code, i, start, bytes) || modrm >= code->size ||
		    code->bytes[modrm] & OPERATION)
			continue;
		end = offset_at(code, modrm, &found);
		end = end ? modrm + 1 + end : code->size;
		if (found != offset || !has(code, end, (const char *)&value, bytes))
			continue;
		*at = end + bytes;
		return true;
	}
	return false;
}

bool hawk_code_next_table(const struct hawk_code *code, size_t *at, uint64_t *ret)
{
	for (size_t i = *at; i + 2 < code->size; i++) { /* leaq distance(%rip), register */
		if ((!has(code, i, "\x48\x8d", 2) && !has(code, i, "\x4c\x8d", 2)) ||
		    (code->bytes[i + 2] & (MODE | REGISTER)) != AT_ADDRESS ||
		    !near_address(code, i + 3, ret))
			continue;
		*at = i + 3;
		return true;
	}
	return false;
}

bool hawk_code_is_plain(const struct hawk_code *code)
{
	for (size_t i = 0; i < code->size && i < PROLOGUE_BYTES; i++)
		if (has(code, i, "\x48\x89\x7d", 3) || has(code, i, "\x48\x89\xbd", 3))
			return true; /* movq %rdi, offset(%rbp) */
	return false;
}
