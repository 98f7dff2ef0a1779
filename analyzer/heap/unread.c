/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Names allocators and runtimes whose blocks no source found, so that nobody takes the heap for
 * whole. They are known by the names of their libraries, Go's runtime by its build information.
 */
#include "unread.h"

#include "hawk/base/quantity.h"
#include "hawk/base/text.h"
#include "native.h"

#include <string.h>

/** A library, and whose memory it manages. */
static const struct owner {
	const char *library; /**< how its file's name begins */
	const char *name;    /**< of the allocator or runtime */
	bool is_runtime;     /**< has a heap of its own beside malloc()'s */
} owners[] = {
	{"libjemalloc", "jemalloc", false},
	{"libtcmalloc", "tcmalloc", false},
	{"libmimalloc", "mimalloc", false},
	{"libclang_rt.scudo", "scudo", false},
	{"libscudo", "scudo", false},
	{"libsnmalloc", "snmalloc", false},
	{"libhardened_malloc", "hardened_malloc", false},
	{"librpmalloc", "rpmalloc", false},
	{"libhoard", "Hoard", false},
	{"libclang_rt.asan", "AddressSanitizer", false},
	{"libasan", "AddressSanitizer", false},
	{"libjvm.so", "Java", true},
};

static const struct owner go = {.name = "Go", .is_runtime = true};

/* Returns the bytes of unclaimed memory in the core, stacks included. */
static uint64_t unclaimed_bytes(const struct hawk_heap *heap, const struct hawk_claims *claims)
{
	struct hawk_unclaimed walk;
	uint64_t bytes = 0;

	hawk_unclaimed_begin(&walk, heap->target, claims);
	while (hawk_unclaimed_page(&walk)) {
		uint64_t end = walk.data_end < walk.limit ? walk.data_end : walk.limit;

		bytes += end > walk.at ? end - walk.at : 0;
		walk.at = end > walk.at ? end : walk.at + 1;
	}
	return bytes;
}

static bool is_found(const struct hawk_heap *heap, const char *name)
{
	for (unsigned i = 0; i < heap->found_count; i++)
		if (!strcasecmp(heap->found[i].source->name, name))
			return true;
	return false;
}

static const struct owner *owner_of(const struct hawk_module *module)
{
	const char *name = module->path ? hawk_path_base(module->path) : "";

	for (size_t i = 0; i < sizeof(owners) / sizeof(*owners); i++)
		if (!strncmp(name, owners[i].library, strlen(owners[i].library)))
			return &owners[i];
	return NULL;
}

/* Returns true if Go's linker left its mark in the module's data. */
static bool is_go(const struct hawk_target *target, const struct hawk_module *module)
{
	static const char mark[] = "\xff Go buildinf:"; /* debug/buildinfo */
	size_t count;
	const struct hawk_mapping *mappings = hawk_target_mappings(target, &count);
	struct hawk_near near = {.target = target};
	uint64_t first, word;

	memcpy(&first, mark, sizeof(first));
	for (size_t i = 0; i < count; i++) {
		uint64_t at = mappings[i].start, end = at + mappings[i].present_bytes;
		char bytes[sizeof(mark) - 1];

		if (!(mappings[i].flags & HAWK_MAPPING_WRITE) ||
		    hawk_target_module_at(target, at) != module)
			continue;
		for (; hawk_next_word(&near, &at, end, &word); at += sizeof(word))
			if (word == first &&
			    hawk_near_read(&near, at, bytes, sizeof(bytes)) == sizeof(bytes) &&
			    !memcmp(bytes, mark, sizeof(bytes)))
				return true;
	}
	return false;
}

static void report(const struct owner *owner, const struct hawk_module *module, uint64_t bytes,
		   bool partial, struct hawk_findings *findings)
{
	const char *slash = module->path ? strrchr(module->path, '/') : NULL;
	const char *file = slash ? slash + 1 : "the program";

	if (owner->is_runtime)
		hawk_findings_add(findings, HAWK_FINDING_MISSING, partial, "heap-unread",
				  "the heap of %s (%s) is not read: its objects are somewhere in "
				  "%s of other memory",
				  owner->name, file, hawk_quantity_bytes(bytes).text);
	else
		hawk_findings_add(findings, HAWK_FINDING_MISSING, partial, "heap-unread",
				  "%s, layout unknown (%s): up to %s not walked, whose blocks are "
				  "not known",
				  owner->name, file, hawk_quantity_bytes(bytes).text);
}

struct hawk_error *hawk_heap_report_unread(struct hawk_heap *heap, struct hawk_findings *findings)
{
	size_t count;
	const struct hawk_module *modules = hawk_target_modules(heap->target, &count);
	struct hawk_claims claims = {0};
	struct hawk_error *err = hawk_claims_of_spans(&heap->spans, &claims);

	for (size_t i = 0; i < count && findings && !err; i++) {
		const struct owner *owner = owner_of(&modules[i]);
		bool partial;

		if (!owner && modules[i].main && is_go(heap->target, &modules[i]))
			owner = &go;
		if (!owner || is_found(heap, owner->name))
			continue;
		/* A program of a runtime may have no other blocks. */
		partial = !owner->is_runtime || !heap->found_count;
		heap->unread |= partial;
		report(owner, &modules[i], unclaimed_bytes(heap, &claims), partial, findings);
	}
	hawk_claims_deinit(&claims);
	return err;
}
