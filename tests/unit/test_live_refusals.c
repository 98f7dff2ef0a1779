/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Processes that cannot be looked at: the reason is named, and nothing stays stopped.
 */
#include <elf.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"
#include "hawk_target.h"
#include "synthetic_core.h"

static void expect_refusal(pid_t pid, enum hawk_error_code code, const char *words)
{
	struct hawk_target *target = NULL;
	struct hawk_error *error = hawk_target_open_pid(pid, NULL, &target);

	hawk_target_close(target);
	assert_non_null(error);
	if (!strstr(hawk_error_message(error), words))
		fail_msg("\"%s\" does not say \"%s\"", hawk_error_message(error), words);
	assert_int_equal(hawk_error_code(error), code);
	hawk_error_destroy(error);
}

static pid_t fork_sleeper(void)
{
	pid_t child = fork();

	assert_true(child >= 0);
	if (!child) {
		alarm(60);
		for (;;)
			pause();
	}
	return child;
}

static void end(pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

TEST(this_process_is_refused)
{
	expect_refusal(getpid(), HAWK_ERROR_UNSUPPORTED, "this process itself");
}

TEST(a_number_that_is_no_pid_is_a_usage_error)
{
	expect_refusal(0, HAWK_ERROR_USAGE, "no process id");
	expect_refusal(-1, HAWK_ERROR_USAGE, "no process id");
}

TEST(a_process_that_is_not_there_is_not_found)
{
	pid_t child = fork_sleeper();

	end(child);
	expect_refusal(child, HAWK_ERROR_NOT_FOUND, "there is no process");
}

TEST(a_zombie_is_refused)
{
	siginfo_t info;
	pid_t child = fork();

	if (!child)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
	expect_refusal(child, HAWK_ERROR_UNSUPPORTED, "zombie");
	waitpid(child, NULL, 0);
}

static void *tell_tid_and_wait(void *argument)
{
	pid_t tid = (pid_t)syscall(SYS_gettid);

	if (write(*(int *)argument, &tid, sizeof(tid)) == sizeof(tid))
		pause();
	return NULL;
}

TEST(a_thread_id_is_refused_with_the_id_of_its_process)
{
	char words[64];
	int ends[2];
	pid_t child, tid;

	assert_int_equal(pipe(ends), 0);
	child = fork();
	if (!child) {
		pthread_t thread;

		alarm(60);
		pthread_create(&thread, NULL, tell_tid_and_wait, &ends[1]);
		for (;;)
			pause();
	}
	assert_int_equal(read(ends[0], &tid, sizeof(tid)), sizeof(tid));
	snprintf(words, sizeof(words), "thread of process %d", child);
	expect_refusal(tid, HAWK_ERROR_UNSUPPORTED, words);
	end(child);
	close(ends[0]);
	close(ends[1]);
}

TEST(a_kernel_thread_is_refused)
{
	char line[512] = {0};
	unsigned long flags = 0;
	FILE *file = fopen("/proc/2/stat", "re");

	if (!file || !fgets(line, sizeof(line), file) ||
	    sscanf(line, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %lu", &flags) != 1)
		flags = 0;
	if (file)
		fclose(file);
	if (!(flags & 0x200000))
		skip(); /* a container without kernel threads */
	expect_refusal(2, HAWK_ERROR_UNSUPPORTED, "kernel thread");
}

TEST(a_process_under_a_debugger_is_refused_and_goes_on)
{
	pid_t child = fork_sleeper();
	pid_t debugger;
	char answer = 0;
	char words[64];
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	debugger = fork();
	if (!debugger) {
		answer = ptrace(PTRACE_SEIZE, child, NULL, NULL) ? 'n' : 'y';
		if (write(ends[1], &answer, 1) == 1)
			pause();
		_exit(0);
	}
	assert_int_equal(read(ends[0], &answer, 1), 1);
	if (answer == 'y') {
		snprintf(words, sizeof(words), "already traced by process %d", debugger);
		expect_refusal(child, HAWK_ERROR_OS, words);
	}
	end(debugger);
	end(child);
	close(ends[0]);
	close(ends[1]);
	if (answer != 'y')
		skip(); /* ptrace is not allowed here */
}

/** As user `uid`, without capabilities: the answer of hawk_target_open_pid() through exit status.
 */
static int refusal_as_user(uid_t uid, pid_t pid, const char *words)
{
	pid_t child = fork();
	int status;

	if (!child) {
		struct hawk_target *target = NULL;
		struct hawk_error *error;

		if (setgid(uid) || setuid(uid))
			_exit(3);
		error = hawk_target_open_pid(pid, NULL, &target);
		if (!error)
			_exit(4);
		if (!strstr(hawk_error_message(error), words))
			fprintf(stderr, "%s\n", hawk_error_message(error));
		_exit(strstr(hawk_error_message(error), words) ? 0 : 5);
	}
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(another_users_process_is_refused_with_both_users)
{
	pid_t child;
	int result;

	if (geteuid())
		skip(); /* needs root to become somebody else */
	child = fork_sleeper();
	result = refusal_as_user(65534, child, "runs as user 0, we as user 65534");
	end(child);
	assert_int_equal(result, 0);
}

TEST(a_process_that_may_not_be_dumped_is_refused_as_such)
{
	char answer;
	pid_t child;
	int ends[2];
	int result;

	if (geteuid())
		skip(); /* needs root to become somebody else */
	assert_int_equal(pipe(ends), 0);
	child = fork();
	if (!child) {
		alarm(60);
		if (setgid(65534) || setuid(65534) || prctl(PR_SET_DUMPABLE, 0) ||
		    write(ends[1], "r", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(ends[0], &answer, 1), 1);
	result = refusal_as_user(65534, child, "not dumpable");
	end(child);
	close(ends[0]);
	close(ends[1]);
	assert_int_equal(result, 0);
}

/** A whole i386 program: pause() for ever. */
static char *write_32_bit_program(void)
{
	/* mov $29,%eax; int $0x80; jmp back */
	static const uint8_t code[] = {0xb8, 0x1d, 0, 0, 0, 0xcd, 0x80, 0xeb, 0xf7};
	struct {
		Elf32_Ehdr header;
		Elf32_Phdr program;
		uint8_t code[sizeof(code)];
	} file = {
		.header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS32, ELFDATA2LSB,
				       EV_CURRENT},
			   .e_type = ET_EXEC,
			   .e_machine = EM_386,
			   .e_version = EV_CURRENT,
			   .e_entry = 0x8048000 + sizeof(Elf32_Ehdr) + sizeof(Elf32_Phdr),
			   .e_phoff = sizeof(Elf32_Ehdr),
			   .e_ehsize = sizeof(Elf32_Ehdr),
			   .e_phentsize = sizeof(Elf32_Phdr),
			   .e_phnum = 1},
		.program = {.p_type = PT_LOAD,
			    .p_vaddr = 0x8048000,
			    .p_paddr = 0x8048000,
			    .p_filesz = sizeof(file),
			    .p_memsz = sizeof(file),
			    .p_flags = PF_R | PF_X,
			    .p_align = 4096},
	};
	char *path;

	memcpy(file.code, code, sizeof(code));
	path = synthetic_file_write(&file, sizeof(file));
	chmod(path, 0700);
	return path;
}

TEST(a_32_bit_process_is_refused_and_goes_on)
{
	char *path = write_32_bit_program();
	int ends[2];
	char answer;
	pid_t child;
	ssize_t got;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	child = fork();
	if (!child) {
		alarm(60);
		execl(path, path, NULL);
		if (write(ends[1], "f", 1) != 1)
			_exit(2);
		_exit(1);
	}
	close(ends[1]);
	got = read(ends[0], &answer, 1); /* 0 bytes when exec closed the other end */
	close(ends[0]);
	if (got == 0)
		expect_refusal(child, HAWK_ERROR_UNSUPPORTED, "32-bit");
	end(child);
	synthetic_core_remove(path);
	if (got)
		skip(); /* this kernel runs no 32-bit programs */
}
