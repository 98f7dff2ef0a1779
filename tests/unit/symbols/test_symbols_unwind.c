/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Stacks of threads. Real crashes are compared with gdb frame by frame (program counter and stack
 * pointer); stacks that make no sense are built by hand.
 */
#include "test.h"
#include "symbols/symbols_fixture.h"

#include <inttypes.h>
#include <signal.h>
#include <sys/wait.h>

#include "synthetic_core.h"
#include "target/arch_x86_64.h"

enum {
	FRAMES_MAX = 512,
	CODE = 0x10000,
	CODE_BYTES = 4096,
	STACK = 0x7ffff0000000,
	STACK_WORDS = 1024,
};

static const struct hawk_thread *thread_of(const struct hawk_target *target, unsigned tid)
{
	const struct hawk_thread *threads;
	size_t count;

	threads = hawk_target_threads(target, &count);
	for (size_t i = 0; i < count; i++)
		if (threads[i].tid == tid)
			return &threads[i];
	fail_msg("thread %u is not in the core", tid);
	return NULL;
}

/** The core that is open. */
static struct {
	struct hawk_findings findings;
	struct hawk_target *target;
	struct hawk_symbols *symbols;
	struct hawk_stack_frame frames[FRAMES_MAX];
	size_t count;
	bool complete;
} opened;

static void open_core(const char *path)
{
	struct hawk_symbols_options none = {0};
	struct hawk_error *error;

	memset(&opened, 0, sizeof(opened));
	hawk_findings_init(&opened.findings);
	error = hawk_target_open_core(path, &opened.findings, &opened.target);
	if (error)
		fail_msg("%s", hawk_error_message(error));
	assert_null(hawk_symbols_create(opened.target, &none, &opened.findings, &opened.symbols));
}

static void unwind(const struct hawk_thread *thread, size_t max)
{
	struct hawk_thread_frames found;

	assert_null(hawk_symbols_unwind(opened.symbols, thread, max, &found));
	assert_in_range(found.count, 1, max);
	memcpy(opened.frames, found.frames, found.count * sizeof(*found.frames));
	opened.count = found.count;
	opened.complete = found.end == HAWK_UNWIND_END_OUTERMOST;
	hawk_thread_frames_deinit(&found);
}

static void close_core(void)
{
	hawk_symbols_destroy(opened.symbols);
	hawk_target_close(opened.target);
	hawk_findings_deinit(&opened.findings);
}

/** Compares one thread, whose frames are the next lines of `*text`; returns how many. */
static size_t compare_thread(unsigned tid, char **text)
{
	uint64_t pc, sp;
	size_t level = 0;
	char *next;

	unwind(thread_of(opened.target, tid), FRAMES_MAX);
	for (; sscanf(*text, "frame %" SCNx64 " %" SCNx64, &pc, &sp) == 2; level++) {
		if (level >= opened.count)
			fail_msg("thread %u: %zu frames, gdb has more", tid, opened.count);
		if (opened.frames[level].pc != pc || opened.frames[level].sp != sp)
			fail_msg("thread %u, frame %zu: 0x%" PRIx64 " sp 0x%" PRIx64
				 ", gdb has 0x%" PRIx64 " sp 0x%" PRIx64,
				 tid, level, opened.frames[level].pc, opened.frames[level].sp, pc,
				 sp);
		next = strchr(*text, '\n');
		*text = next ? next + 1 : *text + strlen(*text);
	}
	assert_int_equal(level, opened.count);
	assert_true(opened.complete);
	return level;
}

static void compare_core(const char *program, const char *core)
{
	size_t frames = 0;
	unsigned tid;
	char *text, *at;

	assert_int_equal(fixture_run("gdb -batch -nx -ex 'set backtrace past-main on' "
				     "-ex 'set debuginfod enabled off' "
				     "-x '%s/tests/unit/symbols/gdb_frames.py' %s %s",
				     HAWK_SOURCE_DIRECTORY, program, core),
			 0);
	text = fixture_read("out");
	at = strstr(text, "\nhawk threads\n");
	if (!at) {
		print_message("this gdb cannot run Python\n");
		skip();
	}
	at += strlen("\nhawk threads\n");
	open_core(core);
	while (sscanf(at, "thread %u", &tid) == 1) {
		at = strchr(at, '\n') + 1;
		frames += compare_thread(tid, &at);
	}
	assert_true(frames >= 15);
	close_core();
	free(text);
}

/** Lets the program die in `way`: makes the kernel's core, or skips the test. */
static void dump_core(const char *way)
{
	fixture_run(
		"rm -f core* kernel_core; ulimit -c unlimited; ./crash %s; mv core* kernel_core",
		way);
	if (access("kernel_core", R_OK) == 0)
		return;
	print_message("the kernel writes cores elsewhere\n");
	skip();
}

