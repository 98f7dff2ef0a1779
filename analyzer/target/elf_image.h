/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The ELF header and program headers of a loaded file, read from the target's memory: where the
 * file lies, its load bias, its build-id.
 *
 * Hostile input like all memory of a target: counts and sizes are limited, and an image is accepted
 * only if it says of itself what it must.
 */
#ifndef HAWK_ELF_IMAGE_H
#define HAWK_ELF_IMAGE_H

#include "hawk_target.h"

enum { HAWK_ELF_IMAGE_HEADERS_MAX = 128 };

/** One PT_LOAD, addresses with the bias added. */
struct hawk_elf_load {
	uint64_t start;       /**< rounded down to a page */
	uint64_t end;         /**< rounded up to a page */
	uint64_t file_offset; /**< of `start` */
	uint32_t flags;       /**< enum hawk_mapping_flag */
};

struct hawk_elf_image {
	uint64_t bias;
	uint64_t start;   /**< of the lowest PT_LOAD */
	uint64_t end;     /**< of the highest PT_LOAD */
	uint64_t dynamic; /**< address of PT_DYNAMIC, 0 = none */
	uint64_t dynamic_bytes;
	uint8_t build_id[HAWK_MODULE_BUILD_ID_MAX];
	uint32_t build_id_bytes;
	uint32_t load_count;
	struct hawk_elf_load loads[HAWK_ELF_IMAGE_HEADERS_MAX];
};

/**
 * Reads the image whose ELF header is at `address`. False if there is none, or not one that the
 * x86_64 kernel or dynamic linker could have loaded there.
 */
bool hawk_elf_image_read(const struct hawk_target *target, uint64_t address,
			 struct hawk_elf_image *ret);

#endif
