/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Named roots as text.
 */
#include "hawk/names/function_name.h"
#include "hawk/names/root_name.h"

const char *hawk_root_kind_name(enum hawk_root_kind kind)
{
	static const char *const names[HAWK_ROOT_KINDS] = {
		[HAWK_ROOT_REGISTER] = "register", [HAWK_ROOT_STACK] = "stack",
		[HAWK_ROOT_TLS] = "tls",           [HAWK_ROOT_MODULE] = "module",
		[HAWK_ROOT_OTHER] = "other",       [HAWK_ROOT_UNOWNED] = "unowned",
	};

	return kind < HAWK_ROOT_KINDS ? names[kind] : "other";
}

static void append_offset(struct hawk_text *text, int64_t offset)
{
	uint64_t distance = offset < 0 ? -(uint64_t)offset : (uint64_t)offset;

	if (offset)
		hawk_text_printf(text, "%c0x%llx", offset < 0 ? '-' : '+',
				 (unsigned long long)distance);
}

static void append_quoted(struct hawk_text *text, const char *name, size_t width)
{
	hawk_text_puts(text, "`");
	hawk_function_name_append(text, name, width);
	hawk_text_puts(text, "`");
}

static void append_frame(struct hawk_text *text, const struct hawk_root_name *name, size_t width)
{
	hawk_text_printf(text, "frame %u ", name->frame);
	if (name->function) {
		append_quoted(text, name->function, width);
	} else if (name->module && name->module[0]) {
		hawk_function_name_append(text, hawk_path_base(name->module), SIZE_MAX);
		hawk_text_printf(text, "+0x%llx", (unsigned long long)name->frame_offset);
	} else {
		hawk_text_printf(text, "0x%llx", (unsigned long long)name->frame_pc);
	}
}

static void append_stack(struct hawk_text *text, const struct hawk_root_name *name, size_t width)
{
	hawk_text_printf(text, "thread %u, ", name->tid);
	if (!name->has_frame)
		hawk_text_puts(text, "stack");
	else
		append_frame(text, name, width);
	if (name->variable) {
		hawk_text_puts(text, ", ");
		append_quoted(text, name->variable, width);
		return;
	}
	hawk_text_printf(text, ", %s", name->stack_pointer);
	append_offset(text, name->offset);
}

/* Appends "`g_server.cache_`", or "`g_server`+0x40" without debug information. */
static void append_variable(struct hawk_text *text, const struct hawk_root_name *name, size_t width)
{
	append_quoted(text, name->variable ? name->variable : name->symbol, width);
	if (!name->variable)
		append_offset(text, name->offset);
}

static void append_module(struct hawk_text *text, const struct hawk_root_name *name, size_t width)
{
	const char *base =
		name->module && name->module[0] ? hawk_path_base(name->module) : "a module";

	if (name->variable || name->symbol) {
		append_variable(text, name, width);
		hawk_text_puts(text, " in ");
	}
	hawk_function_name_append(text, base, SIZE_MAX);
	if (!name->variable &&
	    !name->symbol) /* from the module's link-time start, not the section's */
		append_offset(text, name->offset);
	if (name->section) {
		hawk_text_puts(text, " ");
		hawk_function_name_append(text, name->section, SIZE_MAX);
	}
}

static void append_tls(struct hawk_text *text, const struct hawk_root_name *name, size_t width)
{
	hawk_text_printf(text, "TLS of thread %u, ", name->tid);
	if (name->variable || name->symbol) {
		append_variable(text, name, width);
		return;
	}
	hawk_text_puts(text, "fs");
	append_offset(text, name->offset);
}

void hawk_root_name_append(struct hawk_text *text, const struct hawk_root_name *name, size_t width)
{
	switch (name->kind) {
	case HAWK_ROOT_REGISTER:
		hawk_text_printf(text, "thread %u, %s%s", name->tid,
				 name->is_signal_stack ? "" : "register ", name->reg);
		return;
	case HAWK_ROOT_STACK:
		append_stack(text, name, width);
		return;
	case HAWK_ROOT_TLS:
		append_tls(text, name, width);
		return;
	case HAWK_ROOT_MODULE:
		append_module(text, name, width);
		return;
	default:
		break;
	}
	if (name->is_garbage) {
		hawk_text_puts(text, "an interpreter's garbage");
		return;
	}
	if (name->kind == HAWK_ROOT_UNOWNED)
		hawk_text_puts(text, "memory between blocks in ");
	hawk_text_puts(text, "mapping ");
	if (name->mapping)
		hawk_function_name_append(text, name->mapping, SIZE_MAX);
	else
		hawk_text_printf(text, "0x%llx",
				 (unsigned long long)(name->address - (uint64_t)name->offset));
	append_offset(text, name->offset);
}

/** Appends the thread's part of a group name: for a frame its function, or its module if it has no
 * name. */
static void append_thread_group(struct hawk_text *text, const struct hawk_root_name *name)
{
	hawk_text_puts(text, name->main_thread ? "main thread, " : "worker thread, ");
	if (name->is_signal_stack)
		hawk_text_puts(text, name->reg);
	else if (name->kind == HAWK_ROOT_REGISTER)
		hawk_text_puts(text, "registers");
	else if (!name->has_frame)
		hawk_text_puts(text, "stack");
	else if (name->function)
		append_quoted(text, name->function, SIZE_MAX);
	else if (name->module && name->module[0])
		hawk_function_name_append(text, hawk_path_base(name->module), SIZE_MAX);
	else
		hawk_text_puts(text, "unknown code");
}

static void append_tls_group(struct hawk_text *text, const struct hawk_root_name *name)
{
	hawk_text_puts(text, name->main_thread ? "TLS of main thread" : "TLS of worker thread");
	if (!name->symbol)
		return;
	hawk_text_puts(text, ", ");
	append_quoted(text, name->symbol, SIZE_MAX);
}

void hawk_root_name_append_group(struct hawk_text *text, const struct hawk_root_name *name)
{
	struct hawk_root_name place = *name;

	place.offset = 0;
	if (name->kind == HAWK_ROOT_REGISTER || name->kind == HAWK_ROOT_STACK)
		append_thread_group(text, name);
	else if (name->kind == HAWK_ROOT_TLS)
		append_tls_group(text, name);
	else if (name->kind == HAWK_ROOT_MODULE || name->mapping || name->is_garbage)
		hawk_root_name_append(text, &place, SIZE_MAX);
	else
		hawk_text_puts(text, name->kind == HAWK_ROOT_UNOWNED ? "memory between blocks"
								     : "anonymous memory");
}
