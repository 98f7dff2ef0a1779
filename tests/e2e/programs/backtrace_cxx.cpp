/* SPDX-License-Identifier: Apache-2.0 */
/** @file Allocations of 70000 + N bytes at the ends of C++ call chains, then abort(). */
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

static void *volatile kept[16];

#define NOINLINE __attribute__((noinline))
#define KEEP()   __asm__ volatile("" : : : "memory")

namespace deep
{

template <typename T, int N> struct Maker {
	NOINLINE static T *make(int number)
	{
		T *made = static_cast<T *>(std::malloc(70000u + static_cast<unsigned>(number)));

		KEEP();
		return made;
	}
};

struct Base {
	virtual ~Base() = default;
	virtual void act(int number) = 0;
};

template <typename T> struct Derived final : Base {
	NOINLINE void act(int number) override
	{
		kept[number] = Maker<T, 3>::make(number);
		KEEP();
	}
};

template <typename... Rest> NOINLINE void variadic(int number, Rest... rest)
{
	if constexpr (sizeof...(rest) > 0)
		variadic(rest...);
	else
		kept[number] = ::operator new(70000u + static_cast<unsigned>(number));
	KEEP();
}

} // namespace deep

NOINLINE static void grow_vector(std::vector<char> &bytes)
{
	bytes.resize(70002);
	KEEP();
}

NOINLINE static void grow_string(std::string &text)
{
	text.reserve(70003 - 1);
	KEEP();
}

NOINLINE static void call_function(const std::function<void(int)> &function)
{
	function(4);
	KEEP();
}

struct Constructed {
	char *bytes;

	explicit Constructed(int number) : bytes(new char[70000u + static_cast<unsigned>(number)])
	{
		KEEP();
	}
};

NOINLINE static void construct()
{
	kept[5] = std::make_unique<Constructed>(5).release();
	KEEP();
}

int main()
{
	std::unique_ptr<deep::Base> base = std::make_unique<deep::Derived<double>>();
	std::vector<char> bytes;
	std::string text;
	int numbers[] = {2, 1};

	base->act(0);
	deep::variadic(9, 8, 7, 1);
	grow_vector(bytes);
	grow_string(text);
	call_function([](int number) { kept[number] = deep::Maker<char, 9>::make(number); });
	construct();
	std::for_each(numbers, numbers + 2, [](int number) {
		if (number == 1)
			kept[6] = std::malloc(70006);
	});
	std::abort();
}
