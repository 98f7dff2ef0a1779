/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Feeds every file of a corpus folder to a fuzz target, so that the corpus is an ordinary test in
 * builds without libFuzzer.
 *
 * Each input is also tried cut off at many lengths: a parser that trusts a size it has read falls
 * here. An empty or missing folder is an error, because a test without inputs proves nothing.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	INPUT_BYTES_MAX = 16 << 20,
	CUTS = 64,
};

/* A copy of exactly `size` bytes, so that a sanitizer sees the first byte read past the end. */
static void run_input(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);

	if (!copy)
		abort();
	memcpy(copy, data, size);
	LLVMFuzzerTestOneInput(copy, size);
	free(copy);
}

static void run_cuts(const uint8_t *data, size_t size)
{
	size_t step = size / CUTS + 1;

	for (size_t cut = 0; cut < size; cut += step)
		run_input(data, cut);
	run_input(data, size);
}

static int run_file(int directory, const char *name)
{
	struct stat status;
	int result = -1;
	int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -1;
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
	    status.st_size <= INPUT_BYTES_MAX) {
		uint8_t *data = malloc((size_t)status.st_size + 1);
		ssize_t got = data ? read(fd, data, (size_t)status.st_size) : -1;

		if (got == status.st_size) {
			run_cuts(data, (size_t)got);
			result = 0;
		}
		free(data);
	}
	close(fd);
	return result;
}

/* Returns the number of inputs run, or -1. */
static long run_folder(const char *path)
{
	DIR *folder = opendir(path);
	long count = 0;

	if (!folder) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		return -1;
	}
	for (struct dirent *entry; (entry = readdir(folder));) {
		if (entry->d_name[0] == '.')
			continue;
		if (run_file(dirfd(folder), entry->d_name)) {
			fprintf(stderr, "%s/%s: cannot be read\n", path, entry->d_name);
			closedir(folder);
			return -1;
		}
		count++;
	}
	closedir(folder);
	return count;
}

int main(int argc, char **argv)
{
	long total = 0;

	for (int i = 1; i < argc; i++) {
		long count = run_folder(argv[i]);

		if (count < 0)
			return EXIT_FAILURE;
		total += count;
	}
	printf("%ld inputs\n", total);
	return total > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
