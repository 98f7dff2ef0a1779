/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Classes and the names of their fields. Only blocks have bytes: everything else is an object of
 * no size, so that sums are those of blocks.
 */
#include "hawk/base/cleanup.h"
#include "hprof_plan.h"

/** VisualVM's heap walker gives up without these, and takes instance sizes from classes if the
 * first one has a size. */
static const char *const java_classes[] = {
	"java/lang/Object",
	"java/lang/Class",
	"java/lang/ref/Reference",
	"java/lang/ref/WeakReference",
	"java/lang/ref/SoftReference",
	"java/lang/ref/FinalReference",
	"java/lang/ref/PhantomReference",
};

enum {
	OBJECT_BYTES = 16,
	JAVA_OBJECT = 0,
	JAVA_REFERENCE = 2,
	JAVA_CLASSES = sizeof(java_classes) / sizeof(java_classes[0]),
};

static uint64_t text_id(enum hawk_hprof_text text)
{
	return hawk_hprof_id(HAWK_HPROF_TEXT, text);
}

/** Returns how many sizes of lists there are: each holds twice as many pointers as the last one. */
static unsigned list_sizes(const struct hawk_hprof_plan *plan)
{
	uint64_t longest = hawk_least(plan->list_max, HAWK_HPROF_LIST_MAX);
	unsigned sizes = 0;

	while (longest >> sizes)
		sizes++;
	return sizes;
}

static void put_numbered(struct hawk_hprof_file *file, enum hawk_hprof_kind kind,
			 const char *format, uint64_t count, unsigned step)
{
	CLEANUP(text) struct hawk_text text = {0};

	for (uint64_t i = 0; i < count; i++) {
		hawk_text_clear(&text);
		hawk_text_printf(&text, format, (unsigned long long)i * step);
		hawk_hprof_string(file, hawk_hprof_id(kind, i), hawk_text_string(&text));
	}
}

/** Writes where the roots lie: the names of their holders' fields. */
static void put_places(const struct hawk_hprof_plan *plan, struct hawk_hprof_file *file)
{
	CLEANUP(text) struct hawk_text place = {0};

	for (uint32_t i = 0; i < plan->graph->roots.count; i++) {
		hawk_text_clear(&place);
		hawk_root_name(plan->objects->roots, i, &place);
		hawk_hprof_string(file, hawk_hprof_id(HAWK_HPROF_PLACE, i),
				  hawk_text_string(&place));
	}
}

void hawk_hprof_write_strings(const struct hawk_hprof_plan *plan, struct hawk_hprof_file *file)
{
	hawk_hprof_string(file, text_id(HAWK_HPROF_TEXT_EMPTY), "");
	hawk_hprof_string(file, text_id(HAWK_HPROF_TEXT_MORE), "(more)");
	hawk_hprof_string(file, text_id(HAWK_HPROF_TEXT_REFERENT), "referent");
	hawk_hprof_string(file, text_id(HAWK_HPROF_TEXT_NAME), "name");
	hawk_hprof_string(file, text_id(HAWK_HPROF_TEXT_DAEMON), "daemon");
	put_numbered(file, HAWK_HPROF_OFFSET, "+0x%llx", HAWK_HPROF_FIELDS, sizeof(uint64_t));
	put_numbered(file, HAWK_HPROF_INDEX, "[%llu]",
		     hawk_least(plan->list_max, HAWK_HPROF_LIST_MAX), 1);
	put_places(plan, file);
}

/** "Session.112 bytes": viewers group by what is before the last dot. */
static void load_block_class(const struct hawk_hprof_plan *plan, struct hawk_hprof_file *file,
			     const struct hawk_hprof_class *class)
{
	const char *name = plan->profile->strings[class->name];
	CLEANUP(text) struct hawk_text text = {0};

	hawk_text_printf(&text, "%s.%llu bytes", name, (unsigned long long)class->bytes);
	hawk_hprof_load_class(file, hawk_hprof_id(HAWK_HPROF_BLOCK_CLASS, class->number),
			      hawk_text_string(&text));
}

void hawk_hprof_load_classes(const struct hawk_hprof_plan *plan, struct hawk_hprof_file *file)
{
	for (unsigned i = 0; i < JAVA_CLASSES; i++)
		hawk_hprof_load_class(file, hawk_hprof_id(HAWK_HPROF_JAVA_CLASS, i),
				      java_classes[i]);
	for (unsigned i = 0; i < list_sizes(plan); i++)
		hawk_hprof_load_class(file, hawk_hprof_id(HAWK_HPROF_MORE_CLASS, i),
				      "(more pointers)");
	hawk_hprof_load_class(file, hawk_hprof_id(HAWK_HPROF_REST_CLASS, 0),
			      "(1 GiB of a larger block)");
	for (size_t i = 0; i < plan->holder_count; i++)
		hawk_hprof_load_class(file, hawk_hprof_id(HAWK_HPROF_HOLDER_CLASS, i),
				      plan->profile->strings[plan->holders[i].name]);
	for (size_t i = 0; i < plan->class_count; i++)
		load_block_class(plan, file, plan->classes[i]);
}

