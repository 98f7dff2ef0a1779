/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Objects of JSON documents.
 */
#include "objects.h"

#include "hawk/base/cleanup.h"
#include "hawk/analysis/scope_groups.h"

void hawk_json_begin(struct hawk_json *json, struct hawk_output *output, const char *schema,
		     const char *source, unsigned lines)
{
	hawk_json_init(json, output, lines);
	hawk_json_object(json);
	hawk_json_put_string(json, "schema", schema);
	hawk_json_put_integer(json, "version", HAWK_JSON_VERSION);
	hawk_json_put_string(json, "source", source);
}

void hawk_json_end(struct hawk_json *json, const struct hawk_next *next,
		   const struct hawk_findings *findings, bool partial)
{
	hawk_report_next_json(next, json);
	hawk_json_put_frame_table(json);
	hawk_json_put_findings(json, findings);
	hawk_json_put_boolean(json, "partial", partial);
	hawk_json_object_end(json);
	hawk_json_finish(json);
}

static void put_finding(struct hawk_json *json, const struct hawk_finding *finding)
{
	size_t length = strlen(finding->key);
	char key[64];

	/* The star that asks for a list is not part of the key. */
	if (length && finding->key[length - 1] == '*')
		length--;
	length = length < sizeof(key) ? length : sizeof(key) - 1;
	memcpy(key, finding->key, length);
	key[length] = '\0';
	hawk_json_object(json);
	hawk_json_put_string(json, "key", key);
	hawk_json_put_string(json, "text", finding->text);
	hawk_json_put_integer(json, "count", finding->count);
	hawk_json_put_boolean(json, "partial", finding->partial);
	hawk_json_object_end(json);
}

static void put_sort(struct hawk_json *json, const char *key, const struct hawk_findings *findings,
		     enum hawk_finding_sort sort)
{
	static char text[] = "memory ran out: what else is missing is not known";
	static const struct hawk_finding forgotten = {
		.key = "findings-forgotten", .text = text, .count = 1, .partial = true};
	bool is_forgotten = sort == HAWK_FINDING_MISSING && hawk_findings_forgotten(findings);
	size_t left, all = is_forgotten;

	for (size_t i = 0; i < findings->count; i++)
		all += findings->items[i].sort == sort;
	left = hawk_json_put_list(json, key, all);
	if (is_forgotten) {
		put_finding(json, &forgotten);
		left--;
	}
	for (int partial = 1; partial >= 0; partial--) {
		for (size_t i = 0; i < findings->count && left; i++) {
			const struct hawk_finding *item = &findings->items[i];

			if (item->sort != sort || item->partial != (bool)partial)
				continue;
			put_finding(json, item);
			left--;
		}
	}
	hawk_json_array_end(json);
}

void hawk_json_put_findings(struct hawk_json *json, const struct hawk_findings *findings)
{
	put_sort(json, "missing", findings, HAWK_FINDING_MISSING);
	put_sort(json, "damage", findings, HAWK_FINDING_DAMAGE);
}

void hawk_json_put_site_stack(struct hawk_json *json, struct hawk_symbols *symbols,
			      const struct hawk_heap *heap, uint32_t site)
{
	struct hawk_stack stack = {0};

	if (site < heap->site_count)
		hawk_stack_of_blocks(symbols, heap, heap->sites[site].trace, &stack);
	hawk_json_put_stack(json, &stack);
	hawk_stack_deinit(&stack);
}

void hawk_json_put_scope_path(struct hawk_json *json, const char *key,
			      const struct hawk_table *table, uint32_t label)
{
	uint32_t labels[HAWK_SCOPE_PATH_MAX];
	size_t count = hawk_scope_path(table, label, labels, HAWK_SCOPE_PATH_MAX);

	hawk_json_put_array(json, key);
	for (size_t i = 0; i < count; i++)
		hawk_json_string(json, hawk_table_label(table, labels[i])->name);
	hawk_json_array_end(json);
}

void hawk_json_put_knowledge(struct hawk_json *json, const struct hawk_heap *heap)
{
	if (heap->knows || heap->unknown == HAWK_HEAP_NOT_TRACED)
		hawk_json_put_boolean(json, "traced", heap->knows & HAWK_HEAP_STACKS);
	else
		hawk_json_put_null(json, "traced");
	hawk_json_put_string(json, "unknown", hawk_heap_unknown_text(heap));
}

void hawk_json_put_site(struct hawk_json *json, const char *key, const struct hawk_heap *heap,
			uint32_t site)
{
	if (site < heap->site_count)
		hawk_json_put_id(json, key, heap->sites[site].id);
	else
		hawk_json_put_null(json, key);
}

void hawk_json_put_sites(struct hawk_json *json, const char *key, const struct hawk_heap *heap,
			 const uint32_t *sites, size_t count)
{
	hawk_json_put_array(json, key);
	for (size_t i = 0; i < count; i++)
		hawk_json_id(json, heap->sites[sites[i]].id);
	hawk_json_array_end(json);
}

void hawk_json_put_root(struct hawk_json *json, const char *key, struct hawk_root_namer *namer,
			uint32_t root)
{
	struct hawk_root_name name = hawk_root_find(namer, root);
	CLEANUP(text) struct hawk_text text = {0};

	hawk_root_name_append(&text, &name, SIZE_MAX);
	hawk_json_put_object(json, key);
	hawk_json_put_string(json, "name", text.bytes);
	hawk_json_put_string(json, "kind", hawk_root_kind_name(name.kind));
	hawk_json_put_address_if(json, "address", name.kind != HAWK_ROOT_REGISTER, name.address);
	hawk_json_put_integer_if(json, "thread", name.kind <= HAWK_ROOT_TLS, name.tid);
	hawk_json_put_string(json, "register", name.reg[0] ? name.reg : NULL);
	hawk_json_put_integer_if(json, "frame", name.has_frame, name.frame);
	hawk_json_put_string(json, "function", name.function);
	hawk_json_put_string(json, "variable", name.variable);
	hawk_json_put_string(json, "symbol", name.symbol);
	hawk_json_put_string(json, "module", name.module);
	hawk_json_put_string(json, "section", name.section);
	hawk_json_put_string(json, "mapping", name.mapping);
	hawk_json_put_signed_if(json, "offset", true, name.offset);
	hawk_json_object_end(json);
}

void hawk_json_put_sum(struct hawk_json *json, const char *key, uint64_t objects, uint64_t bytes)
{
	hawk_json_put_object(json, key);
	hawk_json_put_integer(json, "objects", objects);
	hawk_json_put_integer(json, "bytes", bytes);
	hawk_json_object_end(json);
}

const char *hawk_json_reach_key(enum hawk_reach_kind kind)
{
	static const char *const keys[HAWK_REACH_KINDS] = {
		[HAWK_REACH_REACHABLE] = "still_reachable",
		[HAWK_REACH_POSSIBLY] = "possibly_lost",
		[HAWK_REACH_DEFINITELY_LOST] = "definitely_lost",
		[HAWK_REACH_INDIRECTLY_LOST] = "indirectly_lost",
	};

	return kind < HAWK_REACH_KINDS ? keys[kind] : NULL;
}
