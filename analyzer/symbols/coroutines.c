/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Recognizes coroutines by their functions. gcc calls them F.actor and F.destroy, where F ends in
 * the coroutine's own name and ".Frame"; the second one sets a bit of the frame and calls the
 * first. clang calls them F.resume and F.destroy (F.cleanup if the caller has the frame); they lie
 * behind each other, and the frame's first word is null at the end.
 *
 * Names are facts, and so is gcc's call. Only the machine code of clang's stripped ones is a guess.
 */
#include "hawk/symbols/coroutines.h"

#include <ctype.h>
#include <dwarf.h>
#include <elf.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "coroutine_code.h"
#include "dwarf_cfi.h"
#include "hawk/base/cleanup.h"
#include "state.h"

enum {
	CODE_BYTES_MAX = 1 << 20, /**< of a function */
	SHORT_BYTES_MAX = 256,    /**< of gcc's destroying function */
	START_BYTES_MAX = 256,    /**< of the start of a function, which chooses where to resume */
	CHILDREN_MAX = 100000,    /**< of a function's entry */
	ALIGNMENT = 16,           /**< of functions */
	GCC_INDEX_BYTES = 2,
	GCC_FIRST = 2, /**< number of the point in front of the body, which no co_await names */
};

/** A function that may be one of a coroutine's. Addresses are link-time. */
struct function {
	struct hawk_symbol_file *file;
	uint64_t bias;
	const char *symbol; /**< NULL = it has none */
	struct hawk_code code;
};

static bool reads_code(const struct function *function)
{
	const struct hawk_elf *binary = function->file->binary;

	return binary && binary->arch->machine == EM_X86_64;
}

/* Finds the function that starts at the link-time address; its bytes if the file has them. */
static bool find_function(struct function *function, uint64_t at)
{
	const struct hawk_symbol *symbol = hawk_symbol_table_function(&function->file->table, at);
	const struct hawk_cfi *cfi = hawk_symbols_file_cfi(function->file);
	uint64_t start = at, end = at, available;

	if (symbol && symbol->address != at)
		return false;
	if ((!cfi || !hawk_cfi_function(cfi, at, &start, &end)) && symbol)
		end = at + symbol->size;
	if (start != at || (!symbol && end <= at))
		return false;
	function->symbol = symbol ? symbol->name : NULL;
	function->code = (struct hawk_code){.start = at};
	if (!reads_code(function))
		return true;
	function->code.bytes = hawk_elf_bytes(function->file->binary, at, &available);
	function->code.size = function->code.bytes && end > at ? (size_t)(end - at) : 0;
	if (function->code.size > available)
		function->code.size = (size_t)available;
	if (function->code.size > CODE_BYTES_MAX)
		function->code.size = CODE_BYTES_MAX;
	return true;
}

/* Finds the function of a module that starts at an address of the target. */
static bool find_in_module(struct hawk_symbols *symbols, const struct hawk_symbol_module *module,
			   uint64_t address, struct function *ret)
{
	if (hawk_error_swallow(hawk_symbols_file(symbols, module, &ret->file)) ||
	    ret->file->answers)
		return false;
	ret->bias = hawk_symbols_bias(ret->file, module);
	return find_function(ret, address - ret->bias);
}

/* Returns the length of the name in front of the last `suffix`, which a '.' may follow; 0 = it has
 * none. */
static size_t stem(const char *name, const char *suffix)
{
	const char *found = NULL;

	for (const char *at = name; at && (at = strstr(at, suffix)) != NULL; at++) {
		char next = at[strlen(suffix)];

		if (!next || next == '.')
			found = at;
	}
	return found ? (size_t)(found - name) : 0;
}

/* Returns the length of what both names begin with if these are a coroutine's functions. */
static size_t shared_stem(const char *resume, const char *destroy, bool *by_gcc)
{
	size_t first = stem(resume, ".actor"), second = stem(destroy, ".destroy");

	*by_gcc = first > 0;
	if (!first)
		first = stem(resume, ".resume");
	if (!*by_gcc && !second)
		second = stem(destroy, ".cleanup");
	return first == second && !memcmp(resume, destroy, first) ? first : 0;
}

