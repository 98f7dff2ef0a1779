/* SPDX-License-Identifier: Apache-2.0 */
/** @file A std::list and a std::map with 10,000 entries each: operator new from the C++ library's
 * templates. */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <map>
#include <string>

static void fill(std::list<int> &numbers, std::map<int, std::string> &names)
{
	for (int i = 0; i < 10000; i++) {
		numbers.push_back(i);
		names[i] = std::string(30, static_cast<char>('a' + i % 26));
	}
}

int main(int argc, char **argv)
{
	std::list<int> numbers;
	std::map<int, std::string> names;

	fill(numbers, names);
	std::printf("%zu numbers, %zu names, last %s\n", numbers.size(), names.size(),
		    names[9999].c_str());
	std::fflush(stdout);
	if (argc > 1 && !std::strcmp(argv[1], "abort"))
		std::abort();
	return 0;
}
