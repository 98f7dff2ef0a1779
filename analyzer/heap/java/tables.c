/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Reads the tables that libjvm exports: fields of its structures, types and constants, each by
 * name.
 */
#include "java.h"

#include "hawk/symbols/symbols.h"

enum { STRIDE_MAX = 4096, ENTRIES_MAX = 1 << 14, TABLE_FIELDS = 5, TEXT_BYTES = 64 };

/** Entries to look up. Rows with the same name are the same thing in different versions. */
static const struct row {
	uint8_t name; /* enum java_name */
	const char *type, *field;
} rows[] = {
	{JAVA_VERSION, "Abstract_VM_Version", "_vm_major_version"},
	{JAVA_HEAP, "Universe", "_collectedHeap"},
	{JAVA_FLAGS, "JVMFlag", "flags"},
	{JAVA_FLAG_COUNT, "JVMFlag", "numFlags"},
	{JAVA_CLASS_BASE, "CompressedKlassPointers", "_narrow_klass._base"},
	{JAVA_CLASS_BASE, "CompressedKlassPointers", "_base"},
	{JAVA_CLASS_SHIFT, "CompressedKlassPointers", "_narrow_klass._shift"},
	{JAVA_CLASS_SHIFT, "CompressedKlassPointers", "_shift"},
	{JAVA_REFERENCE_BASE, "CompressedOops", "_narrow_oop._base"},
	{JAVA_REFERENCE_BASE, "CompressedOops", "_base"},
	{JAVA_REFERENCE_SHIFT, "CompressedOops", "_narrow_oop._shift"},
	{JAVA_REFERENCE_SHIFT, "CompressedOops", "_shift"},
	{JAVA_MIRROR_SIZE, "java_lang_Class", "_oop_size_offset"},
	{JAVA_THREADS, "ThreadsSMRSupport", "_java_thread_list"},
	{JAVA_RESERVE, "ThreadLocalAllocBuffer", "_reserve_for_allocation_prefetch"},
	{JAVA_FLAG_NAME, "JVMFlag", "_name"},
	{JAVA_FLAG_ADDRESS, "JVMFlag", "_addr"},
	{JAVA_OBJECT_CLASS, "oopDesc", "_metadata._klass"},
	{JAVA_CLASS_LAYOUT, "Klass", "_layout_helper"},
	{JAVA_CLASS_NAME, "Klass", "_name"},
	{JAVA_CLASS_LOADER, "Klass", "_class_loader_data"},
	{JAVA_SYMBOL_LENGTH, "Symbol", "_length"},
	{JAVA_SYMBOL_TEXT, "Symbol", "_body"},
	{JAVA_LIST_LENGTH, "ThreadsList", "_length"},
	{JAVA_LIST_THREADS, "ThreadsList", "_threads"},
	{JAVA_THREAD_BUFFER, "Thread", "_tlab"},
	{JAVA_BUFFER_TOP, "ThreadLocalAllocBuffer", "_top"},
	{JAVA_BUFFER_END, "ThreadLocalAllocBuffer", "_end"},
	{JAVA_CLASS_METHODS, "Klass", "_vtable_len"},
	{JAVA_CLASS_INTERFACES, "InstanceKlass", "_itable_len"},
	{JAVA_CLASS_MAPS, "InstanceKlass", "_nonstatic_oop_map_size"},
	{JAVA_FLAG_BYTES, "JVMFlag", NULL},
	{JAVA_CLASS_BYTES, "InstanceKlass", NULL},
	{JAVA_CLASS_BITS, NULL, "markWord::klass_shift"},
	{JAVA_SERIAL_YOUNG, "GenCollectedHeap", "_young_gen"},
	{JAVA_SERIAL_YOUNG, "SerialHeap", "_young_gen"},
	{JAVA_SERIAL_OLD, "GenCollectedHeap", "_old_gen"},
	{JAVA_SERIAL_OLD, "SerialHeap", "_old_gen"},
	{JAVA_SERIAL_EDEN, "DefNewGeneration", "_eden_space"},
	{JAVA_SERIAL_FROM, "DefNewGeneration", "_from_space"},
	{JAVA_SERIAL_TO, "DefNewGeneration", "_to_space"},
	{JAVA_SERIAL_TENURED, "TenuredGeneration", "_the_space"},
	{JAVA_SERIAL_BOTTOM, "Space", "_bottom"},
	{JAVA_SERIAL_BOTTOM, "ContiguousSpace", "_bottom"},
	{JAVA_SERIAL_TOP, "ContiguousSpace", "_top"},
	{JAVA_SERIAL_END, "Space", "_end"},
	{JAVA_SERIAL_END, "ContiguousSpace", "_end"},
	{JAVA_PARALLEL_YOUNG, "ParallelScavengeHeap", "_young_gen"},
	{JAVA_PARALLEL_OLD, "ParallelScavengeHeap", "_old_gen"},
	{JAVA_PARALLEL_EDEN, "PSYoungGen", "_eden_space"},
	{JAVA_PARALLEL_FROM, "PSYoungGen", "_from_space"},
	{JAVA_PARALLEL_TO, "PSYoungGen", "_to_space"},
	{JAVA_PARALLEL_TENURED, "PSOldGen", "_object_space"},
	{JAVA_PARALLEL_BOTTOM, "MutableSpace", "_bottom"},
	{JAVA_PARALLEL_TOP, "MutableSpace", "_top"},
	{JAVA_PARALLEL_END, "MutableSpace", "_end"},
	{JAVA_G1_MANAGER, "G1CollectedHeap", "_hrm"},
	{JAVA_G1_TABLE, "HeapRegionManager", "_regions"},
	{JAVA_G1_TABLE, "G1HeapRegionManager", "_regions"},
	{JAVA_G1_BASE, "G1HeapRegionTable", "_base"},
	{JAVA_G1_LENGTH, "G1HeapRegionTable", "_length"},
	{JAVA_G1_BOTTOM, "HeapRegion", "_bottom"},
	{JAVA_G1_BOTTOM, "G1HeapRegion", "_bottom"},
	{JAVA_G1_TOP, "HeapRegion", "_top"},
	{JAVA_G1_TOP, "G1HeapRegion", "_top"},
	{JAVA_G1_END, "HeapRegion", "_end"},
	{JAVA_G1_END, "G1HeapRegion", "_end"},
	{JAVA_G1_TYPE, "HeapRegion", "_type"},
	{JAVA_G1_TYPE, "G1HeapRegion", "_type"},
	{JAVA_G1_TAG, "HeapRegionType", "_tag"},
	{JAVA_G1_TAG, "G1HeapRegionType", "_tag"},
	{JAVA_G1_STARTS, NULL, "HeapRegionType::StartsHumongousTag"},
	{JAVA_G1_STARTS, NULL, "G1HeapRegionType::StartsHumongousTag"},
	{JAVA_G1_CONTINUES, NULL, "HeapRegionType::ContinuesHumongousTag"},
	{JAVA_G1_CONTINUES, NULL, "G1HeapRegionType::ContinuesHumongousTag"},
};

