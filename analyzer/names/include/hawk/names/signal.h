/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Names and descriptions of signals.
 */
#ifndef HAWK_ANALYZER_NAMES_SIGNAL_H
#define HAWK_ANALYZER_NAMES_SIGNAL_H

/** Returns "SIGSEGV", say; NULL for numbers without a name. */
const char *hawk_signal_name(int signal);

/** Returns "Segmentation fault", say, or NULL. */
const char *hawk_signal_description(int signal);

/** Explains the si_code of a signal raised by the CPU ("address not mapped"), or returns NULL. */
const char *hawk_signal_reason(int signal, int code);

#endif
