/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Names and reasons of signals.
 */
#include "hawk/names/signal.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

const char *hawk_signal_name(int signal)
{
	static char names[65][16];
	const char *name;

	if (signal <= 0 || signal > 64)
		return NULL;
	name = sigabbrev_np(signal);
	if (name)
		snprintf(names[signal], sizeof(names[signal]), "SIG%s", name);
	else if (signal >= 34) // what the C library leaves of the kernel's real-time signals
		snprintf(names[signal], sizeof(names[signal]), "SIGRTMIN+%d", signal - 34);
	else
		return NULL;
	return names[signal];
}

const char *hawk_signal_description(int signal)
{
	return signal > 0 && signal < 32 ? sigdescr_np(signal) : NULL;
}

const char *hawk_signal_reason(int signal, int code)
{
	static const struct {
		int signal;
		int code;
		const char *reason;
	} reasons[] = {
		{SIGSEGV, SEGV_MAPERR, "address not mapped"},
		{SIGSEGV, SEGV_ACCERR, "access not permitted"},
		{SIGSEGV, SEGV_BNDERR, "bound check failed"},
		{SIGSEGV, SEGV_PKUERR, "protection key denied it"},
		{SIGSEGV, SI_KERNEL, "address not canonical, or a general protection fault"},
		{SIGBUS, BUS_ADRALN, "address misaligned"},
		{SIGBUS, BUS_ADRERR, "no such memory (file shorter than its mapping)"},
		{SIGBUS, BUS_OBJERR, "hardware error"},
		{SIGBUS, BUS_MCEERR_AR, "hardware memory error"},
		{SIGBUS, BUS_MCEERR_AO, "hardware memory error"},
		{SIGFPE, FPE_INTDIV, "integer division by zero"},
		{SIGFPE, FPE_INTOVF, "integer overflow"},
		{SIGFPE, FPE_FLTDIV, "floating-point division by zero"},
		{SIGFPE, FPE_FLTINV, "invalid floating-point operation"},
		{SIGILL, ILL_ILLOPC, "illegal opcode"},
		{SIGILL, ILL_ILLOPN, "illegal operand"},
		{SIGILL, ILL_PRVOPC, "privileged instruction"},
		{SIGTRAP, TRAP_BRKPT, "breakpoint"},
		{SIGTRAP, SI_KERNEL, "breakpoint"},
	};

	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (reasons[i].signal == signal && reasons[i].code == code)
			return reasons[i].reason;
	return NULL;
}
