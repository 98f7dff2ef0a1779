/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The ELF files below a directory, by build-id: for a folder of unpacked packages, whatever the
 * files are called. Read at the first question.
 */
#ifndef HAWK_ANALYZER_SYMBOLS_MODULE_TREE_H
#define HAWK_ANALYZER_SYMBOLS_MODULE_TREE_H

#include "hawk/base/error.h"
#include "hawk/base/findings.h"
#include "hawk/target/target.h"

struct hawk_module_tree;

struct hawk_module_file {
	uint8_t build_id[HAWK_MODULE_BUILD_ID_MAX];
	uint32_t build_id_bytes;
	char *path;
};

/** `directory` must outlive the tree. NULL = out of memory. */
struct hawk_module_tree *hawk_module_tree_create(const char *directory);

/** Returns the files with that build-id, by path; they belong to the tree. */
struct hawk_error *hawk_module_tree_find(struct hawk_module_tree *tree, const uint8_t *id,
					 size_t bytes, struct hawk_findings *findings,
					 const struct hawk_module_file **ret, size_t *count);

/** Accepts NULL. */
void hawk_module_tree_destroy(struct hawk_module_tree *tree);

#endif
