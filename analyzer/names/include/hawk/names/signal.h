/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Signals in words.
 */
#ifndef HAWK_ANALYZER_NAMES_SIGNAL_H
#define HAWK_ANALYZER_NAMES_SIGNAL_H

/** "SIGSEGV"; "signal 77" does not exist: NULL for numbers without a name. */
const char *hawk_signal_name(int signal);

/** "Segmentation fault", or NULL. */
const char *hawk_signal_description(int signal);

/** What si_code says about a signal raised by the CPU: "address not mapped"; NULL if nothing. */
const char *hawk_signal_reason(int signal, int code);

#endif
