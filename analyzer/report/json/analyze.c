/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The JSON document of `hawk-core analyze`. Its prose twin is docs/json.md, its schema
 * docs/schema/analyze-3.json: change them together, and add keys only.
 */
#include "hawk/report/verify.h"
#include "objects.h"
#include "hawk/report/leaks.h"
#include "hawk/report/fragmentation.h"
#include "hawk/report/balance.h"
#include "hawk/report/report.h"
#include "hawk/report/suspects.h"
#include "hawk/report/threads.h"
#include "hawk/names/signal.h"

enum { DOCUMENT_LINES = 2 };

static void put_guessed(const struct hawk_stack *stack, struct hawk_json *json)
{
	hawk_json_put_boolean(json, "frames_may_be_missing",
			      stack->trace_flags & HAWK_TRACE_GUESSED);
}

static void put_thread(const struct hawk_thread *thread, const struct hawk_stack *stack,
		       struct hawk_json *json)
{
	hawk_json_object(json);
	hawk_json_put_integer(json, "tid", thread->tid);
	hawk_json_put_string(json, "name", thread->name[0] ? thread->name : NULL);
	hawk_json_put_boolean(json, "crashed", thread->crashed);
	hawk_json_put_boolean(json, "complete",
			      stack->end == HAWK_UNWIND_END_OUTERMOST && !stack->has_guesses);
	hawk_json_put_integer(json, "frame_count", stack->frame_count);
	put_guessed(stack, json);
	hawk_json_put_stack(json, stack);
	hawk_json_object_end(json);
}

/** Puts the threads that crashed first. */
static void put_threads(const struct hawk_report *report, struct hawk_json *json)
{
	size_t count;
	const struct hawk_thread *threads = hawk_target_threads(report->target, &count);
	size_t left = hawk_json_put_list(json, "threads", count);
	struct hawk_stack stack = {0};

	for (int crashed = 1; crashed >= 0; crashed--) {
		for (size_t i = 0; i < count && left; i++) {
			if (threads[i].crashed != (bool)crashed)
				continue;
			hawk_stack_of_thread(report->symbols, &threads[i], &stack);
			put_thread(&threads[i], &stack, json);
			left--;
		}
	}
	hawk_json_array_end(json);
	hawk_stack_deinit(&stack);
}

static void put_process(const struct hawk_report *report, struct hawk_json *json)
{
	const struct hawk_process *process = hawk_target_process(report->target);
	uint64_t resident = process->resident_bytes;
	uint64_t pause = hawk_target_pause_ns(report->target);

	hawk_json_put_object(json, "process");
	hawk_json_put_integer(json, "pid", process->pid);
	hawk_json_put_string(json, "program", process->program[0] ? process->program : NULL);
	hawk_json_put_string(json, "name", process->name[0] ? process->name : NULL);
	hawk_json_put_string(json, "arguments", process->arguments[0] ? process->arguments : NULL);
	hawk_json_put_signed_if(json, "signal", process->signal, process->signal);
	hawk_json_put_string(json, "signal_name", hawk_signal_name(process->signal));
	hawk_json_put_signed_if(json, "signal_code", process->has_siginfo, process->signal_code);
	hawk_json_put_address_if(json, "fault_address", process->has_fault_address,
				 process->fault_address);
	hawk_json_put_integer_if(json, "sender_pid", process->sender_pid, process->sender_pid);
	hawk_json_put_boolean(json, "live", process->live);
	hawk_json_put_integer_if(json, "pause_ns", pause, pause);
	hawk_json_put_integer_if(json, "resident_bytes", resident, resident);
	hawk_json_put_integer_if(json, "peak_resident_bytes", resident,
				 process->peak_resident_bytes);
	hawk_json_put_integer_if(json, "swapped_bytes", resident, process->swapped_bytes);
	hawk_json_put_integer_if(json, "deadlock_count", report->threads,
				 report->threads ? report->threads->deadlocks : 0);
	put_threads(report, json);
	hawk_json_object_end(json);
}

/** Puts the values that the tracer's counters have even for an unknown heap. */
static void put_unknown_heap(const struct hawk_heap *heap, struct hawk_json *json)
{
	const struct hawk_table_totals *totals = &heap->totals;
	bool counted = totals->alloc_objects && !totals->too_low;

	hawk_json_put_null(json, "inuse_objects");
	hawk_json_put_null(json, "inuse_bytes");
	hawk_json_put_integer_if(json, "alloc_objects", counted, totals->alloc_objects);
	hawk_json_put_integer_if(json, "alloc_bytes", counted, totals->alloc_bytes);
	hawk_json_put_integer_if(json, "free_objects", counted, totals->free_objects);
	hawk_json_put_integer_if(json, "free_bytes", counted, totals->free_bytes);
}

enum { PINS = 5 };

