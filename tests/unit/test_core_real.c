/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Cores that the kernel and gcore wrote of real programs, compared with what is known about the
 * programs. Skipped where cores go elsewhere, or there is no gdb.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test.h"
#include "hawk/target/target.h"

struct world {
	char folder[64]; /* the core is written there */
	char core[512];
	struct hawk_findings findings;
	struct hawk_target *target;
};

static int set_up(void **state)
{
	struct world *world = calloc(1, sizeof(*world));

	strcpy(world->folder, "/tmp/hawk-test-XXXXXX");
	hawk_findings_init(&world->findings);
	*state = world;
	return mkdtemp(world->folder) ? 0 : -1;
}

static int tear_down(void **state)
{
	struct world *world = *state;

	hawk_target_close(world->target);
	hawk_findings_deinit(&world->findings);
	if (world->core[0])
		unlink(world->core);
	rmdir(world->folder);
	free(world);
	return 0;
}

/** Runs `arguments` in the folder of `world` with unlimited core size; its pid. */
static pid_t start(const struct world *world, char *const *arguments)
{
	pid_t child = fork();

	assert_true(child >= 0);
	if (!child) {
		struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);

		setrlimit(RLIMIT_CORE, &limit);
		alarm(60);
		dup2(null, 1);
		dup2(null, 2);
		if (!chdir(world->folder))
			execvp(arguments[0], arguments);
		_exit(127);
	}
	return child;
}

/** The one file in the folder, as world->core. */
static bool find_core(struct world *world)
{
	DIR *folder = opendir(world->folder);
	struct dirent *entry;

	while (folder && (entry = readdir(folder)))
		if (entry->d_name[0] != '.')
			snprintf(world->core, sizeof(world->core), "%s/%s", world->folder,
				 entry->d_name);
	if (folder)
		closedir(folder);
	return world->core[0];
}

static void open_core(struct world *world)
{
	check(hawk_target_open_core(world->core, &world->findings, &world->target));
	assert_false(hawk_findings_partial(&world->findings));
}

/** The core of a shell that killed itself by `signal`; its pid. */
static pid_t crash(struct world *world, const char *signal_name)
{
	char script[64];
	char *arguments[] = {(char *)"sh", (char *)"-c", script, NULL};
	int status;
	pid_t pid;

	snprintf(script, sizeof(script), "kill -%s $$", signal_name);
	pid = start(world, arguments);
	waitpid(pid, &status, 0);
	if (!WIFSIGNALED(status) || !WCOREDUMP(status) || !find_core(world))
		skip(); /* kernel.core_pattern or the limits send cores elsewhere */
	open_core(world);
	return pid;
}

static const struct hawk_module *module_named(const struct world *world, const char *words)
{
	size_t count;
	const struct hawk_module *modules = hawk_target_modules(world->target, &count);

	for (size_t i = 0; i < count; i++)
		if (strstr(modules[i].path, words))
			return &modules[i];
	return NULL;
}

/** Program, libc, linker and vdso are there with bias and build-id, and lie where they should. */
static void expect_modules(const struct world *world)
{
	static const char *const names[] = {"libc.so", "ld-linux", "[vdso]"};
	const struct hawk_process *process = hawk_target_process(world->target);
	const struct hawk_module *main_module = module_named(world, process->program);
	uint8_t magic[4];

	assert_non_null(main_module);
	assert_true(main_module->main);
	assert_true(main_module->has_bias);
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		const struct hawk_module *module = module_named(world, names[i]);

		assert_non_null(module);
		assert_false(module->main);
		assert_true(module->has_bias);
		assert_int_equal(module->bias, module->start); /* all are linked at 0 */
		assert_true(module->build_id_bytes >= 8);
		assert_int_equal(module->vdso, i == 2);
		assert_null(hawk_target_read(world->target, module->start, magic, 4));
		assert_memory_equal(magic, "\177ELF", 4);
	}
}

