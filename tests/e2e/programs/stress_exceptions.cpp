/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Exceptions in flight: destructors that allocate while the stack is being unwound, exceptions
 * within them, rethrown ones, and ones that change threads. Prints a sum that must be the same with
 * the tracer and without it.
 */
#include <cstdio>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace
{

/** Allocates, and throws and catches, while another exception passes through its frame. */
struct guard {
	explicit guard(int depth) : text(static_cast<size_t>(depth) * 10 + 40, 'x')
	{
	}
	~guard()
	{
		try {
			std::string copy = text + text;

			if (copy.size() % 3 == 0)
				throw std::runtime_error(copy);
		} catch (const std::runtime_error &error) {
			text = error.what();
		}
	}
	std::string text;
};

__attribute__((noinline)) long descend(int depth)
{
	guard here(depth);
	auto block = std::make_unique<int[]>(static_cast<size_t>(depth) + 1);

	if (!depth)
		throw std::out_of_range(std::string(100, 'y'));
	block[0] = depth;
	long sum = descend(depth - 1);
	return sum + block[0];
}

long once(int depth)
{
	try {
		try {
			return descend(depth);
		} catch (const std::logic_error &) {
			auto block = std::make_unique<long>(depth);

			throw; // with a block of its own to free
		}
	} catch (const std::exception &error) {
		return static_cast<long>(std::string(error.what()).size()) + depth;
	}
}

long from_another_thread()
{
	std::exception_ptr exception;
	std::thread thread([&] {
		try {
			descend(5);
		} catch (...) {
			exception = std::current_exception();
		}
	});

	thread.join();
	try {
		std::rethrow_exception(exception);
	} catch (const std::out_of_range &error) {
		return static_cast<long>(std::string(error.what()).size());
	}
}

} // namespace

int main()
{
	std::vector<std::thread> threads;
	std::vector<long> sums(4);

	for (size_t i = 0; i < sums.size(); i++)
		threads.emplace_back([&sums, i] {
			for (int j = 0; j < 500; j++)
				sums[i] += once(j % 20);
		});
	for (auto &thread : threads)
		thread.join();
	for (long sum : sums)
		std::printf("%ld\n", sum);
	for (int i = 0; i < 20; i++)
		std::printf("%ld\n", from_another_thread());
	return 0;
}
