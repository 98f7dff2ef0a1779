/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Preloaded: memory is refused at one place of the program, chosen by SHORT_PLACE, the number of
 * the place in the order in which they first ask. SHORT_TURN: at which of its calls;
 * SHORT_FOR_GOOD: from then on everywhere. SHORT_LIST: a file for the number of calls of each
 * place.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

enum { PLACES_MAX = 4096 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uintptr_t program_start, program_end;
static struct {
	uintptr_t caller;
	long calls;
} places[PLACES_MAX];
static long place_count;
static long place = -1;
static long turn = 1;
static bool for_good;
static long mapping; /* SHORT_MMAP: this call of mmap() is refused, and no other */
static long mappings;
static bool out;

static int find_program(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)size;
	(void)context;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
			continue;
		program_start = info->dlpi_addr + segment->p_vaddr;
		program_end = program_start + segment->p_memsz;
	}
	return 1; /* the program is the first */
}

__attribute__((constructor)) static void begin(void)
{
	const char *text = getenv("SHORT_PLACE");

	place = text ? atol(text) : -1;
	text = getenv("SHORT_TURN");
	turn = text ? atol(text) : 1;
	for_good = getenv("SHORT_FOR_GOOD") != NULL;
	text = getenv("SHORT_MMAP");
	mapping = text ? atol(text) : 0;
	dl_iterate_phdr(find_program, NULL);
}

__attribute__((destructor)) static void end(void)
{
	const char *path = getenv("SHORT_LIST");
	FILE *file = path ? fopen(path, "w") : NULL;

	for (long i = 0; file && i < place_count; i++)
		fprintf(file, "%ld\n", places[i].calls);
	if (file)
		fclose(file);
}

static bool refuse(const void *caller)
{
	uintptr_t at = (uintptr_t)caller;
	bool ret;
	long i;

	if (at < program_start || at >= program_end)
		return false;
	pthread_mutex_lock(&lock);
	for (i = 0; i < place_count && places[i].caller != at; i++)
		;
	if (i == place_count && place_count < PLACES_MAX)
		places[place_count++].caller = at;
	ret = out;
	if (i < place_count && ++places[i].calls == turn && i == place) {
		ret = true;
		out = for_good;
	}
	pthread_mutex_unlock(&lock);
	if (ret)
		errno = ENOMEM;
	return ret;
}

#define REFUSE refuse(__builtin_return_address(0))

void *malloc(size_t size)
{
	return REFUSE ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	return REFUSE ? NULL : __libc_calloc(count, size);
}

void *realloc(void *block, size_t size)
{
	return REFUSE ? NULL : __libc_realloc(block, size);
}

void *reallocarray(void *block, size_t count, size_t size)
{
	return REFUSE || (size && count > SIZE_MAX / size) ? NULL
							   : __libc_realloc(block, count * size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return REFUSE ? NULL : __libc_memalign(alignment, size);
}

char *strdup(const char *string)
{
	size_t size = strlen(string) + 1;
	char *copy = REFUSE ? NULL : __libc_malloc(size);

	return copy ? memcpy(copy, string, size) : NULL;
}

char *strndup(const char *string, size_t length)
{
	size_t size = strnlen(string, length);
	char *copy = REFUSE ? NULL : __libc_calloc(1, size + 1);

	return copy ? memcpy(copy, string, size) : NULL;
}

static int print(char **ret, const char *format, va_list arguments)
{
	static int (*next)(char **, const char *, va_list);

	if (!next)
		next = (int (*)(char **, const char *, va_list))dlsym(RTLD_NEXT, "vasprintf");
	return next(ret, format, arguments);
}

int vasprintf(char **ret, const char *format, va_list arguments)
{
	return REFUSE ? -1 : print(ret, format, arguments);
}

int asprintf(char **ret, const char *format, ...)
{
	va_list arguments;
	int size;

	if (REFUSE)
		return -1;
	va_start(arguments, format);
	size = print(ret, format, arguments);
	va_end(arguments);
	return size;
}

void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
	uintptr_t caller = (uintptr_t)__builtin_return_address(0);

	if (mapping && caller >= program_start && caller < program_end &&
	    __atomic_add_fetch(&mappings, 1, __ATOMIC_RELAXED) == mapping) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	if (REFUSE)
		return MAP_FAILED;
	return (void *)syscall(SYS_mmap, address, size, protection, flags, fd, offset);
}

void *mremap(void *address, size_t size, size_t new_size, int flags, ...)
{
	if (REFUSE)
		return MAP_FAILED;
	return (void *)syscall(SYS_mremap, address, size, new_size, flags, NULL);
}