/** A table: the variables that hold its address, the bytes of an entry, and offsets in entries. */
enum { TYPE, FIELD, VALUE, IS_STATIC, STATIC_ADDRESS };
static const struct table {
	const char *start, *stride;
	const char *fields[TABLE_FIELDS];
	uint8_t value_bytes;
} tables[] = {
	{"gHotSpotVMStructs",
	 "gHotSpotVMStructEntryArrayStride",
	 {"gHotSpotVMStructEntryTypeNameOffset", "gHotSpotVMStructEntryFieldNameOffset",
	  "gHotSpotVMStructEntryOffsetOffset", "gHotSpotVMStructEntryIsStaticOffset",
	  "gHotSpotVMStructEntryAddressOffset"},
	 8},
	{"gHotSpotVMTypes",
	 "gHotSpotVMTypeEntryArrayStride",
	 {"gHotSpotVMTypeEntryTypeNameOffset", NULL, "gHotSpotVMTypeEntrySizeOffset"},
	 8},
	{"gHotSpotVMIntConstants",
	 "gHotSpotVMIntConstantEntryArrayStride",
	 {NULL, "gHotSpotVMIntConstantEntryNameOffset", "gHotSpotVMIntConstantEntryValueOffset"},
	 4},
	{"gHotSpotVMLongConstants",
	 "gHotSpotVMLongConstantEntryArrayStride",
	 {NULL, "gHotSpotVMLongConstantEntryNameOffset", "gHotSpotVMLongConstantEntryValueOffset"},
	 8},
};

