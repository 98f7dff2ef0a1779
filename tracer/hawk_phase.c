/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Where the tracer stands, apart from the start-up that decides it: unit tests of the recorder link
 * this, but not that.
 */
#include "hawk_init.h"

enum hawk_phase hawk_phase;
