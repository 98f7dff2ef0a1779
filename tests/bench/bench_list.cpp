/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The workload that allocation tracers are compared by: THREADS threads, each of which pushes COUNT
 * numbers into a std::list of its own, and drops it. Nearly nothing but operator new and delete.
 *
 *     bench_list [THREADS [COUNT]]
 */
#include <cstdio>
#include <cstdlib>
#include <list>
#include <thread>
#include <vector>

static void push_numbers(std::size_t *size, int count)
{
	std::list<int> numbers;

	for (int i = 0; i < count; i++)
		numbers.push_back(i);
	*size = numbers.size();
}

int main(int argc, char **argv)
{
	int thread_count = argc > 1 ? std::atoi(argv[1]) : 16;
	int count = argc > 2 ? std::atoi(argv[2]) : 1000000;
	std::vector<std::size_t> sizes(static_cast<std::size_t>(thread_count));
	std::vector<std::thread> threads;
	std::size_t sum = 0;

	for (auto &size : sizes)
		threads.emplace_back(push_numbers, &size, count);
	for (auto &thread : threads)
		thread.join();
	for (std::size_t size : sizes)
		sum += size;
	std::printf("%zu numbers\n", sum);
	return 0;
}
