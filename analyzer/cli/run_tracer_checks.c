/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Can children of the program that change to another user still load the tracer?
 */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hawk_cleanup.h"
#include "hawk_run_checks.h"

enum { MODE_BITS = 07777 };

/** Appends a warning unless others have the right `needed` to `path`. Returns whether they do. */
static bool check_mode(const char *path, mode_t needed, const char *change,
		       struct hawk_text *warnings)
{
	struct stat info;

	if (stat(path, &info) != 0 || info.st_mode & needed)
		return true;
	hawk_text_printf(
		warnings,
		"children that change to another user (su, setpriv, a daemon that gives up "
		"root) cannot load the tracer and run untraced, with a message of their "
		"loader: %s has mode %04o; chmod %s %s, or install the tracer elsewhere\n",
		path, (unsigned)info.st_mode & MODE_BITS, change, path);
	return false;
}

void hawk_run_check_tracer(const char *tracer, struct hawk_text *warnings)
{
	CLEANUP(free_ptr) char *path = strdup(tracer);

	/* Other users' children come from su or sudo, which are set-user-id: LD_PRELOAD ends there.
	 */
	if (!path || geteuid() != 0)
		return;
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		bool searchable;

		*slash = '\0';
		searchable = check_mode(path, S_IXOTH, "o+x", warnings);
		*slash = '/';
		if (!searchable)
			return;
	}
	check_mode(path, S_IROTH, "o+r", warnings);
}
