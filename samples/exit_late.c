/* SPDX-License-Identifier: Apache-2.0 */
/** @file Allocations before main() and after it: constructors, atexit(), destructors, on_exit(). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *from_constructor;
static char *from_main;

static char *make(const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		abort();
	return copy;
}

__attribute__((constructor(101))) static void construct_early(void)
{
	from_constructor = make("constructor");
}

__attribute__((destructor(101))) static void destruct_late(void)
{
	char *late = make("destructor");

	fprintf(stderr, "%s %s\n", late, from_main);
	free(from_main);
	free(late);
	free(from_constructor);
}

static void at_exit(void)
{
	char *late = make("atexit");

	printf("%s %s\n", late, from_constructor);
	free(late);
	from_main = realloc(from_main, 1000);
	strcat(from_main, " and atexit");
}

static void on_leaving(int status, void *argument)
{
	char *copy = make(argument);

	printf("%s %d\n", copy, status);
	free(copy);
}

int main(void)
{
	from_main = make("main");
	on_exit(on_leaving, (void *)"on_exit");
	return atexit(at_exit);
}
