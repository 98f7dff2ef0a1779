/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Computes the stable hash of a stack, independent of address space randomization, host and
 * restarts.
 */
#include "site_id.h"

#include <string.h>
#include <xxhash.h>

enum {
	SEED_BUILD_ID = 1,
	SEED_BASE_NAME = 2,
	SEED_STACK = 3,
	SEED_MARK = 4,
	SEED_CLASS = 5,
};

/** Stands for code that is in no module (compiled at run time, say). */
static const uint64_t NO_MODULE = UINT64_C(0x6a6974);

static size_t base_name(const char *path, const char **name)
{
	static const char deleted[] = " (deleted)";
	const char *slash = strrchr(path, '/');
	size_t length;

	*name = slash ? slash + 1 : path;
	length = strlen(*name);
	if (length > sizeof(deleted) - 1 &&
	    !memcmp(*name + length - (sizeof(deleted) - 1), deleted, sizeof(deleted) - 1))
		length -= sizeof(deleted) - 1;
	return length;
}

static uint64_t identity(const uint8_t *build_id, size_t build_id_bytes, const char *path)
{
	const char *name;
	size_t length;

	if (build_id_bytes)
		return XXH3_64bits_withSeed(build_id, build_id_bytes, SEED_BUILD_ID);
	length = base_name(path, &name);
	return XXH3_64bits_withSeed(name, length, SEED_BASE_NAME);
}

uint64_t hawk_site_module_identity(const struct hawk_table_module *module)
{
	return identity(module->build_id, module->build_id_bytes, module->path);
}

/* Small ids are reserved; one hash in 2^63 is changed to avoid them. */
static uint64_t not_special(uint64_t id)
{
	return id > HAWK_SITE_NOT_SAMPLED ? id : ~id;
}

/* Mixes in scopes and a type: their texts and places. */
static uint64_t mix_marks(const struct hawk_table *table, const struct hawk_trace *trace,
			  uint64_t id)
{
	for (uint32_t i = 0; i < trace->mark_count; i++) {
		const struct hawk_table_label *label =
			hawk_table_label(table, trace->marks[i].label);
		const uint64_t words[] = {
			id,
			label->kind,
			trace->marks[i].frames_outside,
			XXH3_64bits_withSeed(label->name, strlen(label->name), SEED_MARK),
		};

		id = XXH3_64bits_withSeed(words, sizeof(words), SEED_MARK);
	}
	return id;
}

uint64_t hawk_site_id_with(const struct hawk_table *table, const uint64_t *identities,
			   const struct hawk_trace *trace)
{
	uint64_t words[HAWK_TRACE_DEPTH_MAX][2];
	size_t module_count;
	const struct hawk_table_module *modules = hawk_table_modules(table, &module_count);
	uint64_t id;

	for (uint32_t i = 0; i < trace->frame_count; i++) {
		uint64_t exact = trace->frames[i] & HAWK_PC_EXACT;
		uint64_t pc = trace->frames[i] & ~HAWK_PC_EXACT;
		/* A return address may be the first byte behind its module, after a call that does
		 * not return. */
		const struct hawk_table_module *module =
			hawk_table_module_at(table, exact ? pc : pc - 1, trace->generation);

		words[i][0] = module ? identities ? identities[module - modules]
						  : hawk_site_module_identity(module)
				     : NO_MODULE;
		words[i][1] = module ? (pc - module->bias) | exact : 0;
	}
	id = XXH3_64bits_withSeed(words, trace->frame_count * sizeof(words[0]), SEED_STACK);
	return not_special(mix_marks(table, trace, id));
}

static uint64_t module_identity(const struct hawk_module *module)
{
	return identity(module->build_id, module->build_id_bytes, module->path);
}

static uint64_t sample_id(const struct hawk_target *target, const struct hawk_class *class)
{
	uint64_t words[HAWK_TRACE_DEPTH_MAX][2];
	uint32_t count = class->frame_count < HAWK_TRACE_DEPTH_MAX ? class->frame_count
								   : HAWK_TRACE_DEPTH_MAX;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t pc = class->frames[i];
		const struct hawk_module *module = hawk_target_module_at(target, pc - 1);

		words[i][0] = module ? module_identity(module) : NO_MODULE;
		words[i][1] = module ? pc - module->bias : 0;
	}
	return not_special(XXH3_64bits_withSeed(words, count * sizeof(words[0]), SEED_STACK));
}

uint64_t hawk_site_class_id(const struct hawk_target *target, const struct hawk_class *class)
{
	const struct hawk_module *module = class->module;
	const uint64_t words[] = {
		class->kind,
		class->size,
		class->offset,
		module ? module_identity(module) : 0,
		class->name ? XXH3_64bits(class->name, strlen(class->name)) : 0,
	};

	if (class->kind == HAWK_CLASS_UNKNOWN)
		return HAWK_SITE_NO_STACK;
	if (class->kind == HAWK_CLASS_SAMPLE)
		return sample_id(target, class);
	return not_special(XXH3_64bits_withSeed(words, sizeof(words), SEED_CLASS));
}

uint64_t hawk_site_id(const struct hawk_table *table, const struct hawk_trace *trace)
{
	return hawk_site_id_with(table, NULL, trace);
}
