/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The core in an Apport report (in /var/crash): the field "CoreDump" holds gzip in base64, in
 * lines that begin with a blank, each padded on its own. Source: apport, problem_report.py.
 */
#ifndef HAWK_ANALYZER_TARGET_CORE_APPORT_H
#define HAWK_ANALYZER_TARGET_CORE_APPORT_H

#include <stddef.h>
#include <stdint.h>

/** Returns the place of the core's base64, or `size` if the report's beginning has none. */
size_t hawk_apport_core(const uint8_t *bytes, size_t size);

/** Decodes from bytes[*at] on and moves *at. Returns the number of bytes written to `to`, at most
 * `room`; 0 behind the end of the field, or at letters that are no base64. */
size_t hawk_apport_decode(const uint8_t *bytes, size_t size, size_t *at, uint8_t *to, size_t room);

#endif
