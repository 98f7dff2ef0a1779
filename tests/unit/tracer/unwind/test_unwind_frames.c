/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Every kind of frame that C and C++ code leaves on a stack, compared frame by frame with
 * libunwind.
 */
#include "unwind_oracle.h"

#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include "test_unwind_frames_cxx.h"

static volatile int sink;
static volatile int never;

static NOINLINE int recurse(int depth)
{
	int result;

	if (!depth) {
		check_here();
		return 1;
	}
	result = recurse(depth - 1) + 1;
	NO_TAIL_CALL();
	return result;
}

static void plain_recursion_is_exact(void)
{
	for (int depth = 0; depth < 100; depth += 7)
		assert_int_equal(recurse(depth), depth + 1);
}

static NOINLINE int recurse_with_alloca(int depth, size_t size)
{
	volatile char *memory = alloca(size);
	int result;

	memory[0] = 1;
	memory[size - 1] = 2;
	if (depth)
		result = recurse_with_alloca(depth - 1, size * 2 + 8) + memory[0];
	else
		result = recurse(3) + memory[size - 1];
	NO_TAIL_CALL();
	return result;
}

static void frames_with_alloca_use_rbp(void)
{
	for (int i = 0; i < 6; i++) {
		recurse_with_alloca(i, 16);
		assert_true(kept_stack->frames[kept_stack->count - 1].needs_bp);
	}
}

/** Arguments on the stack, alignment and a variable size: gcc finds the CFA through memory. */
static NOINLINE int under_large_arrays(int depth)
{
	volatile char memory[1 << 20];
	int result;

	memory[0] = (char)depth;
	result = depth ? under_large_arrays(depth - 1) : recurse(2);
	check_here();
	memory[sizeof(memory) - 1] = memory[0];
	NO_TAIL_CALL();
	return result;
}

/* Pushed at CFA - 16, as clang does, and behind four others, as gcc does, and changed. */
#define LARGE_FRAME(name, pushes, pops, slot)                                                      \
	__asm__(".text\n.type " name ", @function\n" name ":\n.cfi_startproc\n\t" pushes           \
		"\n\t.cfi_adjust_cfa_offset " slot "-8\n\t.cfi_offset rbp, -" slot "\n\t"          \
		"sub $2000008-" slot ", %rsp\n\t.cfi_def_cfa_offset 2000008\n\t"                   \
		"sub $8, %rsp\n\t.cfi_adjust_cfa_offset 8\n\t"                                     \
		"mov $1, %ebp\n\tcall *%rdi\n\t"                                                   \
		"add $2000016-" slot ", %rsp\n\t.cfi_def_cfa_offset " slot "\n\t" pops             \
		"\n\t.cfi_def_cfa_offset 8\n\t.cfi_restore rbp\n\tret\n"                           \
		".cfi_endproc\n.size " name ", .-" name "\n")

LARGE_FRAME("large_frame", "push %rbp", "pop %rbp", "16");
LARGE_FRAME("large_frame_of_five", "push %r15\n\tpush %r14\n\tpush %r13\n\tpush %r12\n\tpush %rbp",
	    "pop %rbp\n\tpop %r12\n\tpop %r13\n\tpop %r14\n\tpop %r15", "48");
extern void large_frame(void (*function)(void)) __asm__("large_frame");
extern void large_frame_of_five(void (*function)(void)) __asm__("large_frame_of_five");

static void check_under_large_frame(void)
{
	recurse(2);
	check_here();
	recurse_with_alloca(1, 16);
}

static void large_frames_have_rules(void)
{
	uint64_t before = hawk_unwind_stats.complex_rules;

	for (int depth = 0; depth < 4; depth++)
		assert_int_equal(under_large_arrays(depth), 3);
	for (int round = 0; round < 3; round++) {
		large_frame(check_under_large_frame);
		large_frame_of_five(check_under_large_frame);
	}
	assert_int_equal(hawk_unwind_stats.complex_rules, before);
}

