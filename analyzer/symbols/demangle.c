/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * libiberty behind two bounds. A mangled name of 100 bytes can stand for gigabytes (each
 * substitution doubles the one before), and libiberty has no limit, so the printing callback exits
 * by longjmp when the output is too long. The demangler's state is on the stack, so nothing leaks.
 */
#include "demangle.h"

#include <setjmp.h>
#include <string.h>

#include <libiberty/demangle.h>

struct output {
	struct hawk_text *text;
	jmp_buf too_long;
};

static void append_output(const char *bytes, size_t size, void *opaque)
{
	struct output *output = opaque;

	if (size > HAWK_DEMANGLE_OUTPUT_MAX - output->text->size || output->text->failed)
		longjmp(output->too_long, 1);
	hawk_text_append(output->text, bytes, size);
}

static bool print_name(const char *mangled, struct output *output)
{
	enum { OPTIONS = DMGL_PARAMS | DMGL_ANSI };

	if (setjmp(output->too_long))
		return false;
	if (rust_demangle_callback(mangled, OPTIONS, append_output, output))
		return true;
	hawk_text_clear(output->text);
	/* By default libiberty refuses names of more than 1024 bytes, which templates exceed. */
	return cplus_demangle_v3_callback(mangled, OPTIONS | DMGL_NO_RECURSE_LIMIT, append_output,
					  output);
}

bool hawk_demangle(const char *mangled, struct hawk_text *text)
{
	struct output output = {.text = text};

	hawk_text_clear(text);
	if (mangled[0] != '_' || (mangled[1] != 'Z' && mangled[1] != 'R' && mangled[1] != '_'))
		return false;
	if (strnlen(mangled, HAWK_DEMANGLE_INPUT_MAX + 1) > HAWK_DEMANGLE_INPUT_MAX)
		return false;
	if (print_name(mangled, &output) && !text->failed && text->size)
		return true;
	hawk_text_clear(text);
	return false;
}
