/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The table of supported machines.
 */
#include "hawk/target/arch.h"

#include "arch_aarch64.h"
#include "arch_x86_64.h"

static const struct hawk_arch *const arches[] = {&hawk_arch_x86_64, &hawk_arch_aarch64};

const struct hawk_arch *hawk_arch_of(uint16_t machine)
{
	for (size_t i = 0; i < sizeof(arches) / sizeof(*arches); i++)
		if (arches[i]->machine == machine)
			return arches[i];
	return NULL;
}

const struct hawk_arch *hawk_arch_host(void)
{
	return arches[0];
}
