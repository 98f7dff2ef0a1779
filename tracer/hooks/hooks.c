/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * malloc and its family. A call that cannot be traced goes to the next allocator unchanged.
 */
#include "hooks.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "table/clock.h"
#include "entries.h"
#include "table/file.h"
#include "init.h"
#include "next.h"
#include "base/options.h"
#include "unwind/sighting.h"
#include "table/threads.h"

enum {
	PLAIN_OFFSET_LOG2 = 4,
	LINK_MAP_BYTES_MIN =
		1000, /**< struct link_map is 1,160 bytes in glibc 2.36, about as much in others */
	PAGE_BYTES = 4096,
};

void cfree(void *pointer);

static inline __attribute__((always_inline)) void *record(void *base,
							  const struct hawk_frame_state *caller,
							  enum hawk_block_kind kind,
							  unsigned offset_log2, uint64_t size)
{
	char *pointer = (char *)base + ((uint64_t)1 << offset_log2);
	uint8_t birth = __atomic_load_n(&hawk_clock_birth, __ATOMIC_RELAXED);

	if (__builtin_expect(offset_log2 >= PLAIN_OFFSET_LOG2 + HAWK_OFFSET_LARGE, 0))
		((uint64_t *)hawk_header_of(pointer))[-1] = offset_log2;
	return hawk_record_block(
		caller, (struct hawk_new_block){pointer,
						hawk_header_word0(kind, offset_log2, birth, size)});
}

/** Returns a block from the bootstrap heap. It has no stack; it is sealed so that free() recognizes
 * it. */
static void *bootstrap_block(enum hawk_block_kind kind, size_t size)
{
	char *base;

	if (size > HAWK_TRACED_MAX)
		return NULL;
	base = hawk_bootstrap_allocate(size + HAWK_HEADER_BYTES);
	if (!base)
		return NULL;
	base += HAWK_HEADER_BYTES;
	/* The size is read from here even if there is no key to seal the header with. */
	hawk_header_of(base)->word0 = hawk_header_word0(kind, PLAIN_OFFSET_LOG2, 0, size);
	if (hawk_table_header)
		hawk_header_seal(base, hawk_header_of(base)->word0, 0);
	return base;
}

/** Serves untraced allocations: during start-up, in unwanted programs, of absurd size. */
static __attribute__((noinline)) void *allocate_untraced(enum hawk_block_kind kind, size_t size)
{
	void *base;

	if (hawk_phase == HAWK_PHASE_STARTING)
		return bootstrap_block(kind, size);
	base = kind == HAWK_KIND_CALLOC ? hawk_next.calloc(1, size) : hawk_next.malloc(size);
	if (base && hawk_phase != HAWK_PHASE_PASSIVE && hawk_table_header)
		hawk_record_dropped(size);
	return base;
}

/** Passes on a block of the next allocator that cannot carry a header where the sweep looks. */
static __attribute__((noinline)) void *unaligned(void *base, size_t size)
{
	hawk_record_dropped(size);
	return base;
}

static inline void *finish(void *base, const struct hawk_frame_state *caller,
			   enum hawk_block_kind kind, size_t size)
{
	if (__builtin_expect(!base, 0))
		return NULL;
	if (__builtin_expect((uintptr_t)base & (HAWK_GRANULE_BYTES - 1), 0))
		return unaligned(base, size);
	return record(base, caller, kind, PLAIN_OFFSET_LOG2, size);
}

void *hawk_finish(void *base, const struct hawk_frame_state *caller, enum hawk_block_kind kind,
		  unsigned offset_log2, size_t size)
{
	if (offset_log2 == PLAIN_OFFSET_LOG2 || !base)
		return finish(base, caller, kind, size);
	return record(base, caller, kind, offset_log2, size);
}