static NOINLINE int recurse_aligned(int depth, long a, long b, long c, long d, long e, long f,
				    long g)
{
	volatile long local[8] __attribute__((aligned(64))) = {a, b, c, d, e, f, g, depth};
	volatile char *memory = alloca((size_t)(17 * depth + 1));

	memory[0] = (char)depth;
	if (depth)
		sink += recurse_aligned(depth - 1, b, c, d, e, f, g, local[1]);
	else
		sink += recurse(2);
	NO_TAIL_CALL();
	return (int)local[7] + memory[0];
}

static void overaligned_frames_are_exact(void)
{
	for (int i = 0; i < 6; i++) {
		recurse_aligned(i, 1, 2, 3, 4, 5, 6, 7);
		recurse(i);
	}
}

static int compare_and_check(const void *a, const void *b)
{
	static int calls;

	if (calls++ % 16 == 0)
		check_here();
	return *(const int *)a - *(const int *)b;
}

static void callbacks_of_the_c_library_are_exact(void)
{
	int small[64], large[4096];

	for (int i = 0; i < 64; i++)
		small[i] = i * 37 % 64;
	for (int i = 0; i < 4096; i++)
		large[i] = i * 37 % 4096;
	qsort(small, 64, sizeof(small[0]), compare_and_check);
	qsort(large, 4096, sizeof(large[0]), compare_and_check);
	assert_int_equal(large[4095], 4095);
}

static void handler(int number)
{
	(void)number;
	check_here();
	recurse(2);
}

static void handler_with_context(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	(void)context;
	recurse(1);
	check_here();
}

static void install(int number, int flags, bool with_context)
{
	struct sigaction action = {.sa_flags = flags};

	if (with_context) {
		action.sa_sigaction = handler_with_context;
		action.sa_flags |= SA_SIGINFO;
	} else {
		action.sa_handler = handler;
	}
	assert_int_equal(sigaction(number, &action, NULL), 0);
}

/** A leaf without a frame of its own, interrupted at an instruction in its middle. */
__asm__(".text\n.type interrupted_leaf, @function\ninterrupted_leaf:\n.cfi_startproc\n\t"
	"lea 1(%rdi), %eax\n\tpush %rbx\n\t.cfi_adjust_cfa_offset 8\n\tmov $7, %ebx\n\tud2\n\t"
	"pop %rbx\n\t.cfi_adjust_cfa_offset -8\n\tret\n"
	".cfi_endproc\n.size interrupted_leaf, .-interrupted_leaf\n");
extern int interrupted_leaf(int value) __asm__("interrupted_leaf");

static void skip_instruction(int number, siginfo_t *info, void *context)
{
	ucontext_t *interrupted = context;

	(void)number;
	(void)info;
	check_here();
	recurse(1);
	interrupted->uc_mcontext.gregs[REG_RIP] += 2; /* ud2 */
}

static bool has_exact_frame(const struct hawk_stack *stack)
{
	for (uint32_t i = 0; i < stack->count; i++)
		if (stack->frames[i].exact)
			return true;
	return false;
}

static void signal_frames_are_stepped_over(void)
{
	install(SIGUSR1, 0, false);
	install(SIGUSR2, 0, true);
	for (int i = 0; i < 3; i++) {
		raise(SIGUSR1);
		assert_true(has_exact_frame(kept_stack));
		raise(SIGUSR2);
		recurse(1);
		assert_false(has_exact_frame(kept_stack));
	}
}

static void interrupted_leaves_are_exact(void)
{
	struct sigaction action = {.sa_sigaction = skip_instruction, .sa_flags = SA_SIGINFO};

	assert_int_equal(sigaction(SIGILL, &action, NULL), 0);
	assert_int_equal(interrupted_leaf(1), 2);
	action.sa_flags |= SA_NODEFER;
	assert_int_equal(sigaction(SIGILL, &action, NULL), 0);
	assert_int_equal(interrupted_leaf(5), 6);
}

