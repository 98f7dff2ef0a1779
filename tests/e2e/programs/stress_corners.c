/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The corners of the malloc family, and programs at their limits. Prints what it sees; the lines
 * must be the same with the tracer and without it, whatever the allocator.
 *
 *     stress_corners NAME-OF-A-CORNER
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

/* The compiler knows better than the library what these do, and leaves the calls out. */
static void *(*volatile call_malloc)(size_t) = malloc;
static void *(*volatile call_calloc)(size_t, size_t) = calloc;
static void *(*volatile call_realloc)(void *, size_t) = realloc;
static void *(*volatile call_reallocarray)(void *, size_t, size_t) = reallocarray;
static void *(*volatile call_aligned_alloc)(size_t, size_t) = aligned_alloc;
static void *(*volatile call_memalign)(size_t, size_t) = memalign;
static int (*volatile call_posix_memalign)(void **, size_t, size_t) = posix_memalign;
static void (*volatile call_free)(void *) = free;

static void say(const char *what, void *pointer, size_t alignment)
{
	/* blocks of less than 16 bytes need not be aligned to 16 */
	printf("%s: %s%s\n", what, pointer ? "block" : "NULL",
	       pointer && (uintptr_t)pointer & (alignment - 1) ? ", not aligned" : "");
	if (!pointer && errno && errno != ENOMEM)
		printf("errno %d\n", errno);
	errno = 0;
}

static void sizes(void)
{
	static const size_t sizes[] = {SIZE_MAX,        SIZE_MAX - 15,   SIZE_MAX - 16,
				       PTRDIFF_MAX,     (size_t)1 << 62, ((size_t)1 << 48) - 1,
				       (size_t)1 << 48, (size_t)1 << 47, ((size_t)1 << 47) - 4096};
	char text[100];

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		void *small = call_malloc(10), *aligned = call_aligned_alloc(256, 256);

		memcpy(small, "remembered", 10);
		memset(aligned, 7, 256);
		snprintf(text, sizeof(text), "size %zx", sizes[i]);
		errno = 0;
		say(text, call_malloc(sizes[i]), 16);
		say("calloc", call_calloc(1, sizes[i]), 16);
		say("calloc 2", call_calloc(sizes[i], 2), 16);
		say("realloc", call_realloc(small, sizes[i]), 16);
		say("realloc aligned", call_realloc(aligned, sizes[i]), 16);
		say("reallocarray", call_reallocarray(small, sizes[i], 3), 16);
		say("aligned_alloc", call_aligned_alloc(4096, sizes[i] & -(size_t)4096), 4096);
		if (memcmp(small, "remembered", 10) || ((char *)aligned)[255] != 7)
			puts("content lost");
		call_free(small);
		call_free(aligned);
	}
	say("calloc overflow", call_calloc((size_t)1 << 33, (size_t)1 << 33), 16);
	say("calloc 0 0", call_calloc(0, 0), 8);
	say("malloc 0", call_malloc(0), 8);
	printf("usable of NULL: %zu\n", malloc_usable_size(NULL));
	call_free(NULL);
}

/** An aligned block through its life: all of what can be used is used. */
static void try_alignment(size_t alignment, size_t size)
{
	char *pointer = call_memalign(alignment, size);
	size_t usable = malloc_usable_size(pointer);

	if (!pointer || (uintptr_t)pointer & (alignment - 1) || usable < size) {
		printf("alignment %zx, size %zx: NULL or bad\n", alignment, size);
		return;
	}
	memset(pointer, 0x5a, usable < 1 << 20 ? usable : 1 << 20);
	for (int i = 0; i < 3; i++) {
		size_t bigger = size + 100 * (size_t)i, kept = i ? bigger - 100 : size;

		pointer = call_realloc(pointer, bigger ? bigger : 1);
		for (size_t j = 0; j < kept && j < 4096; j++)
			if (pointer[j] != 0x5a)
				printf("alignment %zx: byte %zu lost\n", alignment, j);
		memset(pointer, 0x5a, bigger);
	}
	call_free(pointer);
}

