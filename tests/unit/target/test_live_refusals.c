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
#include "hawk/target/target.h"
#include "synthetic_core.h"
#include "synthetic_victim.h"

static void expect_refusal(pid_t pid, enum hawk_error_code code, const char *words)
{
	struct hawk_target *target = NULL;
	struct hawk_error *error = hawk_target_open_pid(pid, NULL, &target);

	hawk_target_close(target);
	check_fails(error, code, words);
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

LIVE_TEST(a_process_that_is_not_there_is_not_found)
{
	pid_t pid;

	victim_start(world, victim_count_for_ever);
	pid = world->victim;
	victim_end(world);
	expect_refusal(pid, HAWK_ERROR_NOT_FOUND, "there is no process");
}

static void exit_at_once(struct shared *shared)
{
	atomic_store(&shared->ready, 1);
}

LIVE_TEST(a_zombie_is_refused)
{
	victim_start(world, exit_at_once);
	assert_true(victim_comes_to(world->victim, 'Z'));
	expect_refusal(world->victim, HAWK_ERROR_UNSUPPORTED, "zombie");
}

static void *tell_tid_and_wait(void *argument)
{
	struct shared *shared = argument;

	atomic_store(&shared->address, (uint64_t)syscall(SYS_gettid));
	victim_count_for_ever(shared);
	return NULL;
}

static void start_a_thread_and_wait(struct shared *shared)
{
	pthread_t thread;

	pthread_create(&thread, NULL, tell_tid_and_wait, shared);
	for (;;)
		pause();
}

LIVE_TEST(a_thread_id_is_refused_with_the_id_of_its_process)
{
	char words[64];

	victim_start(world, start_a_thread_and_wait);
	snprintf(words, sizeof(words), "thread of process %d", world->victim);
	expect_refusal((pid_t)atomic_load(&world->shared->address), HAWK_ERROR_UNSUPPORTED, words);
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

LIVE_TEST(a_process_under_a_debugger_is_refused_and_goes_on)
{
	enum { SEIZED = 1, NOT_ALLOWED };
	pid_t debugger;
	char words[64];

	victim_start(world, victim_count_for_ever);
	debugger = fork();
	if (!debugger) {
		long result;

		alarm(60);
		result = ptrace(PTRACE_SEIZE, world->victim, NULL, NULL);

		atomic_store(&world->shared->address, result ? NOT_ALLOWED : SEIZED);
		pause();
	}
	while (!atomic_load(&world->shared->address))
		victim_sleep_ms(1);
	snprintf(words, sizeof(words), "already traced by process %d", debugger);
	if (atomic_load(&world->shared->address) == SEIZED)
		expect_refusal(world->victim, HAWK_ERROR_OS, words);
	kill(debugger, SIGKILL);
	waitpid(debugger, NULL, 0);
	assert_true(victim_counts(world));
	if (atomic_load(&world->shared->address) != SEIZED)
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

LIVE_TEST(another_users_process_is_refused_with_both_users)
{
	if (geteuid())
		skip(); /* needs root to become somebody else */
	victim_start(world, victim_count_for_ever);
	assert_int_equal(refusal_as_user(65534, world->victim, "runs as user 0, we as user 65534"),
			 0);
}

static void be_undumpable(struct shared *shared)
{
	if (setgid(65534) || setuid(65534) || prctl(PR_SET_DUMPABLE, 0))
		_exit(1);
	victim_count_for_ever(shared);
}

LIVE_TEST(a_process_that_may_not_be_dumped_is_refused_as_such)
{
	if (geteuid())
		skip(); /* needs root to become somebody else */
	victim_start(world, be_undumpable);
	assert_int_equal(refusal_as_user(65534, world->victim, "not dumpable"), 0);
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
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	synthetic_core_remove(path);
	if (got)
		skip(); /* this kernel runs no 32-bit programs */
}
