// SPDX-License-Identifier: Apache-2.0
// A local class and lambdas, inlined into their function: gcc gives them no linkage names.
#include <cstdlib>

namespace outer
{
struct Shape {
	int area(int by);
};

int Shape::area(int by)
{
	struct Local {
		int value;
		int grow(int to)
		{
			return to * rand() + value;
		}
	};
	Local local{by};
	auto add = [&](int to) { return to + rand() + by; };

	return local.grow(by) + add(3) + add(by);
}
} // namespace outer

int main(int argc, char **argv)
{
	(void)argv;
	return outer::Shape().area(argc);
}
