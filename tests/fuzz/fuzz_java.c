/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Java's heap in arbitrary memory, with any offsets: those that libjvm's tables would name come
 * first.
 */
#include <stdlib.h>

#include "hawk/base/cleanup.h"

#include "heap/java/java.h"
#include "sparse_core.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Returns the settings that a byte stands for. */
static struct java_settings settings_of(uint8_t byte)
{
	static const char *const collectors[] = {"Serial", "Parallel", "G1", "ZGC"};

	return (struct java_settings){.collector = collectors[byte & 3],
				      .is_compact = byte & 4,
				      .narrow_class = byte & 8,
				      .narrow_reference = byte & 64,
				      .reference_shift = 3,
				      .alignment = byte & 16 ? 16 : 8,
				      .length_at = byte & 4   ? 8
						   : byte & 8 ? 12
							      : 16,
				      .mirror_size_at = 24,
				      .reserve = byte & 32 ? 16 : 0};
}

static void check(const struct java *java)
{
	struct java_walk walk = {.java = (struct java *)java, .near.target = java->target};
	struct java_object object;
	uint64_t objects = 0, bytes = 0, end = 0;

	while (java_walk_next(&walk, &object)) {
		CLEANUP(text) struct hawk_text name = {0};

		if (object.start < end || !object.number || object.number >= java->type_count)
			abort();
		end = object.start + object.bytes;
		objects++;
		bytes += object.bytes;
		if (java->types[object.number].objects == 1)
			java_append_class(walk.java, java->types[object.number].address, &name);
		(void)java_layout(walk.java, &java->types[object.number]);
	}
	if (objects != java->objects || bytes != java->bytes)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hawk_findings findings;
	struct java java = {0};

	if (size < JAVA_NAMES * sizeof(uint64_t) + 1)
		return 0;
	memcpy(java.names, data, sizeof(java.names));
	java.settings = settings_of(data[sizeof(java.names)]);
	if (java.names[JAVA_CLASS_BITS] > 63)
		java.names[JAVA_CLASS_BITS] = 42;
	java.names[JAVA_OBJECT_CLASS] = 8;
	hawk_findings_init(&findings);
	java.target = java.near.target = sparse_core_open(data + sizeof(java.names) + 1,
							  size - sizeof(java.names) - 1, &findings);
	java_search(&java);
	if (!java.failed)
		check(&java);
	java_forget(&java);
	hawk_target_close((struct hawk_target *)java.target);
	hawk_findings_deinit(&findings);
	return 0;
}
