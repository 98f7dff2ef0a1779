/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The bounded list of findings.
 */
#include "hawk/base/findings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hawk/base/array.h"
#include "hawk/base/error.h"

enum { LIST_MAX = 64 };

void hawk_findings_init(struct hawk_findings *findings)
{
	*findings = (struct hawk_findings){0};
}

void hawk_findings_deinit(struct hawk_findings *findings)
{
	for (size_t i = 0; i < findings->count; i++)
		free(findings->items[i].text);
	free(findings->items);
	hawk_findings_init(findings);
}

/** Finds the last item with `key`, and the number of such items. */
static struct hawk_finding *find_key(struct hawk_findings *findings, const char *key, size_t *same)
{
	struct hawk_finding *last = NULL;

	*same = 0;
	for (size_t i = 0; i < findings->count; i++) {
		if (strcmp(findings->items[i].key, key))
			continue;
		last = &findings->items[i];
		++*same;
	}
	return last;
}

void hawk_findings_add(struct hawk_findings *findings, enum hawk_finding_sort sort, bool partial,
		       const char *key, const char *format, ...)
{
	struct hawk_finding *item;
	va_list arguments;
	size_t same;
	bool list = key[0] && key[strlen(key) - 1] == '*';

	if (!findings)
		return;
	item = find_key(findings, key, &same);
	if (item && (!list || same >= LIST_MAX)) {
		item->count++;
		item->partial |= partial;
		return;
	}
	if (!hawk_array_reserve(&findings->items, findings->count, &findings->capacity,
				sizeof(*item))) {
		findings->forgotten = true;
		return;
	}
	item = &findings->items[findings->count];
	*item = (struct hawk_finding){.sort = sort, .key = key, .count = 1, .partial = partial};
	va_start(arguments, format);
	if (vasprintf(&item->text, format, arguments) < 0)
		findings->forgotten = true;
	else
		findings->count++;
	va_end(arguments);
}

void hawk_findings_add_all(struct hawk_findings *findings, const struct hawk_findings *from)
{
	for (size_t i = 0; i < from->count; i++)
		hawk_findings_add(findings, from->items[i].sort, from->items[i].partial,
				  from->items[i].key, "%s", from->items[i].text);
}

static int compare(const void *a, const void *b)
{
	const struct hawk_finding *one = a, *other = b;
	int order = strcmp(one->key, other->key);

	return order ? order : strcmp(one->text, other->text);
}

void hawk_findings_sort(struct hawk_findings *findings, size_t from)
{
	if (findings && findings->count > from)
		qsort(findings->items + from, findings->count - from, sizeof(*findings->items),
		      compare);
}

bool hawk_findings_partial(const struct hawk_findings *findings)
{
	static const char *const none[] = {NULL};

	return hawk_findings_partial_but(findings, none);
}

static bool is_one_of(const char *key, const char *const *keys)
{
	while (*keys && strcmp(key, *keys))
		keys++;
	return *keys;
}

bool hawk_findings_partial_but(const struct hawk_findings *findings, const char *const *keys)
{
	for (size_t i = 0; i < findings->count; i++)
		if (findings->items[i].partial && !is_one_of(findings->items[i].key, keys))
			return true;
	return hawk_findings_forgotten(findings);
}

bool hawk_findings_forgotten(const struct hawk_findings *findings)
{
	return findings->forgotten || hawk_enomem_swallowed();
}

void hawk_findings_drop(struct hawk_findings *findings, const char *const *keys, size_t *mark)
{
	size_t kept = 0, marked = *mark;

	for (size_t i = 0; i < findings->count; i++) {
		if (is_one_of(findings->items[i].key, keys)) {
			free(findings->items[i].text);
			*mark -= i < marked;
		} else {
			findings->items[kept++] = findings->items[i];
		}
	}
	findings->count = kept;
}
