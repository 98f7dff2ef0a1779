/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Code outside all modules, such as just-in-time compilers make: notes in which regions rbp leads
 * on.
 *
 * A compiler either keeps frame pointers or it does not. Without them, rbp holds a different random
 * number at each call, and a stack through such code would be walked anew each time. So a region of
 * 64 KiB where rbp failed several times is tried only once in a while. A region where rbp ever led
 * to a return address is always tried.
 *
 * This decides only which frames are tried, never whether a frame found is right. Lock-free; of two
 * simultaneous notes one may be lost.
 */
#ifndef HAWK_TRACER_UNWIND_OUTSIDE_H
#define HAWK_TRACER_UNWIND_OUTSIDE_H

#include <stdbool.h>
#include <stdint.h>

/** Returns true if rbp is not worth a try from `pc`, which is below 2^47 and of no module. */
bool hawk_outside_is_hopeless(uint64_t pc);

/** Returns true if rbp has led to a return address from there: nothing needs to be noted. */
bool hawk_outside_is_trusted(uint64_t pc);

/** Notes that rbp was tried from `pc`, and whether it led to a return address. */
void hawk_outside_note(uint64_t pc, bool led_on);

#endif