/* Returns the symbol of the coroutine itself: gcc's is the end of the stem, behind its length, and
 * without ".Frame". */
static const char *own_symbol(struct hawk_symbols *symbols, const char *name, size_t length,
			      bool by_gcc)
{
	size_t start = 0;

	for (size_t i = 0; by_gcc && i < length; i++) {
		size_t digits = 0;
		uint64_t bytes = 0;

		while (i + digits < length && isdigit((unsigned char)name[i + digits]) &&
		       bytes < length)
			bytes = 10 * bytes + (uint64_t)(name[i + digits++] - '0');
		if (digits && bytes == length - i - digits)
			start = i + digits;
		i += digits;
	}
	for (size_t end = length; by_gcc && start && end > start; end--)
		if (name[end] == '.' && end < length) {
			length = end;
			break;
		}
	return hawk_strings_intern(&symbols->strings, name + start, length - start);
}

/* Names the coroutine by its symbol, else by the place of its function. */
static bool name_coroutine(struct hawk_symbols *symbols, const struct function *resume,
			   const char *symbol, struct hawk_coroutine *coroutine)
{
	const char *name = symbol ? hawk_symbols_readable(symbols, symbol) : NULL;
	CLEANUP(text) struct hawk_text text = {0};

	hawk_text_puts(&text, HAWK_COROUTINE_FRAME);
	if (name)
		hawk_text_puts(&text, name);
	else
		hawk_text_printf(&text, "%s+0x%llx", hawk_path_base(coroutine->module.path),
				 (unsigned long long)resume->code.start);
	coroutine->is_place = !name;
	coroutine->type = text.failed ? NULL : hawk_symbols_intern(symbols, text.bytes);
	if (!coroutine->type)
		return false;
	coroutine->name = coroutine->type + strlen(HAWK_COROUTINE_FRAME);
	return true;
}

/* Returns true if the function, which ends soon, calls the other one; finds that one if `resume`
 * has no code yet. */
static bool calls(const struct function *destroy, struct function *resume, bool known)
{
	uint64_t target, ignored;

	if (destroy->code.size > SHORT_BYTES_MAX || !hawk_code_sets_bit(&destroy->code, &ignored))
		return false;
	for (size_t at = 0; hawk_code_next_target(&destroy->code, &at, &target);) {
		if (known ? target == resume->code.start : find_function(resume, target))
			return true;
	}
	return false;
}

/* Returns true if the functions' code looks like clang's. */
static bool is_like_clang(const struct function *resume, const struct function *destroy)
{
	uint64_t end = resume->code.start + resume->code.size;

	return end <= destroy->code.start && destroy->code.start - end < ALIGNMENT &&
	       hawk_code_clears_word(&resume->code) && hawk_code_tests_word(&destroy->code);
}

/* Finds the function that ends before the other one begins, with nothing but padding between. */
static bool find_before(const struct function *destroy, struct function *ret)
{
	const struct hawk_cfi *cfi = hawk_symbols_file_cfi(destroy->file);
	uint64_t start, end;

	for (uint64_t i = 1; cfi && i <= ALIGNMENT && i < destroy->code.start; i++)
		if (hawk_cfi_function(cfi, destroy->code.start - i, &start, &end))
			return find_function(ret, start);
	return false;
}

/* Finds clang's other function by its name. */
static bool find_by_name(const struct function *destroy, struct function *ret)
{
	const struct hawk_symbol_table *table = &destroy->file->table;
	bool by_gcc;

	for (size_t i = 0; i < table->count; i++)
		if (table->symbols[i].function &&
		    shared_stem(table->symbols[i].name, destroy->symbol, &by_gcc))
			return find_function(ret, table->symbols[i].address);
	return false;
}