static void alignments(void)
{
	static const size_t odd[] = {0,        1,
				     2,        3,
				     4,        7,
				     8,        12,
				     16,       24,
				     48,       65,
				     100,      (size_t)1 << 63,
				     SIZE_MAX, ((size_t)1 << 62) + 1};
	void *pointer;

	for (unsigned log2 = 0; log2 <= 32; log2++)
		for (size_t size = 1; size < 5000; size = size * 7 + 1)
			try_alignment((size_t)1 << log2, size);
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		pointer = NULL;
		errno = 55;
		printf("posix_memalign %zx: %d", odd[i],
		       call_posix_memalign(&pointer, odd[i], 100));
		printf(", %s\n", pointer ? "block" : "NULL");
		call_free(pointer);
	}
	/* no power of two: an allocator may refuse, but what it gives has to be good for something
	 */
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]) - 3; i++) {
		pointer = call_memalign(odd[i], 50);
		if (pointer)
			memset(pointer, 1, 50);
		call_free(pointer);
	}
}

static void resizes(void)
{
	void *pointer = call_malloc(100), *result;

	errno = 0;
	result = call_realloc(pointer, 0);
	say("realloc to 0", result, 1);
	if (result)
		memset(result, 1, malloc_usable_size(result));
	call_free(result);
	result = call_realloc(call_aligned_alloc((size_t)1 << 20, 1 << 20), 0);
	say("realloc of an aligned one to 0", result, 1);
	call_free(result);
	say("reallocarray overflow", call_reallocarray(NULL, SIZE_MAX / 2, 3), 16);
	call_free(call_reallocarray(NULL, 0, 100));
	for (size_t size = 1, old = 1; size < 3 << 20; old = size, size = size * 5 / 3 + 1) {
		static unsigned char *grown;

		grown = call_realloc(grown, size);
		for (size_t i = 0; i < old && size > 2; i++)
			if (grown[i] != 3)
				puts("content lost");
		memset(grown, 3, size);
	}
}

/** No memory for anything, the tracer's own included: NULL is all that may happen. */
static void address_space(void)
{
	struct rlimit limit = {(rlim_t)400 << 20, (rlim_t)400 << 20};
	void *blocks[4096];
	size_t count = 0;
	bool failed = false;

	setrlimit(RLIMIT_AS, &limit);
	for (size_t size = (size_t)8 << 20; size >= 16; size /= 2)
		while (count < 4096) {
			blocks[count] = call_malloc(size);
			if (!blocks[count]) {
				failed = true;
				break;
			}
			count++;
		}
	for (size_t i = 0; i < count; i++)
		call_free(blocks[i]);
	printf("%s\n", failed ? "there was an end" : "no end");
}

static void *burn(void *data)
{
	for (int i = 0; i < 200; i++)
		call_free(call_malloc((size_t)i * 10));
	return data;
}

static __attribute__((noinline)) void *allocate_deep(size_t path, int depth)
{
	void *pointer;

	/* two call sites: 2^depth stacks */
	if (!depth) {
		pointer = call_malloc(40);
	} else if (path & 1) {
		pointer = allocate_deep(path >> 1, depth - 1);
		__asm__ volatile("nop");
	} else {
		pointer = allocate_deep(path >> 1, depth - 1);
	}
	__asm__ volatile("" : "+r"(pointer));
	return pointer;
}

static void *burn_stacks(void *data)
{
	for (size_t i = 0; i < 3000; i++)
		call_free(allocate_deep(i * 7919 + (size_t)data, 40));
	return NULL;
}

/** The program has its memory, but the tracer's table cannot grow any more. */
static void no_room_for_stacks(void)
{
	unsigned long pages = 0;
	pthread_attr_t small;
	pthread_t threads[16];
	struct rlimit limit;
	FILE *file = fopen("/proc/self/statm", "re");

	call_free(call_malloc(1));
	if (!file || fscanf(file, "%lu", &pages) != 1)
		puts("no /proc");
	fclose(file);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	limit.rlim_cur = limit.rlim_max = pages * 4096 + (600 << 10);
	setrlimit(RLIMIT_AS, &limit);
	burn_stacks(NULL);
	for (size_t count = 0, i = 0; i < 16; i++) {
		if (!pthread_create(&threads[count], &small, burn_stacks, (void *)i))
			count++;
		if (i == 15)
			while (count > 0)
				pthread_join(threads[--count], NULL);
	}
	puts("alive");
}

