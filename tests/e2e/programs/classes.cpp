// SPDX-License-Identifier: Apache-2.0
/* Objects of classes in a namespace, with two bases, with a virtual one, from a template and
 * without a name outside of this file. Some are held by a pointer to their second base. */
#include <cstdlib>

namespace shop
{
struct Base {
	virtual ~Base()
	{
	}
	virtual int price()
	{
		return 1;
	}
	long number = 1;
};

struct Other {
	virtual ~Other()
	{
	}
	virtual int weight()
	{
		return 2;
	}
	long grams = 1;
};

struct Order : Base, Other {
	long items[8] = {};
	int price() override
	{
		return 3;
	}
};

template <class T> struct Box : virtual Base {
	T thing{};
	int price() override
	{
		return 4;
	}
};
} // namespace shop

namespace
{
struct Local {
	virtual ~Local()
	{
	}
	virtual int height()
	{
		return 5;
	}
	long words[20] = {};
};
} // namespace

shop::Base *orders[100];
shop::Box<int> *boxes[50];
Local *locals[30];
shop::Other *inner[70];

int main()
{
	for (auto &order : orders)
		order = new shop::Order;
	for (auto &box : boxes)
		box = new shop::Box<int>;
	for (auto &local : locals)
		local = new Local;
	for (auto &order : inner)
		order = new shop::Order;
	abort();
}