void *hawk_allocate(const struct hawk_frame_state *caller, enum hawk_block_kind kind, size_t size)
{
	if (__builtin_expect(!hawk_tracing() || size > HAWK_TRACED_MAX, 0))
		return allocate_untraced(kind, size);
	return finish(hawk_next.malloc(size + HAWK_HEADER_BYTES), caller, kind, size);
}

/** Calls the same function of the next allocator that the host called here: not every allocator
 * defines all of them. */
static void *call_aligned(enum hawk_aligned_call call, size_t alignment, size_t size)
{
	void *base;

	switch (call) {
	case HAWK_CALL_ALIGNED_ALLOC:
		return hawk_next.aligned_alloc ? hawk_next.aligned_alloc(alignment, size) : NULL;
	case HAWK_CALL_POSIX_MEMALIGN:
		return hawk_next.posix_memalign && !hawk_next.posix_memalign(&base, alignment, size)
			       ? base
			       : NULL;
	case HAWK_CALL_VALLOC:
		return hawk_next.valloc ? hawk_next.valloc(size) : NULL;
	case HAWK_CALL_PVALLOC:
		return hawk_next.pvalloc ? hawk_next.pvalloc(size) : NULL;
	case HAWK_CALL_MEMALIGN:
		break;
	}
	return hawk_next.memalign ? hawk_next.memalign(alignment, size) : NULL;
}

/** Tries the block alone after memory for block and header was short. */
static void *allocate_aligned_bare(enum hawk_aligned_call call, size_t alignment, size_t size,
				   int saved_errno)
{
	void *base = call_aligned(call, alignment, size);

	if (!base)
		return NULL;
	hawk_record_dropped(size);
	errno = saved_errno;
	return base;
}

void *hawk_allocate_aligned(const struct hawk_frame_state *caller, enum hawk_block_kind kind,
			    enum hawk_aligned_call call, size_t alignment, size_t size)
{
	int saved_errno = errno;
	void *base;

	if (!hawk_is_power_of_two(alignment)) /* as an operator new, which then throws */
		return NULL;
	if (!hawk_tracing() || size > HAWK_TRACED_MAX || alignment > HAWK_TRACED_MAX ||
	    hawk_next_goes_elsewhere(call))
		return call_aligned(call, alignment, size);
	if (alignment < HAWK_GRANULE_BYTES)
		alignment = HAWK_GRANULE_BYTES;
	base = call_aligned(call, alignment, size + alignment);
	if (base)
		return record(base, caller, kind, (unsigned)__builtin_ctzll(alignment), size);
	return allocate_aligned_bare(call, alignment, size, saved_errno);
}

/** Returns true for a bootstrap block. Bootstrap blocks have trace 0 and are never freed. */
static inline bool is_bootstrap(const void *pointer)
{
	return !hawk_header_trace(hawk_header_of(pointer)->word1) && hawk_bootstrap_owns(pointer);
}

/** Notes that a link_map goes away: code may be unmapped, so rules and remembered stacks are
 * stale. */
static __attribute__((noinline)) void note_unload(const void *map, uint64_t size)
{
	if (size < LINK_MAP_BYTES_MIN)
		return;
	hawk_entries_loader_released(map);
	hawk_file_check_fork();
	hawk_unwind_invalidate();
}

/** Takes the header off. Returns the allocator's pointer; NULL if there is nothing to free. */
static inline void *detach(void *pointer)
{
	uint64_t word0;
	unsigned offset_log2;

	if (!pointer)
		return NULL;
	if (__builtin_expect(!hawk_table_header || !hawk_header_valid(pointer), 0))
		return hawk_bootstrap_owns(pointer) ? NULL : pointer;
	word0 = hawk_header_of(pointer)->word0;
	offset_log2 = hawk_header_offset_log2(pointer);
	if (__builtin_expect(is_bootstrap(pointer), 0)) {
		hawk_header_unseal(pointer);
		return NULL;
	}
	if (__builtin_expect(hawk_header_kind(word0) == HAWK_KIND_LOADER, 0))
		note_unload(pointer, hawk_header_size(word0));
	hawk_record_free(hawk_header_trace(hawk_header_of(pointer)->word1),
			 hawk_header_size(word0));
	hawk_header_unseal(pointer);
	return (char *)pointer - ((uint64_t)1 << offset_log2);
}

