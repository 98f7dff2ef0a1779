/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Files without a name: whatever ends this process, nothing of them is left.
 */
#ifndef HAWK_NAMELESS_H
#define HAWK_NAMELESS_H

/** Where they are made if the user says nothing, by TMPDIR: not on what may be memory. */
#define HAWK_NAMELESS_FOLDER "/var/tmp"

/** TMPDIR, or the above. */
const char *hawk_nameless_folder(void);

/** A new one in `folder`, for reading and writing, closed by exec, for this user only; the caller
 * closes it. -1 and errno: there can be none. */
int hawk_nameless_open(const char *folder);

#endif
