/* SPDX-License-Identifier: Apache-2.0 */
/** @file usage: enter_root ROOT NAME=VALUE... -- PROGRAM ARGUMENTS...: becomes the program, in ROOT
 * and with that environment only. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int count, char **arguments)
{
	int end = 2;

	while (end < count && strcmp(arguments[end], "--"))
		end++;
	if (end + 1 >= count)
		return 2;
	arguments[end] = NULL;
	if (chroot(arguments[1]) || chdir("/work"))
		perror(arguments[1]);
	else
		execve(arguments[end + 1], arguments + end + 1, arguments + 2);
	perror(arguments[end + 1]);
	return 1;
}
