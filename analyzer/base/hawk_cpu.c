/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The processor.
 */
#include "hawk_cpu.h"

bool hawk_cpu_has_avx512(void)
{
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
	       __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
	       __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx2") &&
	       __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
	       __builtin_cpu_supports("fma") && __builtin_cpu_supports("popcnt");
}
