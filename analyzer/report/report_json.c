/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The JSON document of `hawk-core analyze`. Its prose twin is docs/json.md, its schema
 * docs/schema/analyze-1.json: change them together, and add keys only.
 */
#include "hawk_json.h"
#include "hawk_report.h"
#include "hawk_report_suspects.h"
#include "hawk_signal.h"

enum { DOCUMENT_VERSION = 1, DOCUMENT_LINES = 2 };

static void put_line(const struct hawk_stack_line *line, struct hawk_json *json)
{
	static const char *const kinds[] = {[HAWK_LINE_FUNCTION] = "function",
					    [HAWK_LINE_SCOPE] = "scope",
					    [HAWK_LINE_REPEAT] = "repeat",
					    [HAWK_LINE_CUT] = "cut"};
	bool scope = line->kind == HAWK_LINE_SCOPE;

	hawk_json_object(json);
	hawk_json_put_string(json, "kind", kinds[line->kind]);
	hawk_json_put_string(json, "scope", scope ? line->name.function : NULL);
	hawk_json_put_string(json, "function", scope ? NULL : line->name.function);
	hawk_json_put_string(json, "file", line->name.file);
	hawk_json_key(json, "line");
	if (line->name.line)
		hawk_json_integer(json, line->name.line);
	else
		hawk_json_null(json);
	hawk_json_put_string(json, "module", line->has_module ? line->module.path : NULL);
	hawk_json_key(json, "build_id");
	hawk_json_bytes(json, line->module.build_id, line->module.build_id_bytes);
	hawk_json_key(json, "address");
	if (line->kind == HAWK_LINE_FUNCTION)
		hawk_json_address(json, line->pc);
	else
		hawk_json_null(json);
	hawk_json_put_boolean(json, "inlined", line->name.inlined);
	hawk_json_key(json, "module_address");
	if (line->has_module)
		hawk_json_address(json, line->pc - line->module.bias);
	else
		hawk_json_null(json);
	if (scope)
		hawk_json_put_boolean(json, "placed", !line->unplaced);
	if (line->kind == HAWK_LINE_REPEAT) {
		hawk_json_put_integer(json, "period", line->period);
		hawk_json_put_integer(json, "times", line->times);
	}
	if (line->left_out)
		hawk_json_put_integer(json, "left_out", line->left_out);
	hawk_json_object_end(json);
}

void hawk_report_json_stack(const struct hawk_stack *stack, struct hawk_json *json)
{
	hawk_json_array(json);
	for (size_t i = 0; i < stack->count; i++)
		put_line(&stack->lines[i], json);
	hawk_json_array_end(json);
}

static void put_guessed(const struct hawk_stack *stack, struct hawk_json *json)
{
	hawk_json_put_boolean(json, "frames_may_be_missing",
			      stack->trace_flags & HAWK_TRACE_GUESSED);
}

static struct hawk_error *put_threads(const struct hawk_report *report, struct hawk_json *json)
{
	size_t count;
	const struct hawk_thread *threads = hawk_target_threads(report->target, &count);
	struct hawk_stack stack;
	struct hawk_error *err = NULL;

	hawk_stack_init(&stack);
	hawk_json_key(json, "threads");
	hawk_json_array(json);
	for (size_t i = 0; i < count; i++) {
		err = hawk_stack_of_thread(report->symbols, &threads[i], &stack);
		if (err)
			break;
		hawk_json_object(json);
		hawk_json_put_integer(json, "tid", threads[i].tid);
		hawk_json_put_string(json, "name", threads[i].name[0] ? threads[i].name : NULL);
		hawk_json_put_boolean(json, "crashed", threads[i].crashed);
		hawk_json_put_boolean(json, "complete", stack.end == HAWK_UNWIND_END_OUTERMOST);
		hawk_json_put_integer(json, "frame_count", stack.frame_count);
		put_guessed(&stack, json);
		hawk_json_key(json, "frames");
		hawk_report_json_stack(&stack, json);
		hawk_json_object_end(json);
	}
	hawk_json_array_end(json);
	hawk_stack_deinit(&stack);
	return err;
}

