/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * pprof's profile.proto, unpacked; readers take it with or without gzip. Written as a stream, one
 * item at a time: a packed message is the concatenation of its packed parts.
 *
 * Locations keep the profile's numbers; modules too, except the program, which readers expect
 * first. All mappings claim to have names: otherwise a reader would look for the program on its own
 * machine, and complain.
 */
#include <stdlib.h>

#include "hawk/base/array.h"
#include "hawk/base/cleanup.h"
#include "hawk/base/utf8.h"
#include "hawk/export/export.h"
#include "pprof.pb-c.h"

/** Strings missing in the profile; they follow its own. */
enum own_string {
	OWN_SPACE,
	OWN_BYTES,
	OWN_SITE,
	OWN_TYPE,
	OWN_SCOPE,
	OWN_KIND,
	OWN_COMMENT,
	OWN_COLUMNS, /**< name and unit of each; behind them the names of nameless code */
};

enum { LABELS = 4 };

struct writer {
	const struct hawk_profile *profile;
	const struct hawk_export *export;
	struct hawk_output *output;
	uint32_t *functions; /**< by frame: the number of its function, 0 = not written yet */
	struct hawk_profile_path path; /**< of one sample */
	uint64_t *locations;           /**< the same, as protobuf-c wants it */
	size_t location_capacity;
	int64_t nameless; /**< string of the next nameless code */
};

struct sink {
	ProtobufCBuffer base;
	struct hawk_output *output;
};

static void append(ProtobufCBuffer *buffer, size_t size, const uint8_t *bytes)
{
	hawk_output_append(((struct sink *)buffer)->output, bytes, size);
}

static void put(const struct writer *writer, const Hawk__Pprof__Profile *part)
{
	struct sink sink = {.base.append = append, .output = writer->output};

	hawk__pprof__profile__pack_to_buffer(part, &sink.base);
}

static int64_t own(const struct writer *writer, unsigned string)
{
	return (int64_t)writer->profile->string_count + string;
}

static void put_string(const struct writer *writer, const char *string)
{
	CLEANUP(text) struct hawk_text text = {0};
	Hawk__Pprof__Profile part = HAWK__PPROF__PROFILE__INIT;
	char empty[1] = "", *strings[1];

	hawk_utf8_append_safe(&text, string);
	strings[0] = text.bytes ? text.bytes : empty;
	part.n_string_table = 1;
	part.string_table = strings;
	put(writer, &part);
}

/** Writes all strings but those of nameless code, in the order of their numbers. */
static void put_strings(struct writer *writer)
{
	static const char *const names[] = {"space", "bytes", "site", "type", "scope", "kind"};
	const struct hawk_profile *profile = writer->profile;
	CLEANUP(text) struct hawk_text comment = {0};

	hawk_text_printf(&comment, "hawk-core: %s memory of %s", profile->what,
			 writer->export->source ? writer->export->source : "a process");
	for (uint32_t i = 0; i < profile->string_count; i++)
		put_string(writer, profile->strings[i]);
	for (size_t i = 0; i < OWN_COMMENT; i++)
		put_string(writer, names[i]);
	put_string(writer, hawk_text_string(&comment));
	for (uint32_t i = 0; i < profile->column_count; i++) {
		put_string(writer, profile->columns[i].name);
		put_string(writer, profile->columns[i].unit);
	}
	writer->nameless = own(writer, OWN_COLUMNS + 2 * profile->column_count);
}

static void put_head(const struct writer *writer)
{
	const struct hawk_profile *profile = writer->profile;
	Hawk__Pprof__Profile part = HAWK__PPROF__PROFILE__INIT;
	Hawk__Pprof__ValueType period = HAWK__PPROF__VALUE_TYPE__INIT;
	Hawk__Pprof__ValueType types[HAWK_PROFILE_COLUMNS_MAX];
	Hawk__Pprof__ValueType *pointers[HAWK_PROFILE_COLUMNS_MAX];
	int64_t comment = own(writer, OWN_COMMENT);

	for (uint32_t i = 0; i < profile->column_count; i++) {
		pointers[i] = &types[i];
		types[i] = (Hawk__Pprof__ValueType)HAWK__PPROF__VALUE_TYPE__INIT;
		types[i].type = own(writer, OWN_COLUMNS + 2 * i);
		types[i].unit = own(writer, OWN_COLUMNS + 2 * i + 1);
	}
	period.type = own(writer, OWN_SPACE);
	period.unit = own(writer, OWN_BYTES);
	part.n_sample_type = profile->column_count;
	part.sample_type = pointers;
	part.time_nanos = (int64_t)writer->export->end_ns;
	part.duration_nanos = (int64_t)writer->export->life_ns;
	part.period_type = &period;
	part.period = profile->estimated ? hawk_profile_value(profile->sample_mean) : 1;
	part.n_comment = 1;
	part.comment = &comment;
	part.default_sample_type = types[writer->export->column].type;
	put(writer, &part);
}

