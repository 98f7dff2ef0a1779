/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Some file systems have no nameless files: there a name is taken away at once.
 */
#include "hawk_nameless.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "hawk_cleanup.h"

const char *hawk_nameless_folder(void)
{
	const char *folder = getenv("TMPDIR");

	return folder && *folder ? folder : HAWK_NAMELESS_FOLDER;
}

int hawk_nameless_open(const char *folder)
{
	CLEANUP(free_ptr) char *path = NULL;
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR))
		return fd;
	if (asprintf(&path, "%s/hawk-core-XXXXXX", folder) < 0) {
		path = NULL;
		errno = ENOMEM;
		return -1;
	}
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		unlink(path);
	return fd;
}
