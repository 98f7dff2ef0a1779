/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Walks the directory with fts(3). Symbolic links are not followed, so that the walk ends; the
 * number of entries is limited.
 */
#include "module_tree.h"

#include <fts.h>
#include <stdlib.h>
#include <string.h>

#include "elf.h"
#include "hawk/base/array.h"
#include "hawk/base/cleanup.h"

enum { ENTRIES_MAX = 200000 };

struct hawk_module_tree {
	const char *directory;
	bool is_read;
	struct hawk_module_file *files; /* sorted by build-id, then by path */
	size_t count, capacity;
};

struct hawk_module_tree *hawk_module_tree_create(const char *directory)
{
	struct hawk_module_tree *tree = calloc(1, sizeof(*tree));

	if (tree)
		tree->directory = directory;
	return tree;
}

void hawk_module_tree_destroy(struct hawk_module_tree *tree)
{
	if (!tree)
		return;
	for (size_t i = 0; i < tree->count; i++)
		free(tree->files[i].path);
	free(tree->files);
	free(tree);
}

static int compare_ids(const struct hawk_module_file *a, const struct hawk_module_file *b)
{
	if (a->build_id_bytes != b->build_id_bytes)
		return a->build_id_bytes < b->build_id_bytes ? -1 : 1;
	return memcmp(a->build_id, b->build_id, a->build_id_bytes);
}

static int compare_files(const void *left, const void *right)
{
	const struct hawk_module_file *a = left, *b = right;
	int order = compare_ids(a, b);

	return order ? order : strcmp(a->path, b->path);
}

static struct hawk_error *add_file(struct hawk_module_tree *tree, const char *path)
{
	CLEANUP(elf) struct hawk_elf *elf = NULL;
	struct hawk_module_file *file;
	const char *why;
	struct hawk_error *err = hawk_elf_open(path, &why, &elf);

	if (err || !elf || !elf->build_id_bytes)
		return err;
	if (!hawk_array_reserve(&tree->files, tree->count, &tree->capacity, sizeof(*tree->files)))
		return &hawk_enomem;
	file = &tree->files[tree->count];
	file->path = strdup(path);
	if (!file->path)
		return &hawk_enomem;
	memcpy(file->build_id, elf->build_id, sizeof(file->build_id));
	file->build_id_bytes = elf->build_id_bytes;
	tree->count++;
	return NULL;
}

static struct hawk_error *read_entries(struct hawk_module_tree *tree, FTS *walk,
				       struct hawk_findings *findings)
{
	struct hawk_error *err = NULL;
	size_t count = 0;
	FTSENT *entry;

	while (!err && (entry = fts_read(walk))) {
		if (entry->fts_info == FTS_DNR)
			hawk_findings_add(findings, HAWK_FINDING_MISSING, false, "module-dir*",
					  "cannot read %s: files in it are not found",
					  entry->fts_path);
		if (entry->fts_info == FTS_F)
			err = add_file(tree, entry->fts_path);
		if (++count < ENTRIES_MAX)
			continue;
		hawk_findings_add(findings, HAWK_FINDING_MISSING, false, "module-dir*",
				  "%s has more than %d entries: the others were not looked at",
				  tree->directory, ENTRIES_MAX);
		break;
	}
	return err;
}

static struct hawk_error *read_tree(struct hawk_module_tree *tree, struct hawk_findings *findings)
{
	char *const paths[] = {(char *)tree->directory, NULL};
	FTS *walk = fts_open(paths, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, NULL);
	struct hawk_error *err;

	tree->is_read = true;
	if (!walk)
		return &hawk_enomem;
	err = read_entries(tree, walk, findings);
	fts_close(walk);
	if (tree->count)
		qsort(tree->files, tree->count, sizeof(*tree->files), compare_files);
	return err;
}

struct hawk_error *hawk_module_tree_find(struct hawk_module_tree *tree, const uint8_t *id,
					 size_t bytes, struct hawk_findings *findings,
					 const struct hawk_module_file **ret, size_t *count)
{
	struct hawk_module_file wanted = {.build_id_bytes = (uint32_t)bytes};
	struct hawk_error *err = tree->is_read ? NULL : read_tree(tree, findings);
	size_t first = 0, end;

	if (err)
		return err;
	memcpy(wanted.build_id, id, bytes);
	while (first < tree->count && compare_ids(&tree->files[first], &wanted) < 0)
		first++;
	for (end = first; end < tree->count && !compare_ids(&tree->files[end], &wanted);)
		end++;
	*ret = tree->files + first;
	*count = end - first;
	return NULL;
}
