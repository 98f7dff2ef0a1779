// SPDX-License-Identifier: Apache-2.0
/**
 * @file
 * Argument: a number of coroutines, suspended at seven places in turn; a seventh of them await
 * another one. Others have ended, or were destroyed. Between them lie tables of two functions,
 * which look alike. Prints per place, in the order of the compilers' numbers, how many wait there,
 * and the source line; then dies.
 *
 * With a second argument it says "ready" and waits instead.
 */
#include <coroutine>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

namespace flow
{

struct task {
	struct promise_type {
		std::coroutine_handle<> continuation;

		task get_return_object()
		{
			return task{std::coroutine_handle<promise_type>::from_promise(*this)};
		}
		std::suspend_always initial_suspend() noexcept
		{
			return {};
		}
		struct last {
			bool await_ready() noexcept
			{
				return false;
			}
			std::coroutine_handle<>
			await_suspend(std::coroutine_handle<promise_type> self) noexcept
			{
				auto next = self.promise().continuation;
				return next ? next : std::noop_coroutine();
			}
			void await_resume() noexcept
			{
			}
		};
		last final_suspend() noexcept
		{
			return {};
		}
		void return_void()
		{
		}
		void unhandled_exception()
		{
			abort();
		}
	};

	explicit task(std::coroutine_handle<promise_type> handle) : handle(handle)
	{
	}
	task(task &&other) noexcept : handle(other.handle)
	{
		other.handle = nullptr;
	}
	~task()
	{
		if (handle)
			handle.destroy();
	}
	bool await_ready()
	{
		return false;
	}
	std::coroutine_handle<> await_suspend(std::coroutine_handle<> caller)
	{
		handle.promise().continuation = caller;
		return handle;
	}
	void await_resume()
	{
	}

	std::coroutine_handle<promise_type> handle;
};

struct event {
	bool await_ready()
	{
		return false;
	}
	void await_suspend(std::coroutine_handle<>)
	{
	}
	int await_resume()
	{
		return 1;
	}
};

/** Keeps the frame from being optimized away. */
static void *volatile latest;

struct kept_event : event {
	void await_suspend(std::coroutine_handle<> handle)
	{
		latest = handle.address();
	}
};

volatile int sink;
static int lines[9];

[[gnu::noinline]] task leaf(int n)
{
	char text[40];
	snprintf(text, sizeof(text), "leaf %d", n);
	lines[8] = __LINE__, n += co_await event{};
	sink = n + text[0];
}

[[gnu::noinline]] task make_leaf(int n)
{
	return leaf(n);
}

[[gnu::noinline]] task reader(int n)
{
	int sum = n;
	if (n == 1)
		lines[1] = __LINE__, sum += co_await event{};
	if (n == 2)
		lines[2] = __LINE__, sum += co_await event{};
	if (n == 3)
		lines[3] = __LINE__, co_await make_leaf(n);
	sink = sum;
	while (n == 4)
		lines[4] = __LINE__, sum += co_await event{};
	for (int i = 0; i < n; i++)
		if (n == 5)
			lines[5] = __LINE__, sum += co_await event{};
	lines[6] = __LINE__, sum += co_await event{};
	sink = sum;
}

/** One suspend point: clang keeps no number for it. */
struct forgotten {
	struct promise_type {
		forgotten get_return_object()
		{
			return {};
		}
		std::suspend_never initial_suspend() noexcept
		{
			return {};
		}
		std::suspend_never final_suspend() noexcept
		{
			return {};
		}
		void return_void()
		{
		}
		void unhandled_exception()
		{
		}
	};
};

[[gnu::noinline]] forgotten single()
{
	int sum = 1;
	lines[7] = __LINE__, sum += co_await kept_event{};
	sink = sum;
}

/** Resumes a reader that often, and returns its frame. */
static void *start(int n, int resumes)
{
	task made = reader(n);
	auto handle = made.handle;

	made.handle = nullptr;
	while (resumes-- > 0)
		handle.resume();
	return handle.address();
}

/** A table of functions on the heap. */
struct operations {
	void (*open)(operations *);
	void (*close)(operations *);
	long numbers[6];
};

[[gnu::noinline]] static void open_nothing(operations *self)
{
	sink = 0;
	self->numbers[0] = 0;
}

[[gnu::noinline]] static void close_nothing(operations *self)
{
	self->numbers[1] |= 1;
	open_nothing(self);
	sink = 1;
}

} // namespace flow

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 100000;
	int at[9] = {0}, ended = count / 50;
	flow::operations **tables = new flow::operations *[count];
	void **tasks = new void *[count + ended];

	for (int i = 0; i < count; i++) {
		int place = i % 7;

		tasks[i] = flow::start(place, place > 0);
		at[place]++;
		tables[i] = new flow::operations{flow::open_nothing, flow::close_nothing, {1}};
	}
	at[8] = at[3];
	for (int i = 0; i < ended; i++)
		tasks[count + i] = flow::start(6, 2);
	for (int i = 0; i < count / 10; i++)
		flow::reader(6).handle.resume();
	for (; at[7] < 5; at[7]++)
		flow::single();
	printf("reader 0 %d 0\n", at[0]);
	for (int i = 1; i < 7; i++)
		printf("reader %d %d %d\n", i, at[i], flow::lines[i]);
	printf("single 1 %d %d\nleaf 1 %d %d\nreader ended %d 0\n", at[7], flow::lines[7], at[8],
	       flow::lines[8], ended);
	if (argc > 2) {
		puts("ready");
		fflush(stdout);
		pause();
	}
	fflush(stdout);
	flow::latest = tables;
	flow::latest = tasks;
	abort();
}
