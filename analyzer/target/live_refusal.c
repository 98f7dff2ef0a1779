/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Why the kernel does not let us stop a process. ptrace says only EPERM; the user wants to know
 * which check failed and what would help.
 */
#include "live_proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "hawk_cleanup.h"

enum { CAP_SYS_PTRACE_BIT = 19 };

static bool may_trace_all(void)
{
	CLEANUP(close_fd) int self = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return hawk_proc_status_number(self, "CapEff", 0) >> CAP_SYS_PTRACE_BIT & 1;
}

/** kernel.yama.ptrace_scope, 0 where Yama is not built in. */
static int yama_scope(void)
{
	CLEANUP(close_file) FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
	int scope = 0;

	if (file && fscanf(file, "%d", &scope) != 1)
		scope = 0;
	return scope;
}

/** The kernel gives the private files below /proc/PID to root when the process may not be dumped.
 */
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
