/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The module log records which ELF file lay where, so that frames still resolve after dlclose, and
 * without a core.
 *
 * A module is logged when the unwinder first meets code of it, never by hooking dlopen. The module
 * generation grows when a range of addresses turns out to belong to another module than the log
 * says; generations seed the stack hashes, so equal program counters of two libraries never merge.
 *
 * A sighting of a module (unwind/sighting.h) is checked against the log once per module and epoch
 * (an epoch ends when the loader frees a link_map); `verified` remembers that.
 */
#include <link.h>
#include <sys/auxv.h>

#include "arena.h"
#include "file.h"
#include "unwind/loader.h"
#include "unwind/sighting.h"
#include "unwind/unwind.h"

enum {
	PATH_MAX_BYTES = 4096,
	SEGMENTS_MAX = 16,
	SIGHTINGS_MAX = 4,   /**< sightings of one module while others are being unloaded */
	VERIFIED_MAX = 4096, /**< modules whose verification is remembered; later ones are verified
				every time */
	PRESENT_MAX = 4096,  /**< modules present at once; beyond it the whole log is searched */
};

/** Epoch + 1 in which module record i was last verified. */
static uint32_t verified[VERIFIED_MAX];

/**
 * Index + 1 of the records that are not retired, unordered; 0 = empty. Module lookups search this
 * list, because the log grows with every plug-in loaded and unloaded.
 */
static uint32_t present[PRESENT_MAX];
static uint32_t present_end; /**< end of the used entries; above PRESENT_MAX: overrun */

static size_t length_of(const char *string)
{
	size_t length = 0;

	while (string[length])
		length++;
	return length;
}

static bool bytes_equal(const void *a, const void *b, size_t size)
{
	const uint8_t *x = a, *y = b;

	for (size_t i = 0; i < size; i++)
		if (x[i] != y[i])
			return false;
	return true;
}

/** Returns a published record; it may be taken back at any time. */
static struct hawk_module_record *known_at(uint32_t index)
{
	return hawk_arena_element(HAWK_ARRAY_MODULES, index);
}

static struct hawk_module_record *record_at(uint32_t index)
{
	struct hawk_module_record *record = known_at(index);

	if (!record || __atomic_load_n(&record->state, __ATOMIC_ACQUIRE) != 1)
		return NULL;
	return record;
}

static bool path_equal(const struct hawk_module_record *record, const char *name)
{
	size_t length = length_of(name);

	/* The log holds absolute paths, and the executable's own: only an absolute l_name can
	 * contradict it. */
	if (name[0] != '/')
		return true;
	if (record->flags & HAWK_MODULE_PATH_CUT)
		return true;
	return record->path_bytes == length &&
	       bytes_equal(hawk_arena_words(record->path_index), name, length);
}

static bool is_same(const struct hawk_module_record *record, const struct hawk_sighting *module)
{
	return record->start == module->start && record->end == module->end &&
	       record->bias == module->bias && record->build_id_bytes == module->build_id_bytes &&
	       bytes_equal(record->build_id, module->build_id, module->build_id_bytes) &&
	       path_equal(record, module->name);
}

/** Returns true for the vDSO, whose name, linux-vdso.so.1, is no path. */
static bool is_vdso(const struct hawk_sighting *module)
{
	return module->start == getauxval(AT_SYSINFO_EHDR);
}

/** Writes `name`, prefixed by the working directory unless absolute. Returns the length. */
static size_t make_absolute(const char *name, char *path)
{
	size_t length = 0;
	long result;

	while (name[0] == '.' && name[1] == '/')
		for (name++; *name == '/'; name++)
			;
	if (name[0] != '/') {
		result = hawk_syscall3(SYS_getcwd, (long)path, PATH_MAX_BYTES, 0);
		if (result > 1) {
			length = (size_t)result - 1;
			path[length++] = '/';
		}
	}
	for (size_t i = 0; name[i] && length < PATH_MAX_BYTES; i++)
		path[length++] = name[i];
	return length;
}

/** Writes the executable's path. /proc/self/exe names the loader if it was started with the program
 * as argument, and is missing in a chroot without /proc; then the loader tells the program's
 * name. */
static size_t executable_path(char *path)
{
	const char *name = (const char *)getauxval(AT_EXECFN);
	long result = 0;

	if (getauxval(AT_BASE))
		result = hawk_syscall3(SYS_readlink, (long)"/proc/self/exe", (long)path,
				       PATH_MAX_BYTES);
	if (result > 0)
		return (size_t)result;
	return name && name[0] ? make_absolute(name, path) : 0;
}

