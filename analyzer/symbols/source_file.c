/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds and reads source files. `.` and `..` are resolved textually before a path is put below a
 * folder, so that it cannot leave the folder.
 */
#include "hawk/symbols/source_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "hawk/base/cleanup.h"
#include "state.h"

void hawk_source_file_deinit(struct hawk_source_file *file)
{
	free(file->path);
	free(file->refused);
	free(file->text);
	*file = (struct hawk_source_file){0};
}

static int64_t changed_ns(const struct stat *status)
{
	return status->st_mtim.tv_sec * INT64_C(1000000000) + status->st_mtim.tv_nsec;
}

/** Reads `size` bytes, or fewer if the file has become shorter. */
static struct hawk_error *read_text(int fd, size_t size, struct hawk_source_file *file)
{
	ssize_t got = 1;

	file->text = malloc(size + 1);
	if (!file->text)
		return &hawk_enomem;
	while (file->bytes < size && got > 0) {
		got = read(fd, file->text + file->bytes, size - file->bytes);
		if (got > 0)
			file->bytes += (size_t)got;
	}
	file->text[file->bytes] = '\0';
	for (const char *at = file->text; (at = strchr(at, '\n')); at++)
		file->line_count++;
	file->line_count += file->bytes && file->text[file->bytes - 1] != '\n';
	file->at = file->text;
	file->at_line = 1;
	return NULL;
}

/** Reads `path` into `*file`, which is empty. `*why` is the reason why it is unusable, NULL if it
 * is missing. */
static struct hawk_error *read_path(const char *path, const char **why,
				    struct hawk_source_file *file)
{
	struct hawk_error *err;
	struct stat status;

	/* Opening a device can have effects, and a FIFO must not hang (as for ELF files). */
	*why = "is not a regular file";
	if (stat(path, &status) == 0 && !S_ISREG(status.st_mode))
		return NULL;
	CLEANUP(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0) {
		*why = errno == ENOENT || errno == ENOTDIR ? NULL : "cannot be read";
		return NULL;
	}
	if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
		return NULL;
	*why = "is larger than 64 MiB";
	if (status.st_size > HAWK_SOURCE_BYTES_MAX)
		return NULL;
	err = read_text(fd, (size_t)status.st_size, file);
	if (err)
		return err;
	*why = file->bytes ? "is not text" : "is empty";
	if (!file->bytes || strlen(file->text) != file->bytes)
		return NULL;
	*why = NULL;
	file->changed_ns = changed_ns(&status);
	file->path = strdup(path);
	return file->path ? NULL : &hawk_enomem;
}

/** Tries ROOT/PATH unless a file was found. Remembers the first refused file. */
static struct hawk_error *try_below(const char *root, const char *path,
				    struct hawk_source_file *ret)
{
	struct hawk_source_file file = {0};
	struct hawk_error *err;
	char joined[PATH_MAX];
	const char *why;
	int length = snprintf(joined, sizeof(joined), "%s%s%s", root,
			      !root[0] || path[0] == '/' ? "" : "/", path);

	if (ret->path || length <= 0 || (size_t)length >= sizeof(joined))
		return NULL;
	err = read_path(joined, &why, &file);
	if (err || !file.path) {
		hawk_source_file_deinit(&file);
		if (!err && why && !ret->why) {
			ret->why = why;
			ret->refused = strdup(joined);
		}
		return err;
	}
	free(ret->refused);
	*ret = file;
	return NULL;
}

/** Returns `path` without empty parts, "." and "..", with a '/' before each remaining part. */
static void resolve(const char *path, char ret[PATH_MAX])
{
	size_t used = 0;

	while (*path) {
		size_t length = strcspn(path, "/");

		if (length == 2 && !strncmp(path, "..", 2)) {
			while (used && ret[--used] != '/')
				;
		} else if (length && !(length == 1 && path[0] == '.')) {
			ret[used++] = '/';
			memcpy(ret + used, path, length);
			used += length;
		}
		path += length;
		path += *path == '/';
	}
	ret[used] = '\0';
}

/** Tries the whole path below `directory`, then without its first part, and so on. */
static struct hawk_error *try_tails(const char *directory, const char *path,
				    struct hawk_source_file *ret)
{
	struct hawk_error *err = NULL;

	for (const char *tail = path; tail && !err && !ret->path; tail = strchr(tail + 1, '/'))
		err = try_below(directory, tail, ret);
	return err;
}

struct hawk_error *hawk_source_file_open(const struct hawk_symbols *symbols,
					 const struct hawk_source_directories *directories,
					 const char *path, struct hawk_source_file *ret)
{
	const struct hawk_symbols_search *search = &symbols->search;
	struct hawk_error *err = NULL;
	char resolved[PATH_MAX];

	*ret = (struct hawk_source_file){0};
	if (strlen(path) >= sizeof(resolved) - 1)
		return NULL;
	resolve(path, resolved);
	if (!resolved[0])
		return NULL;
	for (size_t i = 0; i < directories->count && !err; i++)
		err = try_tails(directories->items[i], resolved, ret);
	if (path[0] == '/') {
		if (!err && search->sysroot)
			err = try_below(search->sysroot, resolved, ret);
		if (!err && search->root)
			err = try_below(search->root, resolved, ret);
		if (!err)
			err = try_below("", path, ret);
	}
	if (err)
		hawk_source_file_deinit(ret);
	return err;
}

const char *hawk_source_file_line(struct hawk_source_file *file, uint32_t number, size_t *bytes)
{
	if (!number || number > file->line_count)
		return NULL;
	if (number < file->at_line) {
		file->at = file->text;
		file->at_line = 1;
	}
	for (; file->at_line < number; file->at_line++)
		file->at = strchr(file->at, '\n') + 1;
	*bytes = strcspn(file->at, "\r\n");
	return file->at;
}

bool hawk_source_file_is_newer(struct hawk_symbols *symbols,
			       const struct hawk_symbol_module *module,
			       const struct hawk_source_file *file)
{
	struct hawk_symbol_file *binary = NULL;
	struct hawk_error *err = hawk_symbols_file(symbols, module, &binary);
	struct stat status;

	hawk_error_swallow(err);
	return !err && file->path && binary->binary && stat(binary->binary->path, &status) == 0 &&
	       file->changed_ns > changed_ns(&status);
}