void *hawk_detach(void *pointer)
{
	return detach(pointer);
}

static __attribute__((noinline)) void release_rare(void *pointer)
{
	void *base = detach(pointer);

	if (base && hawk_next.free)
		hawk_next.free(base);
}

/** Returns true for a live block of ours that starts one header behind the allocator's pointer and
 * needs no special care.
 */
static inline bool is_plain(const void *pointer, uint64_t word0, uint64_t word1)
{
	/* Tests the byte of kind and offset. A block at the start of a page may be a foreign
	 * mapping. */
	return !(word0 >> 56 & 15) && word0 >> 60 != HAWK_KIND_LOADER &&
	       hawk_header_is_live(&hawk_table_header->key, word0, word1,
				   (uint64_t)hawk_header_of(pointer)) &&
	       !hawk_bootstrap_owns(pointer);
}

/* Unusual cases are called last, so that the usual path saves no register. */
void hawk_release(void *pointer)
{
	const uint64_t page_offset_mask = PAGE_BYTES - 1;
	const struct hawk_block_header *header = hawk_header_of(pointer);
	struct hawk_slot *slot = hawk_thread_slot;
	uint64_t word0;

	/* NULL is also at the start of a page. */
	if (__builtin_expect(!((uintptr_t)pointer & page_offset_mask) ||
				     (uintptr_t)pointer & (HAWK_GRANULE_BYTES - 1) ||
				     !hawk_table_header || (uintptr_t)slot <= 1 ||
				     hawk_options.live,
			     0))
		return release_rare(pointer);
	word0 = header->word0;
	if (__builtin_expect(!is_plain(pointer, word0, header->word1), 0))
		return release_rare(pointer);
	hawk_threads_count_free(slot->head, 1, hawk_header_size(word0));
	hawk_header_unseal(pointer);
	hawk_next.free((char *)pointer - HAWK_HEADER_BYTES);
}

HAWK_EXPORT void *malloc(size_t size)
{
	struct hawk_frame_state caller = HAWK_CALLER();

	return hawk_allocate(&caller, HAWK_KIND_MALLOC, size);
}

HAWK_EXPORT void free(void *pointer)
{
	hawk_release(pointer);
}

HAWK_EXPORT void cfree(void *pointer)
{
	hawk_release(pointer);
}

static __attribute__((noinline)) void *allocate_for_loader(const struct hawk_frame_state *caller,
							   size_t bytes)
{
	void *result = finish(hawk_next.calloc(1, bytes + HAWK_HEADER_BYTES), caller,
			      HAWK_KIND_LOADER, bytes);

	hawk_entries_loader_allocated(bytes < LINK_MAP_BYTES_MIN ? NULL : result);
	return result;
}

HAWK_EXPORT void *calloc(size_t count, size_t size)
{
	struct hawk_frame_state caller = HAWK_CALLER();
	size_t bytes;

	if (__builtin_expect(__builtin_mul_overflow(count, size, &bytes), 0))
		bytes = SIZE_MAX;
	if (__builtin_expect(!hawk_tracing() || bytes > HAWK_TRACED_MAX, 0)) {
		if (bytes > HAWK_TRACED_MAX && hawk_next.calloc)
			return hawk_next.calloc(count, size); /* fails in its own way */
		return allocate_untraced(HAWK_KIND_CALLOC, bytes);
	}
	if (__builtin_expect(caller.pc - hawk_loader_start < hawk_loader_end - hawk_loader_start,
			     0))
		return allocate_for_loader(&caller, bytes);
	return finish(hawk_next.calloc(1, bytes + HAWK_HEADER_BYTES), &caller, HAWK_KIND_CALLOC,
		      bytes);
}

