/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A compressed core, as systemd-coredump and many a core_pattern script store it, becomes a file
 * without a name that is mapped like any other core: an analysis jumps about in it. Pages of zeros
 * become holes, so it takes no more room than the process's memory did. A file that is made to
 * unpack into far more than cores do is refused before it fills the file system.
 */
#ifndef HAWK_CORE_UNPACK_H
#define HAWK_CORE_UNPACK_H

#include "core_file.h"

/** Whether `file` is compressed in a way that can be unpacked here. */
bool hawk_core_unpack_needed(const struct hawk_core_file *file);

/**
 * The unpacked `packed`, which is consumed, also if it fails. `path` names it in errors. Of a core
 * that was cut off or damaged, what comes before the damage, with the finding "core-unpack".
 */
struct hawk_error *hawk_core_unpack(struct hawk_core_file *packed, const char *path,
				    const struct hawk_unpack_settings *settings,
				    struct hawk_findings *findings, struct hawk_core_file **ret);

#endif
