/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The C library is found in the loader's list for debuggers, by what it defines.
 */
#include "hawk_loader.h"

#include "hawk_elf.h"

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
