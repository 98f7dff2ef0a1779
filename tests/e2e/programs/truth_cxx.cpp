/* SPDX-License-Identifier: Apache-2.0 */
/** @file Ground truth: every form of operator new and every function of the malloc family, along
 * call paths of templates, virtual functions and lambdas. */
#include "truth.h"

#include <alloca.h>
#include <cstdlib>
#include <malloc.h>
#include <new>
#include <utility>

namespace truth
{

enum Way {
	WAY_FREE,
	WAY_DELETE,
	WAY_DELETE_SIZED,
	WAY_DELETE_ARRAY,
	WAY_DELETE_ALIGNED,
	WAY_DELETE_ARRAY_ALIGNED,
	WAY_DELETE_NOTHROW,
};

constexpr std::align_val_t ALIGNMENT{256};

static inline void *made(struct job *job, const char *kind, Way way, void *block)
{
	job->kind = kind;
	job->release = way;
	return block;
}

static inline void *allocate_now(struct job *job)
{
	std::size_t alignment = std::size_t{32} << job->path3;
	void *block = nullptr;
	void *volatile none = nullptr; // realloc of a known NULL would be compiled to malloc

	if (job->old)
		return made(job, "realloc", WAY_FREE,
			    job->how % 2 ? std::realloc(job->old, job->size)
					 : reallocarray(job->old, job->size, 1));
	switch (job->how) {
	case 0:
		return made(job, "malloc", WAY_FREE, std::malloc(job->size));
	case 1:
		return made(job, "calloc", WAY_FREE, std::calloc(job->size, 1));
	case 2:
		return made(job, "new[]", WAY_DELETE_ARRAY, ::operator new[](job->size));
	case 3:
		return made(job, "new", WAY_DELETE_NOTHROW,
			    ::operator new(job->size, std::nothrow));
	case 4:
		return made(job, "new[]", WAY_DELETE_ARRAY,
			    ::operator new[](job->size, std::nothrow));
	case 5:
		return made(job, "new", WAY_DELETE_ALIGNED, ::operator new(job->size, ALIGNMENT));
	case 6:
		return made(job, "new[]", WAY_DELETE_ARRAY_ALIGNED,
			    ::operator new[](job->size, ALIGNMENT));
	case 7:
		return made(job, "new", WAY_DELETE_SIZED, ::operator new(job->size));
	case 8:
		return made(job, "realloc", WAY_FREE, std::realloc(none, job->size));
	case 9:
		return made(job, "aligned", WAY_FREE,
			    posix_memalign(&block, alignment, job->size) ? nullptr : block);
	case 10:
		job->size = (job->size + alignment - 1) / alignment * alignment;
		return made(job, "aligned", WAY_FREE, std::aligned_alloc(alignment, job->size));
	case 11:
		return made(job, "aligned", WAY_FREE, memalign(alignment, job->size));
	case 12:
		return made(job, "aligned", WAY_FREE, valloc(job->size));
	default:
		return made(job, "new", WAY_DELETE, ::operator new(job->size));
	}
}

template <int N> struct Level3 {
	LINK_OF_PATH static void *call(struct job *job)
	{
		void *block = allocate_now(job);

		NO_TAIL_CALL();
		return block;
	}
};

struct Level2 {
	virtual void *call(struct job *job) = 0;

      protected:
	~Level2() = default;
};

using Function = void *(*)(struct job *);

template <template <int> class Level, int... N>
static void *call_nth(int n, struct job *job, std::integer_sequence<int, N...>)
{
	static constexpr Function functions[] = {Level<N>::call...};
	void *block = functions[n](job);

	NO_TAIL_CALL();
	return block;
}

template <int N> struct Level2Of final : Level2 {
	LINK_OF_PATH void *call(struct job *job) override
	{
		volatile char padding[16 + N * 40];
		void *block;

		padding[0] = static_cast<char>(job->how);
		block = call_nth<Level3>(job->path3, job,
					 std::make_integer_sequence<int, LEVEL3_COUNT>());
		padding[1] = padding[0];
		return block;
	}
};

/** A frame whose size is known at run time only. */
template <> struct Level2Of<3> final : Level2 {
	LINK_OF_PATH void *call(struct job *job) override
	{
		auto *space = static_cast<volatile char *>(alloca(16 + job->size % 200));
		void *block;

		space[0] = static_cast<char>(job->how);
		block = call_nth<Level3>(job->path3, job,
					 std::make_integer_sequence<int, LEVEL3_COUNT>());
		space[1] = space[0];
		return block;
	}
};

static Level2Of<0> level2_0;
static Level2Of<1> level2_1;
static Level2Of<2> level2_2;
static Level2Of<3> level2_3;
static Level2 *const level2[] = {&level2_0, &level2_1, &level2_2, &level2_3};

template <int N> struct Level1 {
	LINK_OF_PATH static void *call(struct job *job)
	{
		auto descend = [job] { return level2[job->path2]->call(job); };
		void *block = descend();

		NO_TAIL_CALL();
		return block;
	}
};

} // namespace truth

const int how_count = 15;

void *allocate(struct job *job)
{
	void *block = truth::call_nth<truth::Level1>(
		job->path1, job, std::make_integer_sequence<int, LEVEL1_COUNT>());

	NO_TAIL_CALL();
	return block;
}

void release(void *block, int way, size_t size)
{
	switch (way) {
	case truth::WAY_FREE:
		std::free(block);
		break;
	case truth::WAY_DELETE:
		::operator delete(block);
		break;
	case truth::WAY_DELETE_SIZED:
		::operator delete(block, size);
		break;
	case truth::WAY_DELETE_ARRAY:
		::operator delete[](block);
		break;
	case truth::WAY_DELETE_ALIGNED:
		::operator delete(block, size, truth::ALIGNMENT);
		break;
	case truth::WAY_DELETE_ARRAY_ALIGNED:
		::operator delete[](block, truth::ALIGNMENT);
		break;
	case truth::WAY_DELETE_NOTHROW:
		::operator delete(block, std::nothrow);
		break;
	}
}

int can_resize(int way)
{
	return way == truth::WAY_FREE;
}

int main(int argc, char **argv)
{
	return run_workload(argc, argv);
}
