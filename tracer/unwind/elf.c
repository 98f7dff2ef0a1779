/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Reading modules in memory. The loader mapped and checked them, and relocated the addresses in the
 * dynamic section of every module but the vDSO.
 */
#include "elf.h"

#include "table/syscall.h"

enum { PAGE_BYTES = 4096, GNU_HASH_HEADER_WORDS = 4 };

static void find_extent(struct hawk_elf *self)
{
	self->start = UINT64_MAX;
	self->end = 0;
	for (unsigned i = 0; i < self->header_count; i++) {
		const Elf64_Phdr *header = &self->headers[i];

		if (header->p_type != PT_LOAD)
			continue;
		if (self->bias + header->p_vaddr < self->start)
			self->start = self->bias + header->p_vaddr;
		if (self->bias + header->p_vaddr + header->p_memsz > self->end)
			self->end = self->bias + header->p_vaddr + header->p_memsz;
	}
}

static void read_entry(struct hawk_elf *self, Elf64_Dyn *entry)
{
	const void *address = (const void *)entry->d_un.d_ptr;

	switch (entry->d_tag) {
	case DT_SYMTAB:
		self->symbols = address;
		self->symbols_entry = entry;
		break;
	case DT_STRTAB:
		self->names = address;
		break;
	case DT_STRSZ:
		self->names_bytes = entry->d_un.d_val;
		break;
	case DT_GNU_HASH:
		self->gnu_hash = address;
		break;
	case DT_HASH:
		self->hash = address;
		break;
	case DT_RELA:
		self->relocations = address;
		break;
	case DT_RELASZ:
		self->relocation_count = entry->d_un.d_val / sizeof(Elf64_Rela);
		break;
	case DT_RELACOUNT:
		self->relative_count = entry->d_un.d_val;
		break;
	case DT_JMPREL:
		self->calls = address;
		break;
	case DT_PLTRELSZ:
		self->call_count = entry->d_un.d_val / sizeof(Elf64_Rela);
		break;
	default:
		break;
	}
}

static void read_entries(struct hawk_elf *self, Elf64_Dyn *entry)
{
	for (; entry && entry->d_tag != DT_NULL; entry++)
		read_entry(self, entry);
}

static void read_dynamic(struct hawk_elf *self)
{
	for (unsigned i = 0; i < self->header_count; i++)
		if (self->headers[i].p_type == PT_DYNAMIC)
			read_entries(self, (Elf64_Dyn *)(self->bias + self->headers[i].p_vaddr));
}

bool hawk_elf_open_map(const struct link_map *map, struct hawk_elf *ret)
{
	*ret = (struct hawk_elf){.bias = map->l_addr};
	read_entries(ret, map->l_ld);
	/* Addresses that were not relocated are smaller. */
	return ret->symbols && ret->names && (uint64_t)ret->symbols >= ret->bias &&
	       (uint64_t)ret->names >= ret->bias;
}

bool hawk_elf_open(const struct dl_phdr_info *info, struct hawk_elf *ret)
{
	*ret = (struct hawk_elf){.bias = info->dlpi_addr,
				 .headers = info->dlpi_phdr,
				 .header_count = info->dlpi_phnum};
	find_extent(ret);
	read_dynamic(ret);
	if (!ret->relocations)
		ret->relocation_count = 0;
	if (!ret->calls)
		ret->call_count = 0;
	if (ret->relative_count > ret->relocation_count)
		ret->relative_count = ret->relocation_count;
	/* Addresses that were not relocated lie outside of the module. */
	return ret->symbols && ret->names && hawk_elf_owns(ret, (uint64_t)ret->symbols) &&
	       hawk_elf_owns(ret, (uint64_t)ret->names);
}

/** Relocates an address of the dynamic section that the loader left as linked. */
static const void *relocated(const struct hawk_elf *self, const void *address)
{
	return address ? (const char *)address + self->bias : NULL;
}

bool hawk_elf_open_vdso(uint64_t start, struct hawk_elf *ret)
{
	const Elf64_Ehdr *elf = (const Elf64_Ehdr *)start;

	*ret = (struct hawk_elf){.headers = (const Elf64_Phdr *)(start + elf->e_phoff),
				 .header_count = elf->e_phnum};
	find_extent(ret); /* as it was linked */
	ret->bias = start - (ret->start & -(uint64_t)PAGE_BYTES);
	find_extent(ret);
	read_dynamic(ret);
	ret->symbols = relocated(ret, ret->symbols);
	ret->names = relocated(ret, ret->names);
	ret->gnu_hash = relocated(ret, ret->gnu_hash);
	ret->hash = relocated(ret, ret->hash);
	return ret->symbols && ret->names && hawk_elf_owns(ret, (uint64_t)ret->symbols) &&
	       hawk_elf_owns(ret, (uint64_t)ret->names) &&
	       (!ret->gnu_hash || hawk_elf_owns(ret, (uint64_t)ret->gnu_hash)) &&
	       (!ret->hash || hawk_elf_owns(ret, (uint64_t)ret->hash));
}

static bool is_called(const struct hawk_elf *self, const Elf64_Sym *symbol, const char *name)
{
	const char *a = self->names + symbol->st_name;

	if (symbol->st_name >= self->names_bytes || symbol->st_shndx == SHN_UNDEF ||
	    !symbol->st_value || ELF64_ST_TYPE(symbol->st_info) != STT_FUNC)
		return false;
	while (*a && *a == *name) {
		a++;
		name++;
	}
	return *a == *name;
}

