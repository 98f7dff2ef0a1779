/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds names of roots: frames of threads, symbols of modules.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hawk/base/array.h"
#include "hawk/base/cleanup.h"
#include "hawk/names/root_name.h"
#include "hawk/symbols/dwarf_types.h"
#include "name_tree.h"

enum {
	RUNS_MAX = 64,                   /**< more than unwinding ever finds */
	LAST_FRAME_BYTES_MAX = 64 << 10, /* arguments and environment lie above the outermost one */
};

/** The frames of one thread. */
struct frames {
	struct hawk_thread_frames found;
	struct hawk_dwarf_variables locals;
	bool has_locals;
	/** Frames behind each run of them on one stack: handlers of signals have their own,
	 * perhaps. Within a run stack pointers grow. */
	size_t run_ends[RUNS_MAX];
	size_t run_count;
	bool tried;
};

struct hawk_root_namer {
	const struct hawk_target *target;
	const struct hawk_block_index *index;
	const struct hawk_roots *roots;
	struct hawk_symbols *symbols;
	void *group_names;
	bool asks_variables;
	struct frames *threads; /**< one for each of the target's */
	size_t thread_count;
};

struct hawk_error *hawk_root_namer_create(const struct hawk_graph *graph,
					  struct hawk_symbols *symbols,
					  struct hawk_root_namer **ret)
{
	struct hawk_root_namer *namer = calloc(1, sizeof(*namer));

	if (!namer)
		return &hawk_enomem;
	namer->target = graph->heap->target;
	namer->index = &graph->heap->index;
	namer->roots = &graph->roots;
	namer->symbols = symbols;
	hawk_target_threads(graph->heap->target, &namer->thread_count);
	namer->threads = calloc(namer->thread_count + 1, sizeof(*namer->threads));
	if (!namer->threads) {
		free(namer);
		return &hawk_enomem;
	}
	*ret = namer;
	return NULL;
}

void hawk_root_namer_ask_variables(struct hawk_root_namer *namer)
{
	namer->asks_variables = true;
}

void hawk_root_namer_destroy(struct hawk_root_namer *namer)
{
	if (!namer)
		return;
	for (size_t i = 0; i < namer->thread_count; i++) {
		hawk_thread_frames_deinit(&namer->threads[i].found);
		hawk_dwarf_variables_deinit(&namer->threads[i].locals);
	}
	free(namer->threads);
	hawk_name_tree_clear(&namer->group_names);
	free(namer);
}

static void name_vector(const struct hawk_arch *arch, uint64_t offset, char *ret, size_t size)
{
	size_t i = 0;

	while (i + 1 < HAWK_ARCH_VECTORS && offset >= arch->vectors[i].range.end)
		i++;
	if (arch->vectors[i].bytes)
		snprintf(ret, size, "%s%u", arch->vectors[i].name,
			 (unsigned)(offset - arch->vectors[i].range.start) /
				 arch->vectors[i].bytes);
	else
		snprintf(ret, size, "%s", arch->vectors[i].name);
}

static void name_register(const struct hawk_arch *arch, uint64_t number, char *ret, size_t size)
{
	if (number < arch->register_count)
		snprintf(ret, size, "%s", arch->registers[number].name);
	else if (number == HAWK_ROOT_SIGNAL_STACK)
		snprintf(ret, size, "signal stack");
	else
		name_vector(arch, number - HAWK_ROOT_VECTORS, ret, size);
}

static void find_runs(struct frames *frames)
{
	const struct hawk_stack_frame *frame = frames->found.frames;
	size_t count = frames->found.count;

	for (size_t i = 0; i < count && frames->run_count < RUNS_MAX; i++)
		if (i + 1 == count || frame[i + 1].sp <= frame[i].sp)
			frames->run_ends[frames->run_count++] = i + 1;
}

static void unwind(struct hawk_root_namer *namer, const struct hawk_thread *thread,
		   struct frames *frames)
{
	if (frames->tried)
		return;
	frames->tried = true;
	hawk_error_swallow(hawk_symbols_unwind(namer->symbols, thread, HAWK_UNWIND_FRAMES_MAX,
					       &frames->found));
	find_runs(frames);
}

static void name_function(struct hawk_root_namer *namer, const struct hawk_stack_frame *frame,
			  struct hawk_root_name *name)
{
	const struct hawk_frame *lines = NULL;
	struct hawk_symbol_module module;
	size_t count = 0;

