/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Code of no module, as just-in-time compilers make it: in which of its regions rbp leads on.
 *
 * A compiler either keeps frame pointers or it does not. Where it does not, rbp holds any number,
 * another one at each call: a stack through such code would be walked anew each time, up to there.
 * So a region of 64 KiB from which rbp has led nowhere several times is not tried any more, but
 * for once in a while; one from which it has ever led to a return address is always tried.
 *
 * Only which frames are tried depends on this, never whether a frame that was found is right.
 * Lock-free; of two threads that note at once one may be lost.
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
