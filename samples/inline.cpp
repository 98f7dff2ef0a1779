/* SPDX-License-Identifier: Apache-2.0 */
/** @file Allocation two inlined calls deep: make_node() and new_leaf() have no frames of their own,
 * yet belong in the stack. */
#include <cstdio>
#include <cstdlib>
#include <cstring>

struct node {
	node *next;
	int value;
};

__attribute__((always_inline)) static inline node *make_node(int value, node *next)
{
	node *made = static_cast<node *>(std::malloc(sizeof(node)));

	if (!made)
		std::abort();
	made->next = next;
	made->value = value;
	return made;
}

__attribute__((always_inline)) static inline node *new_leaf(int value)
{
	return make_node(value, nullptr);
}

__attribute__((noinline)) static node *build_tree(int count)
{
	node *head = new_leaf(0);

	for (int i = 1; i < count; i++)
		head = make_node(i, head);
	return head;
}

int main(int argc, char **argv)
{
	node *head = build_tree(50);
	long sum = 0;

	for (node *at = head; at; at = at->next)
		sum += at->value;
	std::printf("sum %ld\n", sum);
	std::fflush(stdout);
	if (argc > 1 && !std::strcmp(argv[1], "abort"))
		std::abort();
	return 0;
}
