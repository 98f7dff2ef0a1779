/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Which functions only pass an allocation on: standard libraries by their namespaces, programs' own
 * wrappers by what they are called.
 */
#include <ctype.h>
#include <string.h>

#include "hawk/names/function_name.h"

static bool starts_with(const char *string, const char *prefix)
{
	return !strncmp(string, prefix, strlen(prefix));
}

/** Entry points of the C library, with or without a suffix such as "@plt" or ".constprop.0". */
static bool is_c_allocator(const char *name)
{
	static const char *const names[] = {
		"malloc",          "calloc",        "realloc",
		"reallocarray",    "aligned_alloc", "posix_memalign",
		"memalign",        "valloc",        "pvalloc",
		"__libc_malloc",   "__libc_calloc", "strdup",
		"__libc_realloc",  "__strdup",      "__libc_memalign",
		"strndup",         "__strndup",     "asprintf",
		"vasprintf",       "__asprintf",    "__vasprintf_internal",
		"hawk_block_begin"};
	size_t length = strcspn(name, "@.(");

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i]) == length && !strncmp(name, names[i], length))
			return true;
	return false;
}

/** Namespaces of the standard libraries of C++ and Rust, and what Rust implements for their types.
 */
static bool is_standard_library(const char *name)
{
	static const char *const scopes[] = {
		"std::",    "__gnu_cxx::", "alloc::",     "core::",    "hashbrown::",
		"<alloc::", "<core::",     "<std::",      "__rustc::", "__rust_",
		"__rdl_",   "__rg_",       "<hashbrown::"};

	for (size_t i = 0; i < sizeof(scopes) / sizeof(scopes[0]); i++)
		if (starts_with(name, scopes[i]))
			return true;
	return false;
}

/** Where the qualified name begins: behind a return type, which ends in a space outside of <>. */
static const char *qualified_name(const char *name)
{
	const char *start = name;
	unsigned angle = 0;

	if (starts_with(name, "operator "))
		return name;
	for (const char *at = name; *at && (angle || *at != '('); at++) {
		if (*at == '<')
			angle++;
		else if (*at == '>' && angle)
			angle--;
		else if (!angle && *at == ' ' && !starts_with(at, " ["))
			start = at + 1;
	}
	return start;
}

enum { WRAPPER_NAME_MAX = 80 };

static bool cut_ending(const char *name, size_t *length, const char *ending)
{
	size_t size = strlen(ending);

	if (*length <= size || memcmp(name + *length - size, ending, size) != 0)
		return false;
	*length -= size;
	return true;
}

static bool cut_digit(const char *name, size_t *length)
{
	if (!*length || !isdigit((unsigned char)name[*length - 1]))
		return false;
	--*length;
	return true;
}

/** Cuts off what says how it is allocated: "zmalloc_usable", "g_malloc0_n". */
static void cut_manner(const char *name, size_t *length)
{
	static const char *const endings[] = {"_usable", "_num",      "_n",       "array",
					      "aligned", "zero",      "internal", "extended",
					      "rawnn",   "raw",       "_or_die",  "_nofail",
					      "_x",      "withretry", "_"};
	bool cut = true;

	while (cut) {
		cut = cut_digit(name, length);
		for (size_t i = 0; !cut && i < sizeof(endings) / sizeof(endings[0]); i++)
			cut = cut_ending(name, length, endings[i]);
	}
}

static bool ends_with_any(const char *name, size_t length, const char *const *endings)
{
	for (; *endings; endings++) {
		size_t size = strlen(*endings);

		if (length >= size && !memcmp(name + length - size, *endings, size))
			return true;
	}
	return false;
}

/** Of C libraries: strings belong to who appends to them, objects to who makes them. */
static bool is_library_wrapper(const char *name)
{
	static const char *const starts[] = {
		"sdsnew",
		"sdstrynew",
		"sdsempty",
		"sdsdup",
		"sdscat",
		"sdscpy",
		"sdsfrom",
		"sdsmakeroom",
		"sdsgrow",
		"sdsresize",
		"sdsremove",
		"sdsjoin",
		"strbuf_",
		"g_string_",
		"g_strconcat",
		"g_strdup_",
		"g_slice_",
		"pyobject_new",
		"pyobject_gc_new",
		"pyobject_gc_resize",
		"allocsetcontextcreate",
		"slabcontextcreate",
		"generationcontextcreate",
	};

	name += strspn(name, "_");
	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (starts_with(name, starts[i]))
			return true;
	return false;
}

/** The last component of a qualified name: up to its parameters and template arguments. */
static const char *last_component(const char *name, size_t *length)
{
	const char *start = name;
	const char *at = name;
	unsigned angle = 0;

	*length = strcspn(name, "<");
	for (; *at && (angle || (*at != '(' && *at != '@' && *at != '.')); at++) {
		if (*at == '<')
			angle++;
		else if (*at == '>' && angle)
			angle--;
		else if (!angle && at[0] == ':' && at[1] == ':')
			start = at + 2;
	}
	*length = strcspn(start, "<");
	if (*length > (size_t)(at - start))
		*length = (size_t)(at - start);
	return start;
}

bool hawk_function_name_is_wrapper(const char *name)
{
	static const char *const verbs[] = {"alloc",    "strdup",  "memdup",
					    "memalign", "strndup", NULL};
	/* A method "alloc" may make what its class is for. */
	static const char *const method_verbs[] = {"malloc",   "calloc",       "realloc", "memdup",
						   "memalign", "alignedalloc", NULL};
	char lower[WRAPPER_NAME_MAX];
	const char *component;
	bool qualified;
	size_t length;

	if (strstr(name, "::operator new"))
		return true;
	name = qualified_name(name);
	component = last_component(name, &length);
	qualified = component != name;
	if (length >= sizeof(lower))
		return false;
	for (size_t i = 0; i < length; i++)
		lower[i] = (char)tolower((unsigned char)component[i]);
	lower[length] = '\0';
	if (!qualified && is_library_wrapper(lower))
		return true;
	cut_manner(lower, &length);
	return ends_with_any(lower, length, qualified ? method_verbs : verbs);
}

bool hawk_function_name_is_plumbing(const char *name)
{
	return is_c_allocator(name) || starts_with(name, "operator new") ||
	       is_standard_library(qualified_name(name));
}