/* Finds the function that resumes, of a frame that does not tell: it is at its end. */
static bool find_resume(const struct function *destroy, struct function *ret)
{
	*ret = *destroy;
	if (destroy->symbol &&
	    (stem(destroy->symbol, ".destroy") || stem(destroy->symbol, ".cleanup")))
		return find_by_name(destroy, ret);
	return calls(destroy, ret, false) || find_before(destroy, ret);
}

/* Judges two functions, and names their coroutine; false = they are none's. */
static bool judge(struct hawk_symbols *symbols, const struct function *resume,
		  struct function *destroy, struct hawk_coroutine *ret)
{
	size_t length = 0;

	if (resume->code.start == destroy->code.start)
		return false;
	if (resume->symbol && destroy->symbol)
		length = shared_stem(resume->symbol, destroy->symbol, &ret->by_gcc);
	if (!length) {
		struct function target = *resume;

		ret->by_gcc = calls(destroy, &target, true);
		ret->is_guess = !ret->by_gcc;
		return !resume->symbol && !destroy->symbol &&
		       (ret->by_gcc || is_like_clang(resume, destroy)) &&
		       name_coroutine(symbols, resume, NULL, ret);
	}
	return name_coroutine(symbols, resume,
			      own_symbol(symbols, resume->symbol, length, ret->by_gcc), ret);
}

static uint64_t offset_of_member(Dwarf_Die *die)
{
	Dwarf_Attribute memory;
	Dwarf_Word value;

	return dwarf_formudata(dwarf_attr(die, DW_AT_data_member_location, &memory), &value) == 0
		       ? value
		       : 0;
}

/* Reads clang's description of the frame. */
static void read_frame(struct hawk_symbols *symbols, struct hawk_dwarf *dwarf, Dwarf_Die *frame,
		       struct hawk_coroutine *coroutine)
{
	Dwarf_Die die;

	if (dwarf_child(frame, &die) != 0)
		return;
	for (int i = 0; i < CHILDREN_MAX; i++) {
		const char *name = dwarf_tag(&die) == DW_TAG_member ? dwarf_diename(&die) : NULL;
		const struct hawk_dwarf_type *type;

		if (name && !strcmp(name, "__coro_index")) {
			coroutine->index_at = offset_of_member(&die);
			coroutine->index_bytes = coroutine->index_at ? 1 : 0;
		} else if (name && !strcmp(name, "__promise")) {
			type = hawk_dwarf_type_attribute(symbols, dwarf, &die);
			coroutine->promise_bytes = type ? type->bytes : 0;
		}
		if (dwarf_siblingof(&die, &die) != 0)
			return;
	}
}

/* Finds clang's description of the frame in the function's entry: the type of a variable. */
static void read_debug(struct hawk_symbols *symbols, const struct function *resume,
		       struct hawk_coroutine *coroutine)
{
	struct hawk_dwarf *dwarf = resume->file->dwarf;
	const struct hawk_range *range;
	struct hawk_dwarf_unit *unit = NULL;
	Dwarf_Die die, frame;

	if (!dwarf || hawk_error_swallow(hawk_dwarf_unit_at(dwarf, resume->code.start, &unit)) ||
	    !unit || !(range = hawk_ranges_find(&unit->ranges, resume->code.start)) ||
	    !hawk_dwarf_has_room() || dwarf_child(&unit->nodes[range->id].die, &die) != 0)
		return;
	for (int i = 0; i < CHILDREN_MAX; i++) {
		const char *name = dwarf_tag(&die) == DW_TAG_variable ? dwarf_diename(&die) : NULL;
		Dwarf_Attribute memory;

		if (name && !strcmp(name, "__coro_frame") &&
		    dwarf_formref_die(dwarf_attr_integrate(&die, DW_AT_type, &memory), &frame))
			read_frame(symbols, dwarf, &frame, coroutine);
		if (dwarf_siblingof(&die, &die) != 0)
			return;
	}
}

