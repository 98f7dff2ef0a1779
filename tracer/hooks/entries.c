/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Replaces an allocator's functions by ours, in this order: note the functions; keep the
 * allocator's own calls on itself; point the module's symbols at our functions, for later lookups;
 * rewrite earlier bindings.
 *
 * Never writes to a page that holds code. Every word changes in one store.
 */
#include "entries.h"

#include <stdlib.h>
#include <string.h>

#include "unwind/elf.h"
#include "unwind/loader.h"

enum { ENTRIES_MAX = 512, PAGE_BYTES = 4096 };

bool hawk_entries_produce;

/** A function found in a module. The list is unsorted; each relocation with a symbol scans it. */
struct found {
	const char *name;
	void *hook;
	const Elf64_Sym *symbol;
	uint64_t original;
	uint64_t owner; /**< bias of the defining module */
	bool shadowed;  /**< we, or a module before us, also define the name */
};

struct installation {
	struct found found[ENTRIES_MAX];
	unsigned count;
	uint64_t lowest, highest; /**< range of the originals */
	uint64_t next;            /**< bias of the first module behind us that has a malloc */
	struct hawk_elf ours;
	int heap;       /**< number of the heap noted last; -1 = none */
	bool late;      /**< installs in a single module, which can be unloaded again */
	bool behind_us; /**< true once the walk over the modules has passed ours */
	bool failed;
};