static void signal_stacks_above_and_below_are_exact(void)
{
	size_t size = 1 << 20;
	char *low = allocate(size);
	char on_stack[1 << 16];
	stack_t stacks[] = {{.ss_sp = low, .ss_size = size},
			    {.ss_sp = on_stack, .ss_size = sizeof(on_stack)}};
	stack_t none = {.ss_flags = SS_DISABLE};

	install(SIGUSR1, SA_ONSTACK, false);
	install(SIGUSR2, SA_ONSTACK | SA_NODEFER, true);
	for (int i = 0; i < 2; i++) {
		/* 64 KiB suffice for libunwind's own frames. */
		assert_int_equal(sigaltstack(&stacks[i], NULL), 0);
		for (int j = 0; j < 3; j++) {
			raise(SIGUSR1);
			raise(SIGUSR2);
			recurse(j);
		}
	}
	assert_int_equal(sigaltstack(&none, NULL), 0);
	free(low);
}

static NOINLINE void jump_out(jmp_buf *target, int depth)
{
	if (depth)
		jump_out(target, depth - 1);
	check_here();
	if (!never)
		longjmp(*target, 1);
}

static void stacks_after_longjmp_are_exact(void)
{
	for (volatile int i = 0; i < 20; i++) {
		jmp_buf target;

		if (!setjmp(target))
			jump_out(&target, i % 5);
		check_here();
		recurse(i % 3);
	}
}

/** Calls `function` with anything at all in rbp. */
__asm__(".text\n.type with_garbage_rbp, @function\nwith_garbage_rbp:\n.cfi_startproc\n\t"
	"push %rbp\n\t.cfi_adjust_cfa_offset 8\n\t.cfi_rel_offset rbp, 0\n\t"
	"mov %rdi, %rbp\n\tcall *%rsi\n\t"
	"pop %rbp\n\t.cfi_adjust_cfa_offset -8\n\t.cfi_restore rbp\n\tret\n"
	".cfi_endproc\n.size with_garbage_rbp, .-with_garbage_rbp\n");
extern void with_garbage_rbp(uint64_t garbage, void (*function)(void)) __asm__("with_garbage_rbp");

static void check_plainly(void)
{
	recurse(1);
}

static void garbage_in_rbp_is_harmless(void)
{
	static const uint64_t garbage[] = {0, 1, 8, 4096, UINT64_MAX, UINT64_MAX - 7, 1ull << 47};

	for (size_t i = 0; i < COUNT_OF(garbage); i++)
		with_garbage_rbp(garbage[i], check_plainly);
}

static void *check_in_thread(void *data)
{
	prepare_thread();
	for (int i = 0; i < 20; i++)
		recurse((int)(intptr_t)data + i % 7);
	release_thread();
	return NULL;
}

static void threads_are_exact_side_by_side(void)
{
	pthread_t threads[8];

	for (int i = 0; i < 8; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, check_in_thread, (void *)(intptr_t)i), 0);
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
}

static ucontext_t main_context, coroutine_contexts[2];

static void coroutine(int number)
{
	for (int i = 0; i < 10; i++) {
		recurse(number * 3 + i % 4);
		swapcontext(&coroutine_contexts[number], &main_context);
		check_here();
	}
}

static void coroutines_are_exact(void)
{
	size_t size = 1 << 18;
	char *stacks[2];

	for (int i = 0; i < 2; i++) {
		stacks[i] = allocate(size);
		getcontext(&coroutine_contexts[i]);
		coroutine_contexts[i].uc_stack.ss_sp = stacks[i];
		coroutine_contexts[i].uc_stack.ss_size = size;
		coroutine_contexts[i].uc_link = &main_context;
		makecontext(&coroutine_contexts[i], (void (*)(void))coroutine, 1, i);
	}
	for (int i = 0; i < 22; i++) {
		swapcontext(&main_context, &coroutine_contexts[i % 2]);
		recurse(i % 3);
	}
	free(stacks[0]);
	free(stacks[1]);
}