static void put_if_known(struct hawk_json *json, const char *key, bool known, uint64_t value)
{
	hawk_json_key(json, key);
	if (known)
		hawk_json_integer(json, value);
	else
		hawk_json_null(json);
}

static void put_signal(const struct hawk_process *process, struct hawk_json *json)
{
	hawk_json_key(json, "signal");
	if (process->signal)
		hawk_json_signed(json, process->signal);
	else
		hawk_json_null(json);
	hawk_json_put_string(json, "signal_name", hawk_signal_name(process->signal));
	hawk_json_key(json, "signal_code");
	if (process->has_siginfo)
		hawk_json_signed(json, process->signal_code);
	else
		hawk_json_null(json);
	hawk_json_key(json, "fault_address");
	if (process->has_fault_address)
		hawk_json_address(json, process->fault_address);
	else
		hawk_json_null(json);
	hawk_json_key(json, "sender_pid");
	if (process->sender_pid)
		hawk_json_integer(json, process->sender_pid);
	else
		hawk_json_null(json);
}

struct hawk_error *hawk_report_json_process(const struct hawk_report *report,
					    struct hawk_json *json)
{
	const struct hawk_process *process = hawk_target_process(report->target);
	struct hawk_error *err;

	hawk_json_key(json, "process");
	hawk_json_object(json);
	hawk_json_put_integer(json, "pid", process->pid);
	hawk_json_put_string(json, "program", process->program[0] ? process->program : NULL);
	hawk_json_put_string(json, "name", process->name[0] ? process->name : NULL);
	hawk_json_put_string(json, "arguments", process->arguments[0] ? process->arguments : NULL);
	put_signal(process, json);
	hawk_json_put_boolean(json, "live", process->live);
	hawk_json_key(json, "pause_ns");
	if (process->live)
		hawk_json_integer(json, hawk_target_pause_ns(report->target));
	else
		hawk_json_null(json);
	put_if_known(json, "resident_bytes", process->resident_bytes, process->resident_bytes);
	put_if_known(json, "peak_resident_bytes", process->resident_bytes,
		     process->peak_resident_bytes);
	put_if_known(json, "swapped_bytes", process->resident_bytes, process->swapped_bytes);
	err = put_threads(report, json);
	hawk_json_object_end(json);
	return err;
}

/** What a table file, which has no memory of its process, cannot tell. */
static void put_of_memory(const struct hawk_heap *heap, struct hawk_json *json, const char *key,
			  uint64_t bytes)
{
	hawk_json_key(json, key);
	if (heap->counted)
		hawk_json_null(json);
	else
		hawk_json_integer(json, bytes);
}

static void put_heap(const struct hawk_report *report, struct hawk_json *json)
{
	const struct hawk_heap *heap = report->heap;
	const struct hawk_accounting *memory = &heap->accounting;
	const struct hawk_table_header *header;

	hawk_json_key(json, "heap");
	hawk_json_object(json);
	hawk_json_put_boolean(json, "traced", heap->table);
	if (!heap->table) {
		hawk_json_object_end(json);
		return;
	}
	header = hawk_table_header(heap->table);
	hawk_json_put_string(json, "source", heap->counted ? "counters" : "sweep");
	hawk_json_put_integer(json, "inuse_objects", heap->sweep.blocks);
	hawk_json_put_integer(json, "inuse_bytes", heap->sweep.bytes);
	put_of_memory(heap, json, "header_bytes", memory->header_bytes);
	put_of_memory(heap, json, "overhead_bytes", memory->overhead_bytes);
	put_of_memory(heap, json, "never_used_bytes", memory->never_used_bytes);
	put_of_memory(heap, json, "heap_bytes", memory->heap_bytes);
	hawk_json_put_integer(json, "tracer_bytes",
			      heap->counted ? heap->totals.tracer_bytes : memory->tracer_bytes);
	put_of_memory(heap, json, "writable_bytes", memory->writable_bytes);
	put_of_memory(heap, json, "touched_bytes", memory->touched_bytes);
	hawk_json_put_integer(json, "alloc_objects", heap->totals.alloc_objects);
	hawk_json_put_integer(json, "alloc_bytes", heap->totals.alloc_bytes);
	hawk_json_put_integer(json, "free_objects", heap->totals.free_objects);
	hawk_json_put_integer(json, "free_bytes", heap->totals.free_bytes);
	hawk_json_put_integer(json, "threads", heap->totals.threads);
	hawk_json_put_integer(json, "dropped", header->dropped_objects);
	hawk_json_put_integer(json, "dropped_bytes", header->dropped_bytes);
	hawk_json_put_integer(json, "overlapping", heap->sweep.overlapping);
	hawk_json_put_integer(json, "implausible", heap->sweep.implausible);
	hawk_json_put_integer(json, "clipped", heap->sweep.clipped);
	hawk_json_put_integer(json, "carved_objects", heap->sweep.carved_objects);
	hawk_json_put_integer(json, "carved_bytes", heap->sweep.carved_bytes);
	hawk_json_key(json, "uptime_seconds");
	hawk_json_seconds(json, hawk_heap_age_seconds(heap, 0));
	hawk_json_put_boolean(json, "sites_estimated", heap->sample_mean);
	hawk_json_key(json, "sample_mean_bytes");
	if (heap->sample_mean)
		hawk_json_integer(json, heap->sample_mean);
	else
		hawk_json_null(json);
	hawk_json_object_end(json);
}

