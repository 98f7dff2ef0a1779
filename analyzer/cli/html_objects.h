/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Which blocks the page describes.
 */
#ifndef HAWK_ANALYZER_CLI_HTML_OBJECTS_H
#define HAWK_ANALYZER_CLI_HTML_OBJECTS_H

#include "hawk/analysis/fragmentation.h"
#include "hawk/analysis/object_links.h"
#include "leaks.h"

/** Chooses blocks that other parts of the page name, and describes them. Needs the graph; reads.
 * Deinitialize `ret` also after an error. */
struct hawk_error *hawk_html_choose_objects(struct hawk_session *session,
					    const struct hawk_leaks_session *leaks,
					    const struct hawk_fragmentation *fragmentation,
					    struct hawk_objects *ret);

#endif
