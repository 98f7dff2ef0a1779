/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Scopes and types of every sort, each in a function of its own, with sizes that nobody else asks
 * for. Prints what it did; "abort" as first argument leaves a core.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "hawk_annotate.h"

/** An empty __asm__ behind a call keeps it from being a tail call, whose caller is in no stack. */
#define NOINLINE __attribute__((noinline))

void *kept[4096];
static int kept_count;

NOINLINE static void *keep(size_t size)
{
	void *block = malloc(size);

	if (block)
		memset(block, 1, size);
	kept[kept_count++] = block;
	return block;
}

NOINLINE static void within_inner(void)
{
	HAWK_SCOPE("inner");

	keep(2000);
	free(keep(3000));
	kept_count--;
}

NOINLINE static void between(void)
{
	within_inner();
	__asm__ volatile("");
}

/** 3 x outer, each with 2 x inner in it. */
NOINLINE static void nested(void)
{
	for (int i = 0; i < 3; i++) {
		HAWK_SCOPE("outer");

		keep(1000);
		between();
		between();
	}
	keep(4000);
	__asm__ volatile("");
}

NOINLINE static void two_in_a_block(void)
{
	HAWK_SCOPE("first");
	HAWK_SCOPE("second");

	keep(5000);
}

NOINLINE static void recursive(int depth)
{
	HAWK_SCOPE("recursive");

	if (depth)
		recursive(depth - 1);
	else
		keep(6000);
	__asm__ volatile("");
}

static jmp_buf back;

NOINLINE static void jump_out(void)
{
	HAWK_SCOPE("jumped");

	keep(7000);
	longjmp(back, 1);
}

/** After a jump the scope is over, though nobody left it. */
NOINLINE static void jumping(void)
{
	for (volatile int i = 0; i < 100; i++)
		if (!setjmp(back))
			jump_out();
	keep(7001);
	{
		HAWK_SCOPE("after jump");
		keep(7002);
	}
}

static void *in_thread(void *argument)
{
	HAWK_SCOPE("thread");

	keep(8000);
	if (argument)
		pthread_exit(NULL);
	return NULL;
}

/** One after the other: `kept` has no lock. */
NOINLINE static void threads(void)
{
	for (long i = 0; i < 8; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, in_thread, (void *)(i & 1)))
			abort();
		pthread_join(thread, NULL);
	}
}

static ucontext_t main_context, coroutine_context;

static void coroutine(void)
{
	HAWK_SCOPE("coroutine");

	keep(9000);
	swapcontext(&coroutine_context, &main_context);
	keep(9000);
}

NOINLINE static void coroutines(void)
{
	static char stack[64 << 10];

	getcontext(&coroutine_context);
	coroutine_context.uc_stack.ss_sp = stack;
	coroutine_context.uc_stack.ss_size = sizeof(stack);
	coroutine_context.uc_link = &main_context;
	makecontext(&coroutine_context, coroutine, 0);
	swapcontext(&main_context, &coroutine_context);
	keep(9001); /* the coroutine's scope is open, but not on this stack */
	swapcontext(&main_context, &coroutine_context);
}

static void on_signal(int number)
{
	HAWK_SCOPE("handler");

	(void)number;
	keep(10000);
}

NOINLINE static void signals(void)
{
	HAWK_SCOPE("raise");

	signal(SIGUSR1, on_signal);
	for (int i = 0; i < 5; i++)
		raise(SIGUSR1);
}

NOINLINE static void forks(void)
{
	HAWK_SCOPE("fork");
	pid_t child = fork();

	if (!child) {
		keep(11000);
		{
			HAWK_SCOPE("child");
			keep(11001);
		}
		_exit(0);
	}
	waitpid(child, NULL, 0);
	keep(11002);
}

NOINLINE static void types(void)
{
	HAWK_SCOPE("types");

	for (int i = 0; i < 10; i++) {
		void *node = keep(12000);

		hawk_annotate_type(node, i < 7 ? "Node" : "Wrong");
		if (i >= 7)
			hawk_annotate_type(node, "Leaf<int>");
	}
	for (int i = 0; i < 5; i++) {
		void *gone = malloc(12001);

		hawk_annotate_type(gone, "Gone");
		free(gone);
	}
	hawk_annotate_type(NULL, "Nothing");
	hawk_annotate_type(&main_context, "NotABlock");
	hawk_annotate_type((char *)kept[0] + 16, "Inside");
}

NOINLINE static void typed_without_scope(void)
{
	hawk_annotate_type(keep(13000), "Plain");
}

/** Tags that lie in a library which is not there any more. */
NOINLINE static void unloaded(const char *plugin)
{
	for (int i = 0; i < 2; i++) {
		void *library = dlopen(plugin, RTLD_NOW);
		void *(*work)(size_t);

		if (!library)
			continue;
		*(void **)&work = dlsym(library, "plugin_work");
		kept[kept_count++] = work(14000);
		dlclose(library);
	}
}

int main(int count, char **arguments)
{
	keep(500);
	nested();
	two_in_a_block();
	recursive(9);
	jumping();
	threads();
	coroutines();
	signals();
	forks();
	types();
	typed_without_scope();
	unloaded(count > 2 ? arguments[2] : "");
	printf("%d blocks\n", kept_count);
	fflush(stdout);
	if (count > 1 && !strcmp(arguments[1], "abort"))
		abort();
	return 0;
}
