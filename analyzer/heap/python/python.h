/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Objects of CPython 3.9 to 3.13 in the builds that distributions have: no debug build, no build
 * without the global lock. An object is known by its type, a type by its own type. Private to
 * heap/python/.
 *
 *     | two words of some types | two words of the collector | references, type, fields |
 *     ^ block                                                ^ object: where pointers lead
 */
#ifndef HAWK_ANALYZER_HEAP_PYTHON_PYTHON_H
#define HAWK_ANALYZER_HEAP_PYTHON_PYTHON_H

#include "../guest.h"
#include "pymalloc.h"

enum {
	PYTHON_HEAD_BYTES = 16, /**< of the collector; also of the words before it */
	PYTHON_FRONT_MAX = 32,  /**< bytes of a block before its object */
	PYTHON_LINK_BITS = 3,   /**< the collector's marks in its links */
	PYTHON_STRING_LENGTH = 16,
	PYTHON_STRING_STATE = 32,
	PYTHON_STRING_IS_ASCII = 0x60, /**< bits of the state: compact, and one byte a character */
};

/** Bits of a type's flags. */
enum {
	PYTHON_INLINE_VALUES = 1 << 2,   /**< 3.13 */
	PYTHON_FRONT_WEAK_LIST = 1 << 3, /**< 3.12 */
	PYTHON_FRONT_DICT = 1 << 4,      /**< 3.11 */
	PYTHON_HEAP_TYPE = 1 << 9,
	PYTHON_LIST = 1 << 25,
	PYTHON_DICT = 1 << 29,
};

/** What a version changed. */
struct python_version {
	const char *name;
	uint16_t number;         /**< 311 */
	uint16_t type_bytes;     /**< of a class: tells the version */
	uint16_t first_thread;   /**< interpreter: its first thread, which points back at 16 */
	uint16_t collector;      /**< interpreter: lists of tracked objects */
	uint16_t qualified_name; /**< class: a string; behind it, the keys of its objects */
	uint8_t string_ascii;    /**< bytes before the text */
	uint8_t string_bytes;    /**< bytes before any text */
};

/** Returns the layout of the version that `home` has, or NULL. */
const struct python_version *python_version_of(const struct hawk_target *target,
					       const struct hawk_python_home *home);

/** Returns the layout of a guest by its name: "CPython 3.11"; NULL = it is none. */
const struct python_version *python_version_named(const char *guest);

/** What an object owns beside its block. */
enum python_shape {
	PYTHON_PLAIN,
	PYTHON_IS_LIST,
	PYTHON_IS_DICT,
	PYTHON_IS_SET,
	PYTHON_IS_BYTES, /**< a bytearray */
	PYTHON_IS_WEAK,  /**< refers weakly */
	PYTHON_IS_TYPE,
};

/** The state of an object. */
enum python_state {
	PYTHON_UNTRACKED,
	PYTHON_TRACKED, /**< by the collector */
	PYTHON_FREE,    /**< kept for the next object of its type */
	PYTHON_STATES
};

/** A type object. */
struct python_type {
	uint64_t address; /**< 0 = free slot */
	uint64_t flags;
	uint32_t weak_list;              /**< offset of this field; 0 = none */
	uint8_t shape;                   /**< enum python_shape */
	uint8_t front;                   /**< bytes of a block before the object */
	bool is_text;                    /**< no references behind its header */
	uint32_t numbers[PYTHON_STATES]; /**< the guest's types of its objects; 0 = none */
};

enum { PYTHON_TYPES_MAX = 1 << 15, PYTHON_INTERPRETERS_MAX = 256 };

struct python_reader {
	struct hawk_guest_finder *finder;
	struct hawk_symbols *symbols; /**< names of static types lie in files; NULL = no files */
	struct hawk_python_home home;
	const struct python_version *version;
	uint8_t guest;      /**< its number */
	bool is_collecting; /**< the process died in a collection: links may lie */
	struct hawk_near blocks, links, types;
	/** Hash table by address. */
	struct python_type *slots;
	size_t type_count, slot_count;
	uint64_t interpreters[PYTHON_INTERPRETERS_MAX];
	unsigned interpreter_count;
};

/** Returns the type at `address` if it is known, or NULL. */
struct python_type *python_known_type(const struct python_reader *reader, uint64_t address);

/** As python_known_type(), but reads it if it looks like a type. Valid until the next call. */
struct python_type *python_type_at(struct python_reader *reader, uint64_t address);

/** Returns the guest's type of the type's objects in that state. */
uint32_t python_number(struct python_reader *reader, struct python_type *type,
		       enum python_state state);

/** Appends the name of the type at `address` with its module: "dict", "myapp.Session". */
void python_append_name(struct python_reader *reader, uint64_t address, uint64_t flags,
			struct hawk_text *name);

/** Appends the C string at `address`, of the process or the file of a module. */
void python_append_text(struct python_reader *reader, uint64_t address, struct hawk_text *name);

/** Reads at most `room` bytes of the string object at `address`. Returns how many; 0 = not ASCII,
 * or empty. */
size_t python_read_string(struct python_reader *reader, uint64_t address, char *text, size_t room);

/** Appends the text of the string object at `address`; false = not ASCII, or empty. */
bool python_append_string(struct python_reader *reader, uint64_t address, struct hawk_text *name);

/** Where a dict's entries lie. */
struct python_keys {
	uint64_t entries, count;
	unsigned entry_bytes, key, value;
};

/** Reads the head of the keys of a dict at `keys`. */
bool python_read_keys(struct python_reader *reader, uint64_t keys, struct python_keys *ret);

/** An object in a block. */
struct python_object {
	uint64_t start, address;
	struct python_type *type;
	enum python_state state;
};

/** Finds the object in the block at `start`; looks for known types only, unless `reads_types`. */
bool python_object_in(struct python_reader *reader, uint64_t start, bool reads_types,
		      struct python_object *ret);

/** Adds the object and the buffers that it owns. */
void python_add(struct python_reader *reader, const struct python_object *object);

/** Returns true if the collector's head at `head` is linked with its neighbour. */
bool python_is_linked(struct python_reader *reader, uint64_t head, uint64_t next);

/** Adds the states of the interpreter's threads. Returns false if memory runs out. */
bool python_add_threads(struct python_reader *reader, uint64_t interpreter);

/** Adds all interpreters and objects. */
void python_search(struct python_reader *reader, const struct hawk_heap *heap);
void python_forget(struct python_reader *reader);

#endif
