/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Noting which modules are asked for virtual tables, and asking again.
 */
#include "hawk_asked_modules.h"

#include <stdlib.h>

/* Of several threads one at a time. */
static struct hawk_error *note(void *context, uint64_t word, bool *ret)
{
	struct hawk_asking *asking = context;
	const struct hawk_module *module = hawk_target_module_at(asking->target, word);

	if (module && !asking->words[module - asking->modules])
		asking->words[module - asking->modules] = word;
	return asking->other->is_vtable(asking->other->context, word, ret);
}

struct hawk_error *hawk_asking_init(struct hawk_asking *asking, const struct hawk_target *target,
				    const struct hawk_vtable_oracle *other)
{
	*asking = (struct hawk_asking){.oracle = {note, asking}, .target = target, .other = other};
	asking->modules = hawk_target_modules(target, &asking->count);
	asking->words = calloc(asking->count + 1, sizeof(*asking->words));
	return asking->words ? NULL : &hawk_enomem;
}

void hawk_asking_finish(struct hawk_asking *asking, struct hawk_asked_modules *ret)
{
	size_t count = 0;

	for (size_t i = 0; i < asking->count && count < HAWK_ASKED_MODULES_MAX; i++)
		if (asking->words[i])
			asking->words[count++] = asking->words[i];
	*ret = (struct hawk_asked_modules){
		.words = asking->words,
		.count = count,
		.owned = asking->words,
		.told = true,
	};
	asking->words = NULL;
}

void hawk_asking_deinit(struct hawk_asking *asking)
{
	free(asking->words);
	*asking = (struct hawk_asking){0};
}

struct hawk_error *hawk_asked_modules_ask(struct hawk_asked_modules *asked,
					  const struct hawk_vtable_oracle *oracle)
{
	struct hawk_error *err = NULL;
	bool unused;

	if (asked->told)
		return NULL;
	for (size_t i = 0; oracle && i < asked->count && !err; i++)
		err = oracle->is_vtable(oracle->context, asked->words[i], &unused);
	asked->told = !err;
	return err;
}

void hawk_asked_modules_deinit(struct hawk_asked_modules *asked)
{
	free(asked->owned);
	*asked = (struct hawk_asked_modules){0};
}
