/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Functions that test_unwind_frames.c runs, and the C++ code's callbacks.
 */
#ifndef HAWK_TEST_UNWIND_FRAMES_CXX_H
#define HAWK_TEST_UNWIND_FRAMES_CXX_H

#ifdef __cplusplus
extern "C" {
#endif

/** Compares the caller's stack with the oracle's. */
void check_from_cxx(void);

int cxx_templates(void);
int cxx_algorithms(void);
int cxx_virtual_calls(void);
/** Throws through `depth` frames with destructors; returns how many ran. */
int cxx_exceptions(int depth);
/** Frames that _Unwind_Backtrace reported. */
int cxx_backtrace(void);
int cxx_static_initialisation(void);

#ifdef __cplusplus
}
#endif

#endif
