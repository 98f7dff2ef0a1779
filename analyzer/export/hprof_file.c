/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Puts records together and writes them.
 */
#include "hprof_file.h"

#include <endian.h>

#include "hawk/base/utf8.h"

enum { SEGMENT_BYTES = 1 << 20 }; /**< a segment ends with the object that reaches it */

static const char MAGIC[] = "JAVA PROFILE 1.0.2";

void hawk_hprof_put(struct hawk_hprof_file *file, unsigned bytes, uint64_t value)
{
	uint64_t swapped = htobe64(value);

	hawk_text_append(&file->body, (const char *)&swapped + sizeof(swapped) - bytes, bytes);
}

void hawk_hprof_end_record(struct hawk_hprof_file *file, uint8_t tag)
{
	uint32_t bytes = htobe32((uint32_t)file->body.size);
	char head[9] = {(char)tag};

	memcpy(head + 5, &bytes, sizeof(bytes));
	hawk_output_append(file->output, head, sizeof(head));
	hawk_output_append(file->output, hawk_text_string(&file->body), file->body.size);
	hawk_text_clear(&file->body);
}

void hawk_hprof_file_begin(struct hawk_hprof_file *file, struct hawk_output *output,
			   uint64_t milliseconds)
{
	*file = (struct hawk_hprof_file){.output = output};
	hawk_text_append(&file->body, MAGIC, sizeof(MAGIC));
	hawk_hprof_put(file, 4, sizeof(uint64_t));
	hawk_hprof_put(file, 8, milliseconds);
	hawk_output_append(output, hawk_text_string(&file->body), file->body.size);
	hawk_text_clear(&file->body);
}

struct hawk_error *hawk_hprof_file_end(struct hawk_hprof_file *file)
{
	hawk_hprof_end_record(file, HAWK_HPROF_END_RECORD);
	return file->body.failed ? &hawk_enomem : NULL;
}

void hawk_hprof_file_deinit(struct hawk_hprof_file *file)
{
	hawk_text_deinit(&file->body);
}

void hawk_hprof_string(struct hawk_hprof_file *file, uint64_t id, const char *text)
{
	hawk_hprof_put(file, 8, id);
	hawk_utf8_append_safe(&file->body, text);
	hawk_hprof_end_record(file, HAWK_HPROF_STRING_RECORD);
}

void hawk_hprof_load_class(struct hawk_hprof_file *file, uint64_t id, const char *name)
{
	hawk_hprof_string(file, id, name);
	hawk_hprof_put(file, 4, ++file->class_count);
	hawk_hprof_put(file, 8, id);
	hawk_hprof_put(file, 4, HAWK_HPROF_NO_TRACE);
	hawk_hprof_put(file, 8, id);
	hawk_hprof_end_record(file, HAWK_HPROF_LOAD_CLASS_RECORD);
}

void hawk_hprof_class(struct hawk_hprof_file *file, uint64_t id, uint32_t bytes, uint32_t fields)
{
	uint64_t object = hawk_hprof_id(HAWK_HPROF_JAVA_CLASS, 0);

	hawk_hprof_put(file, 1, HAWK_HPROF_CLASS_DUMP);
	hawk_hprof_put(file, 8, id);
	hawk_hprof_put(file, 4, HAWK_HPROF_NO_TRACE);
	hawk_hprof_put(file, 8, id == object ? 0 : object); /* super class */
	for (unsigned i = 0; i < 5; i++) /* loader, signers, protection domain, reserved */
		hawk_hprof_put(file, 8, 0);
	hawk_hprof_put(file, 4, bytes);
	hawk_hprof_put(file, 2, 0); /* constants */
	hawk_hprof_put(file, 2, 0); /* static fields */
	hawk_hprof_put(file, 2, fields);
}

void hawk_hprof_field(struct hawk_hprof_file *file, uint64_t name, enum hawk_hprof_type type)
{
	hawk_hprof_put(file, 8, name);
	hawk_hprof_put(file, 1, type);
}

void hawk_hprof_instance(struct hawk_hprof_file *file, uint64_t id, uint32_t trace, uint64_t class,
			 size_t bytes)
{
	hawk_hprof_put(file, 1, HAWK_HPROF_INSTANCE_DUMP);
	hawk_hprof_put(file, 8, id);
	hawk_hprof_put(file, 4, trace);
	hawk_hprof_put(file, 8, class);
	hawk_hprof_put(file, 4, bytes);
}

void hawk_hprof_end_object(struct hawk_hprof_file *file, bool last)
{
	if (file->body.size >= SEGMENT_BYTES || (last && file->body.size))
		hawk_hprof_end_record(file, HAWK_HPROF_SEGMENT_RECORD);
}
