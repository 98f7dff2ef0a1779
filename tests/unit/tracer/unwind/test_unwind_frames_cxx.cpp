// SPDX-License-Identifier: Apache-2.0
/**
 * @file
 * C++ code that asks for its own stack at every interesting moment.
 */
#include "test_unwind_frames_cxx.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <string>
#include <unwind.h>
#include <vector>

#define NO_TAIL_CALL() __asm__ volatile("" ::: "memory")

namespace
{

template <int N> struct sum {
	static __attribute__((noinline)) int of(int value)
	{
		int result = sum<N - 1>::of(value + N);

		check_from_cxx();
		return result + N;
	}
};

template <> struct sum<0> {
	static int of(int value)
	{
		check_from_cxx();
		return value - value;
	}
};

struct base {
	virtual ~base() = default;
	virtual int call() = 0;
};

struct other_base {
	virtual ~other_base() = default;
	virtual int call_other() = 0;
	long padding = 0;
};

struct derived : base, other_base {
	int call() override
	{
		check_from_cxx();
		return 1;
	}
	int call_other() override
	{
		check_from_cxx();
		return 2;
	}
};

struct counter {
	int &count;

	explicit counter(int &counted) : count(counted)
	{
	}
	~counter()
	{
		check_from_cxx();
		count++;
	}
};

struct problem : std::runtime_error {
	explicit problem(const char *what) : std::runtime_error(what)
	{
		check_from_cxx();
	}
	problem(const problem &) = default;
	~problem() override
	{
		check_from_cxx();
	}
};

__attribute__((noinline)) void throw_through(int depth, int &count)
{
	if (!depth)
		throw problem("on purpose");
	counter guard(count);

	throw_through(depth - 1, count);
	NO_TAIL_CALL();
}

__attribute__((noinline)) void rethrow(int depth, int &count)
{
	try {
		throw_through(depth, count);
	} catch (const std::logic_error &) {
		count = -1;
	} catch (...) {
		check_from_cxx();
		throw;
	}
}

_Unwind_Reason_Code count_frame(struct _Unwind_Context *, void *data)
{
	++*static_cast<int *>(data);
	check_from_cxx();
	return _URC_NO_REASON;
}

struct initialised {
	int value;

	initialised() : value(7)
	{
		check_from_cxx();
	}
};

} // namespace

int cxx_templates()
{
	return sum<10>::of(0);
}

int cxx_algorithms()
{
	std::vector<int> values(200);
	std::map<std::string, std::function<int(int)>> functions;
	int calls = 0;

	std::iota(values.begin(), values.end(), 0);
	std::sort(values.begin(), values.end(), [&](int a, int b) {
		if (calls++ % 64 == 0)
			check_from_cxx();
		return a > b;
	});
	std::stable_sort(values.begin(), values.end(), [&](int a, int b) {
		if (calls++ % 64 == 0)
			check_from_cxx();
		return a < b;
	});
	functions["a name too long for the small string"] = [](int value) {
		check_from_cxx();
		return value + 1;
	};
	for (auto &function : functions)
		function.second(1);
	auto shared = std::shared_ptr<int>(new int(1), [](int *pointer) {
		check_from_cxx();
		delete pointer;
	});

	shared.reset();
	return std::is_sorted(values.begin(), values.end());
}

int cxx_virtual_calls()
{
	derived object;
	base *first = &object;
	other_base *second = &object;

	__asm__ volatile("" : "+r"(first), "+r"(second));
	return first->call() + second->call_other();
}

int cxx_exceptions(int depth)
{
	int count = 0;

	try {
		rethrow(depth, count);
	} catch (const problem &) {
		check_from_cxx();
	}
	check_from_cxx();
	return count;
}

int cxx_backtrace()
{
	int count = 0;

	_Unwind_Backtrace(count_frame, &count);
	return count;
}

int cxx_static_initialisation()
{
	static initialised object;
	std::once_flag once;
	int value = 0;

	std::call_once(once, [&] {
		check_from_cxx();
		value = object.value;
	});
	return value;
}