/** CFA on rbx, and stack realigned to 64 bytes, exactly as _dl_runtime_resolve_xsavec has it. */
__asm__(".text\n.type aligned_on_rbx, @function\naligned_on_rbx:\n.cfi_startproc\n\t"
	"push %rbx\n\t.cfi_adjust_cfa_offset 8\n\t.cfi_rel_offset rbx, 0\n\t"
	"mov %rsp, %rbx\n\t.cfi_def_cfa_register rbx\n\t"
	"and $-64, %rsp\n\tsub $128, %rsp\n\tcall *%rdi\n\t"
	"mov %rbx, %rsp\n\t.cfi_def_cfa_register rsp\n\t"
	"pop %rbx\n\t.cfi_adjust_cfa_offset -8\n\t.cfi_restore rbx\n\tret\n"
	".cfi_endproc\n.size aligned_on_rbx, .-aligned_on_rbx\n");
extern void aligned_on_rbx(void (*function)(void)) __asm__("aligned_on_rbx");

static void check_under_rbx(void)
{
	recurse(2);
	check_here();
	recurse(0);
}

static NOINLINE void call_at_offset(size_t offset)
{
	volatile char *memory = alloca(offset);

	memory[0] = 0;
	aligned_on_rbx(check_under_rbx);
	NO_TAIL_CALL();
}

static void frames_on_other_registers_take_the_full_stepper(void)
{
	uint64_t before = hawk_unwind_stats.complex_rules;

	for (size_t offset = 16; offset < 256; offset += 16)
		call_at_offset(offset);
	if (hawk_unwind_options.mode == HAWK_UNWIND_CFI)
		assert_true(hawk_unwind_stats.complex_rules > before);
}

/** Restoring by expression, and a CFA computed from memory. */
__asm__(".text\n.type by_expression, @function\nby_expression:\n.cfi_startproc\n\t"
	"sub $40, %rsp\n\t.cfi_def_cfa_offset 48\n\t"
	"lea 48(%rsp), %rax\n\tmov %rax, 8(%rsp)\n\t"
	/* CFA = *(rsp + 8): DW_OP_breg7 8, DW_OP_deref */
	".cfi_escape 0x0f, 0x03, 0x77, 0x08, 0x06\n\t"
	"mov %rbp, 16(%rsp)\n\t"
	/* rbp at CFA - 32: DW_OP_lit31, DW_OP_lit1, DW_OP_plus, DW_OP_minus on the CFA */
	".cfi_escape 0x10, 0x06, 0x04, 0x4f, 0x31, 0x22, 0x1c\n\t"
	"mov $1, %ebp\n\tcall *%rdi\n\t"
	"mov 16(%rsp), %rbp\n\t.cfi_restore rbp\n\t"
	".cfi_def_cfa rsp, 48\n\tadd $40, %rsp\n\t.cfi_def_cfa_offset 8\n\tret\n"
	".cfi_endproc\n.size by_expression, .-by_expression\n");
extern void by_expression(void (*function)(void)) __asm__("by_expression");

static void expressions_are_evaluated(void)
{
	uint64_t before = hawk_unwind_stats.complex_rules;

	by_expression(check_under_rbx);
	if (hawk_unwind_options.mode == HAWK_UNWIND_CFI)
		assert_true(hawk_unwind_stats.complex_rules > before);
}

static unsigned traps;

static void check_instruction(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	(void)context;
	traps++;
	check_here();
}