/** Writes the path to log: l_name made absolute, or the executable's. Returns its length. */
static size_t make_path(const struct hawk_sighting *module, char *path)
{
	size_t length = 0;

	if (!module->name[0])
		return executable_path(path);
	if (!is_vdso(module))
		return make_absolute(module->name, path);
	for (; module->name[length] && length < PATH_MAX_BYTES; length++)
		path[length] = module->name[length];
	return length;
}

/** Stores `size` bytes in the word array. */
static bool store_bytes(const void *bytes, size_t size, uint32_t *index)
{
	if (!hawk_arena_reserve_words((uint32_t)((size + 7) / 8), index))
		return false;
	__builtin_memcpy(hawk_arena_words(*index), bytes, size);
	return true;
}

static void store_path(struct hawk_module_record *record, const struct hawk_sighting *module)
{
	/* Too big for a host's small stack. One mapping per module is rare enough. */
	char *path = hawk_map(0, 2 * PATH_MAX_BYTES, false);
	size_t length;

	if (!path)
		return;
	length = make_path(module, path);
	if (length >= PATH_MAX_BYTES)
		record->flags |= HAWK_MODULE_PATH_CUT;
	if (store_bytes(path, length, &record->path_index))
		record->path_bytes = (uint32_t)length;
	hawk_unmap(path, 2 * PATH_MAX_BYTES);
}

static void store_segments(struct hawk_module_record *record, const struct hawk_sighting *module)
{
	struct hawk_module_segment segments[SEGMENTS_MAX];
	uint32_t count = 0;

	for (unsigned i = 0; i < module->header_count && count < SEGMENTS_MAX; i++) {
		const Elf64_Phdr *header = &module->headers[i];

		if (header->p_type != PT_LOAD)
			continue;
		segments[count++] = (struct hawk_module_segment){
			.vaddr = header->p_vaddr,
			.memory_bytes = header->p_memsz,
			.file_offset_flags = header->p_offset << 3 | (header->p_flags & 7),
		};
	}
	if (count && store_bytes(segments, count * sizeof(segments[0]), &record->segment_index))
		record->segment_count = count;
}

static bool is_epoch(uint32_t epoch)
{
	return __atomic_load_n(&hawk_unwind_epoch, __ATOMIC_SEQ_CST) == epoch;
}

static bool exchange_present(uint32_t at, uint32_t from, uint32_t to)
{
	return __atomic_load_n(&present[at], __ATOMIC_RELAXED) == from &&
	       __atomic_compare_exchange_n(&present[at], &from, to, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_RELAXED);
}

