/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The heap of HotSpot, the Java machine of OpenJDK 17 and later, with the collectors Serial,
 * Parallel and G1. Every offset comes from the tables that libjvm exports for debuggers
 * (gHotSpotVMStructs and the like); only their names are ours. Private to heap/java/.
 *
 *     region: | object | object | unused part of a thread's buffer | object ... | free |
 *             ^ bottom                                                          ^ top
 *     object: | mark | class | (length) | fields or elements |
 */
#ifndef HAWK_ANALYZER_HEAP_JAVA_JAVA_H
#define HAWK_ANALYZER_HEAP_JAVA_JAVA_H

#include "../guest.h"
#include "../walker.h"

/** Names that are looked up in the tables. Their values are offsets of fields, addresses of static
 * fields, values of constants, and bytes of types. */
enum java_name {
	/* static fields */
	JAVA_VERSION,
	JAVA_HEAP,
	JAVA_FLAGS,
	JAVA_FLAG_COUNT,
	JAVA_CLASS_BASE,
	JAVA_CLASS_SHIFT,
	JAVA_REFERENCE_BASE,
	JAVA_REFERENCE_SHIFT,
	JAVA_MIRROR_SIZE,
	JAVA_THREADS,
	JAVA_RESERVE,
	/* fields */
	JAVA_FLAG_NAME,
	JAVA_FLAG_ADDRESS,
	JAVA_OBJECT_CLASS,
	JAVA_CLASS_LAYOUT,
	JAVA_CLASS_NAME,
	JAVA_CLASS_LOADER,
	JAVA_SYMBOL_LENGTH,
	JAVA_SYMBOL_TEXT,
	JAVA_LIST_LENGTH,
	JAVA_LIST_THREADS,
	JAVA_THREAD_BUFFER,
	JAVA_BUFFER_TOP,
	JAVA_BUFFER_END,
	JAVA_CLASS_METHODS,    /**< words of the method table behind the structure */
	JAVA_CLASS_INTERFACES, /**< words of the tables of interfaces behind it */
	JAVA_CLASS_MAPS,       /**< number of maps of references behind these */
	/* types */
	JAVA_FLAG_BYTES,
	JAVA_CLASS_BYTES,
	JAVA_NAMES_NEEDED, /**< the ones above must be there, those below are some collector's */

	JAVA_CLASS_BITS =
		JAVA_NAMES_NEEDED, /**< where compact headers keep the class in the mark */
	JAVA_SERIAL_YOUNG,
	JAVA_SERIAL_OLD,
	JAVA_SERIAL_EDEN,
	JAVA_SERIAL_FROM,
	JAVA_SERIAL_TO,
	JAVA_SERIAL_TENURED,
	JAVA_SERIAL_BOTTOM,
	JAVA_SERIAL_TOP,
	JAVA_SERIAL_END,
	JAVA_PARALLEL_YOUNG,
	JAVA_PARALLEL_OLD,
	JAVA_PARALLEL_EDEN,
	JAVA_PARALLEL_FROM,
	JAVA_PARALLEL_TO,
	JAVA_PARALLEL_TENURED,
	JAVA_PARALLEL_BOTTOM,
	JAVA_PARALLEL_TOP,
	JAVA_PARALLEL_END,
	JAVA_G1_MANAGER,
	JAVA_G1_TABLE,
	JAVA_G1_BASE,
	JAVA_G1_LENGTH,
	JAVA_G1_BOTTOM,
	JAVA_G1_TOP,
	JAVA_G1_END,
	JAVA_G1_TYPE,
	JAVA_G1_TAG,
	JAVA_G1_STARTS, /**< tags of the first region of a large object, and of the others */
	JAVA_G1_CONTINUES,
	JAVA_NAMES
};

/** Value of a name that the tables lack. */
static const uint64_t JAVA_UNKNOWN = UINT64_MAX;

/** How this process lays out objects. */
struct java_settings {
	uint64_t class_base;
	unsigned class_shift;
	bool is_compact;       /**< the class lies in the mark */
	bool narrow_class;     /**< the class has 32 bits */
	bool narrow_reference; /**< likewise references */
	uint64_t reference_base;
	unsigned reference_shift;
	unsigned alignment;      /**< of objects, in bytes */
	unsigned length_at;      /**< offset of an array's length */
	unsigned mirror_size_at; /**< offset of its size in an object of java.lang.Class */
	unsigned reserve;        /**< bytes behind the end of a thread's buffer */
	const char *collector;
};

/** A part of the heap with objects. Ascending and disjoint. */
struct java_region {
	uint64_t start, top, end;
	bool is_large; /**< holds one object */
};

/** A class of objects. */
struct java_class {
	uint64_t id;  /**< as objects have it; 0 = free slot */
	int32_t form; /**< above 0: bytes of objects; below: of arrays; 0 = no class */
	bool is_mirror;
	uint32_t number; /**< from 1 on; 0 = none */
};

enum { JAVA_CLASSES_MAX = 1 << 20, JAVA_NAME_BYTES = 256 };

/** A class that objects have. */
struct java_type {
	uint64_t address;
	int32_t form;
	bool is_mirror;
	uint64_t objects, bytes;
};

struct java {
	const struct hawk_target *target;
	struct hawk_symbols *symbols; /**< names of the tables lie in the file; NULL = no files */
	struct hawk_near near;
	char name[48]; /**< "HotSpot 17 (G1)" */
	uint64_t names[JAVA_NAMES];
	struct java_settings settings;
	struct java_region *regions;
	size_t region_count, region_capacity;
	/** Unused parts of threads' buffers. Ascending. */
	struct hawk_claims buffers;
	/** Hash table by id. */
	struct java_class *slots;
	size_t slot_count, used_slots;
	/** By number; 0 is none. */
	struct java_type *types;
	uint32_t type_count;
	size_t type_capacity;
	uint64_t objects, bytes;
	struct hawk_claims unsound; /**< what lies between objects */
	uint64_t forwarded;         /**< objects that the collector was moving */
	bool incomplete;            /**< some regions cannot be read */
	bool failed;                /**< out of memory */
};

/** Reads libjvm's tables. Returns false if it is none, or an unknown one. */
bool java_read_names(struct java *java, const struct hawk_module *module);

/** Reads the name of a flag, type or field, of the process or libjvm's file. */
bool java_read_name(struct java *java, uint64_t address, char *ret, size_t room);

/** Reads how objects are laid out, and which collector is at work. */
bool java_read_settings(struct java *java);

/** Finds regions and unused parts of buffers. */
void java_find_regions(struct java *java);

/** Returns the class with this id, or NULL. It has a form and a number. */
const struct java_class *java_class_of(struct java *java, uint64_t id);

/** Appends the name of the class: "java.util.HashMap", "byte[]". */
void java_append_class(struct java *java, uint64_t address, struct hawk_text *name);

/** Returns how the words of the class's objects refer to others. */
struct hawk_guest_layout java_layout(struct java *java, const struct java_type *type);

struct java_object {
	uint64_t start, bytes;
	uint32_t number; /**< of its class */
	bool is_forwarded;
};

/** A walk over all objects. Start with zeros but for `java` and the target of `near`. */
struct java_walk {
	struct java *java;
	size_t region, buffer;
	uint64_t at;
	struct hawk_near near;
	bool notes_unsound; /**< adds what is no object to `unsound` */
};

/** Moves to the next object; returns false behind the last one. */
bool java_walk_next(struct java_walk *walk, struct java_object *ret);

/** Reads the heap whose `names` and `settings` are known. */
void java_search(struct java *java);
void java_forget(struct java *java);

#endif
