/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Interpreters and object libraries by the names of their files. A site deep in one of them says
 * little: who called it says whose reference is missing. The same holds for the C library, and for
 * a library without debug information below a program that has it.
 */
#include <string.h>

#include "hawk/names/function_name.h"
#include "hawk/names/stack.h"

/** Returns true if `file` is `name` with a version: "libpython3.11.so.1.0", "python3.7m". */
static bool is_version_of(const char *file, const char *name)
{
	size_t length = strlen(name);
	const char *rest = file + length;

	if (strncmp(file, name, length) != 0)
		return false;
	rest += strspn(rest, "0123456789.-");
	rest += rest[-1] >= '0' && rest[-1] <= '9' && strchr("dmu", *rest) && *rest;
	rest += *rest == '.';
	if (!strncmp(rest, "so", 2))
		rest += 2 + strspn(rest + 2, "0123456789.");
	return !*rest;
}

static bool is_any(const char *file, const char *const *names)
{
	for (; *names; names++)
		if (is_version_of(file, *names))
			return true;
	return false;
}

static bool is_runtime(const char *file)
{
	static const char *const names[] = {"python",   "libpython",  "ruby",       "libruby",
					    "perl",     "libperl",    "node",       "nodejs",
					    "libnode",  "libv8",      "libglib-2",  "libgobject-2",
					    "libgio-2", "libQt5Core", "libQt6Core", NULL};

	return is_any(file, names);
}

/** Functions of the C library lead from one module to another: qsort(), start_thread(). */
static bool is_c_library(const char *file)
{
	static const char *const names[] = {"libc",
					    "libpthread",
					    "libstdc++",
					    "ld-linux-x86-64",
					    "ld-linux-aarch64",
					    "ld-musl-x86_64",
					    "ld-musl-aarch64",
					    NULL};

	return is_any(file, names);
}

/** What a script allocates is no matter of who runs the script. */
static bool runs_scripts(const char *function)
{
	static const char *const loops[] = {"_PyEval_EvalFrame", "PyEval_EvalFrame", "vm_exec",
					    "rb_vm_exec",        "Perl_runops_",     NULL};

	for (const char *const *loop = loops; *loop; loop++)
		if (!strncmp(function, *loop, strlen(*loop)))
			return true;
	return false;
}

static const char *file_of(const struct hawk_stack_line *line)
{
	return line->kind == HAWK_LINE_FUNCTION && line->has_module && line->module.path
		       ? hawk_path_base(line->module.path)
		       : NULL;
}

bool hawk_stack_is_c_library(const struct hawk_stack_line *line)
{
	const char *file = file_of(line);

	return file && is_c_library(file);
}

/** Returns the first line behind `first` in another module whose source is known; without one, the
 * first of a program. */
static size_t library_caller(const struct hawk_stack *stack, size_t first)
{
	const char *library = file_of(&stack->lines[first]);
	bool is_library = strstr(library, ".so");
	size_t program = stack->count;

	for (size_t i = first + 1; i < stack->count; i++) {
		const char *file = file_of(&stack->lines[i]);

		if (!file || is_c_library(file) || strcmp(file, library) == 0)
			continue;
		if (stack->lines[i].name.file)
			return i;
		if (is_library && program == stack->count && !strstr(file, ".so") &&
		    !is_runtime(file))
			program = i;
	}
	return program;
}

size_t hawk_stack_runtime_caller(const struct hawk_stack *stack, size_t first)
{
	const char *file = first < stack->count ? file_of(&stack->lines[first]) : NULL;

	if (!file)
		return stack->count;
	if (!is_runtime(file))
		return is_c_library(file) || !stack->lines[first].name.file
			       ? library_caller(stack, first)
			       : stack->count;
	for (size_t i = first; i < stack->count; i++) {
		const struct hawk_stack_line *line = &stack->lines[i];

		file = file_of(line);
		if (file && !is_runtime(file) && !is_c_library(file))
			return i;
		if (file && line->name.function && runs_scripts(line->name.function))
			break;
	}
	return stack->count;
}