	name->frame_pc = frame->pc;
	if (!hawk_symbols_module_at(namer->symbols, frame->pc - (frame->exact ? 0 : 1), &module))
		return;
	name->module = module.path;
	name->frame_offset = frame->pc - module.bias;
	hawk_error_swallow(hawk_symbols_lookup(namer->symbols, &module, frame->pc, frame->exact,
					       &lines, &count));
	if (count)
		name->function = lines[count - 1].function; /* the one that has the frame */
}

/* Returns true if `address` is in frame `i`. A frame ends where the next one begins; if that is
 * unknown or on another stack, as after a signal handler, it ends not far above. */
static bool is_in_frame(const struct hawk_thread_frames *frames, size_t i, uint64_t address,
			uint64_t red_zone)
{
	uint64_t sp = frames->frames[i].sp;

	if (address < sp)
		return i == 0 && sp - address <= red_zone;
	if (i + 1 < frames->count && frames->frames[i + 1].sp > sp)
		return address < frames->frames[i + 1].sp;
	return address - sp < LAST_FRAME_BYTES_MAX;
}

/** Finds the frame that holds `address`; false = none. */
static bool find_frame(const struct frames *frames, uint64_t address, uint64_t red_zone,
		       size_t *ret)
{
	for (size_t run = 0; run < frames->run_count; run++) {
		size_t low = run ? frames->run_ends[run - 1] : 0;
		size_t above = hawk_array_first_above(
			&frames->found.frames[low], frames->run_ends[run] - low,
			sizeof(frames->found.frames[0]), offsetof(struct hawk_stack_frame, sp),
			address);

		*ret = above ? low + above - 1 : low;
		if (is_in_frame(&frames->found, *ret, address, red_zone))
			return true;
	}
	return false;
}

static void name_stack(struct hawk_root_namer *namer, const struct hawk_root *root,
		       struct hawk_root_name *name)
{
	const struct hawk_arch *arch = hawk_target_arch(namer->target);
	size_t count, frame;
	const struct hawk_thread *thread = &hawk_target_threads(namer->target, &count)[root->owner];
	struct frames *frames = &namer->threads[root->owner];

	unwind(namer, thread, frames);
	name->offset = (int64_t)(root->address - thread->sp);
	name->stack_pointer = arch->registers[arch->sp].name;
	if (!find_frame(frames, root->address, arch->red_zone_bytes, &frame))
		return;
	name->has_frame = true;
	name->frame = (uint32_t)frame;
	name->offset = (int64_t)(root->address - frames->found.frames[frame].sp);
	name_function(namer, &frames->found.frames[frame], name);
}

static void name_tls(struct hawk_root_namer *namer, const struct hawk_root *root,
		     struct hawk_root_name *name, struct hawk_symbol_place *place)
{
	size_t count, main = 0;
	const struct hawk_thread *thread = &hawk_target_threads(namer->target, &count)[root->owner];
	const struct hawk_module *modules = hawk_target_modules(namer->target, &count);
	uint64_t pointer = thread->thread_pointer;
	struct hawk_symbol_module module;

	name->offset = (int64_t)(root->address - pointer);
	while (main < count && !modules[main].main)
		main++;
	if (main == count)
		return;
	module = hawk_symbol_module_of(&modules[main]);
	if (hawk_error_swallow(hawk_symbols_tls_place(namer->symbols, &module, root->address,
						      pointer, place)) ||
	    !place->name)
		return;
	name->symbol = place->name;
	name->offset = (int64_t)place->offset;
	name->module = modules[main].path;
}

static void name_module(struct hawk_root_namer *namer, const struct hawk_root *root,
			struct hawk_root_name *name, struct hawk_symbol_place *place)
{
	size_t count;
	const struct hawk_module *mapped = &hawk_target_modules(namer->target, &count)[root->owner];
	struct hawk_symbol_module module = hawk_symbol_module_of(mapped);

	hawk_error_swallow(hawk_symbols_place(namer->symbols, &module, root->address, place));
	name->module = mapped->path;
	name->symbol = place->name;
	name->section = place->section;
	name->offset = (int64_t)(place->name ? place->offset : root->address - mapped->start);
}

/* Returns true for the root of a guest's garbage (graph/roots_guests.h): no other root lies in a
 * block that it leads to. */