/** Enters a record before it is published, so that a thread that sees it finds it here. */
static void enter_present(uint32_t index)
{
	uint32_t end = __atomic_load_n(&present_end, __ATOMIC_RELAXED);
	uint32_t at = 0;

	while (at < PRESENT_MAX && !exchange_present(at, 0, index + 1))
		at++;
	while (end <= at && !__atomic_compare_exchange_n(&present_end, &end, at + 1, false,
							 __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		;
}

static void leave_present(uint32_t index)
{
	for (uint32_t at = 0; at < PRESENT_MAX; at++)
		if (exchange_present(at, index + 1, 0))
			return;
}

/**
 * Appends `module`, seen in `epoch`, to the log, valid from `generation` on. Returns its index, or
 * UINT32_MAX. Takes it back if the epoch has ended, since another module may lie there by now.
 */
static uint32_t append(const struct hawk_sighting *module, uint32_t generation, uint32_t epoch)
{
	uint32_t index;
	struct hawk_module_record *record =
		hawk_arena_take(HAWK_ARRAY_MODULES, &hawk_table_header->module_count, 0, &index);

	if (!record)
		return UINT32_MAX;
	record->start = module->start;
	record->end = module->end;
	record->bias = module->bias;
	record->generation = generation;
	record->build_id_bytes = module->build_id_bytes;
	__builtin_memcpy(record->build_id,
			 module->build_id ? module->build_id : (const uint8_t *)"",
			 module->build_id_bytes);
	if (!module->name[0])
		record->flags |= HAWK_MODULE_MAIN;
	if (is_vdso(module))
		record->flags |= HAWK_MODULE_VDSO;
	store_path(record, module);
	store_segments(record, module);
	enter_present(index);
	__atomic_store_n(&record->state, 1, __ATOMIC_SEQ_CST);
	if (is_epoch(epoch))
		return index;
	__atomic_store_n(&record->state, 0, __ATOMIC_RELEASE);
	leave_present(index);
	return UINT32_MAX;
}

static bool overlaps(uint32_t index, uint64_t start, uint64_t end)
{
	const struct hawk_module_record *record = record_at(index);

	return record && record->start < end && start < record->end && !record->unload_generation;
}

static uint32_t find_in_log(uint64_t start, uint64_t end, uint32_t from)
{
	for (uint32_t i = from; i-- > 0;)
		if (overlaps(i, start, end))
			return i;
	return UINT32_MAX;
}

/**
 * Returns the latest record of the log that overlaps [start, end), or UINT32_MAX. `from` bounds the
 * search: the caller's next verification finds records that others append meanwhile.
 */
static uint32_t find_overlap(uint64_t start, uint64_t end, uint32_t from)
{
	uint32_t known = __atomic_load_n(&present_end, __ATOMIC_ACQUIRE);
	uint32_t latest = 0;

	if (known > PRESENT_MAX)
		return find_in_log(start, end, from);
	for (uint32_t i = 0; i < known; i++) {
		uint32_t entry = __atomic_load_n(&present[i], __ATOMIC_ACQUIRE);

		if (entry > latest && entry <= from && overlaps(entry - 1, start, end))
			latest = entry;
	}
	return latest - 1; /* 0 - 1: none */
}

static void remember(uint32_t index, uint32_t epoch)
{
	if (index < VERIFIED_MAX)
		__atomic_store_n(&verified[index], epoch + 1, __ATOMIC_RELAXED);
}

/** Ends every record that overlaps `module` with the generation before `generation`. */
static void retire_overlapping(const struct hawk_sighting *module, uint32_t count,
			       uint32_t generation)
{
	uint32_t index;

	while ((index = find_overlap(module->start, module->end, count)) != UINT32_MAX) {
		known_at(index)->unload_generation = generation;
		leave_present(index);
	}
}

static void verify(struct hawk_sighting *module, uint32_t count, uint32_t known, uint32_t epoch)
{
	uint32_t generation;

	hawk_sighting_read_headers(module);
	if (known == UINT32_MAX) {
		remember(append(module, hawk_modules_generation(), epoch), epoch);
		return;
	}
	if (is_same(known_at(known), module)) {
		remember(known, epoch);
		return;
	}
	if (!is_epoch(epoch))
		return;
	generation = __atomic_add_fetch(&hawk_table_header->generation, 1, __ATOMIC_RELAXED);
	hawk_unwind_note_generation();
	retire_overlapping(module, count, generation);
	remember(append(module, generation, epoch), epoch);
}

/** Makes sure that the log holds the module seen in `epoch`. */
static void log_module(struct hawk_sighting *module, uint32_t epoch)
{
	uint32_t count, known;

	hawk_file_check_fork();
	count = __atomic_load_n(&hawk_table_header->module_count, __ATOMIC_ACQUIRE);
	known = find_overlap(module->start, module->end, count);
	if (!hawk_file_lost && (known == UINT32_MAX || known >= VERIFIED_MAX ||
				known_at(known)->start != module->start ||
				__atomic_load_n(&verified[known], __ATOMIC_RELAXED) != epoch + 1))
		verify(module, count, known, epoch);
}

bool hawk_modules_find(uint64_t pc, struct hawk_code_range *ret)
{
	struct hawk_sighting module;
	uint32_t epoch;

	/* A module seen while another thread unloads it must not be logged over its successor at
	 * that address. */
	for (int i = 0; i < SIGHTINGS_MAX; i++) {
		epoch = __atomic_load_n(&hawk_unwind_epoch, __ATOMIC_SEQ_CST);
		if (!hawk_sighting_at(pc, &module))
			return false;
		log_module(&module, epoch);
		*ret = (struct hawk_code_range){module.start, module.end, module.eh_frame_hdr};
		if (is_epoch(epoch))
			break;
	}
	return true;
}

uint32_t hawk_modules_generation(void)
{
	return __atomic_load_n(&hawk_table_header->generation, __ATOMIC_RELAXED);
}

static int log_one(struct dl_phdr_info *info, size_t size, void *data)
{
	struct hawk_code_range range;

	(void)size;
	(void)data;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD && (info->dlpi_phdr[i].p_flags & PF_X))
			return hawk_modules_find(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr,
						 &range),
			       0;
	return 0;
}

void hawk_modules_log_all(void)
{
	hawk_loader_iterate(log_one, NULL);
}
