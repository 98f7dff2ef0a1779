// SPDX-License-Identifier: Apache-2.0
/**
 * @file
 * Objects of a few classes with virtual functions in 65,536 lists that grow at random, some by a
 * function that makes all of them; list nodes and buffers without; arrays of objects. One in 50 is
 * lost.
 *
 *     many_objects OBJECTS      four blocks for three of them; then it aborts
 */
#include <cstdint>
#include <cstdlib>
#include <list>
#include <new>

#define KEEP __attribute__((noinline))

namespace
{

enum { LISTS = 65536, LOST = 50, ARRAY = 3 };

struct Shape {
	Shape *next = nullptr;
	virtual ~Shape()
	{
	}
};
struct Circle : Shape {
	double radius = 1;
};
struct Square : Shape {
	double corners[8] = {};
};
struct Label : Shape {
	char *text;
	Label() : text(static_cast<char *>(malloc(24)))
	{
		text[0] = 'l';
	}
};

Shape *lists[LISTS];
std::list<Shape *> chosen;

uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

KEEP Shape *make_circle()
{
	return new Circle;
}

KEEP Shape *make_square()
{
	return new Square;
}

KEEP Shape *make_label()
{
	return new Label;
}

KEEP Shape *make_array()
{
	return new Circle[ARRAY];
}

/* Of two types by one stack. */
KEEP Shape *make_any(uint64_t random)
{
	bool square = random % 2;
	void *bytes = ::operator new(square ? sizeof(Square) : sizeof(Circle));

	if (square)
		return new (bytes) Square;
	return new (bytes) Circle;
}

KEEP Shape *make(uint64_t random)
{
	switch (random % 10) {
	case 0:
		return make_array();
	case 1:
		return make_any(random >> 16);
	case 2:
	case 3:
	case 4:
		return make_square();
	case 5:
		return make_label();
	default:
		return make_circle();
	}
}

} // namespace

int main(int argc, char **argv)
{
	uint64_t count = argc > 1 ? strtoull(argv[1], nullptr, 10) : 0;
	uint64_t state = UINT64_C(88172645463325252);

	for (uint64_t i = 0; i < count; i++) {
		uint64_t random = next_random(&state);
		Shape *shape = make(random);
		Shape **list = &lists[random >> 48];

		if ((random >> 8) % LOST == 0)
			continue;
		shape->next = *list;
		*list = shape;
		if ((random >> 24) % 4 == 0)
			chosen.push_back(shape);
	}
	abort();
}