static bool names_equal(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

static bool is_ours(const struct hawk_elf *module)
{
	return hawk_elf_owns(module, (uint64_t)&hawk_entries_produce);
}

static void add(struct installation *all, struct found found)
{
	if (all->count == ENTRIES_MAX) {
		all->failed = true;
		return;
	}
	all->found[all->count++] = found;
	if (found.original < all->lowest)
		all->lowest = found.original;
	if (found.original > all->highest)
		all->highest = found.original;
}

static void note(struct installation *all, const struct hawk_elf *module,
		 const struct hawk_entry *entry, unsigned which)
{
	const Elf64_Sym *symbol = hawk_elf_find(module, entry->name);
	uint64_t original;

	if (!symbol)
		return;
	original = module->bias + symbol->st_value;
	__atomic_store_n(&hawk_entries_next[which], (hawk_entry_function *)original,
			 __ATOMIC_RELEASE);
	if (!entry->act || (hawk_entry_produces(entry) && !hawk_entries_produce))
		return;
	add(all, (struct found){.name = entry->name,
				.hook = hawk_entries_stub(which),
				.symbol = symbol,
				.original = original,
				.owner = module->bias});
}

/** Owners of the stubs: the module's entry in the loader's list, any other address if reserved for
 * ever, or NULL if free. */
static const void *heap_owners[HAWK_HEAPS_MAX];

/** Reserves the stubs of one module until it is unloaded, or for ever if `map` is NULL. Returns the
 * number of the heap, or -1 if all are in use. */
static int reserve_heap(const struct link_map *map)
{
	const void *owner = map ? (const void *)map : (const void *)heap_owners;

	for (int i = 0; i < HAWK_HEAPS_MAX; i++) {
		const void *nobody = NULL;

		if (__atomic_compare_exchange_n(&heap_owners[i], &nobody, owner, false,
						__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			return i;
	}
	return -1;
}

/** Notes the functions that free, resize or measure a block, if the module has a free() of its
 * own. */
static void note_heap(struct installation *all, const struct hawk_elf *module,
		      const struct link_map *map)
{
	unsigned first;

	all->heap = hawk_elf_find(module, "free") ? reserve_heap(map) : -1;
	if (all->heap < 0)
		return;
	first = HAWK_ENTRIES_MAX + (unsigned)all->heap * HAWK_HEAP_FUNCTIONS;
	for (unsigned i = 0; i < HAWK_HEAP_FUNCTIONS; i++)
		note(all, module, &hawk_heap_entries[i], first + i);
}

/** Returns false if the module defines none of these names: it then defines none of the others. */
static bool may_have_entries(const struct hawk_elf *module)
{
	static const char *const names[] = {"malloc",    "mallocx",   "nallocx",
					    "tc_malloc", "mi_malloc", "free"};

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (hawk_elf_find(module, names[i]))
			return true;
	return false;
}

static int note_module(struct dl_phdr_info *info, size_t size, void *data)
{
	struct installation *all = data;
	struct hawk_elf module;

	(void)size;
	if (!hawk_elf_open(info, &module))
		return 0;
	if (is_ours(&module)) {
		all->ours = module;
		all->behind_us = true;
		return 0;
	}
	if (!all->behind_us || !may_have_entries(&module))
		return 0;
	if (!all->next && hawk_elf_find(&module, "malloc"))
		all->next = module.bias;
	note_heap(all, &module, NULL);
	for (unsigned i = 1; hawk_entries[i].name; i++)
		if (!hawk_entries_next[i])
			note(all, &module, &hawk_entries[i], i);
	return 0;
}

/** Marks the noted names that a module up to and including ours also defines. Runs once all names
 * are known. */
static int note_shadows(struct dl_phdr_info *info, size_t size, void *data)
{
	struct installation *all = data;
	struct hawk_elf module;

	(void)size;
	if (!hawk_elf_open(info, &module))
		return 0;
	for (unsigned i = 0; i < all->count; i++)
		if (hawk_elf_find(&module, all->found[i].name))
			all->found[i].shadowed = true;
	return is_ours(&module);
}

/** Binds the allocator's calls of its own functions to itself, where the loader would bind them
 * lazily. */
static void keep_own_calls(struct installation *all, const struct hawk_elf *module,
			   const struct found *found)
{
	for (uint64_t i = 0; i < module->call_count; i++) {
		const Elf64_Rela *call = &module->calls[i];
		uint64_t *slot = (uint64_t *)(module->bias + call->r_offset);

		if (ELF64_R_TYPE(call->r_info) != R_X86_64_JUMP_SLOT ||
		    &module->symbols[ELF64_R_SYM(call->r_info)] != found->symbol ||
		    !hawk_elf_owns(module, *slot))
			continue;
		if (*slot != found->original && !hawk_elf_write(module, slot, found->original))
			all->failed = true;
	}
}

/** Changes symbols `lowest` to `highest` in the module's own table. Returns false if the table
 * shares pages with code. */
static bool redirect_in_place(const struct installation *all, const struct hawk_elf *module,
			      const Elf64_Sym *lowest, const Elf64_Sym *highest)
{
	if (!hawk_elf_unlock(module, lowest, highest + 1))
		return false;
	for (unsigned i = 0; i < all->count; i++) {
		const struct found *found = &all->found[i];
		Elf64_Addr *value = (Elf64_Addr *)(uintptr_t)&found->symbol->st_value;

		if (found->owner == module->bias)
			__atomic_store_n(value, (uint64_t)found->hook - module->bias,
					 __ATOMIC_RELEASE);
	}
	hawk_elf_lock(module, lowest, highest + 1);
	return true;
}

/**
 * Returns whole pages for a copy of the symbols; NULL if there is no memory. A module loaded later
 * reuses the pages of the unloaded module that had its hooks, so that reloading plug-ins costs no
 * memory.
 */
static void *find_place(const struct installation *all, uint64_t bytes)
{
	static struct {
		void *memory;
		uint64_t bytes;
	} places[HAWK_HEAPS_MAX];
	void *memory;

	bytes = (bytes + PAGE_BYTES - 1) & -(uint64_t)PAGE_BYTES;
	if (!all->late)
		return hawk_arena_private(bytes, HAWK_EXTENT_PRIVATE);
	if (places[all->heap].bytes >= bytes)
		return places[all->heap].memory;
	memory = hawk_arena_private(bytes, HAWK_EXTENT_PRIVATE);
	if (memory) {
		places[all->heap].memory = memory;
		places[all->heap].bytes = bytes;
	}
	return memory;
}

/** Changes a copy of the symbol table and points the loader at it. */
static bool redirect_to_copy(const struct installation *all, const struct hawk_elf *module)
{
	uint64_t bytes = (uint64_t)hawk_elf_symbol_count(module) * sizeof(Elf64_Sym);
	Elf64_Sym *copy = bytes ? find_place(all, bytes) : NULL;

	if (!copy)
		return false;
	memcpy(copy, module->symbols, bytes);
	for (unsigned i = 0; i < all->count; i++)
		if (all->found[i].owner == module->bias)
			copy[all->found[i].symbol - module->symbols].st_value =
				(uint64_t)all->found[i].hook - module->bias;
	return hawk_elf_write(module, &module->symbols_entry->d_un.d_ptr, (uint64_t)copy);
}

/** Points the module's symbols at our functions. */
static void redirect(struct installation *all, const struct hawk_elf *module)
{
	const Elf64_Sym *lowest = NULL, *highest = NULL;

	for (unsigned i = 0; i < all->count; i++) {
		const struct found *found = &all->found[i];

		if (found->owner != module->bias)
			continue;
		if (!found->shadowed)
			keep_own_calls(all, module, found);
		lowest = !lowest || found->symbol < lowest ? found->symbol : lowest;
		highest = found->symbol > highest ? found->symbol : highest;
	}
	if (lowest && !redirect_in_place(all, module, lowest, highest) &&
	    !redirect_to_copy(all, module))
		all->failed = true;
}

static int redirect_symbols(struct dl_phdr_info *info, size_t size, void *data)
{
	struct hawk_elf module;

	(void)size;
	if (hawk_elf_open(info, &module) && !is_ours(&module))
		redirect(data, &module);
	return 0;
}

/** Replaces one binding. Aliases share an address, so the name decides among several entries. */
static void rebind(struct installation *all, const struct hawk_elf *module,
		   const Elf64_Rela *relocation)
{
	const Elf64_Sym *symbol = &module->symbols[ELF64_R_SYM(relocation->r_info)];
	uint64_t *slot = (uint64_t *)(module->bias + relocation->r_offset);

	if (*slot < all->lowest || *slot > all->highest || symbol->st_name >= module->names_bytes)
		return;
	for (unsigned i = 0; i < all->count; i++) {
		const struct found *found = &all->found[i];

		if (*slot != found->original ||
		    !names_equal(module->names + symbol->st_name, found->name))
			continue;
		if (!hawk_elf_write(module, slot, (uint64_t)found->hook))
			all->failed = true;
		return;
	}
}

/** Binds a wrapper's call of a function that it defines itself to its own definition. */
static void rebind_to_itself(struct installation *all, const struct hawk_elf *module,
			     const Elf64_Rela *relocation)
{
	const Elf64_Sym *symbol = &module->symbols[ELF64_R_SYM(relocation->r_info)];
	uint64_t *slot = (uint64_t *)(module->bias + relocation->r_offset);
	uint64_t own = module->bias + symbol->st_value;

	if (symbol->st_shndx == SHN_UNDEF || symbol->st_name >= module->names_bytes ||
	    !hawk_elf_find(&all->ours, module->names + symbol->st_name))
		return;
	if (*slot != own && !hawk_elf_write(module, slot, own))
		all->failed = true;
}

static void for_each_call(struct installation *all, const struct hawk_elf *module,
			  void (*change)(struct installation *all, const struct hawk_elf *module,
					 const Elf64_Rela *relocation))
{
	for (uint64_t i = module->relative_count; i < module->relocation_count; i++) {
		uint64_t type = ELF64_R_TYPE(module->relocations[i].r_info);

		if (type == R_X86_64_GLOB_DAT || type == R_X86_64_64 || type == R_X86_64_JUMP_SLOT)
			change(all, module, &module->relocations[i]);
	}
	for (uint64_t i = 0; i < module->call_count; i++)
		if (ELF64_R_TYPE(module->calls[i].r_info) == R_X86_64_JUMP_SLOT)
			change(all, module, &module->calls[i]);
}

/**
 * Returns true if the module comes next and forwards to another allocator: it is no C library and
 * has no operators. If its calloc() calls malloc(), that must stay its own malloc(): ours would put
 * our header where the wrapper wants its own.
 */
static bool is_wrapper(const struct installation *all, const struct hawk_elf *module)
{
	return module->bias == all->next && hawk_entries_produce &&
	       !hawk_elf_find(module, "__register_atfork") && !hawk_elf_find(module, "_Znwm");
}

static int rebind_module(struct dl_phdr_info *info, size_t size, void *data)
{
	struct installation *all = data;
	struct hawk_elf module;

	(void)size;
	if (!hawk_elf_open(info, &module) || is_ours(&module))
		return 0;
	for (unsigned i = 0; i < all->count; i++)
		if (all->found[i].owner == module.bias) {
			if (is_wrapper(all, &module))
				for_each_call(all, &module, rebind_to_itself);
			return 0; /* its own calls stay its own */
		}
	for_each_call(all, &module, rebind);
	return 0;
}

bool hawk_entries_install(void)
{
	static struct installation all = {.lowest = UINT64_MAX};

	hawk_entries_produce = hawk_loader_is_first("free", (void *)free);
	hawk_loader_iterate(note_module, &all);
	if (!all.count)
		return true;
	hawk_loader_iterate(note_shadows, &all);
	hawk_loader_iterate(redirect_symbols, &all);
	hawk_loader_iterate(rebind_module, &all);
	return !all.failed;
}

/** The start of glibc's internal struct link_map (2.4 to 2.43 at least). */
struct loaded {
	struct link_map map;
	const struct loaded *real; /**< itself, but not in the loader's entry of other namespaces */
};

/** Returns true if the loader's block is a module's entry in its list. */
static bool is_module(const void *block)
{
	const struct hawk_block_header *header = hawk_header_of(block);
	const struct loaded *loaded = block;

	return hawk_readable((uint64_t)header) && hawk_header_valid(block) &&
	       hawk_header_kind(header->word0) == HAWK_KIND_LOADER &&
	       hawk_header_size(header->word0) >= sizeof(*loaded) && loaded->real == loaded;
}

/** Opens a module that is mapped but not yet in any list. Reads its ELF header and program headers,
 * which must lie in its first page. */
static bool open_mapped(const struct link_map *map, struct hawk_elf *ret)
{
	const uint32_t magic = 0x464c457f; /* 0x7f, E, L, F */
	const Elf64_Ehdr *elf = (const Elf64_Ehdr *)map->l_addr;
	struct dl_phdr_info info = {.dlpi_addr = map->l_addr};

	if (!map->l_ld || map->l_addr % PAGE_BYTES || !hawk_readable(map->l_addr) ||
	    *(const uint32_t *)elf->e_ident != magic || elf->e_phoff > PAGE_BYTES ||
	    elf->e_phoff + elf->e_phnum * sizeof(Elf64_Phdr) > PAGE_BYTES)
		return false;
	info.dlpi_phdr = (const Elf64_Phdr *)(map->l_addr + elf->e_phoff);
	info.dlpi_phnum = elf->e_phnum;
	if (!hawk_elf_open(&info, ret))
		return false;
	ret->unrelocated = true;
	return true;
}

/** Installs hooks in a module before its relocation: everything bound to it later gets the hooks.
 * Its own calls get them too where it comes first in the search order, as in another namespace. */
static void install_late(const struct link_map *map)
{
	static struct installation all;
	static bool busy;
	struct hawk_elf module;

	if (!open_mapped(map, &module) || __atomic_exchange_n(&busy, true, __ATOMIC_ACQUIRE))
		return;
	all.count = 0;
	all.late = true;
	note_heap(&all, &module, map);
	for (unsigned i = 0; i < all.count; i++)
		all.found[i].shadowed = true;
	redirect(&all, &module);
	__atomic_store_n(&busy, false, __ATOMIC_RELEASE);
}

/** Number of the loader's blocks released so far. A new block in a released one's place may be only
 * half filled in. */
static uint64_t released;

void hawk_entries_loader_allocated(const void *entry)
{
	static __thread const void *last;
	static __thread uint64_t last_released;
	uint64_t now = __atomic_load_n(&released, __ATOMIC_ACQUIRE);
	const void *mapped = last_released == now ? last : NULL;

	last = entry;
	last_released = now;
	if (mapped && is_module(mapped))
		install_late(mapped);
}

void hawk_entries_loader_released(const void *entry)
{
	__atomic_fetch_add(&released, 1, __ATOMIC_RELEASE);
	for (unsigned i = 0; i < HAWK_HEAPS_MAX; i++)
		if (__atomic_load_n(&heap_owners[i], __ATOMIC_RELAXED) == entry)
			__atomic_store_n(&heap_owners[i], NULL, __ATOMIC_RELEASE);
}

/**
 * Clears a live header left in memory that its allocator took back as a whole. The place may belong
 * to a neighbour now, so the word changes only if it still is that header.
 */
static void forget_stale_header(void *pointer)
{
	struct hawk_block_header *header = hawk_header_of(pointer);
	uint64_t word1;

	if (!hawk_header_valid(pointer))
		return;
	word1 = __atomic_load_n(&header->word1, __ATOMIC_RELAXED);
	__atomic_compare_exchange_n(&header->word1, &word1, 0, false, __ATOMIC_RELAXED,
				    __ATOMIC_RELAXED);
}

void hawk_entry_forget(void *pointer, size_t size)
{
	forget_stale_header(pointer);
	hawk_record_dropped(size);
}
