/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Looks through directories for cores. What a core's notes do not say comes from systemd-coredump's
 * attributes and the name that it gives: core.COMM.UID.BOOT.PID.TIME, then the compression's.
 */
#include "hawk/analysis/core_list.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "hawk/base/array.h"
#include "hawk/base/cleanup.h"
#include "hawk/base/numbers.h"
#include "hawk/base/quantity.h"
#include "hawk/base/text.h"
#include "hawk/heap/heap.h"
#include "hawk/target/target.h"

enum { FILES_MAX = 1 << 16, FOLDERS_MAX = 16, ATTRIBUTE_BYTES = 64, PATTERN_BYTES = 256 };

static const uint64_t NS_PER_S = 1000000000;

static const char *const patterns[] = {"core", "core.*", "*.core", "*.core.*", "*.crash", NULL};
static const char *const below_patterns[] = {"coredump", "coredump.*", "core.zst", NULL};
static const char *const usual_folders[] = {
	"/var/lib/systemd/coredump", "/var/crash",    "/var/lib/apport/coredump",
	"/var/spool/abrt",           "/var/tmp/abrt", ".",
};

/** The directories that were looked through, each once, and the list that they add to. */
struct search {
	struct hawk_core_list *list;
	const char *const *patterns;
	char kernel[PATTERN_BYTES]; /**< the names that the kernel gives; "" = unknown */
	struct stat seen[FOLDERS_MAX];
	size_t seen_count;
};

static void set_program(struct hawk_core_entry *entry, const char *name, size_t length)
{
	if (entry->program || !length)
		return;
	entry->program = strndup(name, length);
}

/** Reads what systemd-coredump's attributes say and the core does not. */
static void read_attributes(struct hawk_core_entry *entry)
{
	char text[ATTRIBUTE_BYTES];
	ssize_t bytes = getxattr(entry->path, "user.coredump.signal", text, sizeof(text) - 1);

	if (bytes > 0 && !entry->signal) {
		text[bytes] = 0;
		entry->signal = atoi(text);
	}
	bytes = getxattr(entry->path, "user.coredump.pid", text, sizeof(text) - 1);
	if (bytes > 0 && !entry->pid) {
		text[bytes] = 0;
		entry->pid = (uint32_t)strtoul(text, NULL, 10);
	}
	bytes = getxattr(entry->path, "user.coredump.comm", text, sizeof(text));
	if (bytes > 0)
		set_program(entry, text, (size_t)bytes);
}

/** Reads the name that systemd-coredump gives. */
static void read_name(struct hawk_core_entry *entry)
{
	const char *slash = strrchr(entry->path, '/');
	char program[NAME_MAX + 1];
	unsigned long long time;
	unsigned pid;
	int length = 0;

	if (sscanf(slash ? slash + 1 : entry->path, "core.%255[^.].%*u.%*32[0-9a-f].%u.%llu%n",
		   program, &pid, &time, &length) != 3 ||
	    !length)
		return;
	if (!entry->pid)
		entry->pid = pid;
	set_program(entry, program, strlen(program));
}

static enum hawk_core_whole judge(const struct hawk_findings *findings, bool packed)
{
	for (size_t i = 0; i < findings->count && !packed; i++)
		if (!strcmp(findings->items[i].key, "core-truncated") ||
		    !strcmp(findings->items[i].key, "core-header-count"))
			return HAWK_CORE_CUT_OFF;
	return packed ? HAWK_CORE_WHOLE_UNKNOWN : HAWK_CORE_WHOLE;
}

static void describe(struct hawk_target *target, struct hawk_core_entry *entry)
{
	const struct hawk_process *process = hawk_target_process(target);
	const char *program = process->program[0] ? process->program : process->name;
	size_t modules;

	hawk_target_modules(target, &modules);
	entry->pid = process->pid;
	entry->signal = process->signal;
	set_program(entry, program, strlen(program));
	entry->modules_known = modules;
	entry->traced = hawk_heap_has_tracer(target);
	if (process->end.attribute_ns)
		entry->time_ns = process->end.attribute_ns;
}

