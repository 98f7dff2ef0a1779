/* SPDX-License-Identifier: Apache-2.0 */
/** @file Signal handlers that allocate, on the thread's own stack and on an alternate one, at
 * moments when the program is not inside its allocator. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

static char *volatile kept[2000];
static volatile sig_atomic_t count;
static volatile sig_atomic_t outside;

__attribute__((noinline)) static void allocate_in_handler(void)
{
	if (count < 2000)
		kept[count++] = malloc(321);
	__asm__ volatile("" : : : "memory"); /* not a tail call, nor is the next */
}

static void on_signal(int number)
{
	if (number != SIGALRM || outside)
		allocate_in_handler();
	__asm__ volatile("" : : : "memory");
}

static void install(int number, int flags)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = flags};

	sigaction(number, &action, NULL);
}

__attribute__((noinline)) static unsigned long compute(unsigned long value)
{
	outside = 1;
	for (int i = 0; i < 200000; i++)
		value = value * 6364136223846793005UL + 1442695040888963407UL;
	outside = 0;
	return value;
}

int main(int argc, char **argv)
{
	static char alternate[65536];
	stack_t stack = {.ss_sp = alternate, .ss_size = sizeof(alternate)};
	struct itimerval often = {.it_interval = {.tv_usec = 1000}, .it_value = {.tv_usec = 1000}};
	unsigned long value = 1;

	sigaltstack(&stack, NULL);
	install(SIGUSR1, 0);
	install(SIGUSR2, SA_ONSTACK);
	install(SIGALRM, SA_ONSTACK | SA_RESTART);
	for (int i = 0; i < 100; i++) {
		raise(SIGUSR1);
		raise(SIGUSR2);
	}
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < 100; i++) {
		char *volatile block = malloc(50);

		value = compute(value);
		free(block);
	}
	memset(&often, 0, sizeof(often));
	setitimer(ITIMER_REAL, &often, NULL);
	printf("%lu, %s\n", value, count >= 200 ? "handlers allocated" : "too few");
	fflush(stdout);
	if (argc > 1 && !strcmp(argv[1], "abort"))
		abort();
	return count < 200;
}
