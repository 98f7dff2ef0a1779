/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Which functions only pass an allocation on. Programs' own wrappers are told by their names.
 */
#include <ctype.h>
#include <string.h>

#include "hawk_function_name.h"

static bool starts_with(const char *string, const char *prefix)
{
	return !strncmp(string, prefix, strlen(prefix));
}

/** Entry points of the C library, with or without a suffix such as "@plt" or ".constprop.0". */
static bool is_c_allocator(const char *name)
{
	static const char *const names[] = {
		"malloc",         "calloc",    "realloc",         "reallocarray", "aligned_alloc",
		"posix_memalign", "memalign",  "valloc",          "pvalloc",      "__libc_malloc",
		"__libc_calloc",  "strdup",    "__libc_realloc",  "__strdup",     "__libc_memalign",
		"strndup",        "__strndup", "hawk_block_begin"};
	size_t length = strcspn(name, "@.(");

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i]) == length && !strncmp(name, names[i], length))
			return true;
	return false;
}

static bool is_rust_allocator(const char *name)
{
	return starts_with(name, "__rust_alloc") || starts_with(name, "__rust_realloc") ||
	       starts_with(name, "__rdl_") || starts_with(name, "__rg_") ||
	       starts_with(name, "alloc::alloc::") || starts_with(name, "alloc::raw_vec::") ||
	       starts_with(name, "<alloc::alloc::Global") || starts_with(name, "<alloc::raw_vec::");
}

/** "_Upper" or "__anything": names that C++ reserves for the implementation. */
static bool is_reserved(const char *component, size_t length)
{
	return length > 1 && component[0] == '_' &&
	       (component[1] == '_' || isupper((unsigned char)component[1]));
}

static bool is_plumbing_component(const char *component, size_t length)
{
	static const char *const names[] = {"allocator", "allocator_traits", "new_allocator",
					    "malloc_allocator", "pmr"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i]) == length && !strncmp(component, names[i], length))
			return true;
	/* Inline namespaces of libstdc++ and libc++ are reserved names that mean nothing. */
	if ((length == 7 && starts_with(component, "__cxx11")) ||
	    (length == 3 && starts_with(component, "__1")))
		return false;
	return is_reserved(component, length);
}

/** Looks at each component of the qualified name, template arguments left out. */
static bool has_plumbing_component(const char *name)
{
	const char *component = name;
	unsigned angle = 0;

	for (const char *at = name;; at++) {
		if (!angle && (*at == '\0' || *at == ':' || *at == '(' || *at == '<') &&
		    at > component && is_plumbing_component(component, (size_t)(at - component)))
			return true;
		if (*at == '\0' || (!angle && *at == '('))
			return false;
		if (*at == '<')
			angle++;
		else if (*at == '>' && angle)
			angle--;
		if (!angle && (*at == ':' || *at == '>'))
			component = at + 1;
	}
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
	static const char *const endings[] = {"_usable", "_num",     "_n",    "array", "_aligned",
					      "zero",    "internal", "rawnn", "raw",   "_or_die",
					      "_nofail", "_x",       "_"};
	bool cut = true;

	while (cut) {
		cut = cut_digit(name, length);
		for (size_t i = 0; !cut && i < sizeof(endings) / sizeof(endings[0]); i++)
			cut = cut_ending(name, length, endings[i]);
	}
}

bool hawk_function_name_is_wrapper(const char *name)
{
	static const char *const verbs[] = {"alloc", "strdup", "memdup", "memalign", "strndup"};
	size_t length = strcspn(name, "@.(");
	char lower[WRAPPER_NAME_MAX];

	if (length >= sizeof(lower) || strcspn(name, ":< ") < length)
		return false;
	for (size_t i = 0; i < length; i++)
		lower[i] = (char)tolower((unsigned char)name[i]);
	lower[length] = '\0';
	cut_manner(lower, &length);
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		size_t size = strlen(verbs[i]);

		if (length >= size && !memcmp(lower + length - size, verbs[i], size))
			return true;
	}
	return false;
}

bool hawk_function_name_is_plumbing(const char *name)
{
	if (is_c_allocator(name) || is_rust_allocator(name) || starts_with(name, "operator new(") ||
	    starts_with(name, "operator new[](") || !strcmp(name, "operator new") ||
	    !strcmp(name, "operator new[]"))
		return true;
	name = qualified_name(name);
	return (starts_with(name, "std::") || starts_with(name, "__gnu_cxx::")) &&
	       has_plumbing_component(name);
}
