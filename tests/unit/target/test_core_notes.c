/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Notes of cores: the process, its end, its threads; and false notes.
 */
#include <elf.h>
#include <signal.h>

#include "test.h"
#include "synthetic_world.h"
#include "target/arch_aarch64.h"
#include "target/arch_x86_64.h"

static const struct hawk_process *process_of(const struct world *world)
{
	return hawk_target_process(world->target);
}

static void add_kernel_notes(struct world *world, int signal, int code, uint64_t value)
{
	synthetic_core_add_thread(world->core, 102, signal, NULL);
	synthetic_core_add_process(world->core, 100, "service", "/usr/bin/service --fast ");
	synthetic_core_add_siginfo(world->core, signal, code, value);
	synthetic_core_add_thread(world->core, 100, signal, NULL);
}

WORLD_TEST(the_first_thread_of_a_kernel_core_is_the_one_that_crashed)
{
	const struct hawk_thread *threads;
	size_t count;

	add_kernel_notes(world, SIGSEGV, SEGV_MAPERR, 0xdeadbeef);
	world_open(world);
	threads = hawk_target_threads(world->target, &count);
	assert_int_equal(count, 2);
	assert_int_equal(threads[0].tid, 102);
	assert_true(threads[0].crashed);
	assert_int_equal(threads[0].signal, SIGSEGV);
	assert_int_equal(threads[1].tid, 100);
	assert_false(threads[1].crashed);
	assert_int_equal(threads[1].signal, 0);
	assert_int_equal(process_of(world)->pid, 100);
	assert_string_equal(process_of(world)->name, "service");
	assert_string_equal(process_of(world)->arguments, "/usr/bin/service --fast");
}

/* struct elf_prstatus: the registers follow 112 bytes, and a word follows them. */
static void add_aarch64_thread(struct world *world, uint32_t tid)
{
	uint64_t status[14 + HAWK_TPIDR + 1] = {0};

	memcpy((char *)status + 32, &tid, sizeof(tid));
	for (uint64_t i = 0; i < HAWK_TPIDR; i++)
		status[14 + i] = 0x1000 + i;
	synthetic_core_add_note(world->core, NULL, NT_PRSTATUS, status, sizeof(status));
}

WORLD_TEST(notes_of_aarch64_complete_the_thread_before_them)
{
	const uint64_t pointer = 0x7fb0001000,
		       masks[] = {UINT64_C(0x7f) << 48, UINT64_C(0x7f) << 48};
	const struct hawk_thread *threads;
	size_t count;

	synthetic_core_set_layout(world->core, (struct synthetic_layout){.machine = EM_AARCH64});
	add_aarch64_thread(world, 7);
	add_aarch64_thread(world, 8);
	synthetic_core_add_note(world->core, "LINUX", NT_ARM_TLS, &pointer, sizeof(pointer));
	synthetic_core_add_note(world->core, "LINUX", NT_ARM_PAC_MASK, masks, sizeof(masks));
	world_open(world);
	threads = hawk_target_threads(world->target, &count);
	assert_int_equal(count, 2);
	assert_int_equal(threads[1].tid, 8);
	assert_int_equal(threads[1].sp, 0x1000 + HAWK_SP);
	assert_int_equal(threads[1].pc, 0x1000 + HAWK_PC);
	assert_int_equal(threads[0].thread_pointer, 0);
	assert_int_equal(threads[1].thread_pointer, pointer);
	assert_int_equal(hawk_target_code_address(world->target, UINT64_C(0x2a0000aaaa0040)),
			 UINT64_C(0xaaaa0040));
}

WORLD_TEST(without_a_mask_signed_pointers_are_cut_to_an_address)
{
	synthetic_core_set_layout(world->core, (struct synthetic_layout){.machine = EM_AARCH64});
	add_aarch64_thread(world, 7);
	world_open(world);
	assert_int_equal(hawk_target_code_address(world->target, UINT64_C(0x13affffaaaa0040)),
			 UINT64_C(0xffffaaaa0040));
}

