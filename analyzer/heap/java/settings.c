/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Reads the machine's flags: its collector, and how objects are laid out.
 */
#include "java.h"

#include <stdio.h>

enum {
	WORD = 8,
	FLAGS_MAX = 1 << 14,
	FLAG_BYTES_MAX = 4096,
	TEXT_BYTES = 64,
	ALIGNMENT_MAX = 256,
	SHIFT_MAX = 16,
	PREFETCH_MAX = 1 << 10,
};

/** The flags that are read; each has a byte, but the alignment. */
enum { COMPACT, NARROW_CLASSES, NARROW_REFERENCES, ALIGNMENT, FIRST_COLLECTOR };
static const char *const flags[] = {
	[COMPACT] = "UseCompactObjectHeaders",
	[NARROW_CLASSES] = "UseCompressedClassPointers",
	[NARROW_REFERENCES] = "UseCompressedOops",
	[ALIGNMENT] = "ObjectAlignmentInBytes",
	[FIRST_COLLECTOR] = "UseSerialGC",
	"UseParallelGC",
	"UseG1GC",
	"UseZGC",
	"UseShenandoahGC",
	"UseEpsilonGC",
};
enum { FLAGS = sizeof(flags) / sizeof(*flags) };
static const char *const collectors[] = {"Serial", "Parallel",   "G1",
					 "ZGC",    "Shenandoah", "Epsilon"};

static void take_flag(struct java *java, uint64_t flag, uint32_t *values)
{
	char name[TEXT_BYTES];
	uint64_t text, address;

	if (!hawk_word(&java->near, flag + java->names[JAVA_FLAG_NAME], &text) || !text ||
	    !java_read_name(java, text, name, sizeof(name)) ||
	    !hawk_word(&java->near, flag + java->names[JAVA_FLAG_ADDRESS], &address))
		return;
	for (unsigned i = 0; i < FLAGS; i++)
		if (!strcmp(name, flags[i]))
			(void)hawk_near_read(&java->near, address, &values[i],
					     i == ALIGNMENT ? sizeof(values[i]) : 1);
}

static bool read_flags(struct java *java, uint32_t *values)
{
	uint64_t start, count, bytes = java->names[JAVA_FLAG_BYTES];

	if (!hawk_word(&java->near, java->names[JAVA_FLAGS], &start) ||
	    !hawk_word(&java->near, java->names[JAVA_FLAG_COUNT], &count) || bytes > FLAG_BYTES_MAX)
		return false;
	for (uint64_t i = 0; i < count && i < FLAGS_MAX; i++)
		take_flag(java, start + i * bytes, values);
	return true;
}

/* Returns the bytes behind the end of a thread's buffer that are kept for an object which fills it,
 * as CollectedHeap and ThreadLocalAllocBuffer compute them. */
static unsigned reserve_of(const struct java_settings *settings, uint32_t prefetch_words)
{
	unsigned filler = settings->is_compact ? WORD : 2 * WORD, prefetch = WORD * prefetch_words;
	unsigned reserve = filler > settings->alignment ? filler : 0;

	if (prefetch > reserve)
		reserve = prefetch;
	return (reserve + settings->alignment - 1) & -settings->alignment;
}

static bool set_layout(struct java *java, const uint32_t *values)
{
	struct java_settings *settings = &java->settings;
	uint32_t shift, reference_shift, prefetch, mirror;

	settings->is_compact = values[COMPACT];
	settings->narrow_class = values[NARROW_CLASSES] || values[COMPACT];
	settings->narrow_reference = values[NARROW_REFERENCES];
	settings->alignment = values[ALIGNMENT];
	settings->length_at = 2 * WORD;
	if (settings->is_compact)
		settings->length_at = WORD;
	else if (settings->narrow_class)
		settings->length_at = WORD + WORD / 2;
	if (!hawk_word(&java->near, java->names[JAVA_CLASS_BASE], &settings->class_base) ||
	    !hawk_half(&java->near, java->names[JAVA_CLASS_SHIFT], &shift) || shift > SHIFT_MAX ||
	    !hawk_word(&java->near, java->names[JAVA_REFERENCE_BASE], &settings->reference_base) ||
	    !hawk_half(&java->near, java->names[JAVA_REFERENCE_SHIFT], &reference_shift) ||
	    reference_shift > SHIFT_MAX ||
	    !hawk_half(&java->near, java->names[JAVA_RESERVE], &prefetch) ||
	    prefetch > PREFETCH_MAX ||
	    !hawk_half(&java->near, java->names[JAVA_MIRROR_SIZE], &mirror))
		return false;
	settings->mirror_size_at = mirror;
	settings->class_shift = shift;
	settings->reference_shift = reference_shift;
	settings->reserve = reserve_of(settings, prefetch);
	return settings->alignment >= WORD && settings->alignment <= ALIGNMENT_MAX &&
	       !(settings->alignment & (settings->alignment - 1)) &&
	       java->names[JAVA_OBJECT_CLASS] == WORD &&
	       (!settings->is_compact || java->names[JAVA_CLASS_BITS] < 64);
}

bool java_read_settings(struct java *java)
{
	uint32_t values[FLAGS] = {0}, version;

	if (!hawk_half(&java->near, java->names[JAVA_VERSION], &version) || version > 999 ||
	    !read_flags(java, values))
		return false;
	for (unsigned i = FIRST_COLLECTOR; i < FLAGS; i++)
		if (values[i])
			java->settings.collector = collectors[i - FIRST_COLLECTOR];
	if (!java->settings.collector)
		return false;
	snprintf(java->name, sizeof(java->name), "HotSpot %u (%s)", version,
		 java->settings.collector);
	return set_layout(java, values);
}
