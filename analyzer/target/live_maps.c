/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * /proc/PID/maps as mappings. Names in brackets ([heap], [stack]) are labels, not files.
 */
#include "live_proc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hawk_cleanup.h"
#include "target_state.h"

/** Undoes the kernel's octal escapes (it writes a newline as \012) in place. */
static size_t unescape(char *path)
{
	size_t to = 0;

	for (size_t from = 0; path[from]; from++) {
		if (!strncmp(path + from, "\\012", 4)) {
			path[to++] = '\n';
			from += 3;
		} else {
			path[to++] = path[from];
		}
	}
	path[to] = 0;
	return to;
}

/** Memory of devices and of drivers behind an anon_inode: or socket: must not be read, it may have
 * side effects; the kernel's own pages cannot. */
static bool is_readable(const char *path)
{
	static const char *const memory[] = {"/dev/shm/", "/dev/zero", "/dev/hugepages/"};

	if (!strncmp(path, "[vvar", 5) || !strcmp(path, "[vsyscall]"))
		return false;
	if (path[0] && path[0] != '/' && path[0] != '[')
		return false;
	if (strncmp(path, "/dev/", 5))
		return true;
	for (size_t i = 0; i < sizeof(memory) / sizeof(*memory); i++)
		if (!strncmp(path, memory[i], strlen(memory[i])))
			return true;
	return false;
}

/** One line "start-end perms offset device inode path". False if it is not of that form. */
static bool parse_line(char *line, struct hawk_mapping *ret, char **path)
{
	unsigned long long start, end, offset;
	int path_at = 0;
	char rights[5];

	if (sscanf(line, "%llx-%llx %4s %llx %*s %*s %n", &start, &end, rights, &offset, &path_at) <
		    4 ||
	    strlen(rights) != 4 || !path_at || start >= end)
		return false;
	*path = line + path_at;
	*ret = (struct hawk_mapping){
		.start = start,
		.end = end,
		.file_offset = offset,
		.flags = (rights[0] == 'r' ? HAWK_MAPPING_READ : 0u) |
			 (rights[1] == 'w' ? HAWK_MAPPING_WRITE : 0u) |
			 (rights[2] == 'x' ? HAWK_MAPPING_EXEC : 0u) |
			 (rights[3] == 's' ? HAWK_MAPPING_SHARED : 0u),
	};
	return true;
}

static size_t count_lines(const char *text)
{
	size_t count = 1;

	while ((text = strchr(text, '\n'))) {
		text++;
		count++;
	}
	return count;
}

static struct hawk_error *add_line(struct hawk_target *target, char *line, uint64_t *vdso)
{
	struct hawk_mapping *mapping = &target->mappings[target->mapping_count];
	uint64_t end = target->mapping_count ? mapping[-1].end : 0;
	char *path;

	if (!parse_line(line, mapping, &path) || mapping->start < end)
		return hawk_error_create(HAWK_ERROR_FORMAT,
					 "cannot parse \"%.100s\" in /proc/PID/maps", line);
	if (!strcmp(path, "[vdso]"))
		*vdso = mapping->start;
	if (is_readable(path))
		mapping->present_bytes = mapping->dumped_bytes = mapping->end - mapping->start;
	if (path[0] && path[0] != '[') {
		size_t length = unescape(path);

		mapping->path = hawk_target_string(target, path, length);
		if (!mapping->path)
			return &hawk_enomem;
	}
	target->mapping_count++;
	return NULL;
}

struct hawk_error *hawk_proc_parse_maps(const char *text, struct hawk_target *target,
					uint64_t *vdso)
{
	CLEANUP(free_ptr) char *copy = strdup(text);
	char *rest = copy;
	char *line;

	*vdso = 0;
	target->mappings = calloc(count_lines(text), sizeof(*target->mappings));
	if (!copy || !target->mappings)
		return &hawk_enomem;
	while ((line = strsep(&rest, "\n"))) {
		struct hawk_error *error = *line ? add_line(target, line, vdso) : NULL;

		if (error)
			return error;
	}
	return NULL;
}
