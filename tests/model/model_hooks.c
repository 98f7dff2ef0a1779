/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The run-time library that -fsanitize=thread expects, by gcc and by clang: the compiler calls it
 * before each access to memory and for each atomic operation.
 *
 * Memory orders: atomics are done in the order of the program, but for stores that are weaker than
 * sequentially consistent: those may linger in the thread's store buffer, as on x86, until its next
 * write. Weaker machines are not modelled: the tracer is for x86_64 only.
 */
#include <string.h>

#include "model.h"

enum { ORDER_SEQ_CST = 5 };

#define HOOK(name, ...)                                                                            \
	void name(__VA_ARGS__);                                                                    \
	void name(__VA_ARGS__)

/** Where the access is, for model_fail(); invariants look at memory, too, and do not count. */
#define PC() model_note_pc((uint64_t)__builtin_return_address(0))

static void plain_read(const void *address, size_t bytes)
{
	uint64_t value;

	if (!model_step(MODEL_READ, address, bytes))
		return;
	/* the compiler reads by itself: it has to find there what the thread has stored */
	if (model_lingering(address, bytes, &value))
		model_drain();
}

static void plain_write(const void *address, size_t bytes)
{
	if (model_step(MODEL_WRITE, address, bytes))
		model_drain();
}

#define ACCESS(kind, bytes)                                                                        \
	HOOK(__tsan_##kind##read##bytes, const void *address)                                      \
	{                                                                                          \
		PC();                                                                              \
		plain_read(address, bytes);                                                        \
	}                                                                                          \
	HOOK(__tsan_##kind##write##bytes, const void *address)                                     \
	{                                                                                          \
		PC();                                                                              \
		plain_write(address, bytes);                                                       \
	}
ACCESS(, 1)
ACCESS(, 2)
ACCESS(, 4)
ACCESS(, 8)
ACCESS(, 16)
ACCESS(unaligned_, 2)
ACCESS(unaligned_, 4)
ACCESS(unaligned_, 8)
ACCESS(unaligned_, 16)

HOOK(__tsan_read_range, const void *address, size_t bytes)
{
	PC();
	plain_read(address, bytes);
}

HOOK(__tsan_write_range, const void *address, size_t bytes)
{
	PC();
	plain_write(address, bytes);
}

HOOK(__tsan_init, void)
{
}

HOOK(__tsan_func_entry, void *pc)
{
	(void)pc;
}

HOOK(__tsan_func_exit, void)
{
}

/* The linker's --wrap leads the tracer's calls here. */
void *__real_memcpy(void *to, const void *from, size_t bytes);
void *__real_memset(void *to, int byte, size_t bytes);
void *__wrap_memcpy(void *to, const void *from, size_t bytes);
void *__wrap_memset(void *to, int byte, size_t bytes);

void *__wrap_memcpy(void *to, const void *from, size_t bytes)
{
	if (model_self() != MODEL_THREADS_MAX) {
		plain_read(from, bytes);
		plain_write(to, bytes);
	}
	return __real_memcpy(to, from, bytes);
}

void *__wrap_memset(void *to, int byte, size_t bytes)
{
	if (model_self() != MODEL_THREADS_MAX)
		plain_write(to, bytes);
	return __real_memset(to, byte, bytes);
}

/** Before a read-modify-write, which is a full barrier on x86. */
static void before_update(const void *address, size_t bytes)
{
	if (model_step(MODEL_WRITE, address, bytes))
		model_drain();
}

#define UPDATE(bits, type, name)                                                                   \
	type __tsan_atomic##bits##_##name(type *address, type value, int order);                   \
	type __tsan_atomic##bits##_##name(type *address, type value, int order)                    \
	{                                                                                          \
		(void)order;                                                                       \
		PC();                                                                              \
		before_update(address, sizeof(*address));                                          \
		return __sync_##name##_of(address, value);                                         \
	}
#define __sync_fetch_add_of(address, value) __atomic_fetch_add(address, value, __ATOMIC_SEQ_CST)
#define __sync_fetch_sub_of(address, value) __atomic_fetch_sub(address, value, __ATOMIC_SEQ_CST)
#define __sync_fetch_and_of(address, value) __atomic_fetch_and(address, value, __ATOMIC_SEQ_CST)
#define __sync_fetch_or_of(address, value)  __atomic_fetch_or(address, value, __ATOMIC_SEQ_CST)
#define __sync_fetch_xor_of(address, value) __atomic_fetch_xor(address, value, __ATOMIC_SEQ_CST)
#define __sync_exchange_of(address, value)  __atomic_exchange_n(address, value, __ATOMIC_SEQ_CST)

#define ATOMIC(bits, type)                                                                         \
	UPDATE(bits, type, fetch_add)                                                              \
	UPDATE(bits, type, fetch_sub)                                                              \
	UPDATE(bits, type, fetch_and)                                                              \
	UPDATE(bits, type, fetch_or)                                                               \
	UPDATE(bits, type, fetch_xor)                                                              \
	UPDATE(bits, type, exchange)                                                               \
	type __tsan_atomic##bits##_load(const type *address, int order);                           \
	type __tsan_atomic##bits##_load(const type *address, int order)                            \
	{                                                                                          \
		uint64_t value;                                                                    \
                                                                                                   \
		(void)order;                                                                       \
		PC();                                                                              \
		if (model_step(MODEL_READ, address, sizeof(*address)) &&                           \
		    model_lingering(address, sizeof(*address), &value))                            \
			return (type)value;                                                        \
		return __atomic_load_n(address, __ATOMIC_SEQ_CST);                                 \
	}                                                                                          \
	void __tsan_atomic##bits##_store(type *address, type value, int order);                    \
	void __tsan_atomic##bits##_store(type *address, type value, int order)                     \
	{                                                                                          \
		PC();                                                                              \
		before_update(address, sizeof(*address));                                          \
		if (order != ORDER_SEQ_CST &&                                                      \
		    model_delay_store(address, (uint64_t)value, sizeof(*address)))                 \
			return;                                                                    \
		__atomic_store_n(address, value, __ATOMIC_SEQ_CST);                                \
	}                                                                                          \
	int __tsan_atomic##bits##_compare_exchange_strong(type *address, type *expected,           \
							  type value, int order, int failure);     \
	int __tsan_atomic##bits##_compare_exchange_strong(type *address, type *expected,           \
							  type value, int order, int failure)      \
	{                                                                                          \
		(void)order;                                                                       \
		(void)failure;                                                                     \
		PC();                                                                              \
		before_update(address, sizeof(*address));                                          \
		return __atomic_compare_exchange_n(address, expected, value, 0, __ATOMIC_SEQ_CST,  \
						   __ATOMIC_SEQ_CST);                              \
	}                                                                                          \
	int __tsan_atomic##bits##_compare_exchange_weak(type *address, type *expected, type value, \
							int order, int failure);                   \
	int __tsan_atomic##bits##_compare_exchange_weak(type *address, type *expected, type value, \
							int order, int failure)                    \
	{                                                                                          \
		return __tsan_atomic##bits##_compare_exchange_strong(address, expected, value,     \
								     order, failure);              \
	}                                                                                          \
	type __tsan_atomic##bits##_compare_exchange_val(type *address, type expected, type value,  \
							int order, int failure);                   \
	type __tsan_atomic##bits##_compare_exchange_val(type *address, type expected, type value,  \
							int order, int failure)                    \
	{                                                                                          \
		(void)order;                                                                       \
		(void)failure;                                                                     \
		PC();                                                                              \
		before_update(address, sizeof(*address));                                          \
		__atomic_compare_exchange_n(address, &expected, value, 0, __ATOMIC_SEQ_CST,        \
					    __ATOMIC_SEQ_CST);                                     \
		return expected;                                                                   \
	}
ATOMIC(8, uint8_t)
ATOMIC(16, uint16_t)
ATOMIC(32, uint32_t)
ATOMIC(64, uint64_t)

bool exchange_pair(uint64_t *pair, uint64_t old0, uint64_t old1, uint64_t new0, uint64_t new1);

bool exchange_pair(uint64_t *pair, uint64_t old0, uint64_t old1, uint64_t new0, uint64_t new1)
{
	PC();
	before_update(pair, 2 * sizeof(*pair));
	if (pair[0] != old0 || pair[1] != old1)
		return false;
	pair[0] = new0;
	pair[1] = new1;
	return true;
}

HOOK(__tsan_atomic_thread_fence, int order)
{
	if (order == ORDER_SEQ_CST)
		model_drain();
}

HOOK(__tsan_atomic_signal_fence, int order)
{
	(void)order;
}