void *hawk_leave_bootstrap(const struct hawk_frame_state *caller, void *pointer, size_t size)
{
	uint64_t old_size = hawk_header_size(hawk_header_of(pointer)->word0);
	void *copy = hawk_allocate(caller, HAWK_KIND_REALLOC, size);

	if (!copy)
		return NULL;
	memcpy(copy, pointer, old_size < size ? old_size : size);
	if (hawk_table_header)
		hawk_header_unseal(pointer);
	return copy;
}

static inline __attribute__((always_inline)) void begin_resize(struct hawk_resize *self,
							       void *pointer)
{
	self->old = *hawk_header_of(pointer);
	self->pointer = pointer;
	self->offset_log2 = hawk_header_offset_log2(pointer);
	/* Counted before the call: afterwards the old place may have a new owner. */
	hawk_record_free(hawk_header_trace(self->old.word1), hawk_header_size(self->old.word0));
	hawk_header_unseal(pointer);
}

static inline __attribute__((always_inline)) void *end_resize(const struct hawk_resize *self,
							      const struct hawk_frame_state *caller,
							      void *base, size_t size)
{
	uint32_t trace = hawk_header_trace(self->old.word1);

	if (!base) {
		hawk_header_seal(self->pointer, self->old.word0, trace);
		hawk_record_free_taken_back(trace, hawk_header_size(self->old.word0));
		return NULL;
	}
	if (__builtin_expect((uintptr_t)base & (HAWK_GRANULE_BYTES - 1), 0)) {
		const char *data = (char *)base + ((uint64_t)1 << self->offset_log2);

		return unaligned(memmove(base, data, size), size);
	}
	return record(base, caller, HAWK_KIND_REALLOC, self->offset_log2, size);
}

void hawk_resize_begin(struct hawk_resize *self, void *pointer)
{
	begin_resize(self, pointer);
}

void *hawk_resize_end(const struct hawk_resize *self, const struct hawk_frame_state *caller,
		      void *base, size_t size)
{
	return end_resize(self, caller, base, size);
}

void hawk_resize_in_place(const struct hawk_frame_state *caller, void *pointer, size_t size)
{
	struct hawk_block_header *header = hawk_header_of(pointer);
	unsigned offset_log2 = hawk_header_offset_log2(pointer);

	if (hawk_header_size(header->word0) == size)
		return;
	hawk_record_free(hawk_header_trace(header->word1), hawk_header_size(header->word0));
	record((char *)pointer - ((uint64_t)1 << offset_log2), caller, HAWK_KIND_REALLOC,
	       offset_log2, size);
}

void *hawk_reallocate(const struct hawk_frame_state *caller, void *pointer, size_t size)
{
	struct hawk_resize resize;
	uint64_t offset;
	char *base;

	if (!pointer)
		return hawk_allocate(caller, HAWK_KIND_REALLOC, size);
	hawk_tracing();
	if (__builtin_expect(hawk_bootstrap_owns(pointer), 0))
		return hawk_leave_bootstrap(caller, pointer, size);
	if (!hawk_table_header || !hawk_header_valid(pointer))
		return hawk_next.realloc(pointer, size);
	offset = (uint64_t)1 << hawk_header_offset_log2(pointer);
	base = (char *)pointer - offset;
	if (size > HAWK_SIZE_MAX)                     /* more than the address space holds */
		return hawk_next.realloc(base, size); /* fails, and leaves the block as it is */
	if (size &&
	    __builtin_expect(hawk_header_kind(hawk_header_of(pointer)->word0) == HAWK_KIND_LOADER,
			     0))
		hawk_entries_loader_released(pointer);
	begin_resize(&resize, pointer);
	if (size)
		return end_resize(&resize, caller, hawk_next.realloc(base, size + offset), size);
	/* Some allocators free, others return a new block: the host must see the same as without
	 * us. */
	base = hawk_next.realloc(base, 0);
	if (!base)
		return NULL;
	return finish(hawk_next.realloc(base, HAWK_HEADER_BYTES), caller, HAWK_KIND_REALLOC, 0);
}