static void put_class(struct hawk_hprof_file *file, enum hawk_hprof_kind kind, uint64_t number,
		      uint32_t bytes)
{
	hawk_hprof_class(file, hawk_hprof_id(kind, number), bytes, 0);
	hawk_hprof_end_object(file, false);
}

static void put_java_classes(struct hawk_hprof_file *file)
{
	for (unsigned i = 0; i < JAVA_CLASSES; i++) {
		hawk_hprof_class(file, hawk_hprof_id(HAWK_HPROF_JAVA_CLASS, i),
				 i == JAVA_OBJECT ? OBJECT_BYTES : 0, i == JAVA_REFERENCE);
		if (i == JAVA_REFERENCE)
			hawk_hprof_field(file, text_id(HAWK_HPROF_TEXT_REFERENT),
					 HAWK_HPROF_OBJECT);
		hawk_hprof_end_object(file, false);
	}
}

/** Ends the fields of a class with the one that leads to lists. */
static void end_class(struct hawk_hprof_file *file, bool more)
{
	if (more)
		hawk_hprof_field(file, text_id(HAWK_HPROF_TEXT_MORE), HAWK_HPROF_OBJECT);
	hawk_hprof_end_object(file, false);
}

static void put_list_class(struct hawk_hprof_file *file, unsigned log2)
{
	hawk_hprof_class(file, hawk_hprof_id(HAWK_HPROF_MORE_CLASS, log2), 0, (1u << log2) + 1);
	for (uint32_t i = 0; i < 1u << log2; i++)
		hawk_hprof_field(file, hawk_hprof_id(HAWK_HPROF_INDEX, i), HAWK_HPROF_OBJECT);
	end_class(file, true);
}

static void put_holder_class(const struct hawk_hprof_plan *plan, struct hawk_hprof_file *file,
			     size_t number)
{
	const struct hawk_hprof_holder *holder = &plan->holders[number];
	bool more = hawk_hprof_has_list(plan, number);
	bool thread = holder->tag == HAWK_HPROF_ROOT_THREAD;

	hawk_hprof_class(file, hawk_hprof_id(HAWK_HPROF_HOLDER_CLASS, number), 0,
			 hawk_hprof_own_fields(holder) + more + (thread ? 2 : 0));
	if (thread) { /* VisualVM lists no threads without these */
		hawk_hprof_field(file, text_id(HAWK_HPROF_TEXT_NAME), HAWK_HPROF_OBJECT);
		hawk_hprof_field(file, text_id(HAWK_HPROF_TEXT_DAEMON), HAWK_HPROF_BOOLEAN);
	}
	for (uint32_t i = 0; i < hawk_hprof_own_fields(holder); i++)
		hawk_hprof_field(file,
				 hawk_hprof_id(HAWK_HPROF_PLACE, plan->roots[holder->first + i]),
				 HAWK_HPROF_OBJECT);
	end_class(file, more);
}

static void put_block_class(struct hawk_hprof_file *file, const struct hawk_hprof_class *class)
{
	uint64_t bytes = class->bytes - hawk_hprof_rests(class) * HAWK_HPROF_REST_BYTES;

	hawk_hprof_class(file, hawk_hprof_id(HAWK_HPROF_BLOCK_CLASS, class->number),
			 (uint32_t)bytes, hawk_hprof_count_fields(class));
	for (unsigned i = 0; i < HAWK_HPROF_FIELDS; i++)
		if (hawk_hprof_has_field(class, i))
			hawk_hprof_field(file, hawk_hprof_id(HAWK_HPROF_OFFSET, i),
					 HAWK_HPROF_OBJECT);
	end_class(file, class->more);
}

void hawk_hprof_write_classes(const struct hawk_hprof_plan *plan, struct hawk_hprof_file *file)
{
	put_java_classes(file);
	for (uint32_t i = 0; i < plan->profile->module_count; i++)
		put_class(file, HAWK_HPROF_MODULE_CLASS, i, 0);
	for (unsigned i = 0; i < list_sizes(plan); i++)
		put_list_class(file, i);
	put_class(file, HAWK_HPROF_REST_CLASS, 0, HAWK_HPROF_REST_BYTES);
	for (size_t i = 0; i < plan->holder_count; i++)
		put_holder_class(plan, file, i);
	for (size_t i = 0; i < plan->class_count; i++)
		put_block_class(file, plan->classes[i]);
}