static bool is_garbage(const struct hawk_root_namer *namer, const struct hawk_root *root)
{
	return root->kind == HAWK_ROOT_OTHER &&
	       root->address == hawk_block_start(namer->index, root->edge >> 1);
}

static void name_mapping(struct hawk_root_namer *namer, const struct hawk_root *root,
			 struct hawk_root_name *name)
{
	size_t count;
	const struct hawk_mapping *mapping =
		&hawk_target_mappings(namer->target, &count)[root->owner];

	name->is_garbage = is_garbage(namer, root);
	name->mapping = mapping->path && mapping->path[0] ? mapping->path : NULL;
	name->offset = (int64_t)(root->address - mapping->start);
}

/** Like hawk_root_find(); `place` is set to the addresses of the same kind and owner with the same
 * name. */
static struct hawk_root_name find(struct hawk_root_namer *namer, const struct hawk_root *root,
				  struct hawk_symbol_place *place)
{
	struct hawk_root_name name = {.kind = root->kind, .address = root->address};
	size_t count;
	const struct hawk_thread *threads = hawk_target_threads(namer->target, &count);

	*place = (struct hawk_symbol_place){.start = root->address, .end = root->address + 1};
	if (root->kind <= HAWK_ROOT_TLS) {
		name.tid = threads[root->owner].tid;
		name.main_thread = name.tid == hawk_target_process(namer->target)->pid;
	}
	switch (root->kind) {
	case HAWK_ROOT_REGISTER:
		name.address = 0;
		name.is_signal_stack = root->address == HAWK_ROOT_SIGNAL_STACK;
		name_register(hawk_target_arch(namer->target), root->address, name.reg,
			      sizeof(name.reg));
		break;
	case HAWK_ROOT_STACK:
		name_stack(namer, root, &name);
		break;
	case HAWK_ROOT_TLS:
		name_tls(namer, root, &name, place);
		break;
	case HAWK_ROOT_MODULE:
		name_module(namer, root, &name, place);
		break;
	default:
		name_mapping(namer, root, &name);
		break;
	}
	return name;
}

/* Finds the variable of the thread's frame that has the root. */
static bool find_local(struct hawk_root_namer *namer, const struct hawk_root *root,
		       const struct hawk_root_name *name, struct hawk_dwarf_variable *ret)
{
	size_t count;
	const struct hawk_thread *thread = &hawk_target_threads(namer->target, &count)[root->owner];
	struct frames *frames = &namer->threads[root->owner];

	if (!frames->has_locals)
		hawk_dwarf_locals(namer->symbols, thread, &frames->locals);
	frames->has_locals = true;
	for (size_t i = 0; name->has_frame && i < frames->locals.count; i++) {
		*ret = frames->locals.items[i];
		if (ret->address && ret->frame == name->frame && root->address >= ret->address &&
		    root->address - ret->address < ret->type->bytes)
			return true;
	}
	return false;
}

static bool find_variable(struct hawk_root_namer *namer, const struct hawk_root *root,
			  const struct hawk_root_name *name, struct hawk_dwarf_variable *ret)
{
	size_t count, main = 0;
	const struct hawk_module *modules = hawk_target_modules(namer->target, &count);
	struct hawk_symbol_module module;

	while (main < count && !modules[main].main)
		main++;
	if (root->kind == HAWK_ROOT_STACK)
		return find_local(namer, root, name, ret);
	if ((root->kind != HAWK_ROOT_TLS || main == count) && root->kind != HAWK_ROOT_MODULE)
		return false;
	module = hawk_symbol_module_of(
		&modules[root->kind == HAWK_ROOT_MODULE ? root->owner : main]);
	if (hawk_dwarf_is_c_library(&module))
		return false;
	if (root->kind == HAWK_ROOT_MODULE)
		return hawk_dwarf_static_at(namer->symbols, &module, root->address, ret);
	return hawk_dwarf_thread_local_at(
		namer->symbols, &module, root->address,
		hawk_target_threads(namer->target, &count)[root->owner].thread_pointer, ret);
}

struct hawk_root_name hawk_root_find(struct hawk_root_namer *namer, uint32_t number)
{
	const struct hawk_root *root = &namer->roots->items[number];
	CLEANUP(text) struct hawk_text text = {0};
	struct hawk_dwarf_variable variable;
	struct hawk_symbol_place place;
	struct hawk_root_name name = find(namer, root, &place);