bool java_read_name(struct java *java, uint64_t address, char *ret, size_t room)
{
	uint64_t available = hawk_near_read(&java->near, address, ret, room);
	const uint8_t *bytes = (const uint8_t *)ret;

	if (!available && java->symbols)
		bytes = hawk_symbols_bytes(java->symbols, address, &available);
	if (!bytes || !memchr(bytes, '\0', available < room ? available : room))
		return false;
	memmove(ret, bytes, available < room ? available : room);
	return true;
}

static struct hawk_error *take_address(void *context, uint64_t address, uint64_t bytes)
{
	(void)bytes;
	*(uint64_t *)context = address;
	return NULL;
}

/* Reads the word in the variable `name`. */
static bool read_variable(struct java *java, const struct hawk_module *module, const char *name,
			  uint64_t *ret)
{
	const struct hawk_symbol_module of = hawk_symbol_module_of(module);
	uint64_t address = 0;
	struct hawk_error *err =
		hawk_symbols_each_object(java->symbols, &of, name, take_address, &address);

	hawk_error_destroy(err);
	return !err && address && hawk_word(&java->near, address, ret);
}

/* Returns true if the entry has that text, or need not have any. */
static bool has_text(const char *wanted, const char *text)
{
	return wanted ? !strcmp(wanted, text) : !*text;
}

static void take_entry(struct java *java, const char *type, const char *field, uint64_t value)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (has_text(rows[i].type, type) && has_text(rows[i].field, field))
			java->names[rows[i].name] = value;
}

/* Reads the text that field `number` of an entry leads to; "" if the table has no such field. */
static bool read_text(struct java *java, const uint64_t *offsets, unsigned number, uint64_t entry,
		      char *ret)
{
	uint64_t address;

	*ret = '\0';
	return offsets[number] == JAVA_UNKNOWN ||
	       (hawk_word(&java->near, entry + offsets[number], &address) && address &&
		java_read_name(java, address, ret, TEXT_BYTES));
}

/* Reads an entry; returns false behind the last one, which has no name. */
static bool read_entry(struct java *java, const struct table *table, const uint64_t *offsets,
		       uint64_t entry)
{
	char type[TEXT_BYTES], field[TEXT_BYTES];
	unsigned first = offsets[TYPE] != JAVA_UNKNOWN ? TYPE : FIELD;
	uint64_t value = 0, name;
	uint32_t is_static = 0;

	if (!hawk_word(&java->near, entry + offsets[first], &name) || !name)
		return false;
	if (!read_text(java, offsets, TYPE, entry, type) ||
	    !read_text(java, offsets, FIELD, entry, field))
		return true; /* longer than any that is wanted */
	if (offsets[IS_STATIC] != JAVA_UNKNOWN)
		(void)hawk_half(&java->near, entry + offsets[IS_STATIC], &is_static);
	if (hawk_near_read(&java->near, entry + offsets[is_static ? STATIC_ADDRESS : VALUE], &value,
			   table->value_bytes) == table->value_bytes)
		take_entry(java, type, field, value);
	return true;
}

static bool read_table(struct java *java, const struct hawk_module *module,
		       const struct table *table)
{
	uint64_t start, stride, offsets[TABLE_FIELDS];

	if (!read_variable(java, module, table->start, &start) ||
	    !read_variable(java, module, table->stride, &stride) || !stride || stride > STRIDE_MAX)
		return false;
	for (unsigned i = 0; i < TABLE_FIELDS; i++) {
		offsets[i] = JAVA_UNKNOWN;
		if (table->fields[i] &&
		    (!read_variable(java, module, table->fields[i], &offsets[i]) ||
		     offsets[i] > STRIDE_MAX))
			return false;
	}
	for (unsigned i = 0; i < ENTRIES_MAX; i++)
		if (!read_entry(java, table, offsets, start + i * stride))
			return true;
	return false;
}

bool java_read_names(struct java *java, const struct hawk_module *module)
{
	for (unsigned i = 0; i < JAVA_NAMES; i++)
		java->names[i] = JAVA_UNKNOWN;
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		if (!read_table(java, module, &tables[i]))
			return false;
	for (unsigned i = 0; i < JAVA_NAMES_NEEDED; i++)
		if (java->names[i] == JAVA_UNKNOWN)
			return false;
	return true;
}
