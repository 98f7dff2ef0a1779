/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The first screen of `hawk-core analyze` as one short JSON document, for readers that pay for each
 * byte. Its prose twin is docs/json.md, its schema docs/schema/brief-3.json.
 *
 * At most BRIEF_BYTES whatever a core holds: foreign strings are cut, and lists are shortened until
 * the document fits. Only the user's own path of the core is never cut.
 */
#include <stdlib.h>
#include <string.h>

#include "hawk/base/cleanup.h"
#include "hawk/base/utf8.h"
#include "hawk/names/function_name.h"
#include "hawk/names/signal.h"
#include "hawk/report/suspects.h"
#include "hawk/report/verify.h"
#include "objects.h"

enum { BRIEF_BYTES = 8 * 1024, ENTRIES = 5, FRAMES = 6 };

/** Columns of strings. */
enum { NAME = 80, PATH = 120, STORY = 500 };

static void put_text(struct hawk_json *json, const char *key, const char *string, size_t width)
{
	CLEANUP(text) struct hawk_text text = {0};

	if (string)
		hawk_utf8_append_middle_cut(&text, string, width);
	hawk_json_put_string(json, key, string ? hawk_text_string(&text) : NULL);
}

/** "make_node app.c:31" */
static void put_line(const struct hawk_stack_line *line, struct hawk_json *json)
{
	CLEANUP(text) struct hawk_text text = {0}, cut = {0};
	const char *module = line->has_module ? line->module.path : NULL;

	hawk_text_puts(&text, line->name.function ? line->name.function : "?");
	if (line->name.file)
		hawk_text_printf(&text, " %s:%u", hawk_path_base(line->name.file), line->name.line);
	else if (module)
		hawk_text_printf(&text, " %s", hawk_path_base(module));
	hawk_utf8_append_middle_cut(&cut, hawk_text_string(&text), NAME);
	hawk_json_string(json, hawk_text_string(&cut));
}

/** Puts the thread that crashed, or null. */
static void put_thread(const struct hawk_report *report, struct hawk_json *json)
{
	struct hawk_stack stack = {0};
	size_t count, i = 0;
	const struct hawk_thread *threads = hawk_target_threads(report->target, &count);

	hawk_json_put_integer(json, "threads", count);
	while (i < count && !threads[i].crashed)
		i++;
	if (i == count) {
		hawk_json_put_null(json, "thread");
		return;
	}
	hawk_stack_of_thread(report->symbols, &threads[i], &stack);
	hawk_json_put_object(json, "thread");
	hawk_json_put_integer(json, "tid", threads[i].tid);
	hawk_json_put_string(json, "name", threads[i].name[0] ? threads[i].name : NULL);
	count = stack.count < FRAMES ? stack.count : FRAMES;
	hawk_json_put_cut_list(json, "stack", count, stack.count);
	for (i = 0; i < count; i++)
		put_line(&stack.lines[i], json);
	hawk_json_array_end(json);
	hawk_json_object_end(json);
	hawk_stack_deinit(&stack);
}

static void put_process(const struct hawk_report *report, struct hawk_json *json)
{
	const struct hawk_process *process = hawk_target_process(report->target);
	uint64_t resident = process->resident_bytes;

	hawk_json_put_object(json, "process");
	hawk_json_put_integer(json, "pid", process->pid);
	put_text(json, "program", process->program[0] ? process->program : NULL, PATH);
	put_text(json, "arguments", process->arguments[0] ? process->arguments : NULL, PATH);
	hawk_json_put_string(json, "signal_name", hawk_signal_name(process->signal));
	hawk_json_put_address_if(json, "fault_address", process->has_fault_address,
				 process->fault_address);
	hawk_json_put_boolean(json, "live", process->live);
	hawk_json_put_integer_if(json, "resident_bytes", resident, resident);
	put_thread(report, json);
	hawk_json_object_end(json);
}

static void put_heap(const struct hawk_report *report, struct hawk_json *json)
{
	const struct hawk_heap *heap = report->heap;
	const struct hawk_accounting *memory = &heap->accounting;
	bool counted = heap->knows & HAWK_HEAP_COUNTERS;

	hawk_json_put_object(json, "heap");
	hawk_json_put_knowledge(json, heap);
	hawk_json_put_integer_if(json, "inuse_objects", heap->knows, heap->sums.blocks);
	hawk_json_put_integer_if(json, "inuse_bytes", heap->knows, heap->sums.bytes);
	hawk_json_put_integer_if(json, "writable_bytes", heap->knows & HAWK_HEAP_ACCOUNTING,
				 memory->writable_bytes);
	hawk_json_put_integer_if(json, "touched_bytes", memory->measured, memory->touched_bytes);
	hawk_json_put_integer_if(json, "alloc_objects", counted, heap->totals.alloc_objects);
	hawk_json_put_integer_if(json, "alloc_bytes", counted, heap->totals.alloc_bytes);
	hawk_json_put_seconds_if(json, "uptime_seconds", counted, hawk_heap_age_seconds(heap, 0));
	hawk_json_object_end(json);
}