/** Calls `function` with the trap flag set: SIGTRAP after every instruction. */
__asm__(".text\n.type step_through, @function\nstep_through:\n.cfi_startproc\n\t"
	"pushfq\n\t.cfi_adjust_cfa_offset 8\n\torq $0x100, (%rsp)\n\t"
	"popfq\n\t.cfi_adjust_cfa_offset -8\n\t"
	"sub $8, %rsp\n\t.cfi_adjust_cfa_offset 8\n\tcall *%rdi\n\t"
	"pushfq\n\t.cfi_adjust_cfa_offset 8\n\tandq $~0x100, (%rsp)\n\t"
	"popfq\n\t.cfi_adjust_cfa_offset -8\n\t"
	"add $8, %rsp\n\t.cfi_adjust_cfa_offset -8\n\tret\n"
	".cfi_endproc\n.size step_through, .-step_through\n");
extern int step_through(int (*function)(void)) __asm__("step_through");

/** The first call of a function of the C library: PLT, _dl_runtime_resolve, _dl_fixup ... */
static NOINLINE int call_lazily(void)
{
	return getpagesize() + 1;
}

static void every_instruction_of_a_lazy_binding_is_exact(void)
{
	struct sigaction action = {.sa_sigaction = check_instruction, .sa_flags = SA_SIGINFO};

	assert_int_equal(sigaction(SIGTRAP, &action, NULL), 0);
	assert_int_equal(step_through(call_lazily), 4097);
	if (hawk_unwind_options.mode == HAWK_UNWIND_CFI)
		assert_true(traps > 20); /* hundreds, unless LD_BIND_NOW is set */
}

/* C++: templates, inlining, destructors and handlers while an exception is in flight. The code
 * itself is in test_unwind_frames_cxx.cpp. */

void check_from_cxx(void)
{
	check_here();
}

static void templates_and_inlined_frames_are_exact(void)
{
	uint64_t before = checks_done;

	assert_int_equal(cxx_templates(), 55);
	assert_true(checks_done >= before + 10);
}

static void algorithms_and_closures_are_exact(void)
{
	uint64_t before = checks_done;

	assert_int_equal(cxx_algorithms(), 1);
	assert_true(checks_done > before + 20);
}

static void virtual_calls_through_thunks_are_exact(void)
{
	assert_int_equal(cxx_virtual_calls(), 3);
}

static void exceptions_in_flight_are_exact(void)
{
	uint64_t before = checks_done;

	for (int depth = 0; depth < 12; depth++)
		assert_int_equal(cxx_exceptions(depth), depth);
	assert_true(checks_done > before + 100);
}

static void frames_of_the_exception_machinery_are_exact(void)
{
	assert_true(cxx_backtrace() > 3);
}

static void static_initialisation_on_demand_is_exact(void)
{
	assert_int_equal(cxx_static_initialisation(), 7);
}

static void check_every_frame(void)
{
	static void (*const checks[])(void) = {
		plain_recursion_is_exact,
		frames_with_alloca_use_rbp,
		large_frames_have_rules,
		overaligned_frames_are_exact,
		callbacks_of_the_c_library_are_exact,
		signal_frames_are_stepped_over,
		interrupted_leaves_are_exact,
		signal_stacks_above_and_below_are_exact,
		stacks_after_longjmp_are_exact,
		garbage_in_rbp_is_harmless,
		threads_are_exact_side_by_side,
		coroutines_are_exact,
		frames_on_other_registers_take_the_full_stepper,
		expressions_are_evaluated,
		every_instruction_of_a_lazy_binding_is_exact,
		templates_and_inlined_frames_are_exact,
		algorithms_and_closures_are_exact,
		virtual_calls_through_thunks_are_exact,
		exceptions_in_flight_are_exact,
		frames_of_the_exception_machinery_are_exact,
		static_initialisation_on_demand_is_exact,
	};

	for (size_t i = 0; i < COUNT_OF(checks); i++)
		checks[i]();
}

TEST(the_own_stepper_is_exact)
{
	check_every_frame();
}

/** The same with libunwind inside the tracer, as option unwind=libunwind has it. */
TEST(libunwind_is_exact)
{
	hawk_unwind_options.mode = HAWK_UNWIND_LIBUNWIND;
	assert_true(hawk_unwind_load_libunwind());
	check_every_frame();
}
