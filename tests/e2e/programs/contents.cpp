// SPDX-License-Identifier: Apache-2.0
/* Blocks and strings in known numbers: 40 blocks of each of 5 texts, 30 objects with a short
 * std::string, 25 equal blocks held by one table, 20 blocks of zeros, a text of 5,000 bytes, one
 * with a tab, a line end and letters beyond ASCII, and 10 blocks that hold a pointer. */
#include <cstdlib>
#include <cstring>
#include <string>

struct Named {
	long number;
	std::string name;
};

struct Table {
	unsigned char *cells[25];
};

char *texts[200];
Named *named[30];
Table *table;
void *zeros[20];
char *longest, *mixed;
void **pointers[10];

int main()
{
	for (int i = 0; i < 200; i++) {
		texts[i] = static_cast<char *>(calloc(1, 40));
		memcpy(texts[i], "tenant number x", 15);
		texts[i][14] = static_cast<char>('A' + i % 5);
	}
	for (long i = 0; i < 30; i++)
		named[i] = new Named{i, "short text"};
	table = new Table;
	for (auto &cell : table->cells) {
		cell = static_cast<unsigned char *>(calloc(1, 500));
		for (int i = 0; i < 500; i++)
			cell[i] = static_cast<unsigned char>(i * 7 + 129);
	}
	for (auto &zero : zeros)
		zero = calloc(1, 300);
	longest = static_cast<char *>(calloc(1, 5001));
	memset(longest, 'l', 5000);
	mixed = static_cast<char *>(calloc(1, 100));
	memcpy(mixed, "tab\tend\n\xd0\xb6", 10);
	for (auto &pointer : pointers) {
		pointer = static_cast<void **>(calloc(1, 8));
		*pointer = &table;
	}
	abort();
}