/** Returns false for a file that is no core. */
static bool look_into(struct hawk_core_entry *entry)
{
	struct hawk_findings findings;
	struct hawk_target *target = NULL;
	bool is_core = true, packed;
	struct hawk_error *err;

	hawk_findings_init(&findings);
	err = hawk_target_peek_core(entry->path, &findings, &packed, &target);
	if (!err) {
		is_core = !hawk_target_snapshot(target) && !hawk_target_process(target)->table_file;
		entry->whole = judge(&findings, packed);
		describe(target, entry);
	} else if (hawk_error_code(err) == HAWK_ERROR_FORMAT) {
		is_core = false;
	} else {
		entry->trouble = strdup(hawk_error_message(err));
	}
	hawk_error_destroy(err);
	hawk_target_close(target);
	hawk_findings_deinit(&findings);
	return is_core;
}

static void free_entry(struct hawk_core_entry *entry)
{
	free(entry->path);
	free(entry->program);
	free(entry->trouble);
}

/** Adds the file if it is a core. */
static struct hawk_error *add_file(struct hawk_core_list *list, const char *folder,
				   const char *name)
{
	struct hawk_core_entry entry = {0};
	struct stat status;

	if (!hawk_array_reserve(&list->items, list->count, &list->capacity, sizeof(entry)) ||
	    asprintf(&entry.path, "%s%s%s", strcmp(folder, ".") ? folder : "",
		     strcmp(folder, ".") ? "/" : "", name) < 0)
		return &hawk_enomem;
	if (stat(entry.path, &status) || !S_ISREG(status.st_mode) || !status.st_size) {
		free_entry(&entry);
		return NULL;
	}
	entry.file_bytes = (uint64_t)status.st_size;
	entry.time_ns =
		(uint64_t)status.st_mtim.tv_sec * NS_PER_S + (uint64_t)status.st_mtim.tv_nsec;
	if (!look_into(&entry)) {
		free_entry(&entry);
		return NULL;
	}
	read_attributes(&entry);
	read_name(&entry);
	if (!entry.program)
		entry.program = strdup("");
	list->items[list->count++] = entry;
	return entry.program ? NULL : &hawk_enomem;
}

static bool matches(const struct search *search, const char *name)
{
	for (const char *const *pattern = search->patterns; *pattern; pattern++)
		if (!fnmatch(*pattern, name, 0))
			return true;
	return search->kernel[0] && !fnmatch(search->kernel, name, FNM_PERIOD);
}

static struct hawk_error *look_through(struct search *search, const char *folder);

/** Looks into a directory of one crash, as ABRT and "hawk-core handler" make them. */
static struct hawk_error *look_below(struct search *search, const char *folder, const char *name)
{
	struct search below = {.list = search->list, .patterns = below_patterns};
	CLEANUP(free_ptr) char *path = NULL;
	struct stat status;

	if (asprintf(&path, "%s/%s", folder, name) < 0) {
		path = NULL;
		return &hawk_enomem;
	}
	if (name[0] == '.' || lstat(path, &status) || !S_ISDIR(status.st_mode))
		return NULL;
	hawk_error_destroy(look_through(&below, path)); // another user's
	return NULL;
}

static struct hawk_error *look_through(struct search *search, const char *folder)
{
	bool is_below = search->patterns == below_patterns;
	DIR *directory = opendir(folder);
	struct hawk_error *err = NULL;
	struct dirent *file;
	size_t count = 0;

	if (!directory)
		return hawk_error_os(errno, "cannot read", folder);
	while (!err && (file = readdir(directory))) {
		if (count++ == FILES_MAX) {
			search->list->cut = true;
			break;
		}
		if (matches(search, file->d_name) && file->d_type != DT_DIR)
			err = add_file(search->list, folder, file->d_name);
		else if (!is_below && (file->d_type == DT_DIR || file->d_type == DT_UNKNOWN))
			err = look_below(search, folder, file->d_name);
	}
	closedir(directory);
	return err;
}

