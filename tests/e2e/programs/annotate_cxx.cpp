/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Scopes in C++: exceptions leave them, objects made in them are typed.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "hawk_annotate.h"

#define NOINLINE __attribute__((noinline))

std::vector<void *> *kept;

NOINLINE static void keep(size_t size)
{
	kept->push_back(::operator new(size));
}

struct shape {
	char bytes[2500];
};

NOINLINE static void thrower(int depth)
{
	HAWK_SCOPE("thrower");

	if (depth)
		thrower(depth - 1);
	keep(3500);
	throw std::runtime_error("out");
}

NOINLINE static void catcher()
{
	HAWK_SCOPE("catcher");

	for (int i = 0; i < 4; i++) {
		try {
			HAWK_SCOPE("try");
			thrower(3);
		} catch (const std::exception &) {
			keep(4500); // in "catcher" only
		}
	}
}

NOINLINE static shape *make_shape()
{
	HAWK_SCOPE("shapes");
	shape *made = new shape;

	hawk_annotate_type(made, "shape");
	kept->push_back(made);
	return made;
}

int main(int count, char **arguments)
{
	kept = new std::vector<void *>;
	catcher();
	keep(5500);
	for (int i = 0; i < 6; i++)
		make_shape();
	std::printf("%zu blocks\n", kept->size());
	std::fflush(stdout);
	if (count > 1 && !std::strcmp(arguments[1], "abort"))
		std::abort();
}
