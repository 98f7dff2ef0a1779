// SPDX-License-Identifier: Apache-2.0
/**
 * @file
 * Lost and kept blocks in C++. See leaks_cases.h.
 */
#include "leaks_cases.h"

#include <list>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace
{

struct Left {
	virtual ~Left() = default;
	virtual int left()
	{
		return 1;
	}
	long a = 1;
};

struct Right {
	virtual ~Right() = default;
	virtual int right()
	{
		return 2;
	}
	long b = 2;
};

struct Both : Left, Right {
	int left() override
	{
		return 3;
	}
	int right() override
	{
		return 4;
	}
	long c = 3;
};

struct Element {
	~Element()
	{
		value[0] = 0;
	}
	long value[5] = {1, 2, 3, 4, 5};
};

struct Partner {
	std::shared_ptr<Partner> other;
	long value[4];
};

Right *g_base;
Element *g_elements;
std::string *g_string;
char *g_old_string_like;
std::map<int, std::string> *g_map;
std::vector<std::unique_ptr<Both>> *g_owners;
std::unordered_map<int, std::vector<int>> g_table;
Both *g_object_middle;

} // namespace

#define SITE_NEW(type, name, ...)                                                                  \
	SITE static type *name()                                                                   \
	{                                                                                          \
		return new __VA_ARGS__;                                                            \
	}
SITE_NEW(Both, site_object, Both)
SITE_NEW(Both, site_lost_object, Both)
SITE_NEW(Both, site_inside_object, Both)
SITE_NEW(Element, site_elements, Element[7])
SITE_NEW(Element, site_lost_elements, Element[9])
SITE_NEW(std::string, site_string, std::string(100, 'x'))
SITE_NEW(std::string, site_lost_string, std::string(200, 'y'))
SITE_NEW(std::vector<int>, site_lost_vector, std::vector<int>(50, 7))

SITE static std::map<int, std::string> *site_map()
{
	auto *map = new std::map<int, std::string>;

	for (int i = 0; i < 20; i++)
		(*map)[i] = std::string(40, 'm');
	return map;
}

SITE static std::map<int, std::string> *site_lost_map()
{
	auto *map = new std::map<int, std::string>;

	for (int i = 0; i < 20; i++)
		(*map)[i] = std::string(40, 'n');
	return map;
}

SITE static std::list<std::string> *site_lost_list()
{
	auto *list = new std::list<std::string>;

	for (int i = 0; i < 12; i++)
		list->push_back(std::string(60, 'l'));
	return list;
}

SITE static void site_partners()
{
	auto one = std::make_shared<Partner>();
	auto two = std::make_shared<Partner>();

	one->other = two;
	two->other = one;
}

SITE static std::vector<std::unique_ptr<Both>> *site_owners()
{
	auto *owners = new std::vector<std::unique_ptr<Both>>;

	for (int i = 0; i < 6; i++)
		owners->push_back(std::make_unique<Both>());
	return owners;
}

SITE static void site_table()
{
	for (int i = 0; i < 30; i++)
		g_table[i] = std::vector<int>(10, i);
}

SITE static void lose()
{
	site_lost_object();
	site_lost_elements();
	site_lost_string();
	site_lost_vector();
	site_lost_map();
	site_lost_list();
	site_partners();
}

SITE static void keep()
{
	g_base = site_object();
	g_elements = site_elements();
	g_string = site_string();
	g_map = site_map();
	g_owners = site_owners();
	site_table();
	g_object_middle = reinterpret_cast<Both *>(reinterpret_cast<char *>(site_inside_object()) +
						   8); // to a member
}

int main()
{
	lose();
	keep();
	scrub();
	stop();
}
