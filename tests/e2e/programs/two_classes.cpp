/* SPDX-License-Identifier: Apache-2.0 */
/* A list of objects of two classes in turns, which waits: prints the address of its last one. */
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

struct Fruit {
	Fruit *next = nullptr;
	virtual ~Fruit() = default;
};

struct Apple : Fruit {
};
struct Pear : Fruit {
	long seeds[2] = {};
};

static Fruit *basket;

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 20000;

	for (int i = 0; i < count; i++) {
		Fruit *fruit = i % 2 ? static_cast<Fruit *>(new Pear) : new Apple;

		fruit->next = basket;
		basket = fruit;
	}
	printf("%p\n", static_cast<void *>(basket));
	fflush(stdout);
	for (;;)
		pause();
}
