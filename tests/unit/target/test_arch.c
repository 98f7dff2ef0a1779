/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Checks each machine's row for consistency, which reveals a wrong number in a new one.
 */
#include "test.h"
#include "hawk/heap/block_index.h"
#include "hawk/target/arch.h"
#include "hawk/target/target.h"

#include <elf.h>

static void check_registers(const struct hawk_arch *arch)
{
	assert_in_range(arch->register_count, 1, HAWK_REGISTERS_MAX);
	assert_in_range(arch->status_count, 1, arch->register_count);
	/* The thread pointer has a note of its own unless it is among these. */
	assert_int_equal(arch->thread_pointer < arch->status_count, !arch->thread_pointer_note);
	assert_true(arch->pc < arch->register_count && arch->sp < arch->register_count &&
		    arch->thread_pointer < arch->register_count);
	for (unsigned i = 0; i < arch->register_count; i++) {
		assert_non_null(arch->registers[i].name);
		for (unsigned j = 0; j < i; j++)
			assert_string_not_equal(arch->registers[i].name, arch->registers[j].name);
	}
	assert_int_equal(arch->registers[arch->sp].use, HAWK_REGISTER_PLACE);
	assert_int_equal(arch->registers[arch->pc].use, HAWK_REGISTER_PLACE);
	assert_int_equal(arch->registers[arch->thread_pointer].use, HAWK_REGISTER_PLACE);
}

static void check_cfi(const struct hawk_arch *arch)
{
	const struct hawk_arch_cfi *cfi = &arch->cfi;

	assert_in_range(cfi->count, 1, HAWK_CFI_REGISTERS_MAX);
	assert_true(cfi->pc < cfi->count && cfi->sp < cfi->count && cfi->fp < cfi->count);
	assert_true(cfi->link < cfi->count);
	assert_int_equal(cfi->registers[cfi->pc], arch->pc);
	assert_int_equal(cfi->registers[cfi->sp], arch->sp);
	assert_true(cfi->callee_saved >> cfi->fp & 1);
	for (unsigned i = 0; i < cfi->count; i++) {
		assert_true(cfi->registers[i] < arch->register_count);
		assert_int_not_equal(arch->registers[cfi->registers[i]].use, HAWK_REGISTER_STATE);
		for (unsigned j = 0; j < i; j++)
			assert_int_not_equal(cfi->registers[i], cfi->registers[j]);
	}
}

static void check_context(const struct hawk_arch *arch)
{
	const struct hawk_arch_context *context = &arch->context;
	unsigned sp = (context->sp - context->registers) / 8u;
	uint64_t seen = 0;

	assert_true(sp < context->count);
	assert_int_equal(context->cfi[sp], arch->cfi.sp);
	for (unsigned i = 0; i < context->count; i++)
		seen |= UINT64_C(1) << context->cfi[i];
	assert_int_equal(seen, (UINT64_C(1) << arch->cfi.count) - 1);
	assert_true(context->registers + 8u * context->count <= context->mark);
	assert_int_equal(context->bytes, context->mark + 8);
	assert_int_equal(context->mark_value & UINT16_MAX, context->mark_low);
}

static void check_vectors(const struct hawk_arch *arch)
{
	for (unsigned i = 0; i < HAWK_ARCH_VECTORS; i++) {
		const struct hawk_arch_vectors *vectors = &arch->vectors[i];

		if (i && !vectors->name)
			continue;
		assert_non_null(vectors->name);
		assert_true(vectors->range.start < vectors->range.end);
		assert_true(!i || vectors[-1].range.end <= vectors->range.start);
		assert_int_equal(vectors->range.start % 8, 0);
		for (unsigned j = 0; j < HAWK_ARCH_VECTORS_KEPT; j++)
			assert_true(arch->vectors_kept[j].end <= vectors->range.start ||
				    arch->vectors_kept[j].start >= vectors->range.end);
	}
}

TEST(rows_of_machines_make_sense)
{
	unsigned count = 0;

	for (uint32_t machine = 0; machine <= UINT16_MAX; machine++) {
		const struct hawk_arch *arch = hawk_arch_of((uint16_t)machine);

		if (!arch)
			continue;
		count++;
		check_registers(arch);
		check_cfi(arch);
		check_context(arch);
		check_vectors(arch);
		/* Higher addresses cannot be indexed. */
		assert_in_range(arch->address_bits, 32, HAWK_ADDRESS_BITS);
		assert_int_equal(arch->page_bytes & (arch->page_bytes - 1), 0);
		assert_true(arch->page_bytes <= arch->page_bytes_max);
	}
	assert_true(count > 0);
	assert_ptr_equal(hawk_arch_of(EM_X86_64), hawk_arch_host());
}
