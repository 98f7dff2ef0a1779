/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A module as it is in memory right now, from the dynamic loader and from its headers. Independent
 * of the module log, and keeps no state: another thread may unload the module meanwhile, which the
 * caller detects by the epoch.
 */
#ifndef HAWK_TRACER_UNWIND_SIGHTING_H
#define HAWK_TRACER_UNWIND_SIGHTING_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

struct hawk_sighting {
	uint64_t start, end, bias;
	const char *name;          /**< l_name; "" for the executable */
	const Elf64_Phdr *headers; /**< from here on: hawk_sighting_read_headers() */
	unsigned header_count;
	const uint8_t *build_id;
	uint32_t build_id_bytes;
	uint64_t eh_frame_hdr; /**< address, 0 = none; known at once */
};

/** Looks up _dl_find_object (glibc 2.35), the executable and the dynamic loader. */
void hawk_sighting_init(void);

/** Finds the module of `pc`, without its headers. Lock-free and async-signal-safe from glibc 2.35
 * on. Returns false if `pc` is in no module (JIT code). */
bool hawk_sighting_at(uint64_t pc, struct hawk_sighting *ret);

/** Reads the program headers of the ELF header mapped at the module's start, if any, and the
 * build-id. */
void hawk_sighting_read_headers(struct hawk_sighting *module);

/** Range of the dynamic loader's code: blocks that it callocs may be link_maps. Both 0 if
 * unknown. */
extern uint64_t hawk_loader_start;
extern uint64_t hawk_loader_end;

#endif