static void put_damage_of_heap(const struct hawk_verify *verify, struct hawk_json *json)
{
	hawk_json_put_object(json, "heap_damage");
	put_text(json, "died_in", verify->crash.function, NAME);
	put_text(json, "message", verify->crash.message.text[0] ? verify->crash.message.text : NULL,
		 NAME);
	hawk_json_put_integer(json, "corruption_count", verify->all);
	hawk_json_put_string(json, "kind",
			     verify->count ? hawk_corruption_key(verify->items[0].kind) : NULL);
	hawk_json_object_end(json);
}

static void put_suspect(const struct hawk_suspects_report *suspects, size_t number,
			struct hawk_json *json)
{
	const struct hawk_suspect *suspect = &suspects->found->items[number];
	const struct hawk_screen screen = {.width = NAME};
	CLEANUP(text) struct hawk_text name = {0}, story = {0};

	hawk_suspects_append_title(suspects, &screen, number, &name);
	hawk_suspects_append_story(suspects, &screen, suspect, &story);
	hawk_json_object(json);
	hawk_json_put_site(json, "site", suspects->pointers->heap, suspect->site);
	put_text(json, "name", hawk_text_string(&name), NAME);
	hawk_json_put_integer(json, "inuse_objects", suspect->facts.inuse_objects);
	hawk_json_put_integer(json, "inuse_bytes", suspect->facts.inuse_bytes);
	hawk_json_put_integer(json, "retained_bytes", suspect->retained);
	hawk_json_put_string(json, "verdict", hawk_growth_verdict_name(suspect->growth.verdict));
	hawk_json_put_string(json, "confidence",
			     hawk_growth_confidence_name(suspect->growth.confidence));
	put_text(json, "text", hawk_text_string(&story), STORY);
	hawk_json_object_end(json);
}

static void put_suspects(const struct hawk_suspects_report *suspects, struct hawk_json *json)
{
	if (!suspects || suspects->skipped) {
		hawk_json_put_no_list(json, "suspects");
	} else {
		size_t end = hawk_json_put_list(json, "suspects", suspects->found->count);

		for (size_t i = 0; i < end; i++)
			put_suspect(suspects, i, json);
		hawk_json_array_end(json);
	}
	put_text(json, "suspects_skipped", suspects ? suspects->skipped : NULL, STORY);
}

/** Puts what is missing or damaged, first what makes the answer incomplete. */
static void put_findings(const struct hawk_findings *findings, struct hawk_json *json)
{
	size_t left = hawk_json_put_list(json, "missing", findings->count);

	for (int partial = 1; partial >= 0; partial--) {
		for (size_t i = 0; i < findings->count && left; i++) {
			const struct hawk_finding *item = &findings->items[i];
			CLEANUP(text) struct hawk_text key = {0};

			if (item->partial != (bool)partial)
				continue;
			hawk_text_append(&key, item->key, strcspn(item->key, "*"));
			hawk_json_object(json);
			hawk_json_put_string(json, "key", key.bytes);
			put_text(json, "text", item->text, 2 * PATH);
			hawk_json_put_integer(json, "count", item->count);
			hawk_json_object_end(json);
			left--;
		}
	}
	hawk_json_array_end(json);
}

static void put_brief(const struct hawk_report *report, size_t entries, struct hawk_output *output)
{
	struct hawk_json json;

	hawk_json_begin(&json, output, "hawk-core/brief", report->source, 2);
	hawk_json_limit(&json, entries, 0);
	put_process(report, &json);
	put_heap(report, &json);
	hawk_leaks_report_json_sums(report->leaks, &json);
	if (report->verify)
		put_damage_of_heap(report->verify->verify, &json);
	else
		hawk_json_put_null(&json, "heap_damage");
	put_suspects(report->suspects, &json);
	put_findings(report->findings, &json);
	hawk_report_next_json(report->next, &json);
	hawk_json_put_boolean(&json, "partial", hawk_findings_partial(report->findings));
	hawk_json_object_end(&json);
	hawk_json_finish(&json);
}

struct hawk_error *hawk_report_brief(const struct hawk_report *report, struct hawk_output *output)
{
	CLEANUP(free_ptr) struct hawk_output *draft = malloc(sizeof(*draft));
	size_t entries = report->top && report->top < ENTRIES ? report->top : ENTRIES;

	if (!draft)
		return &hawk_enomem;
	for (;; entries--) {
		hawk_output_init(draft, -1);
		put_brief(report, entries, draft);
		if (entries == 1 || (!draft->errnum && draft->used <= BRIEF_BYTES))
			break;
	}
	hawk_output_append(output, draft->buffer, draft->used);
	return NULL;
}
