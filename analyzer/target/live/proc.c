/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Reads and parses files below /proc/PID.
 */
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "hawk/base/cleanup.h"
#include "target_state.h"

enum { PF_KTHREAD_FLAG = 0x00200000 };

struct hawk_error *hawk_proc_read(int directory, const char *name, struct hawk_text *ret)
{
	CLEANUP(close_fd) int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
	char buffer[16384];
	ssize_t got;

	hawk_text_clear(ret);
	hawk_text_append(ret, "", 0);
	if (fd < 0)
		return hawk_error_os(errno, "cannot open the process's", name);
	while ((got = read(fd, buffer, sizeof(buffer))) != 0) {
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return hawk_error_os(errno, "cannot read the process's", name);
		hawk_text_append(ret, buffer, (size_t)got);
		if (ret->size > HAWK_PROC_FILE_MAX)
			return hawk_error_create(HAWK_ERROR_UNSUPPORTED, "/proc/PID/%s is too long",
						 name);
	}
	return ret->failed ? &hawk_enomem : NULL;
}

struct hawk_error *hawk_proc_read_task(int directory, pid_t tid, const char *file,
				       struct hawk_text *ret)
{
	char name[64];

	snprintf(name, sizeof(name), "task/%d/%s", tid, file);
	return hawk_proc_read(directory, name, ret);
}

struct hawk_error *hawk_proc_stat(int directory, const char *name, struct hawk_proc_stat *ret)
{
	CLEANUP(text) struct hawk_text text;
	struct hawk_error *error;
	unsigned long long flags, threads, start;
	const char *fields;

	hawk_text_init(&text);
	error = hawk_proc_read(directory, name, &text);
	if (error)
		return error;
	fields = strrchr(text.bytes, ')'); /* the name before it may contain anything */
	if (!fields || sscanf(fields + 1,
			      " %c %*d %*d %*d %*d %*d %llu %*u %*u %*u %*u %*u %*u %*d %*d %*d "
			      "%*d %llu %*d %llu",
			      &ret->state, &flags, &threads, &start) != 4)
		return hawk_error_create(HAWK_ERROR_FORMAT, "cannot parse /proc/PID/%s", name);
	ret->kernel_thread = flags & PF_KTHREAD_FLAG;
	ret->thread_count = threads;
	ret->start_ticks = start;
	return NULL;
}

bool hawk_proc_has_ended(int directory)
{
	struct hawk_proc_stat stat = {0};
	CLEANUP(error) struct hawk_error *error = hawk_proc_stat(directory, "stat", &stat);

	return error || hawk_proc_stat_ended(&stat);
}

uint64_t hawk_proc_status_number(int directory, const char *key, uint64_t fallback)
{
	CLEANUP(text) struct hawk_text text;
	size_t length = strlen(key);

	hawk_text_init(&text);

	CLEANUP(error) struct hawk_error *error = hawk_proc_read(directory, "status", &text);

	if (error)
		return fallback;
	for (const char *line = text.bytes; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, key, length) && line[length] == ':')
			return strtoull(line + length + 1, NULL, strncmp(key, "Cap", 3) ? 10 : 16);
	}
	return fallback;
}

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

/** Returns false for memory of devices and of drivers behind an anon_inode: or socket:, where reads
 * may have side effects, and for the kernel's own pages, which cannot be read. */
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

/** Parses a line "start-end perms offset device inode path". Returns false if it has another form.
 */
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

enum { CAP_SYS_PTRACE_BIT = 19 };

static bool may_trace_all(void)
{
	CLEANUP(close_fd) int self = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return hawk_proc_status_number(self, "CapEff", 0) >> CAP_SYS_PTRACE_BIT & 1;
}

/** Returns kernel.yama.ptrace_scope, 0 without Yama. */
static int yama_scope(void)
{
	CLEANUP(close_file) FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
	int scope = 0;

	if (file && fscanf(file, "%d", &scope) != 1)
		scope = 0;
	return scope;
}

/** Returns true if the process may not be dumped: the kernel then gives its private files below
 * /proc/PID to root. */
static bool is_undumpable(int directory, uint64_t uid)
{
	struct stat status;

	return uid && !fstatat(directory, "maps", &status, 0) && status.st_uid == 0;
}

struct hawk_error *hawk_proc_refusal(pid_t pid, int directory, int errnum)
{
	uint64_t tracer = hawk_proc_status_number(directory, "TracerPid", 0);
	uint64_t uid = hawk_proc_status_number(directory, "Uid", 0);
	int scope = yama_scope();

	if (errnum != EPERM && errnum != EACCES)
		return hawk_error_prefix(hawk_error_os(errnum, "cannot stop it", NULL),
					 "process %d", pid);
	if (tracer)
		return hawk_error_create(HAWK_ERROR_OS,
					 "process %d is already traced by process %llu (a debugger "
					 "or strace?)",
					 pid, (unsigned long long)tracer);
	if (scope == 3)
		return hawk_error_create(HAWK_ERROR_OS,
					 "process %d: kernel.yama.ptrace_scope is 3: nobody may "
					 "trace until the next boot",
					 pid);
	if (!may_trace_all() && uid != geteuid())
		return hawk_error_create(HAWK_ERROR_OS,
					 "process %d runs as user %llu, we as user %u: run as that "
					 "user or as root (CAP_SYS_PTRACE)",
					 pid, (unsigned long long)uid, geteuid());
	if (!may_trace_all() && is_undumpable(directory, uid))
		return hawk_error_create(HAWK_ERROR_OS,
					 "process %d is not dumpable (a setuid program, or "
					 "PR_SET_DUMPABLE): run as root (CAP_SYS_PTRACE)",
					 pid);
	if (!may_trace_all() && scope > 0)
		return hawk_error_create(
			HAWK_ERROR_OS,
			"process %d: kernel.yama.ptrace_scope is %d: run as root "
			"(CAP_SYS_PTRACE)%s",
			pid, scope, scope == 1 ? ", or let it call prctl(PR_SET_PTRACER)" : "");
	return hawk_error_create(HAWK_ERROR_OS,
				 "process %d may not be traced: another user namespace, a security "
				 "module or a seccomp filter forbids it",
				 pid);
}