/** Returns true at the first call for a directory, by whatever path. */
static bool is_new(struct search *search, const char *folder)
{
	struct stat status;

	if (stat(folder, &status) || search->seen_count == FOLDERS_MAX)
		return true; // the next step reports what is wrong
	for (size_t i = 0; i < search->seen_count; i++)
		if (search->seen[i].st_dev == status.st_dev &&
		    search->seen[i].st_ino == status.st_ino)
			return false;
	search->seen[search->seen_count++] = status;
	return true;
}

static int newest_first(const void *a, const void *b)
{
	const struct hawk_core_entry *one = a, *other = b;

	if (one->time_ns != other->time_ns)
		return one->time_ns < other->time_ns ? 1 : -1;
	return strcmp(one->path, other->path);
}

static struct hawk_error *finish(struct hawk_core_list *list, struct hawk_error *err)
{
	if (list->count)
		qsort(list->items, list->count, sizeof(*list->items), newest_first);
	return err;
}

struct hawk_error *hawk_core_list_make(const char *const *folders, size_t count,
				       struct hawk_core_list *ret)
{
	struct search search = {.list = ret, .patterns = patterns};
	struct hawk_error *err = NULL;

	*ret = (struct hawk_core_list){0};
	for (size_t i = 0; i < count && !err; i++)
		if (is_new(&search, folders[i]))
			err = look_through(&search, folders[i]);
	return finish(ret, err);
}

/** Finds the directory of "|.../hawk-core handler --to=DIR ...". */
static bool read_handler(char *folder)
{
	char *to = folder[0] == '|' ? strstr(folder, " handler --to=") : NULL;

	if (!to)
		return false;
	to += strlen(" handler --to=");
	to[strcspn(to, " ")] = 0;
	memmove(folder, to, strlen(to) + 1);
	return true;
}

/** Splits the kernel's core_pattern, if it is a path or our handler, into a directory and a pattern
 * of names. */
static bool read_core_pattern(char *folder, char *names)
{
	CLEANUP(close_fd) int fd = open("/proc/sys/kernel/core_pattern", O_RDONLY | O_CLOEXEC);
	ssize_t bytes = fd < 0 ? -1 : read(fd, folder, PATTERN_BYTES - 1);
	char *slash;

	if (bytes <= 0)
		return false;
	folder[bytes] = 0;
	folder[strcspn(folder, "\n")] = 0;
	if (folder[0] != '/')
		return read_handler(folder);
	slash = strrchr(folder, '/');
	for (const char *at = slash + 1; *at; at++) {
		*names++ = *at == '%' ? '*' : *at;
		at += *at == '%' && at[1];
	}
	*names = 0;
	*slash = 0;
	return true;
}

struct hawk_error *hawk_core_list_usual(struct hawk_core_list *ret)
{
	struct search search = {.list = ret, .patterns = patterns};
	char folder[PATTERN_BYTES];

	*ret = (struct hawk_core_list){0};
	if (read_core_pattern(folder, search.kernel) && is_new(&search, folder))
		hawk_error_destroy(look_through(&search, folder));
	search.kernel[0] = 0;
	for (size_t i = 0; i < sizeof(usual_folders) / sizeof(usual_folders[0]); i++)
		if (is_new(&search, usual_folders[i]))
			hawk_error_destroy(look_through(&search, usual_folders[i]));
	return finish(ret, NULL);
}

static bool is_wanted(const struct hawk_core_entry *entry, const char *wanted)
{
	const char *slash = strrchr(entry->program, '/');
	uint64_t pid;

	if (!*wanted || !strcmp(entry->program, wanted) ||
	    !strcmp(slash ? slash + 1 : entry->program, wanted))
		return true;
	return hawk_quantity_parse_count(wanted, &pid) && pid == entry->pid;
}

const struct hawk_core_entry *hawk_core_list_last(const struct hawk_core_list *list,
						  const char *wanted)
{
	for (size_t i = 0; i < list->count; i++)
		if (is_wanted(&list->items[i], wanted))
			return &list->items[i];
	return NULL;
}

void hawk_core_list_deinit(struct hawk_core_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free_entry(&list->items[i]);
	free(list->items);
}