/** The program counter is in a module's code, the stack pointer in memory that is there. */
static void expect_registers(const struct world *world, const struct hawk_thread *thread)
{
	const struct hawk_mapping *code =
		hawk_target_mapping_at(world->target, thread->registers[HAWK_RIP]);
	uint64_t word;

	assert_non_null(code);
	assert_true(code->flags & HAWK_MAPPING_EXEC);
	assert_non_null(hawk_target_module_at(world->target, thread->registers[HAWK_RIP]));
	assert_null(hawk_target_read(world->target, thread->registers[HAWK_RSP], &word, 8));
	/* the thread's control block points at itself */
	assert_null(hawk_target_read(world->target, thread->registers[HAWK_FS_BASE], &word, 8));
	assert_int_equal(word, thread->registers[HAWK_FS_BASE]);
}

#define CORE_REAL_TEST(name) TEST_WITH(struct world *world, set_up, tear_down, name)

CORE_REAL_TEST(a_kernel_core_tells_program_signal_and_modules)
{
	const struct hawk_process *process;
	const struct hawk_thread *threads;
	char *shell = realpath("/bin/sh", NULL);
	size_t count;
	pid_t pid = crash(world, "SEGV");

	process = hawk_target_process(world->target);
	assert_int_equal(process->pid, pid);
	assert_string_equal(process->program, shell);
	assert_string_equal(process->name, "sh");
	assert_string_equal(process->arguments, "sh -c kill -SEGV $$");
	assert_int_equal(process->signal, SIGSEGV);
	assert_true(process->has_siginfo);
	assert_false(process->has_fault_address);
	assert_int_equal(process->sender_pid, pid);
	assert_false(process->live);
	free(shell);

	threads = hawk_target_threads(world->target, &count);
	assert_int_equal(count, 1);
	assert_int_equal(threads->tid, pid);
	assert_true(threads->crashed);
	expect_registers(world, threads);
	expect_modules(world);
}

static bool is_asleep(pid_t pid)
{
	char path[64], line[512];
	bool asleep = false;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	if (file && fgets(line, sizeof(line), file))
		asleep = strstr(line, "(sleep) S") != NULL;
	if (file)
		fclose(file);
	return asleep;
}

CORE_REAL_TEST(a_gcore_core_has_modules_and_no_signal)
{
	char pid_text[16], prefix[128];
	char *sleeper[] = {(char *)"sleep", (char *)"60", NULL};
	char *gcore[] = {(char *)"gcore", (char *)"-o", prefix, pid_text, NULL};
	const struct timespec pause = {.tv_nsec = 10000000};
	const struct hawk_thread *threads;
	size_t count;
	int status;
	pid_t pid = start(world, sleeper);

	for (int i = 0; i < 500 && !is_asleep(pid); i++)
		nanosleep(&pause, NULL);
	snprintf(pid_text, sizeof(pid_text), "%d", pid);
	snprintf(prefix, sizeof(prefix), "%s/core", world->folder);
	waitpid(start(world, gcore), &status, 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	if (!WIFEXITED(status) || WEXITSTATUS(status) || !find_core(world))
		skip(); /* no gdb, or it may not trace */
	open_core(world);
	assert_int_equal(hawk_target_process(world->target)->pid, pid);
	assert_int_equal(hawk_target_process(world->target)->signal, 0);
	assert_string_equal(hawk_target_process(world->target)->name, "sleep");
	threads = hawk_target_threads(world->target, &count);
	assert_int_equal(count, 1);
	assert_false(threads->crashed);
	expect_registers(world, threads);
	expect_modules(world);
}

/** Cut in half, the core still gives its low addresses, and says that it is not whole. */
CORE_REAL_TEST(a_kernel_core_cut_in_half_is_partial)
{
	const struct hawk_mapping *mappings;
	struct stat status;
	uint64_t present = 0;
	size_t count;

	crash(world, "SEGV");
	hawk_target_close(world->target);
	world->target = NULL;
	assert_int_equal(stat(world->core, &status), 0);
	assert_int_equal(truncate(world->core, status.st_size / 2), 0);
	check(hawk_target_open_core(world->core, &world->findings, &world->target));
	assert_true(hawk_findings_partial(&world->findings));
	mappings = hawk_target_mappings(world->target, &count);
	for (size_t i = 0; i < count; i++)
		present += mappings[i].present_bytes;
	assert_true(present > 0 && present < (uint64_t)status.st_size / 2);
	assert_non_null(module_named(world, hawk_target_process(world->target)->program));
	hawk_target_threads(world->target, &count);
	assert_int_equal(count, 1);
}