/** Returns a module's number; the program's module swaps places with module 1. */
static uint32_t mapping_of(const struct writer *writer, uint32_t module)
{
	uint32_t program = writer->profile->module_count > 1;

	for (uint32_t i = 1; i < writer->profile->module_count; i++)
		if (writer->profile->modules[i].main) {
			program = i;
			break;
		}
	return module == program ? 1 : module == 1 ? program : module;
}

static void put_modules(const struct writer *writer)
{
	for (uint32_t i = 1; i < writer->profile->module_count; i++) {
		const struct hawk_profile_module *module =
			&writer->profile->modules[mapping_of(writer, i)];
		Hawk__Pprof__Profile part = HAWK__PPROF__PROFILE__INIT;
		Hawk__Pprof__Mapping mapping = HAWK__PPROF__MAPPING__INIT;
		Hawk__Pprof__Mapping *pointer = &mapping;

		mapping.id = i;
		mapping.memory_start = module->start;
		mapping.memory_limit = module->end;
		mapping.filename = module->path;
		mapping.build_id = module->build_id;
		mapping.has_functions = mapping.has_filenames = true;
		mapping.has_line_numbers = mapping.has_inline_frames = true;
		part.n_mapping = 1;
		part.mapping = &pointer;
		put(writer, &part);
	}
}

/** Compares frames by function. Frames of one function differ in line and, if inlined into other
 * modules, in module. */
static int compare_functions(const void *left, const void *right, void *context)
{
	const struct hawk_profile *profile = context;
	const struct hawk_profile_frame *a = &profile->frames[*(const uint32_t *)left];
	const struct hawk_profile_frame *b = &profile->frames[*(const uint32_t *)right];

	if (a->function != b->function)
		return a->function < b->function ? -1 : 1;
	if (a->symbol != b->symbol)
		return a->symbol < b->symbol ? -1 : 1;
	if (a->file != b->file)
		return a->file < b->file ? -1 : 1;
	if (a->function || (a->offset == b->offset && a->module == b->module))
		return 0;
	if (a->module != b->module)
		return a->module < b->module ? -1 : 1;
	return a->offset < b->offset ? -1 : 1;
}

static void put_function(struct writer *writer, uint32_t number)
{
	const struct hawk_profile_frame *frame = &writer->profile->frames[number];
	Hawk__Pprof__Profile part = HAWK__PPROF__PROFILE__INIT;
	Hawk__Pprof__Function function = HAWK__PPROF__FUNCTION__INIT;
	Hawk__Pprof__Function *pointer = &function;

	function.id = number;
	function.name = frame->function;
	function.filename = frame->file;
	if (!frame->function) {
		CLEANUP(text) struct hawk_text name = {0};

		hawk_profile_append_frame(writer->profile, frame, &name);
		put_string(writer, hawk_text_string(&name));
		function.name = writer->nameless++;
	}
	function.system_name = frame->symbol ? frame->symbol : function.name;
	part.n_function = 1;
	part.function = &pointer;
	put(writer, &part);
}

static struct hawk_error *put_functions(struct writer *writer)
{
	const struct hawk_profile *profile = writer->profile;
	uint32_t count = profile->frame_count - 1;
	CLEANUP(free_ptr) uint32_t *order = calloc(profile->frame_count, sizeof(*order));

	if (!order)
		return &hawk_enomem;
	for (uint32_t i = 0; i < count; i++)
		order[i] = i + 1;
	qsort_r(order, count, sizeof(*order), compare_functions, (void *)profile);
	for (uint32_t i = 0; i < count; i++) {
		bool known = i && !compare_functions(&order[i - 1], &order[i], (void *)profile);

		writer->functions[order[i]] = known ? writer->functions[order[i - 1]] : order[i];
		if (!known)
			put_function(writer, order[i]);
	}
	return NULL;
}

