/* Variables of every kind of place, in a process that aborts: see test_dwarf_types.c. */
#include <cstdlib>

namespace shop
{
struct Hidden; /* typed_hidden.cpp defines it */
Hidden *make_hidden();

template <typename T> struct Node {
	Node *next;
	T value;
};

struct Base {
	virtual ~Base()
	{
	}
	long id = 7;
};

struct Cache : Base {
	Node<int> *first = nullptr;
	struct {
		char *text;
		int size;
	};
	Node<long> *table[3] = {};
	int narrow : 3;
	static Node<int> shared;
};
Node<int> Cache::shared;

Cache cache;
Cache *volatile chosen = &cache; /* unknown to the compiler */
Hidden *hidden;
thread_local Node<int> *current;
} // namespace shop

using namespace shop;

static volatile int sink;
static void (*volatile end)() = abort; /* for all the compiler knows, it returns */
Node<long> *volatile escaped;

__attribute__((noinline)) static void stop(Node<int> *node, Cache &of)
{
	end();
	sink = node->value + (int)of.id + (node->next != nullptr);
}

__attribute__((noinline)) static void work(Cache *server, int argument)
{
	static Node<long> counted;
	Node<int> local = {cache.first, argument};

	counted.value++;
	escaped = &counted;
	stop(&local, *server);
	sink = local.value + (int)server->id; /* keeps both alive */
}

int main(int argc, char **)
{
	hidden = make_hidden();
	current = new Node<int>{nullptr, argc};
	cache.first = current;
	work(chosen, argc);
	return hidden != nullptr;
}
