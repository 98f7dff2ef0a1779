/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Asking the loader for the first definition of a function.
 *
 * dlsym() answers with the address that all pointers to the function have. In an executable at a
 * fixed address (not PIE) that takes the function's address, that is its own PLT entry: an
 * undefined symbol with a value, which is no definition. Its calls arrive at ours.
 */
#include "hawk_first.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stddef.h>

/** Whether an address belongs to a symbol that its module does not define. */
static bool is_plt_entry(const void *address)
{
	const ElfW(Sym) *symbol = NULL;
	Dl_info info;

	if (!dladdr1(address, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol)
		return false;
	return symbol->st_shndx == SHN_UNDEF && info.dli_saddr == address;
}

bool hawk_first_is(const char *name, const void *ours)
{
	const void *first = dlsym(RTLD_DEFAULT, name);

	return !first || first == ours || is_plt_entry(first);
}