static const Elf64_Sym *find_by_gnu_hash(const struct hawk_elf *self, const char *name)
{
	const uint32_t *table = self->gnu_hash;
	uint32_t buckets = table[0], first = table[1], words = table[2], shift = table[3];
	const uint64_t *bloom = (const uint64_t *)(table + GNU_HASH_HEADER_WORDS);
	const uint32_t *bucket = (const uint32_t *)(bloom + words);
	const uint32_t *chain = bucket + buckets;
	uint32_t hash = 5381;
	uint64_t filter;

	for (const char *c = name; *c; c++)
		hash = hash * 33 + (unsigned char)*c;
	if (!buckets || !words)
		return NULL;
	filter = bloom[hash / 64 % words];
	if (!(filter >> hash % 64 & filter >> (hash >> shift) % 64 & 1))
		return NULL;
	for (uint32_t i = bucket[hash % buckets]; i >= first && i; i++) {
		if ((chain[i - first] | 1) == (hash | 1) &&
		    is_called(self, &self->symbols[i], name))
			return &self->symbols[i];
		if (chain[i - first] & 1)
			break;
	}
	return NULL;
}

static const Elf64_Sym *find_by_hash(const struct hawk_elf *self, const char *name)
{
	uint32_t buckets = self->hash[0], count = self->hash[1], hash = 0;
	const uint32_t *chain = self->hash + 2 + buckets;

	for (const char *c = name; *c; c++) {
		uint32_t high;

		hash = (hash << 4) + (unsigned char)*c;
		high = hash & 0xf0000000;
		hash = (hash ^ high >> 24) & ~high;
	}
	if (!buckets)
		return NULL;
	for (uint32_t i = self->hash[2 + hash % buckets]; i && i < count; i = chain[i])
		if (is_called(self, &self->symbols[i], name))
			return &self->symbols[i];
	return NULL;
}

const Elf64_Sym *hawk_elf_find(const struct hawk_elf *self, const char *name)
{
	if (self->gnu_hash)
		return find_by_gnu_hash(self, name);
	return self->hash ? find_by_hash(self, name) : NULL;
}

uint32_t hawk_elf_symbol_count(const struct hawk_elf *self)
{
	const uint32_t *bucket, *chain;
	uint32_t last = 0;

	if (self->hash)
		return self->hash[1];
	if (!self->gnu_hash)
		return 0;
	bucket = self->gnu_hash + GNU_HASH_HEADER_WORDS + 2 * self->gnu_hash[2];
	chain = bucket + self->gnu_hash[0];
	for (uint32_t i = 0; i < self->gnu_hash[0]; i++)
		if (bucket[i] > last)
			last = bucket[i];
	if (last < self->gnu_hash[1])
		return 0;
	while (!(chain[last - self->gnu_hash[1]] & 1))
		last++;
	return last + 1;
}

/** Returns true if the loader makes the page of `address` read-only after relocating the module. */
static bool is_relro(const struct hawk_elf *self, uint64_t address)
{
	uint64_t page = address & -(uint64_t)PAGE_BYTES;

	for (unsigned i = 0; i < self->header_count; i++) {
		const Elf64_Phdr *header = &self->headers[i];
		uint64_t start = (self->bias + header->p_vaddr) & -(uint64_t)PAGE_BYTES;
		uint64_t end =
			(self->bias + header->p_vaddr + header->p_memsz) & -(uint64_t)PAGE_BYTES;

		if (header->p_type == PT_GNU_RELRO && page >= start && page < end)
			return true;
	}
	return false;
}

/** Returns true if the page of `address` is writable; sets `ret_may_be` if it may be made so for a
 * moment. Never a page with code: it could be running. */
static bool is_writable(const struct hawk_elf *self, uint64_t address, bool *ret_may_be)
{
	bool writable = false;

	*ret_may_be = false;
	for (unsigned i = 0; i < self->header_count; i++) {
		const Elf64_Phdr *header = &self->headers[i];
		uint64_t start = self->bias + header->p_vaddr;
		uint64_t end = start + header->p_memsz;

		if (header->p_type == PT_LOAD && address - start < end - start) {
			writable = header->p_flags & PF_W;
			*ret_may_be = !(header->p_flags & PF_X);
		}
	}
	return writable && !is_relro(self, address);
}

static bool protect(const void *start, const void *end, long protection)
{
	uint64_t first = (uint64_t)start & -(uint64_t)PAGE_BYTES;
	uint64_t bytes = ((uint64_t)end - first + PAGE_BYTES - 1) & -(uint64_t)PAGE_BYTES;

	return !hawk_syscall3(SYS_mprotect, (long)first, (long)bytes, protection);
}

bool hawk_elf_unlock(const struct hawk_elf *self, const void *start, const void *end)
{
	bool may_be;

	return is_writable(self, (uint64_t)start, &may_be) ||
	       (may_be && protect(start, end, PROT_READ | PROT_WRITE));
}

void hawk_elf_lock(const struct hawk_elf *self, const void *start, const void *end)
{
	bool may_be;

	if (self->unrelocated && is_relro(self, (uint64_t)start))
		return;
	if (!is_writable(self, (uint64_t)start, &may_be))
		protect(start, end, PROT_READ);
}

bool hawk_elf_write(const struct hawk_elf *self, uint64_t *at, uint64_t value)
{
	if (!hawk_elf_unlock(self, at, at + 1))
		return false;
	__atomic_store_n(at, value, __ATOMIC_RELEASE);
	hawk_elf_lock(self, at, at + 1);
	return true;
}