/** Every way of making a process, with the tracer's memory shared or copied. */
static void processes(void)
{
	for (volatile int i = 0; i < 60; i++) {
		pid_t pid = i % 3 == 0 ? vfork() : i % 3 == 1 ? fork() : _Fork();
		int status = 0;

		if (!pid) {
			char *pointer = call_malloc(200);

			memset(pointer, 1, 200);
			call_free(pointer);
			_exit(0);
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
			puts("a child did not end well");
	}
	for (int i = 0; i < 20; i++) { /* children of children, with threads */
		pid_t pid = fork();
		pthread_t thread;
		int status = 0;

		if (pid) {
			if (waitpid(pid, &status, 0) != pid || status)
				puts("a child did not end well");
			if (i)
				_exit(status != 0);
			return;
		}
		pthread_create(&thread, NULL, burn, NULL);
		pthread_join(thread, NULL);
	}
	_exit(0);
}

/** Other copies of the C library, with allocators of their own. */
static void namespaces(void)
{
	for (int i = 0; i < 10; i++) {
		void *library = dlmopen(LM_ID_NEWLM, "libm.so.6", RTLD_NOW);
		void *(*other_malloc)(size_t) = NULL;
		void (*other_free)(void *) = NULL;

		if (!library)
			continue;
		*(void **)&other_malloc = dlsym(library, "malloc");
		*(void **)&other_free = dlsym(library, "free");
		if (other_malloc && other_free)
			other_free(memset(other_malloc(100), 1, 100));
		dlclose(library);
	}
}

static pthread_key_t keys[4];

static void allocate_at_exit(void *data)
{
	call_free(call_malloc(10));
	(void)data;
}

/** Its only allocation is made by a destructor. */
static void *only_at_exit(void *data)
{
	pthread_setspecific(keys[0], data);
	return data;
}

static void many_threads(void)
{
	pthread_attr_t small;
	pthread_t thread;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 16 << 10);
	pthread_key_create(&keys[0], allocate_at_exit);
	for (int i = 0; i < 3000; i++) {
		if (pthread_create(&thread, &small, i % 2 ? burn : only_at_exit, keys))
			puts("no thread");
		else
			pthread_join(thread, NULL);
	}
}

static sigjmp_buf way_out;

static void on_overflow(int number)
{
	void *pointer = call_malloc((size_t)number * 100);

	call_free(pointer);
	siglongjmp(way_out, 1);
}

static __attribute__((noinline)) int recurse(int depth)
{
	volatile char frame[3000];

	frame[0] = (char)depth;
	call_free(call_malloc(30));
	return depth < 0 ? 0 : recurse(depth + 1) + frame[0];
}

/** The handler runs on a small stack of its own, with the whole of another behind it. */
static void stack_overflow(void)
{
	stack_t other = {.ss_sp = malloc(16384), .ss_size = 16384};
	struct sigaction action = {.sa_handler = on_overflow, .sa_flags = SA_ONSTACK};

	sigaltstack(&other, NULL);
	sigaction(SIGSEGV, &action, NULL);
	for (volatile int i = 0; i < 3; i++)
		if (!sigsetjmp(way_out, 1))
			recurse(0);
	puts("three times");
}

static void *allocate_for_ever(void *data)
{
	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, NULL);
	for (;;) {
		call_free(call_malloc(100));
		pthread_testcancel();
	}
	return data;
}

static void cancellation(void)
{
	for (int i = 0; i < 50; i++) {
		pthread_t thread;
		void *result;

		pthread_create(&thread, NULL, allocate_for_ever, NULL);
		usleep(1000);
		pthread_cancel(thread);
		pthread_join(thread, &result);
		if (result != PTHREAD_CANCELED)
			puts("not cancelled");
	}
}

static ucontext_t contexts[2];

static void coroutine(void)
{
	for (;;) {
		call_free(call_malloc(64));
		swapcontext(&contexts[1], &contexts[0]);
	}
}