	if (!namer->asks_variables || !find_variable(namer, root, &name, &variable) ||
	    !variable.name[0])
		return name;
	hawk_text_puts(&text, variable.name);
	hawk_dwarf_append_path(namer->symbols, variable.type, root->address - variable.address,
			       &text);
	if (!text.failed)
		name.variable = hawk_symbols_intern(namer->symbols, text.bytes);
	return name;
}

void hawk_root_name(struct hawk_root_namer *namer, uint32_t root, struct hawk_text *text)
{
	struct hawk_root_name name = hawk_root_find(namer, root);

	hawk_root_name_append(text, &name, SIZE_MAX);
}

/** The group found last. */
struct last {
	const struct hawk_root *root;
	struct hawk_root_name name;
	struct hawk_symbol_place place;
	uint32_t group;
};

/* Roots are sorted, and arrays and mappings full of them are common: no need to look again. */
static bool in_last_group(const struct hawk_root_namer *namer, const struct last *last,
			  const struct hawk_root *root)
{
	if (!last->root || last->root->kind != root->kind || last->root->owner != root->owner)
		return false;
	if (root->kind == HAWK_ROOT_STACK || root->kind == HAWK_ROOT_TLS ||
	    root->kind == HAWK_ROOT_MODULE)
		return root->address >= last->place.start && root->address < last->place.end;
	if (root->kind == HAWK_ROOT_OTHER)
		return is_garbage(namer, root) == last->name.is_garbage;
	return root->kind != HAWK_ROOT_REGISTER ||
	       (root->address == HAWK_ROOT_SIGNAL_STACK) == last->name.is_signal_stack;
}

/* Strings of names are kept once for each symbol, module and so on. */
static bool is_same_name(const struct hawk_root_name *a, const struct hawk_root_name *b)
{
	return a->kind == b->kind && a->is_signal_stack == b->is_signal_stack &&
	       a->has_frame == b->has_frame && a->frame == b->frame && a->frame_pc == b->frame_pc &&
	       a->function == b->function && a->symbol == b->symbol && a->module == b->module &&
	       a->section == b->section && a->mapping == b->mapping &&
	       a->is_garbage == b->is_garbage;
}

/** The number of the group called `name`, a new one if there is none. */
static bool number_group(struct hawk_root_namer *namer, const struct hawk_root_name *name,
			 struct hawk_tree_roots *groups, uint32_t *ret)
{
	CLEANUP(text) struct hawk_text text = {0};
	struct hawk_name_node *node;

	hawk_root_name_append_group(&text, name);
	node = text.failed ? NULL
			   : hawk_name_tree_node(&namer->group_names, hawk_text_string(&text));
	if (!node)
		return false;
	if (!node->noted) {
		node->noted = true;
		node->number = groups->count;
	}
	/* Whenever groups are made, they get the same numbers. */
	groups->names[node->number] = node->text;
	groups->count += node->number == groups->count;
	*ret = node->number;
	return true;
}

struct hawk_error *hawk_tree_roots_make(struct hawk_root_namer *namer, struct hawk_tree_roots *ret)
{
	size_t count = namer->roots->count;
	struct hawk_tree_roots groups = {.groups = calloc(count + 1, sizeof(*groups.groups)),
					 .names = calloc(count + 1, sizeof(*groups.names))};
	bool good = groups.groups && groups.names;
	struct last last = {0};

	for (size_t i = 0; i < count && good; i++) {
		const struct hawk_root *root = &namer->roots->items[i];

		if (!in_last_group(namer, &last, root)) {
			bool same_owner = last.root && last.root->owner == root->owner;
			struct hawk_root_name name = find(namer, root, &last.place);

			if (!same_owner || !is_same_name(&last.name, &name))
				good = number_group(namer, &name, &groups, &last.group);
			last.root = root;
			last.name = name;
		}
		groups.groups[i] = last.group;
	}
	if (!good) {
		hawk_tree_roots_deinit(&groups);
		return &hawk_enomem;
	}
	*ret = groups;
	return NULL;
}

void hawk_tree_roots_deinit(struct hawk_tree_roots *groups)
{
	free(groups->groups);
	free(groups->names);
	*groups = (struct hawk_tree_roots){0};
}
