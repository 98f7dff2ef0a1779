/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds the C library in the loader's list for debuggers, by the symbols that it defines.
 *
 * dlsym() returns the address that all pointers to a function share. If an executable at a fixed
 * address (not PIE) takes the function's address, this is its own PLT entry: an undefined symbol
 * with a value, not a definition. Its calls still arrive at ours.
 */
#include "loader.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stddef.h>

#include "elf.h"

typedef int iterate_function(int (*callback)(struct dl_phdr_info *, size_t, void *), void *data);

static iterate_function *find_iterate(void)
{
	for (const struct link_map *map = _r_debug.r_map; map; map = map->l_next) {
		const Elf64_Sym *symbol;
		struct hawk_elf module;

		if (!hawk_elf_open_map(map, &module) ||
		    !hawk_elf_find(&module, "__register_atfork"))
			continue;
		symbol = hawk_elf_find(&module, "dl_iterate_phdr");
		if (symbol)
			return (iterate_function *)(module.bias + symbol->st_value);
	}
	return dl_iterate_phdr;
}

int hawk_loader_iterate(int (*callback)(struct dl_phdr_info *info, size_t size, void *data),
			void *data)
{
	static iterate_function *iterate; /* first called before there are threads */

	if (!iterate)
		iterate = find_iterate();
	return iterate(callback, data);
}

/** Returns true if an address belongs to a symbol that its module does not define. */
static bool is_plt_entry(const void *address)
{
	const ElfW(Sym) *symbol = NULL;
	Dl_info info;

	if (!dladdr1(address, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol)
		return false;
	return symbol->st_shndx == SHN_UNDEF && info.dli_saddr == address;
}

bool hawk_loader_is_first(const char *name, const void *ours)
{
	const void *first = dlsym(RTLD_DEFAULT, name);

	return !first || first == ours || is_plt_entry(first);
}