static void put_allocators(const struct hawk_heap *heap, struct hawk_json *json)
{
	hawk_json_put_array(json, "allocators");
	for (unsigned i = 0; i < heap->allocator_count; i++) {
		const struct hawk_allocator *allocator = &heap->allocators[i];

		hawk_json_object(json);
		hawk_json_put_string(json, "name", allocator->name);
		hawk_json_put_string(json, "version", allocator->version);
		hawk_json_put_integer_if(json, "arenas", allocator->arenas, allocator->arenas);
		hawk_json_put_integer(json, "inuse_objects", allocator->objects[HAWK_PIECE_LIVE]);
		hawk_json_put_integer(json, "inuse_bytes", allocator->bytes[HAWK_PIECE_LIVE]);
		hawk_json_put_integer(json, "free_bytes", hawk_allocator_free_bytes(allocator));
		hawk_json_put_integer(json, "sampled_objects", allocator->samples);
		hawk_json_put_string(json, "checksum", allocator->differing ? "differs" : "agrees");
		hawk_json_put_string(json, "confidence",
				     allocator->incomplete || allocator->differing ? "partial"
										   : "proven");
		hawk_json_object_end(json);
	}
	hawk_json_array_end(json);
}

static void put_outside(const struct hawk_accounting *memory, struct hawk_json *json)
{
	const struct hawk_outside *outside = &memory->outside;

	if (!memory->measured) {
		hawk_json_put_null(json, "outside");
		return;
	}
	hawk_json_put_object(json, "outside");
	hawk_json_put_integer(json, "stack_bytes", outside->stack_bytes);
	hawk_json_put_integer(json, "ended_stacks", outside->ended_stacks);
	hawk_json_put_integer(json, "ended_stack_bytes", outside->ended_stack_bytes);
	hawk_json_put_integer(json, "unknown_bytes", outside->unknown_bytes);
	hawk_json_object_end(json);
}

static void put_heap(const struct hawk_report *report, struct hawk_json *json)
{
	const struct hawk_heap *heap = report->heap;
	const struct hawk_accounting *memory = &heap->accounting;
	bool counted = heap->knows & HAWK_HEAP_COUNTERS;
	bool swept =
		heap->knows & HAWK_HEAP_ACCOUNTING; // a table file has no memory of its process

	hawk_json_put_object(json, "heap");
	hawk_json_put_knowledge(json, heap);
	if (!heap->knows) {
		put_unknown_heap(heap, json);
		hawk_json_object_end(json);
		return;
	}
	hawk_json_put_string(json, "source", swept ? heap->origins[0].name : "counters");
	put_allocators(heap, json);
	hawk_report_json_guests(heap, json);
	hawk_report_json_fragmentation(heap, report->fragmentation, PINS, json);
	hawk_json_put_integer(json, "inuse_objects", heap->sums.blocks);
	hawk_json_put_integer(json, "inuse_bytes", heap->sums.bytes);
	hawk_leaks_report_json_sums(report->leaks, json);
	hawk_json_put_integer_if(json, "untouched_bytes", memory->measured,
				 memory->untouched_bytes);
	hawk_json_put_integer_if(json, "header_bytes", swept, memory->header_bytes);
	hawk_json_put_integer_if(json, "overhead_bytes", swept, memory->overhead_bytes);
	hawk_json_put_integer_if(json, "never_used_bytes", memory->measured,
				 memory->never_used_bytes);
	hawk_json_put_integer_if(json, "heap_bytes", swept, memory->heap_bytes);
	hawk_json_put_integer(json, "tracer_bytes",
			      swept ? memory->tracer_bytes : heap->totals.tracer_bytes);
	hawk_json_put_integer_if(json, "tracer_touched_bytes", memory->measured,
				 memory->tracer_touched_bytes);
	hawk_json_put_integer_if(json, "other_touched_bytes", memory->measured,
				 hawk_accounting_other_touched(memory));
	put_outside(memory, json);
	hawk_json_put_integer_if(json, "writable_bytes", swept, memory->writable_bytes);
	hawk_json_put_integer_if(json, "touched_bytes", memory->measured, memory->touched_bytes);
	hawk_json_put_integer_if(json, "alloc_objects", counted, heap->totals.alloc_objects);
	hawk_json_put_integer_if(json, "alloc_bytes", counted, heap->totals.alloc_bytes);
	hawk_json_put_integer_if(json, "free_objects", counted, heap->totals.free_objects);
	hawk_json_put_integer_if(json, "free_bytes", counted, heap->totals.free_bytes);
	hawk_json_put_integer_if(json, "threads", counted, heap->totals.threads);
	hawk_json_put_integer_if(json, "dropped", counted, heap->dropped_objects);
	hawk_json_put_integer_if(json, "dropped_bytes", counted, heap->dropped_bytes);
	hawk_json_put_integer(json, "overlapping", heap->damages.counts[HAWK_DAMAGE_OVERLAP]);
	hawk_json_put_integer(json, "implausible", heap->damages.counts[HAWK_DAMAGE_HEADER]);
	hawk_json_put_integer(json, "clipped", heap->sums.clipped);
	hawk_json_put_integer(json, "carved_objects", heap->sums.carved_objects);
	hawk_json_put_integer(json, "carved_bytes", heap->sums.carved_bytes);
	hawk_json_put_seconds_if(json, "uptime_seconds", counted, hawk_heap_age_seconds(heap, 0));
	hawk_json_put_boolean(json, "sites_estimated", heap->sample_mean);
	hawk_json_put_integer_if(json, "sample_mean_bytes", heap->sample_mean, heap->sample_mean);
	hawk_json_object_end(json);
}

