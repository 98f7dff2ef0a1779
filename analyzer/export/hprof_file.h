/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Records of Java's HPROF, binary version 1.0.2: big endian, with ids of 8 bytes. Internal to
 * export/.
 *
 *     file    | "JAVA PROFILE 1.0.2\0" | u4 size of ids | u8 ms since 1970 | records
 *     record  | u1 tag | u4 time | u4 bytes of the body | body
 *
 * Objects are sub-records of heap dump segments, which are records again. A record is put together
 * in memory, as its size comes first. Strings, classes and other objects share one space of ids,
 * above all addresses; a block's id is its address.
 */
#ifndef HAWK_ANALYZER_EXPORT_HPROF_FILE_H
#define HAWK_ANALYZER_EXPORT_HPROF_FILE_H

#include "hawk/base/text.h"
#include "hawk/output/output.h"

/** What an id stands for, in its upper 16 bits. A class and its name have the same id. */
enum hawk_hprof_kind {
	HAWK_HPROF_TEXT = 1,     /**< string: enum hawk_hprof_text */
	HAWK_HPROF_OFFSET,       /**< string: "+0x18", a place in a block */
	HAWK_HPROF_INDEX,        /**< string: "[3]" */
	HAWK_HPROF_PLACE,        /**< string: where a root lies */
	HAWK_HPROF_METHOD,       /**< string: a frame's function */
	HAWK_HPROF_SOURCE,       /**< string: a frame's source file */
	HAWK_HPROF_FRAME,        /**< stack frame */
	HAWK_HPROF_JAVA_CLASS,   /**< class that readers look for */
	HAWK_HPROF_MODULE_CLASS, /**< class of a module's functions */
	HAWK_HPROF_MORE_CLASS,   /**< class of lists of pointers */
	HAWK_HPROF_REST_CLASS,   /**< class of rests of blocks */
	HAWK_HPROF_HOLDER_CLASS, /**< class of one holder of roots */
	HAWK_HPROF_BLOCK_CLASS,  /**< class of blocks */
	HAWK_HPROF_MORE,         /**< list of pointers */
	HAWK_HPROF_REST,         /**< rest of a block */
	HAWK_HPROF_HOLDER,       /**< holder of roots */
};

static inline uint64_t hawk_hprof_id(enum hawk_hprof_kind kind, uint64_t number)
{
	return (uint64_t)kind << 48 | number;
}

/** Strings of their own. */
enum hawk_hprof_text {
	HAWK_HPROF_TEXT_EMPTY,
	HAWK_HPROF_TEXT_MORE,     /**< field that leads to a list */
	HAWK_HPROF_TEXT_REFERENT, /**< field of java.lang.ref.Reference */
	HAWK_HPROF_TEXT_NAME,     /**< fields of threads */
	HAWK_HPROF_TEXT_DAEMON,
};

/** Tags of records. */
enum {
	HAWK_HPROF_STRING_RECORD = 0x01,
	HAWK_HPROF_LOAD_CLASS_RECORD = 0x02,
	HAWK_HPROF_FRAME_RECORD = 0x04,
	HAWK_HPROF_TRACE_RECORD = 0x05,
	HAWK_HPROF_SEGMENT_RECORD = 0x1c,
	HAWK_HPROF_END_RECORD = 0x2c,
};

/** Tags of sub-records of a heap dump segment. */
enum hawk_hprof_tag {
	HAWK_HPROF_ROOT_JNI_GLOBAL = 0x01,
	HAWK_HPROF_ROOT_JAVA_FRAME = 0x03,
	HAWK_HPROF_ROOT_THREAD = 0x08,
	HAWK_HPROF_ROOT_UNKNOWN = 0xff,
	HAWK_HPROF_CLASS_DUMP = 0x20,
	HAWK_HPROF_INSTANCE_DUMP = 0x21,
};

/** Serial number of the stack trace without frames. */
enum { HAWK_HPROF_NO_TRACE = 1 };

struct hawk_hprof_file {
	struct hawk_output *output;
	struct hawk_text body; /**< of the record that is being put together */
	uint32_t class_count;  /**< serial number of the last class */
};

void hawk_hprof_file_begin(struct hawk_hprof_file *file, struct hawk_output *output,
			   uint64_t milliseconds);
/** Fails if memory ran out for any of the records. */
struct hawk_error *hawk_hprof_file_end(struct hawk_hprof_file *file);
void hawk_hprof_file_deinit(struct hawk_hprof_file *file);

/** Appends the lowest `bytes` (at most 8) of `value` to the body. */
void hawk_hprof_put(struct hawk_hprof_file *file, unsigned bytes, uint64_t value);

/** Writes the body as a record. */
void hawk_hprof_end_record(struct hawk_hprof_file *file, uint8_t tag);

/** Writes a string, as valid UTF-8 without control characters. */
void hawk_hprof_string(struct hawk_hprof_file *file, uint64_t id, const char *text);

/** Writes a class's name, and gives it the next serial number, from 1 on. */
void hawk_hprof_load_class(struct hawk_hprof_file *file, uint64_t id, const char *name);

/* Sub-records. hawk_hprof_end_object() follows each. */

/** Begins a class; its fields follow. `bytes`: shallow size of its instances. */
void hawk_hprof_class(struct hawk_hprof_file *file, uint64_t id, uint32_t bytes, uint32_t fields);

enum hawk_hprof_type {
	HAWK_HPROF_OBJECT = 2,  /**< a reference, 8 bytes */
	HAWK_HPROF_BOOLEAN = 4, /**< 1 byte */
};

void hawk_hprof_field(struct hawk_hprof_file *file, uint64_t name, enum hawk_hprof_type type);

/** Begins an object; `bytes` of values of its fields follow. */
void hawk_hprof_instance(struct hawk_hprof_file *file, uint64_t id, uint32_t trace, uint64_t class,
			 size_t bytes);

/** Ends the segment if it is long enough, or if it is the last one. */
void hawk_hprof_end_object(struct hawk_hprof_file *file, bool last);

#endif