static struct hawk_error *put_location(const struct writer *writer, uint32_t number)
{
	const struct hawk_profile_location *location = &writer->profile->locations[number];
	CLEANUP(free_ptr) Hawk__Pprof__Line *lines = calloc(location->count, sizeof(*lines));
	CLEANUP(free_ptr) Hawk__Pprof__Line **pointers = calloc(location->count, sizeof(*pointers));
	Hawk__Pprof__Profile part = HAWK__PPROF__PROFILE__INIT;
	Hawk__Pprof__Location message = HAWK__PPROF__LOCATION__INIT;
	Hawk__Pprof__Location *pointer = &message;

	if (!lines || !pointers)
		return &hawk_enomem;
	for (uint32_t i = 0; i < location->count; i++) {
		uint32_t frame = writer->profile->frame_numbers[location->first + i];

		lines[i] = (Hawk__Pprof__Line)HAWK__PPROF__LINE__INIT;
		lines[i].function_id = writer->functions[frame];
		lines[i].line = writer->profile->frames[frame].line;
		pointers[i] = &lines[i];
	}
	message.id = number;
	message.mapping_id = location->module ? mapping_of(writer, location->module) : 0;
	message.address = location->address;
	message.n_line = location->count;
	message.line = pointers;
	part.n_location = 1;
	part.location = &pointer;
	put(writer, &part);
	return NULL;
}

static bool fill_locations(struct writer *writer, uint32_t step)
{
	if (!hawk_profile_path_of(writer->profile, step, &writer->path))
		return false;
	for (size_t i = 0; i < writer->path.count; i++) {
		if (!hawk_array_reserve(&writer->locations, i, &writer->location_capacity,
					sizeof(*writer->locations)))
			return false;
		writer->locations[i] = writer->path.locations[i];
	}
	return true;
}

static size_t fill_labels(const struct writer *writer, const struct hawk_profile_labels *labels,
			  Hawk__Pprof__Label *to, Hawk__Pprof__Label **pointers)
{
	const uint32_t values[LABELS] = {labels->site, labels->type, labels->scope, labels->kind};
	size_t count = 0;

	for (unsigned i = 0; i < LABELS; i++) {
		if (!values[i])
			continue;
		to[count] = (Hawk__Pprof__Label)HAWK__PPROF__LABEL__INIT;
		to[count].key = own(writer, OWN_SITE + i);
		to[count].str = values[i];
		pointers[count] = &to[count];
		count++;
	}
	return count;
}

static struct hawk_error *put_sample(struct writer *writer, size_t number)
{
	const struct hawk_profile *profile = writer->profile;
	const struct hawk_profile_sample *sample = &profile->samples[number];
	Hawk__Pprof__Profile part = HAWK__PPROF__PROFILE__INIT;
	Hawk__Pprof__Sample message = HAWK__PPROF__SAMPLE__INIT;
	Hawk__Pprof__Sample *pointer = &message;
	Hawk__Pprof__Label labels[LABELS], *label_pointers[LABELS];

	if (!fill_locations(writer, sample->step))
		return &hawk_enomem;
	message.n_location_id = writer->path.count;
	message.location_id = writer->locations;
	message.n_value = profile->column_count;
	message.value = &profile->values[number * profile->column_count];
	message.n_label = fill_labels(writer, &sample->labels, labels, label_pointers);
	message.label = label_pointers;
	part.n_sample = 1;
	part.sample = &pointer;
	put(writer, &part);
	return NULL;
}

struct hawk_error *hawk_export_pprof(const struct hawk_export *export, struct hawk_output *output)
{
	const struct hawk_profile *profile = export->profile;
	CLEANUP(free_ptr) uint32_t *functions = calloc(profile->frame_count, sizeof(*functions));
	struct writer writer = {
		.profile = profile, .export = export, .output = output, .functions = functions};
	struct hawk_error *err = functions ? NULL : &hawk_enomem;

	if (err)
		return err;
	put_strings(&writer);
	put_head(&writer);
	put_modules(&writer);
	err = put_functions(&writer);
	for (uint32_t i = 1; i < profile->location_count && !err; i++)
		err = put_location(&writer, i);
	for (size_t i = 0; i < profile->sample_count && !err; i++)
		err = put_sample(&writer, i);
	hawk_profile_path_deinit(&writer.path);
	free(writer.locations);
	return err;
}
