/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * One function serves all hooks. Each hook is a stub that says which one it is, in the register of
 * a fourth argument: none of the functions has more than three.
 */
#include "hawk_heaps.h"

#include <errno.h>
#include <malloc.h>
#include <stdbool.h>

#include "hawk_entries.h"

enum {
	FIRST_RESIZE = 18, /* all before it free */
	REALLOCARRAY = FIRST_RESIZE + 2,
	MALLOC_USABLE_SIZE,
	STUB_BYTES = 16,
};

const char *const hawk_heaps_names[HAWK_HEAP_FUNCTIONS] = {
	"free",
	"cfree",
	"__libc_free",
	"__libc_cfree",
	"free_sized",
	"free_aligned_sized",
	"_ZdlPv",
	"_ZdaPv",
	"_ZdlPvm",
	"_ZdaPvm",
	"_ZdlPvRKSt9nothrow_t",
	"_ZdaPvRKSt9nothrow_t",
	"_ZdlPvSt11align_val_t",
	"_ZdaPvSt11align_val_t",
	"_ZdlPvmSt11align_val_t",
	"_ZdaPvmSt11align_val_t",
	"_ZdlPvSt11align_val_tRKSt9nothrow_t",
	"_ZdaPvSt11align_val_tRKSt9nothrow_t",
	[FIRST_RESIZE] = "realloc",
	"__libc_realloc",
	[REALLOCARRAY] = "reallocarray",
	[MALLOC_USABLE_SIZE] = "malloc_usable_size",
};

/** The type that fits them all: arguments they do not have are passed on and ignored. */
typedef void *heap_function(void *pointer, size_t a, size_t b);

static heap_function *originals[HAWK_HEAPS_MAX * HAWK_HEAP_FUNCTIONS];
static const void *owners[HAWK_HEAPS_MAX]; /**< NULL: free; any other address: reserved for ever */

/** `which` is the index of the original. Called by the stubs, which link-time optimization does not
 * see. */
void *hawk_heaps_take(void *pointer, size_t a, size_t b, unsigned which)
	__attribute__((visibility("hidden"), used));
extern const char hawk_heaps_stubs[] __attribute__((visibility("hidden")));

__asm__(".pushsection .text, \"ax\", @progbits\n"
	".p2align 4\n"
	".hidden hawk_heaps_stubs\n"
	".globl hawk_heaps_stubs\n"
	".type hawk_heaps_stubs, @function\n"
	"hawk_heaps_stubs:\n"
	".cfi_startproc\n"
	".set hawk_heaps_which, 0\n"
	".rept 16 * 22\n"
	".p2align 4\n"
	"endbr64\n"
	"movl $hawk_heaps_which, %ecx\n"
	"jmp hawk_heaps_take\n"
	".set hawk_heaps_which, hawk_heaps_which + 1\n"
	".endr\n"
	".cfi_endproc\n"
	".size hawk_heaps_stubs, . - hawk_heaps_stubs\n"
	".popsection\n");
static_assert(HAWK_HEAPS_MAX == 16 && HAWK_HEAP_FUNCTIONS == 22, "the number of stubs above");

int hawk_heaps_reserve(const struct link_map *map)
{
	for (int i = 0; i < HAWK_HEAPS_MAX; i++) {
		const void *nobody = NULL;

		if (__atomic_compare_exchange_n(&owners[i], &nobody,
						map ? (const void *)map : (const void *)owners,
						false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			return i;
	}
	return -1;
}

void *hawk_heaps_hook(int heap, unsigned function, uint64_t original)
{
	unsigned which = (unsigned)heap * HAWK_HEAP_FUNCTIONS + function;

	__atomic_store_n(&originals[which], (heap_function *)original, __ATOMIC_RELEASE);
	return (void *)(hawk_heaps_stubs + (size_t)which * STUB_BYTES);
}

void hawk_heaps_forget(const void *map)
{
	for (unsigned i = 0; i < HAWK_HEAPS_MAX; i++)
		if (__atomic_load_n(&owners[i], __ATOMIC_RELAXED) == map)
			__atomic_store_n(&owners[i], NULL, __ATOMIC_RELEASE);
}

void *hawk_heaps_take(void *pointer, size_t a, size_t b, unsigned which)
{
	struct hawk_frame_state caller = HAWK_CALLER();
	unsigned function = which % HAWK_HEAP_FUNCTIONS;
	size_t bytes = a;

	if (!hawk_entry_offset(pointer) && !hawk_bootstrap_owns(pointer))
		return __atomic_load_n(&originals[which], __ATOMIC_ACQUIRE)(pointer, a, b);
	if (function == MALLOC_USABLE_SIZE)
		return (void *)malloc_usable_size(pointer);
	if (function < FIRST_RESIZE) {
		hawk_release(pointer);
		return NULL;
	}
	if (function == REALLOCARRAY && __builtin_mul_overflow(a, b, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return hawk_reallocate(&caller, pointer, bytes);
}
