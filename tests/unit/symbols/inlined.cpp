// SPDX-License-Identifier: Apache-2.0
// Templates, anonymous namespaces, lambdas and chains of inlined calls for the line and name tests.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace deep
{
template <class T> struct Box {
	T value;
	__attribute__((noinline)) T get(int count) const
	{
		std::vector<T> all;
		for (int i = 0; i < count; i++)
			all.push_back(value);
		std::sort(all.begin(), all.end());
		return all[all.size() / 2];
	}
	static inline int scale(int by)
	{
		return by * rand();
	}
};

namespace
{
struct Hidden {
	__attribute__((noinline)) int twice(int a)
	{
		auto add = [&](int b) { return b + Box<int>::scale(a); };
		return add(a) + add(3);
	}
};
__attribute__((noinline)) int hidden(int a)
{
	return Hidden().twice(a) + Box<int>::scale(a + 1);
}
} // namespace

__attribute__((noinline)) std::string join(int count)
{
	std::string all;
	for (int i = 0; i < count; i++)
		all += std::to_string(i) + ",";
	return all;
}
int counter = 4;
} // namespace deep

extern "C" __attribute__((noinline)) int plain(int a)
{
	return deep::hidden(a) + 1;
}

int main(int argc, char **argv)
{
	deep::Box<int> box{argc};

	(void)argv;
	deep::counter += argc;
	std::printf("%d %s\n", box.get(10) + plain(argc), deep::join(deep::counter).c_str());
	return 0;
}