static void put_sample(const struct hawk_site_sample *sample, struct hawk_json *json)
{
	hawk_json_put_boolean(json, "estimated", sample->estimated);
	if (!sample->estimated)
		return;
	hawk_json_key(json, "sample");
	hawk_json_object(json);
	hawk_json_put_integer(json, "inuse_objects", sample->inuse_objects);
	hawk_json_put_integer(json, "inuse_bytes", sample->inuse_bytes);
	hawk_json_put_integer(json, "alloc_objects", sample->alloc_objects);
	hawk_json_put_integer(json, "alloc_bytes", sample->alloc_bytes);
	hawk_json_put_integer(json, "inuse_objects_error", sample->inuse_objects_error);
	hawk_json_put_integer(json, "inuse_bytes_error", sample->inuse_bytes_error);
	hawk_json_put_integer(json, "alloc_bytes_error", sample->alloc_bytes_error);
	hawk_json_object_end(json);
}

static void put_temporary(const struct hawk_site *site, struct hawk_json *json)
{
	uint64_t objects = site->alloc_objects > site->inuse_objects
				   ? site->alloc_objects - site->inuse_objects
				   : 0;
	uint64_t bytes =
		site->alloc_bytes > site->inuse_bytes ? site->alloc_bytes - site->inuse_bytes : 0;

	hawk_json_put_integer(json, "temporary_objects", objects);
	hawk_json_put_integer(json, "temporary_bytes", bytes);
	hawk_json_key(json, "average_bytes");
	if (site->alloc_objects)
		hawk_json_integer(json, site->alloc_bytes / site->alloc_objects);
	else
		hawk_json_null(json);
}

static void put_age(const struct hawk_heap *heap, const struct hawk_site *site,
		    struct hawk_json *json, const char *key, uint64_t birth_units)
{
	hawk_json_key(json, key);
	if (site->inuse_objects && !heap->counted)
		hawk_json_seconds(json, hawk_heap_age_seconds(heap, birth_units));
	else
		hawk_json_null(json);
}

static struct hawk_error *put_site(const struct hawk_report *report, const struct hawk_site *site,
				   struct hawk_stack *stack, struct hawk_json *json)
{
	struct hawk_error *err =
		hawk_stack_of_trace(report->symbols, report->heap->table, site->trace, stack);
	char id[17] = "";

