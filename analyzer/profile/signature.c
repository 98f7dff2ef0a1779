/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Signatures of stacks: each step's is made of its parent's and the names of its own functions.
 */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "hawk/names/function_name.h"
#include "parts.h"

/** Returns true for glibc and its loader: their functions that start programs and threads have
 * other names in each version. */
static bool is_c_library(const char *path)
{
	static const char *const starts[] = {"libc.so", "libc-", "ld-", "libpthread", "ld.so"};
	const char *base = hawk_path_base(path);

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (!strncmp(base, starts[i], strlen(starts[i])))
			return true;
	return false;
}

size_t hawk_profile_function_length(const char *name)
{
	static const char *const suffixes[] = {".constprop", ".isra",  ".part",  ".cold",
					       ".lto_priv",  ".llvm.", " [clone"};
	size_t length = strlen(name);

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		const char *at = strstr(name, suffixes[i]);

		if (at && at != name && (size_t)(at - name) < length)
			length = (size_t)(at - name);
	}
	return length;
}

/** The last folder and the file: builds lie in different places. */
static const char *relative_file(const char *path)
{
	const char *base = hawk_path_base(path);

	if (base - path < 2)
		return base;
	for (base -= 2; base > path && base[0] != '/';)
		base--;
	return base[0] == '/' ? base + 1 : base;
}

/** Length up to ".so": versions of a library are the same code to a reader. */
static size_t module_length(const char *base)
{
	const char *suffix = strstr(base, ".so");

	return suffix && suffix != base ? (size_t)(suffix - base) : strlen(base);
}

static uint64_t add(uint64_t signature, const char *text, size_t size)
{
	return XXH3_64bits_withSeed(text, size, signature);
}

static uint64_t add_frame(const struct hawk_profile *profile,
			  const struct hawk_profile_frame *frame, bool files, uint64_t signature)
{
	const char *function = profile->strings[frame->function];
	const char *module = profile->strings[profile->modules[frame->module].path];
	const char *file = relative_file(profile->strings[frame->file]);

	if (frame->kind != HAWK_PROFILE_FUNCTION)
		return add(signature, function, strlen(function));
	if (is_c_library(module) || (frame->function && hawk_function_name_is_plumbing(function)))
		return signature;
	if (!frame->function) {
		module = hawk_path_base(module);
		return add(signature, module, module_length(module));
	}
	signature = add(signature, function, hawk_profile_function_length(function));
	return files ? add(signature, file, strlen(file)) : signature;
}

static uint64_t add_location(const struct hawk_profile *profile, uint32_t location, bool files,
			     uint64_t signature)
{
	for (uint32_t i = profile->locations[location].count; i-- > 0;)
		signature = add_frame(profile, hawk_profile_location_frame(profile, location, i),
				      files, signature);
	return signature;
}

struct hawk_error *hawk_profile_signatures(const struct hawk_profile *profile, bool files,
					   uint64_t **ret)
{
	uint64_t *signatures = calloc(profile->step_count, sizeof(*signatures));

	if (!signatures)
		return &hawk_enomem;
	for (uint32_t step = 1; step < profile->step_count; step++)
		signatures[step] = add_location(profile, profile->steps[step].location, files,
						signatures[profile->steps[step].parent]);
	*ret = signatures;
	return NULL;
}