HAWK_EXPORT void *realloc(void *pointer, size_t size)
{
	struct hawk_frame_state caller = HAWK_CALLER();

	return hawk_reallocate(&caller, pointer, size);
}

HAWK_EXPORT void *reallocarray(void *pointer, size_t count, size_t size)
{
	struct hawk_frame_state caller = HAWK_CALLER();
	size_t bytes;

	if (__builtin_expect(hawk_init_once() && hawk_next.reallocarray, 0))
		return hawk_next.reallocarray(pointer, count, size);
	if (__builtin_mul_overflow(count, size, &bytes)) {
		errno = ENOMEM; /* same as reallocarray itself */
		return NULL;
	}
	return hawk_reallocate(&caller, pointer, bytes);
}

HAWK_EXPORT void *memalign(size_t alignment, size_t size)
{
	struct hawk_frame_state caller = HAWK_CALLER();

	if (!hawk_is_power_of_two(alignment) && hawk_init_once() && hawk_next.memalign)
		return hawk_next.memalign(alignment, size);
	return hawk_allocate_aligned(&caller, HAWK_KIND_ALIGNED, HAWK_CALL_MEMALIGN, alignment,
				     size);
}

HAWK_EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
	struct hawk_frame_state caller = HAWK_CALLER();

	if (!hawk_is_power_of_two(alignment) && hawk_init_once() && hawk_next.aligned_alloc)
		return hawk_next.aligned_alloc(alignment, size);
	return hawk_allocate_aligned(&caller, HAWK_KIND_ALIGNED, HAWK_CALL_ALIGNED_ALLOC, alignment,
				     size);
}

HAWK_EXPORT int posix_memalign(void **pointer, size_t alignment, size_t size)
{
	struct hawk_frame_state caller = HAWK_CALLER();
	int saved_errno = errno;
	void *result;

	if (!hawk_is_power_of_two(alignment) || alignment % sizeof(void *))
		return EINVAL;
	result = hawk_allocate_aligned(&caller, HAWK_KIND_ALIGNED, HAWK_CALL_POSIX_MEMALIGN,
				       alignment, size);
	if (!result) {
		errno = saved_errno;
		return ENOMEM;
	}
	*pointer = result;
	return 0;
}

HAWK_EXPORT void *valloc(size_t size)
{
	struct hawk_frame_state caller = HAWK_CALLER();

	return hawk_allocate_aligned(&caller, HAWK_KIND_ALIGNED, HAWK_CALL_VALLOC, PAGE_BYTES,
				     size);
}

HAWK_EXPORT void *pvalloc(size_t size)
{
	struct hawk_frame_state caller = HAWK_CALLER();
	size_t rounded;

	if (__builtin_add_overflow(size, PAGE_BYTES - 1, &rounded)) {
		errno = ENOMEM;
		return NULL;
	}
	return hawk_allocate_aligned(&caller, HAWK_KIND_ALIGNED, HAWK_CALL_PVALLOC, PAGE_BYTES,
				     rounded & -(size_t)PAGE_BYTES);
}

HAWK_EXPORT size_t malloc_usable_size(void *pointer)
{
	uint64_t offset;

	if (!pointer)
		return 0;
	if (__builtin_expect(hawk_bootstrap_owns(pointer), 0))
		return hawk_header_size(hawk_header_of(pointer)->word0);
	if (!hawk_table_header || !hawk_header_valid(pointer))
		return hawk_next.malloc_usable_size ? hawk_next.malloc_usable_size(pointer) : 0;
	if (!hawk_next.malloc_usable_size)
		return hawk_header_size(hawk_header_of(pointer)->word0);
	offset = (uint64_t)1 << hawk_header_offset_log2(pointer);
	return hawk_next.malloc_usable_size((char *)pointer - offset) - offset;
}