static struct hawk_coroutine *recognize(struct hawk_symbols *symbols,
					const struct hawk_symbol_module *module, uint64_t resume,
					uint64_t destroy)
{
	struct hawk_coroutine found = {.module = *module, .destroy = destroy};
	struct function functions[2] = {0};
	struct hawk_coroutine *ret;

	if (!find_in_module(symbols, module, destroy, &functions[1]) ||
	    !(resume ? find_in_module(symbols, module, resume, &functions[0])
		     : find_resume(&functions[1], &functions[0])) ||
	    !judge(symbols, &functions[0], &functions[1], &found))
		return NULL;
	found.resume = functions[0].code.start + functions[0].bias;
	if (found.by_gcc && hawk_code_sets_bit(&functions[1].code, &found.index_at))
		found.index_bytes = GCC_INDEX_BYTES;
	else if (!found.by_gcc)
		read_debug(symbols, &functions[0], &found);
	ret = hawk_strings_alloc(&symbols->strings, sizeof(*ret));
	if (ret)
		*ret = found;
	return ret;
}

static int compare(const void *left, const void *right)
{
	const struct hawk_coroutine *a = left, *b = right;

	return a->destroy < b->destroy ? -1 : a->destroy > b->destroy;
}

const struct hawk_coroutine *hawk_symbols_coroutine(struct hawk_symbols *symbols,
						    const struct hawk_symbol_module *module,
						    uint64_t resume, uint64_t destroy)
{
	const struct hawk_coroutine key = {.destroy = destroy};
	struct hawk_coroutine **slot = tfind(&key, &symbols->coroutines, compare);
	struct hawk_coroutine *found = slot ? *slot : NULL;

	if (!found)
		found = recognize(symbols, module, resume, destroy);
	if (found && !slot && !tsearch(found, &symbols->coroutines, compare))
		return NULL;
	return found && (!resume || found->resume == resume) ? found : NULL;
}

/* Finds the instruction of one co_await: behind the store of its number, or where the table of
 * resumed places leads for it. */
static bool find_await(const struct hawk_coroutine *coroutine, const struct function *resume,
		       uint64_t index, uint64_t *ret)
{
	const struct hawk_elf *binary = resume->file->binary;
	struct hawk_code start = resume->code;
	uint64_t table, available;
	size_t at = 0;

	if (hawk_code_next_store(&resume->code, coroutine->index_at, coroutine->index_bytes, index,
				 &at)) {
		*ret = resume->code.start + at - !coroutine->by_gcc;
		return !hawk_code_next_store(&resume->code, coroutine->index_at,
					     coroutine->index_bytes, index, &at);
	}
	start.size = start.size < START_BYTES_MAX ? start.size : START_BYTES_MAX;
	for (at = 0; hawk_code_next_table(&start, &at, &table);) {
		const uint8_t *bytes = hawk_elf_bytes(binary, table, &available);
		int32_t distance;

		if (!bytes || available / sizeof(distance) <= index)
			continue;
		memcpy(&distance, bytes + index * sizeof(distance), sizeof(distance));
		*ret = table + (uint64_t)distance;
		if (*ret > resume->code.start && *ret - resume->code.start < resume->code.size)
			return true;
	}
	return false;
}

struct hawk_coroutine_line hawk_symbols_coroutine_line(struct hawk_symbols *symbols,
						       const struct hawk_coroutine *coroutine,
						       uint64_t index)
{
	struct hawk_coroutine_line ret = {0};
	const struct hawk_frame *frames;
	struct function resume = {0};
	uint64_t at;
	size_t count;

	if (!coroutine->index_bytes || (coroutine->by_gcc && index <= GCC_FIRST) ||
	    !find_in_module(symbols, &coroutine->module, coroutine->resume, &resume) ||
	    !find_await(coroutine, &resume, index, &at) ||
	    hawk_error_swallow(hawk_symbols_lookup(symbols, &coroutine->module, at + resume.bias,
						   true, &frames, &count)) ||
	    !frames[count - 1].line)
		return ret;
	ret.file = frames[count - 1].file;
	ret.line = frames[count - 1].line;
	ret.is_guess = !hawk_code_is_plain(&resume.code);
	return ret;
}
