// SPDX-License-Identifier: Apache-2.0
// Ends in the way that the first argument names, with 100-byte blocks that leak() lost, and with
// blocks that only a thread's stack or registers hold.
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

enum { THREADS = 40 };

extern char **environ;
static char *self;
static pthread_barrier_t all_ready;
static volatile bool stop;

__attribute__((noinline)) static void leak(int count)
{
	for (int i = 0; i < count; i++) {
		char *volatile block = static_cast<char *>(malloc(100));

		memset(block, 0, 100);
		block = nullptr;
	}
}

/** Holds its block until the process ends, in system calls and out of them. */
static void *hold(void *sleeps)
{
	char *volatile mine = static_cast<char *>(malloc(1000));

	pthread_barrier_wait(&all_ready);
	while (!stop)
		if (sleeps)
			pause();
	return mine;
}

static void start_holders()
{
	pthread_t thread;

	pthread_barrier_init(&all_ready, nullptr, THREADS + 1);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread, nullptr, hold, i % 8 ? &thread : nullptr);
	pthread_barrier_wait(&all_ready);
}

static void *leak_and_end(void *)
{
	leak(1);
	return nullptr;
}

static void *outlive(void *main_thread)
{
	pthread_join(*static_cast<pthread_t *>(main_thread), nullptr);
	leak(2);
	return nullptr; // the last thread: the process exits with 0
}

static void *exit_from_thread(void *)
{
	leak(2);
	exit(6);
}

static void start_self(const char *how)
{
	execl(self, self, how, static_cast<char *>(nullptr));
	_exit(99);
}

static int wait_for(pid_t child)
{
	int status;

	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

struct Static {
	std::vector<std::string> strings{"a string that is longer than its own buffer",
					 "and another one of such strings"};
	char *block = new char[100];
	~Static()
	{
		delete[] block;
	}
};

static volatile sig_atomic_t signals;

static void count_signal(int)
{
	signals = signals + 1;
}

int main(int argc, char **argv)
{
	std::string how = argc > 1 ? argv[1] : "";
	static pthread_t main_thread = pthread_self(), thread;
	pid_t child;

	self = argv[0];
	if (how == "clean")
		return 0;
	if (how == "plain") {
		leak(3);
		return 5;
	}
	if (how == "_exit") {
		leak(1);
		_exit(7);
	}
	if (how == "quick_exit") {
		leak(1);
		quick_exit(8);
	}
	if (how == "destructor") {
		static Static whole;
		return 0;
	}
	if (how == "exit in destructor") {
		static struct Last {
			~Last()
			{
				leak(1);
				_exit(9);
			}
		} last;
		return 0;
	}
	if (how == "abort") {
		leak(1);
		abort();
	}
	if (how == "threads") { // their blocks are no leaks
		start_holders();
		leak(1);
		exit(0);
	}
	if (how == "ended threads") {
		for (int i = 0; i < THREADS; i++) {
			pthread_create(&thread, nullptr, leak_and_end, nullptr);
			pthread_join(thread, nullptr);
		}
		return 0;
	}
	if (how == "last thread") {
		pthread_create(&thread, nullptr, outlive, &main_thread);
		pthread_exit(nullptr);
	}
	if (how == "thread exits") {
		start_holders();
		pthread_create(&thread, nullptr, exit_from_thread, nullptr);
		pthread_join(thread, nullptr);
	}
	if (how == "exec") { // its own leaks are gone with its memory
		leak(10);
		start_holders();
		start_self("plain");
	}
	if (how == "exec in thread") {
		start_holders();
		pthread_create(
			&thread, nullptr,
			[](void *) -> void * {
				start_self("plain");
				return nullptr;
			},
			nullptr);
		pthread_join(thread, nullptr);
	}
	if (how == "fork") {
		child = fork();
		if (!child) {
			leak(4);
			exit(2);
		}
		return wait_for(child) == 2 ? 0 : 1;
	}
	if (how == "spawn") { // and a child of vfork() that never execs, whose memory is ours
		char *arguments[] = {self, const_cast<char *>("plain"), nullptr};

		leak(1);
		child = vfork();
		if (!child)
			_exit(3);
		if (wait_for(child) != 3 ||
		    posix_spawn(&child, self, nullptr, nullptr, arguments, environ))
			return 1;
		return wait_for(child) == 5 ? 0 : 1;
	}
	if (how == "signals") { // says that it listens, and ends with the number of signals
		signal(SIGTERM, count_signal);
		signal(SIGINT, count_signal);
		if (write(1, "ready\n", 6) != 6)
			return 1;
		while (signals < 2)
			usleep(1000);
		leak(1);
		return 10 + signals;
	}
	return 98;
}