static void compare_crash(const char *compiler, const char *options, const char *way)
{
	fixture_needs("gdb");
	fixture_build(compiler, options, "crash.c", "crash");
	dump_core(way);
	compare_core("crash", "kernel_core");
}

static void compare_gcore(const char *way)
{
	fixture_needs("gdb");
	fixture_build("gcc", "-O2 -g -pthread", "crash.c", "crash");
	fixture_run("gdb -batch -nx -ex 'set debuginfod enabled off' "
		    "-ex 'handle SIGUSR1 nostop noprint pass' -ex run "
		    "-ex 'generate-core-file gdb_core' --args ./crash %s",
		    way);
	if (access("gdb_core", R_OK) != 0) {
		print_message("gdb may not run programs here\n");
		skip();
	}
	compare_core("crash", "gdb_core");
	assert_int_equal(fixture_run("rm gdb_core"), 0);
}

#define CRASH_TEST(name, compiler, options, way)                                                   \
	TEST(name)                                                                                 \
	{                                                                                          \
		compare_crash(compiler, options " -pthread", way);                                 \
	}

CRASH_TEST(abort_in_a_callback, "gcc", "-O2 -g", "abort")
CRASH_TEST(a_null_pointer, "gcc", "-O2 -g -fomit-frame-pointer", "null")
CRASH_TEST(a_call_of_a_null_pointer, "gcc", "-O2 -g", "call-null")
CRASH_TEST(a_jump_into_nothing, "gcc", "-O2 -g", "call-nowhere")
CRASH_TEST(a_trap_without_optimization, "gcc", "-O0 -g", "trap")
CRASH_TEST(a_signal_handler, "gcc", "-O2 -g", "handler")
CRASH_TEST(a_signal_handler_on_another_stack, "gcc", "-O2 -g", "other-stack")
CRASH_TEST(a_handler_of_a_fault, "gcc", "-O2 -g", "fault-handler")
CRASH_TEST(a_program_of_clang, "clang", "-O2 -g", "abort")
CRASH_TEST(a_stripped_program, "gcc", "-O2 -s", "abort")
CRASH_TEST(a_static_program, "gcc", "-O2 -g -static", "fault-handler")
CRASH_TEST(a_static_program_anywhere, "gcc", "-O2 -g -static-pie", "call-null")
CRASH_TEST(a_program_with_debug_frame_only, "gcc",
	   "-O2 -g -fno-asynchronous-unwind-tables -fno-unwind-tables -fno-exceptions", "abort")

TEST(a_core_that_gdb_wrote)
{
	compare_gcore("handler");
}

static bool has_function(const char *name)
{
	for (size_t i = 0; i < opened.count; i++) {
		uint64_t pc = opened.frames[i].pc;
		const struct hawk_module *module = hawk_target_module_at(opened.target, pc);
		struct hawk_symbol_module names;
		const struct hawk_frame *frames;
		size_t count;

		if (!module)
			continue;
		names = hawk_symbol_module_of(module);
		assert_null(hawk_symbols_lookup(opened.symbols, &names, pc, opened.frames[i].exact,
						&frames, &count));
		if (frames[count - 1].function && strcmp(frames[count - 1].function, name) == 0)
			return true;
	}
	return false;
}

TEST(a_program_that_was_replaced_is_not_used_for_its_core)
{
	const struct hawk_module *modules;
	const struct hawk_thread *threads;
	size_t count;

	fixture_build("gcc", "-O2 -g -pthread -Wl,--build-id=sha1", "crash.c", "crash");
	dump_core("abort");
	fixture_build("gcc", "-O1 -g -pthread -Wl,--build-id=sha1", "crash.c", "crash");
	open_core("kernel_core");
	threads = hawk_target_threads(opened.target, &count);
	unwind(&threads[0], FRAMES_MAX);
	assert_in_range(opened.count, 4, FRAMES_MAX - 1); /* raise, abort, and into the program */
	assert_true(has_function("abort"));
	assert_false(has_function("compare"));
	assert_false(has_function("recurse"));
	modules = hawk_target_modules(opened.target, &count);
	for (size_t i = 0; i < count; i++) {
		struct hawk_symbol_module names = hawk_symbol_module_of(&modules[i]);

		if (modules[i].main)
			assert_int_equal(hawk_symbols_status(opened.symbols, &names),
					 HAWK_SYMBOL_MISMATCH);
	}
	close_core();
}

/** Waits until the main thread of `child` is in pause() (system call 34). */
static void wait_until_paused(pid_t child)
{
	char path[64], text[32] = "";

	snprintf(path, sizeof(path), "/proc/%d/syscall", (int)child);
	for (int i = 0; i < 1000 && strncmp(text, "34 ", 3) != 0; i++) {
		FILE *file = fopen(path, "r");

		if (!file || !fgets(text, sizeof(text), file))
			text[0] = '\0';
		if (file)
			fclose(file);
		usleep(10000);
	}
}