	if (err)
		return err;
	for (int i = 0; i < 16; i++)
		id[i] = "0123456789abcdef"[site->id >> (60 - 4 * i) & 15];
	hawk_json_object(json);
	hawk_json_put_string(json, "site", id);
	hawk_json_put_integer(json, "inuse_objects", site->inuse_objects);
	hawk_json_put_integer(json, "inuse_bytes", site->inuse_bytes);
	hawk_json_put_integer(json, "alloc_objects", site->alloc_objects);
	hawk_json_put_integer(json, "alloc_bytes", site->alloc_bytes);
	put_temporary(site, json);
	put_sample(&site->sample, json);
	put_age(report->heap, site, json, "oldest_seconds", site->oldest_units);
	put_age(report->heap, site, json, "newest_seconds", site->newest_units);
	hawk_json_put_boolean(json, "truncated",
			      stack->trace_flags & (HAWK_TRACE_TRUNCATED | HAWK_TRACE_INCOMPLETE));
	put_guessed(stack, json);
	hawk_json_put_string(json, "type", stack->type);
	hawk_json_key(json, "scopes");
	hawk_report_json_scope_path(report->heap->table,
				    hawk_table_scope(report->heap->table, site->trace), json);
	hawk_json_key(json, "frames");
	hawk_report_json_stack(stack, json);
	hawk_json_object_end(json);
	return NULL;
}

static struct hawk_error *put_sites(const struct hawk_report *report, struct hawk_json *json)
{
	struct hawk_error *err = NULL;
	struct hawk_stack stack;

	hawk_stack_init(&stack);
	hawk_json_key(json, "sites");
	hawk_json_array(json);
	if (report->list) {
		size_t end = report->list->count;

		hawk_site_list_sort(report->list, report->heap, report->sort);
		if (report->limited && report->top < end)
			end = report->top;
		for (size_t i = 0; i < end && !err; i++)
			err = put_site(report, &report->heap->sites[report->list->sites[i]], &stack,
				       json);
	}
	hawk_json_array_end(json);
	hawk_stack_deinit(&stack);
	return err;
}

/* For what the list of findings had no room. */
static void put_forgotten(struct hawk_json *json)
{
	hawk_json_object(json);
	hawk_json_put_string(json, "key", "findings-forgotten");
	hawk_json_put_string(json, "text", "memory ran out: what else is missing is not known");
	hawk_json_put_integer(json, "count", 1);
	hawk_json_put_boolean(json, "partial", true);
	hawk_json_object_end(json);
}

static void put_findings(const struct hawk_findings *findings, enum hawk_finding_sort sort,
			 struct hawk_json *json)
{
	hawk_json_array(json);
	for (size_t i = 0; i < findings->count; i++) {
		const struct hawk_finding *finding = &findings->items[i];
		size_t length = strlen(finding->key);
		char key[64];

		if (finding->sort != sort)
			continue;
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
	if (findings->forgotten && sort == HAWK_FINDING_MISSING)
		put_forgotten(json);
	hawk_json_array_end(json);
}

void hawk_report_json_findings(const struct hawk_findings *findings, struct hawk_json *json)
{
	hawk_json_key(json, "missing");
	put_findings(findings, HAWK_FINDING_MISSING, json);
	hawk_json_key(json, "damage");
	put_findings(findings, HAWK_FINDING_DAMAGE, json);
}

struct hawk_error *hawk_report_json(const struct hawk_report *report, struct hawk_output *output)
{
	struct hawk_json json;
	struct hawk_error *err;

	hawk_json_init(&json, output, DOCUMENT_LINES);
	hawk_json_object(&json);
	hawk_json_put_string(&json, "schema", "hawk-core/analyze");
	hawk_json_put_integer(&json, "version", DOCUMENT_VERSION);
	hawk_json_put_string(&json, "source", report->source);
	err = hawk_report_json_process(report, &json);
	if (err)
		return err;
	put_heap(report, &json);
	err = put_sites(report, &json);
	if (!err && report->grouped && report->list)
		err = hawk_report_json_groups(report, &json);
	if (!err && report->by_scope && report->list)
		err = hawk_report_json_scopes(report, &json);
	if (!err && report->suspects)
		err = hawk_report_suspects_json(report->suspects, &json);
	if (err)
		return err;
	hawk_report_json_findings(report->findings, &json);
	hawk_json_put_boolean(&json, "partial", hawk_findings_partial(report->findings));
	hawk_json_object_end(&json);
	hawk_json_finish(&json);
	return NULL;
}
