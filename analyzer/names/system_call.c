/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Names of system calls by libseccomp, arguments by a table of the calls in which threads wait.
 */
#include "hawk/names/system_call.h"

#include <inttypes.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hawk/base/quantity.h"
#include "hawk/target/arch.h"

enum {
	ARCH_64_BIT_LITTLE_ENDIAN = 0xc0,
	NANOSECONDS = 1000000000,
	SECONDS_MAX = 1000000000,
	ERRORS_MAX = 4095
};

/** Arguments: d number, x address, u size, o flags, t struct timespec, m milliseconds. */
static const struct {
	const char *name;
	const char *arguments;
} known_calls[] = {
	{"accept", "dxx"},
	{"accept4", "dxxo"},
	{"clock_nanosleep", "dot"},
	{"connect", "dxu"},
	{"epoll_pwait", "dxdmx"},
	{"epoll_pwait2", "dxdtx"},
	{"epoll_wait", "dxdm"},
	{"exit", "d"},
	{"exit_group", "d"},
	{"fcntl", "ddx"},
	{"fdatasync", "d"},
	{"flock", "do"},
	{"fsync", "d"},
	{"futex", "xodt"},
	{"futex_wait", "xxxo"},
	{"ioctl", "dox"},
	{"kill", "dd"},
	{"mq_timedreceive", "dxuxt"},
	{"nanosleep", "t"},
	{"open", "xo"},
	{"openat", "dxo"},
	{"pause", ""},
	{"poll", "xum"},
	{"ppoll", "xutx"},
	{"pread64", "dxuu"},
	{"pselect6", "dxxxt"},
	{"pwrite64", "dxuu"},
	{"read", "dxu"},
	{"readv", "dxu"},
	{"recvfrom", "dxuo"},
	{"recvmmsg", "dxuot"},
	{"recvmsg", "dxo"},
	{"rt_sigsuspend", "x"},
	{"rt_sigtimedwait", "xxt"},
	{"sched_yield", ""},
	{"select", "dxxxx"},
	{"sendmsg", "dxo"},
	{"sendto", "dxuo"},
	{"tgkill", "ddd"},
	{"wait4", "dxo"},
	{"waitid", "ddxo"},
	{"write", "dxu"},
	{"writev", "dxu"},
};

void hawk_system_call_name(const struct hawk_target *target, struct hawk_system_call *call)
{
	uint32_t arch =
		(uint32_t)ARCH_64_BIT_LITTLE_ENDIAN << 24 | hawk_target_arch(target)->machine;
	char *name = call->is_inside && call->number <= INT32_MAX
			     ? seccomp_syscall_resolve_num_arch(arch, (int)call->number)
			     : NULL;

	if (name)
		(void)snprintf(call->name, sizeof(call->name), "%s", name);
	else
		(void)snprintf(call->name, sizeof(call->name), "syscall_%" PRIu64, call->number);
	free(name);
}

/* Returns true if the instruction at `address` makes a system call. */
static bool calls(struct hawk_symbols *symbols, const struct hawk_arch *arch, uint64_t address)
{
	uint32_t word;

	return hawk_symbols_read_code(symbols, address, &word, sizeof(word)) &&
	       word == arch->call_instruction;
}

void hawk_system_call_find(const struct hawk_target *target, struct hawk_symbols *symbols,
			   const struct hawk_thread *thread, struct hawk_system_call *ret)
{
	const struct hawk_arch *arch = hawk_target_arch(target);
	uint64_t number = thread->registers[arch->call];

	*ret = (struct hawk_system_call){.number = number};
	if (!thread->pc || number > INT32_MAX)
		return;
	/* The kernel moves the program counter of an interrupted call back to its instruction. */
	if (arch->call_instruction && !calls(symbols, arch, thread->pc)) {
		uint64_t result = thread->registers[arch->call_arguments[0]];

		if (!calls(symbols, arch, thread->pc - sizeof(uint32_t)))
			return;
		ret->has_result = -result <= ERRORS_MAX;
	}
	ret->is_inside = true;
	for (size_t i = 0; i < HAWK_CALL_ARGUMENTS; i++)
		ret->arguments[i] = thread->registers[arch->call_arguments[i]];
	hawk_system_call_name(target, ret);
}

static void append_time(const struct hawk_target *target, uint64_t address, struct hawk_text *text)
{
	uint64_t time[2]; /* seconds, nanoseconds */

	if (address && hawk_target_read_some(target, address, time, sizeof(time)) == sizeof(time) &&
	    time[0] < SECONDS_MAX && time[1] < NANOSECONDS)
		hawk_text_puts(text,
			       hawk_quantity_nanoseconds(time[0] * NANOSECONDS + time[1]).text);
	else if (address)
		hawk_text_printf(text, "0x%" PRIx64, address);
	else
		hawk_text_puts(text, "no limit");
}

static void append_argument(const struct hawk_target *target, char kind, uint64_t value,
			    struct hawk_text *text)
{
	switch (kind) {
	case 'd':
		hawk_text_printf(text, "%" PRId32, (int32_t)value);
		break;
	case 'u':
		hawk_text_printf(text, "%" PRIu64, value);
		break;
	case 't':
		append_time(target, value, text);
		break;
	case 'm':
		if ((int32_t)value < 0)
			hawk_text_puts(text, "no limit");
		else
			hawk_text_puts(
				text, hawk_quantity_nanoseconds(value * (NANOSECONDS / 1000)).text);
		break;
	default:
		hawk_text_printf(text, "0x%" PRIx64, value);
	}
}

void hawk_system_call_append(const struct hawk_target *target, const struct hawk_system_call *call,
			     struct hawk_text *text)
{
	const char *arguments = NULL;

	for (size_t i = 0; i < sizeof(known_calls) / sizeof(known_calls[0]); i++)
		if (!strcmp(known_calls[i].name, call->name))
			arguments = known_calls[i].arguments;
	hawk_text_printf(text, "%s(", call->name);
	for (size_t i = 0; arguments && arguments[i]; i++) {
		hawk_text_puts(text, i ? ", " : "");
		if (i || !call->has_result)
			append_argument(target, arguments[i], call->arguments[i], text);
		else
			hawk_text_puts(text, "?");
	}
	hawk_text_puts(text, arguments ? ")" : "...)");
}