static void expect_tagged(struct world *world, uint64_t control, bool wanted)
{
	synthetic_core_set_layout(world->core, (struct synthetic_layout){.machine = EM_AARCH64});
	add_aarch64_thread(world, 7);
	synthetic_core_add_note(world->core, "LINUX", NT_ARM_TAGGED_ADDR_CTRL, &control,
				sizeof(control));
	world_open(world);
	assert_int_equal(world_finding(world, "pointers-tagged") != NULL, wanted);
	assert_int_equal(hawk_target_is_incomplete(world->target), wanted);
}

WORLD_TEST(processes_that_tag_memory_are_incomplete)
{
	expect_tagged(world, 1 | 1 << 1, true); /* PR_MTE_TCF_SYNC */
}

WORLD_TEST(processes_that_may_pass_tagged_addresses_are_complete)
{
	expect_tagged(world, 1, false); /* PR_TAGGED_ADDR_ENABLE */
}

WORLD_TEST(registers_are_in_the_order_of_the_kernel)
{
	uint64_t registers[HAWK_REGISTER_COUNT];
	size_t count;

	for (uint64_t i = 0; i < HAWK_REGISTER_COUNT; i++)
		registers[i] = 0x1111 * i;
	synthetic_core_add_thread(world->core, 1, 0, registers);
	world_open(world);
	assert_memory_equal(hawk_target_threads(world->target, &count)->registers, registers,
			    sizeof(registers));
	assert_int_equal(HAWK_RIP, 16);
	assert_int_equal(HAWK_RSP, 19);
	assert_int_equal(HAWK_FS_BASE, 21);
}

WORLD_TEST(a_signal_has_a_fault_address_or_a_sender)
{
	static const struct {
		int signal, code;
		uint64_t value, address;
		uint32_t sender;
	} cases[] = {
		{SIGSEGV, SEGV_ACCERR, 0x7f0000001234, 0x7f0000001234, 0},
		{SIGSEGV, SI_USER, 4711, 0, 4711},
		{SIGABRT, SI_TKILL, 100, 0, 100},
		{SIGSEGV, SI_KERNEL, 0, 0, 0}, /* general protection fault */
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		add_kernel_notes(world, cases[i].signal, cases[i].code, cases[i].value);
		world_open(world);
		assert_int_equal(process_of(world)->signal, cases[i].signal);
		assert_true(process_of(world)->has_siginfo);
		assert_int_equal(process_of(world)->signal_code, cases[i].code);
		assert_int_equal(process_of(world)->has_fault_address, cases[i].address != 0);
		assert_int_equal(process_of(world)->fault_address, cases[i].address);
		assert_int_equal(process_of(world)->sender_pid, cases[i].sender);
		world_renew(world);
	}
}

static void add_gdb_notes(struct world *world, int signal)
{
	synthetic_core_add_process(world->core, 100, "service", "service");
	synthetic_core_add_thread(world->core, 100, signal, NULL);
	synthetic_core_add_siginfo(world->core, signal, SEGV_MAPERR, 0x10);
	synthetic_core_add_thread(world->core, 101, signal, NULL);
	synthetic_core_add_siginfo(world->core, SIGSTOP, SI_USER, 7);
}

WORLD_TEST(a_gcore_core_did_not_die)
{
	size_t count;

	add_gdb_notes(world, SIGTRAP);
	world_open(world);
	assert_int_equal(process_of(world)->signal, 0);
	assert_false(process_of(world)->has_siginfo);
	assert_false(process_of(world)->has_fault_address);
	assert_false(hawk_target_threads(world->target, &count)[0].crashed);
	assert_int_equal(count, 2);
	assert_int_equal(process_of(world)->pid, 100);
}

WORLD_TEST(a_gcore_core_taken_at_a_crash_says_so)
{
	size_t count;

	add_gdb_notes(world, SIGSEGV);
	world_open(world);
	assert_int_equal(process_of(world)->signal, SIGSEGV);
	assert_int_equal(process_of(world)->fault_address, 0x10);
	assert_true(hawk_target_threads(world->target, &count)[0].crashed);
}

