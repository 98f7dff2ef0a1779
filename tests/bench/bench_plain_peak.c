/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Runs a program and writes its peak of resident memory, in KiB, to a file. A process's own figure
 * begins with that of the process it was forked from, so whoever measures small programs must be a
 * small one. HAWK_BENCH_PRELOAD becomes the program's LD_PRELOAD.
 *
 *     bench_plain_peak FILE PROGRAM [ARGUMENTS]
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	const char *preload = getenv("HAWK_BENCH_PRELOAD");
	struct rusage usage;
	int status = 0;
	FILE *file;
	pid_t pid;

	if (argc < 3)
		return 2;
	pid = fork();
	if (pid == 0) {
		if (preload)
			setenv("LD_PRELOAD", preload, 1);
		unsetenv("HAWK_BENCH_PRELOAD");
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid)
		return 126;
	file = fopen(argv[1], "w");
	if (!file || fprintf(file, "%ld\n", usage.ru_maxrss) < 0 || fclose(file) != 0)
		return 126;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