/** Stacks that come and go, always at the same place, and memory behind them that goes. */
static void coroutines(void)
{
	size_t bytes = 64 << 10;
	char *place = mmap(NULL, 4 * bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (int i = 0; i < 200; i++) {
		char *stack = place + (i & 1) * bytes;

		mprotect(place, 4 * bytes, PROT_NONE);
		mprotect(stack, bytes, PROT_READ | PROT_WRITE);
		getcontext(&contexts[1]);
		contexts[1].uc_stack.ss_sp = stack;
		contexts[1].uc_stack.ss_size = bytes;
		contexts[1].uc_link = &contexts[0];
		makecontext(&contexts[1], coroutine, 0);
		for (int j = 0; j < 3; j++)
			swapcontext(&contexts[0], &contexts[1]);
	}
}

/** A coroutine as hand-written ones are: jumped to at the very top, with no return address there.
 */
extern void *own_stack;
void run_on_own_stack(void);
void body_on_own_stack(void);

__attribute__((noinline)) void body_on_own_stack(void)
{
	call_free(call_malloc(77));
}

__asm__(".local own_stack, old_stack\n.comm own_stack,8,8\n.comm old_stack,8,8\n"
	".text\n.globl run_on_own_stack\n"
	"run_on_own_stack: .cfi_startproc\n"
	"push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15\n"
	"mov %rsp, old_stack(%rip)\n"
	"mov own_stack(%rip), %rsp\n"
	"jmp start_of_own_stack\n"
	".cfi_endproc\n"
	"start_of_own_stack: .cfi_startproc\n"
	"sub $16, %rsp\n"
	".cfi_def_cfa_offset 24\n"
	"call body_on_own_stack\n"
	"mov old_stack(%rip), %rsp\n"
	"pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx; ret\n"
	".cfi_endproc");

/** What lay above the stack's end was readable once, and is no longer. */
static void stack_without_end(void)
{
	size_t bytes = 64 << 10;
	char *place =
		mmap(NULL, 2 * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	own_stack = place + bytes;
	run_on_own_stack();
	munmap(place + bytes, bytes);
	own_stack = place + bytes - 1024; /* not the stack that is remembered */
	run_on_own_stack();
	own_stack = place + bytes;
	run_on_own_stack();
	puts("alive");
}

/** As symbolizers in a process count symbols: the names lie behind them; and an address below the
 * library is taken for one that was not relocated. */
static int count_symbols(struct dl_phdr_info *info, size_t size, void *data)
{
	const ElfW(Dyn) *entry = NULL;
	uintptr_t symbols = 0, names = 0;

	(void)size;
	if (!strstr(info->dlpi_name, "/libc.so"))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			entry = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	for (; entry && entry->d_tag != DT_NULL; entry++) {
		uintptr_t address = entry->d_un.d_ptr;

		if (address < info->dlpi_addr)
			address += info->dlpi_addr;
		if (entry->d_tag == DT_SYMTAB)
			symbols = address;
		if (entry->d_tag == DT_STRTAB)
			names = address;
	}
	*(size_t *)data = (names - symbols) / sizeof(ElfW(Sym));
	return 1;
}

static void symbol_tables(void)
{
	size_t count = 0;

	free(malloc(1));
	dl_iterate_phdr(count_symbols, &count);
	printf("%zu symbols of the C library\n", count);
}

static const struct {
	const char *name;
	void (*function)(void);
} corners[] = {
	{"sizes", sizes},
	{"alignments", alignments},
	{"resizes", resizes},
	{"address_space", address_space},
	{"no_room_for_stacks", no_room_for_stacks},
	{"many_threads", many_threads},
	{"processes", processes},
	{"namespaces", namespaces},
	{"stack_overflow", stack_overflow},
	{"cancellation", cancellation},
	{"symbol_tables", symbol_tables},
	{"coroutines", coroutines},
	{"stack_without_end", stack_without_end},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(corners) / sizeof(corners[0]); i++)
		if (argc > 1 && !strcmp(argv[1], corners[i].name)) {
			corners[i].function();
			if (argc > 2) {
				fflush(stdout);
				abort();
			}
			return 0;
		}
	return 2;
}