static void put_sample(const struct hawk_site_sample *sample, struct hawk_json *json)
{
	hawk_json_put_boolean(json, "estimated", sample->estimated);
	if (!sample->estimated)
		return;
	hawk_json_put_object(json, "sample");
	hawk_json_put_integer(json, "inuse_objects", sample->inuse_objects);
	hawk_json_put_integer(json, "inuse_bytes", sample->inuse_bytes);
	hawk_json_put_integer(json, "alloc_objects", sample->alloc_objects);
	hawk_json_put_integer(json, "alloc_bytes", sample->alloc_bytes);
	hawk_json_put_integer(json, "inuse_objects_error", sample->inuse_objects_error);
	hawk_json_put_integer(json, "inuse_bytes_error", sample->inuse_bytes_error);
	hawk_json_put_integer(json, "alloc_bytes_error", sample->alloc_bytes_error);
	hawk_json_object_end(json);
}

static uint64_t minus(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static void put_site(const struct hawk_report *report, const struct hawk_site *site,
		     struct hawk_stack *stack, struct hawk_json *json)
{
	const struct hawk_heap *heap = report->heap;
	uint64_t objects = site->alloc_objects;
	unsigned knows = hawk_heap_knows_of(heap, site->trace);
	bool aged = site->inuse_objects && knows & HAWK_HEAP_AGES;
	bool counted = knows & HAWK_HEAP_COUNTERS;

	hawk_stack_of_blocks(report->symbols, heap, site->trace, stack);
	hawk_json_object(json);
	hawk_json_put_id(json, "site", site->id);
	hawk_json_put_integer(json, "inuse_objects", site->inuse_objects);
	hawk_json_put_integer(json, "inuse_bytes", site->inuse_bytes);
	hawk_json_put_integer_if(json, "alloc_objects", counted, objects);
	hawk_json_put_integer_if(json, "alloc_bytes", counted, site->alloc_bytes);
	hawk_json_put_integer_if(json, "temporary_objects", counted,
				 minus(objects, site->inuse_objects));
	hawk_json_put_integer_if(json, "temporary_bytes", counted,
				 minus(site->alloc_bytes, site->inuse_bytes));
	hawk_json_put_integer_if(json, "average_bytes", objects,
				 objects ? site->alloc_bytes / objects : 0);
	put_sample(&site->sample, json);
	hawk_json_put_seconds_if(json, "oldest_seconds", aged,
				 hawk_heap_age_seconds(heap, site->oldest_units));
	hawk_json_put_seconds_if(json, "newest_seconds", aged,
				 hawk_heap_age_seconds(heap, site->newest_units));
	hawk_json_put_boolean(json, "truncated",
			      stack->trace_flags & (HAWK_TRACE_TRUNCATED | HAWK_TRACE_INCOMPLETE));
	put_guessed(stack, json);
	hawk_json_put_string(json, "type", stack->type);
	hawk_json_put_scope_path(json, "scopes", heap->table, hawk_heap_scope(heap, site->trace));
	hawk_json_put_stack(json, stack);
	hawk_json_object_end(json);
}

static void put_sites(const struct hawk_report *report, struct hawk_json *json)
{
	struct hawk_stack stack = {0};
	size_t end;

	if (report->list)
		hawk_site_list_sort(report->list, report->heap, report->sort);
	if (!hawk_json_put_known_list(json, "sites", report->heap,
				      report->list ? report->list->count : 0, &end))
		return;
	for (size_t i = 0; i < end; i++)
		put_site(report, &report->heap->sites[report->list->sites[i]], &stack, json);
	hawk_json_array_end(json);
	hawk_stack_deinit(&stack);
}

struct hawk_error *hawk_report_json(const struct hawk_report *report, struct hawk_output *output)
{
	struct hawk_error *err = NULL;
	struct hawk_json json;

	hawk_json_begin(&json, output, "hawk-core/analyze", report->source, DOCUMENT_LINES);
	hawk_json_limit(&json, report->top, report->depth);
	put_process(report, &json);
	put_heap(report, &json);
	put_sites(report, &json);
	if (report->groups)
		hawk_report_json_groups(report, &json);
	if (report->by_scope && report->list)
		err = hawk_report_json_scopes(report, &json);
	if (err)
		return err;
	if (report->verify) {
		hawk_json_put_object(&json, "heap_damage");
		hawk_verify_put_json(report->verify, &json);
		hawk_json_object_end(&json);
	} else {
		hawk_json_put_null(&json, "heap_damage");
	}
	if (report->suspects)
		hawk_report_suspects_json(report->suspects, &json);
	hawk_report_json_modules(report, &json);
	hawk_json_end(&json, report->next, report->findings,
		      hawk_findings_partial(report->findings));
	return NULL;
}