TEST(a_running_program_that_was_deleted_and_replaced)
{
	struct hawk_symbols_options none = {0};
	const struct hawk_thread *threads;
	struct hawk_error *error;
	size_t count;
	pid_t child;

	fixture_build("gcc", "-O2 -g -pthread", "crash.c", "crash");
	child = fork();
	if (child == 0) {
		execl("./crash", "crash", "wait", (char *)NULL);
		_exit(127);
	}
	assert_true(child > 0);
	wait_until_paused(child);
	assert_int_equal(fixture_run("rm crash && gcc -O1 -pthread crash.c -o crash"), 0);
	memset(&opened, 0, sizeof(opened));
	hawk_findings_init(&opened.findings);
	error = hawk_target_open_pid(child, &opened.findings, &opened.target);
	if (error) {
		print_message("%s\n", hawk_error_message(error));
		hawk_error_destroy(error);
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		skip();
	}
	assert_null(hawk_symbols_create(opened.target, &none, &opened.findings, &opened.symbols));
	threads = hawk_target_threads(opened.target, &count);
	assert_int_equal(count, 4);
	unwind(&threads[0], FRAMES_MAX);
	assert_true(opened.complete);
	assert_true(has_function("recurse"));
	assert_true(has_function("main"));
	for (size_t i = 1; i < count; i++) {
		unwind(&threads[i], FRAMES_MAX);
		assert_true(has_function("wait_here"));
	}
	close_core();
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/** A core with one page of anonymous code, a stack, and a thread at the start of both. */
static void open_stack(const uint64_t *stack, size_t words, uint64_t pc, uint64_t bp)
{
	struct synthetic_core *core = synthetic_core_create();
	uint64_t registers[HAWK_REGISTER_COUNT] = {
		[HAWK_RIP] = pc, [HAWK_RSP] = STACK, [HAWK_RBP] = bp};
	char *path;

	synthetic_core_add_segment(
		core, (struct synthetic_segment){.address = CODE,
						 .dumped_bytes = CODE_BYTES,
						 .flags = SYNTHETIC_READ | SYNTHETIC_EXEC});
	synthetic_core_add_memory(core, STACK, stack, words * sizeof(*stack));
	synthetic_core_add_thread(core, 4711, 11, registers);
	path = synthetic_core_write(core, SIZE_MAX);
	open_core(path);
	synthetic_core_remove(path);
	synthetic_core_destroy(core);
}

static void open_synthetic(const uint64_t *stack, uint64_t pc, uint64_t bp)
{
	open_stack(stack, STACK_WORDS, pc, bp);
	unwind(thread_of(opened.target, 4711), FRAMES_MAX);
}

static uint64_t slot(size_t index)
{
	return STACK + 8 * index;
}

/** The trace table calls the same library what the loader called it. */
TEST(a_module_under_another_name_is_the_same_file)
{
	const struct hawk_module *modules;
	const struct hawk_frame *frames, *again;
	struct hawk_symbol_module module;
	size_t count, frame_count;

	fixture_build("gcc", "-O2 -g -pthread", "crash.c", "crash");
	dump_core("abort");
	open_core("kernel_core");
	modules = hawk_target_modules(opened.target, &count);
	for (size_t i = 0; i < count; i++) {
		if (!modules[i].build_id_bytes || !modules[i].has_bias || modules[i].vdso)
			continue;
		module = hawk_symbol_module_of(&modules[i]);
		assert_null(hawk_symbols_lookup(opened.symbols, &module, modules[i].end - 1, true,
						&frames, &frame_count));
		module.path = "/nowhere/at/all";
		assert_null(hawk_symbols_lookup(opened.symbols, &module, modules[i].end - 1, true,
						&again, &frame_count));
		assert_ptr_equal(frames, again);
		assert_int_not_equal(hawk_symbols_status(opened.symbols, &module),
				     HAWK_SYMBOL_NOT_FOUND);
	}
	close_core();
}

TEST(code_without_rules_is_left_by_frame_pointer)
{
	uint64_t stack[STACK_WORDS] = {[4] = STACK + 8 * 20, [5] = CODE + 50, [20] = 0, [21] = 0};

	open_synthetic(stack, CODE + 10, slot(4));
	assert_int_equal(opened.count, 2);
	assert_true(opened.frames[0].exact);
	assert_int_equal(opened.frames[1].pc, CODE + 50);
	assert_int_equal(opened.frames[1].sp, slot(6));
	assert_false(opened.frames[1].exact);
	assert_true(opened.complete);
	close_core();
}

TEST(a_frame_pointer_that_points_to_itself_ends_the_stack)
{
	uint64_t stack[STACK_WORDS] = {[4] = STACK + 8 * 4, [5] = CODE + 50};

	open_synthetic(stack, CODE + 10, slot(4));
	assert_int_equal(opened.count, 2);
	assert_false(opened.complete);
	close_core();
}

TEST(a_return_address_outside_of_code_ends_the_stack)
{
	uint64_t stack[STACK_WORDS] = {[4] = STACK + 8 * 8, [5] = STACK + 16};

	open_synthetic(stack, CODE + 10, slot(4));
	assert_int_equal(opened.count, 1);
	assert_false(opened.complete);
	close_core();
}

TEST(a_stack_pointer_into_nothing_gives_one_frame)
{
	uint64_t stack[STACK_WORDS] = {0};

	open_synthetic(stack, CODE + 10, 8);
	assert_int_equal(opened.count, 1);
	assert_false(opened.complete);
	close_core();
	open_synthetic(stack, CODE + 10, slot(STACK_WORDS) - 8);
	assert_int_equal(opened.count, 1);
	close_core();
}

TEST(what_the_kernel_left_for_a_handler_is_recognized_without_rules)
{
	uint64_t stack[STACK_WORDS] = {[0] = STACK + 8 * 500, [1] = CODE + 60};
	uint64_t *context = stack + 2; /* where the handler's return leads */

	context[5 + 10] = STACK + 8 * 600; /* rbp */
	context[5 + 15] = STACK + 8 * 590; /* rsp */
	context[5 + 16] = CODE + 70;       /* rip */
	context[5 + 18] = 0x33;            /* cs */
	stack[600] = 0;
	stack[601] = CODE + 80;
	open_synthetic(stack, CODE + 10, slot(0));
	assert_int_equal(opened.count, 4);
	assert_int_equal(opened.frames[1].pc, CODE + 60);
	assert_int_equal(opened.frames[2].pc, CODE + 70);
	assert_int_equal(opened.frames[2].sp, slot(590));
	assert_true(opened.frames[2].exact);
	assert_int_equal(opened.frames[3].pc, CODE + 80);
	assert_int_equal(opened.frames[3].sp, slot(602));
	close_core();
}

TEST(the_limit_is_kept)
{
	uint64_t stack[STACK_WORDS] = {0};

	for (size_t i = 0; i + 4 < STACK_WORDS; i += 2) {
		stack[i] = slot(i + 2);
		stack[i + 1] = CODE + 50;
	}
	open_synthetic(stack, CODE + 10, slot(0));
	assert_true(opened.count > 400);
	unwind(thread_of(opened.target, 4711), 7);
	assert_int_equal(opened.count, 7);
	assert_false(opened.complete);
	close_core();
}

/** A damaged core can have any number of threads on one deep stack. */
TEST(deep_stacks_share_a_limit)
{
	static uint64_t stack[2 * HAWK_UNWIND_FRAMES_MAX + 2];
	const size_t words = COUNT_OF(stack);
	const size_t whole = HAWK_UNWIND_FRAMES_TOTAL / HAWK_UNWIND_FRAMES_MAX;

	for (size_t i = 0; i + 2 < words; i += 2) {
		stack[i] = slot(i + 2);
		stack[i + 1] = CODE + 50;
	}
	open_stack(stack, words, CODE + 10, STACK);
	for (size_t i = 0; i < whole + 2; i++) {
		struct hawk_thread_frames found;

		assert_null(hawk_symbols_unwind(opened.symbols, thread_of(opened.target, 4711),
						HAWK_UNWIND_FRAMES_MAX, &found));
		assert_int_equal(found.count,
				 i < whole ? HAWK_UNWIND_FRAMES_MAX : HAWK_UNWIND_FRAMES_LATER);
		assert_int_equal(found.end, HAWK_UNWIND_END_LIMIT);
		assert_true(found.guessed);
		hawk_thread_frames_deinit(&found);
	}
	close_core();
}

TEST(random_stacks_end)
{
	static const uint64_t bases[] = {CODE, STACK, 0, 0x33};

	srandom(99);
	for (int round = 0; round < 300; round++) {
		uint64_t stack[STACK_WORDS];
		size_t signals = 0;

		for (size_t i = 0; i < STACK_WORDS; i++)
			stack[i] = bases[random() % 4] + (random() % 4 ? 8 * (random() % 200) : 0);
		open_synthetic(stack, CODE + 10, slot((size_t)random() % 100));
		for (size_t i = 1; i < opened.count; i++) {
			signals += opened.frames[i].exact;
			assert_true(opened.frames[i].exact ||
				    opened.frames[i].sp > opened.frames[i - 1].sp);
		}
		assert_in_range(signals, 0, 64);
		close_core();
	}
}