WORLD_TEST(unknown_notes_are_skipped)
{
	size_t count;

	synthetic_core_add_note(world->core, "LINUX", 0x205, "12345", 5);
	synthetic_core_add_note(world->core, "QQ", NT_PRSTATUS, "1", 1);
	synthetic_core_add_note(world->core, "CORE", 0x7777, NULL, 0);
	add_kernel_notes(world, SIGABRT, SI_TKILL, 1);
	world_open(world);
	hawk_target_threads(world->target, &count);
	assert_int_equal(count, 2);
	assert_null(world_finding(world, "note-short"));
	assert_null(world_finding(world, "notes-damaged"));
}

WORLD_TEST(a_short_thread_note_is_damage_and_the_others_stay)
{
	size_t count;

	synthetic_core_add_note(world->core, NULL, NT_PRSTATUS, "short", 5);
	synthetic_core_add_thread(world->core, 9, 0, NULL);
	world_open(world);
	assert_int_equal(hawk_target_threads(world->target, &count)->tid, 9);
	assert_int_equal(count, 1);
	assert_int_equal(world_finding(world, "note-short")->sort, HAWK_FINDING_DAMAGE);
}

WORLD_TEST(a_note_size_of_4_gigabytes_ends_the_notes)
{
	uint32_t huge = UINT32_MAX;
	uint64_t notes;
	size_t count;

	synthetic_core_add_thread(world->core, 9, 0, NULL);
	synthetic_core_add_note(world->core, NULL, 0x7777, "1234", 4);
	world_build(world);
	memcpy(&notes, world->bytes + 64 + offsetof(Elf64_Phdr, p_offset), sizeof(notes));
	memcpy(world->bytes + notes + 12 + 8 + 336 + 4, &huge, sizeof(huge));
	world_open(world);
	hawk_target_threads(world->target, &count);
	assert_int_equal(count, 1);
	assert_non_null(world_finding(world, "notes-damaged"));
}

WORLD_TEST(a_core_without_threads_says_so)
{
	synthetic_core_add_memory(world->core, 0x10000, "x", 1);
	world_open(world);
	assert_non_null(world_finding(world, "threads-missing"));
	assert_true(hawk_findings_partial(&world->findings));
}

WORLD_TEST(the_program_is_the_file_that_holds_the_program_headers)
{
	static const uint64_t auxv[][2] = {{AT_PHDR, 0x400040}, {AT_PAGESZ, 4096}};

	add_kernel_notes(world, SIGABRT, SI_TKILL, 1);
	synthetic_core_add_auxv(world->core, auxv, 2);
	synthetic_core_add_segment(world->core, (struct synthetic_segment){
							.address = 0x400000,
							.memory_bytes = 4096,
							.path = "/opt/real (deleted)",
						});
	world_open(world);
	assert_string_equal(process_of(world)->program, "/opt/real");
	assert_int_equal(process_of(world)->page_bytes, 4096);
}

/* Unless that is not there or empty: then it is the first argument. */
WORLD_TEST(the_program_is_else_the_name_that_the_kernel_left)
{
	static const uint64_t auxv[][2] = {{AT_EXECFN, 0x500004}, {AT_PAGESZ, 12345}};
	static const char *const names[] = {"/bin/x", ""};
	static const char *const programs[] = {"/bin/x", "/usr/bin/service"};

	for (unsigned i = 0; i < 2; i++) {
		add_kernel_notes(world, SIGABRT, SI_TKILL, 1);
		synthetic_core_add_auxv(world->core, auxv, 2);
		synthetic_core_add_memory(world->core, 0x500000, "....", 4);
		synthetic_core_add_memory(world->core, 0x500004, names[i], strlen(names[i]) + 1);
		world_open(world);
		assert_string_equal(process_of(world)->program, programs[i]);
		assert_int_equal(process_of(world)->page_bytes, 4096);
		world_renew(world);
	}
}
