/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core list: the cores of this machine; and --last, which picks one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer.h"
#include "hawk/report/cores.h"

struct cores {
	struct hawk_core_list list;
	struct hawk_cores_report report;
};

static struct hawk_error *make(struct hawk_session *session, void *made)
{
	const struct hawk_settings *settings = session->settings;
	struct cores *ret = made;
	struct hawk_error *err =
		settings->count ? hawk_core_list_make((const char *const *)settings->operands,
						      (size_t)settings->count, &ret->list)
				: hawk_core_list_usual(&ret->list);

	if (ret->list.cut)
		hawk_findings_add(&session->findings, HAWK_FINDING_MISSING, true, "cores-left-out",
				  "a directory has too many files: some cores are not listed");
	ret->report = (struct hawk_cores_report){
		.list = &ret->list,
		.findings = &session->findings,
		.top = (size_t)settings->top,
	};
	if (!ret->list.count)
		session->code = HAWK_EXIT_CONDITION;
	return err;
}

static struct hawk_error *print_text(void *made, const struct hawk_screen *screen)
{
	hawk_report_cores(&((struct cores *)made)->report, screen);
	return NULL;
}

static struct hawk_error *print_json(void *made, struct hawk_output *output)
{
	hawk_report_cores_json(&((struct cores *)made)->report, output);
	return NULL;
}

static void deinit(void *made)
{
	hawk_core_list_deinit(&((struct cores *)made)->list);
}

static const struct hawk_answer answer = {
	.name = "list",
	.bytes = sizeof(struct cores),
	.make = make,
	.text = print_text,
	.json = print_json,
	.deinit = deinit,
};

static int run(struct hawk_settings *settings)
{
	return hawk_answer_run(settings, &answer);
}

/** Takes the newest core that is wanted, even if it cannot be read: an older one is another crash.
 */
static struct hawk_error *pick_last(const struct hawk_core_list *list, const char *wanted,
				    char **ret)
{
	const struct hawk_core_entry *last = hawk_core_list_last(list, wanted);

	if (!last)
		return hawk_error_create(HAWK_ERROR_NOT_FOUND,
					 "no core%s%s was found; see hawk-core help list",
					 *wanted ? " of " : "", wanted);
	if (last->trouble)
		return hawk_error_create(HAWK_ERROR_OS, "%s", last->trouble);
	*ret = strdup(last->path);
	return *ret ? NULL : &hawk_enomem;
}

struct hawk_error *hawk_last_core(const struct hawk_settings *settings, char **ret)
{
	struct hawk_core_list list;
	struct hawk_error *err;

	if (settings->pid)
		return hawk_error_create(HAWK_ERROR_USAGE, "--last and --pid exclude each other");
	err = hawk_core_list_usual(&list);
	if (!err)
		err = pick_last(&list, settings->last, ret);
	hawk_core_list_deinit(&list);
	if (!err && !settings->quiet)
		hawk_complain("the last core is %s", *ret);
	return err;
}

const struct hawk_verb hawk_verb_list = {
	.name = "list",
	.arguments = "[options] [DIR...]",
	.summary = "the cores of this machine, newest first",
	.details = "Lists the cores in each DIR; without one, where the kernel's core_pattern, "
		   "systemd-coredump, ABRT and Apport keep them, and in the current directory. "
		   "Compressed cores and Apport reports are read as they are. core: whole or cut "
		   "off; traced: by hawk-core's tracer; - is not known. Every command that reads "
		   "a core takes the newest one with --last.",
	.shared = HAWK_TAKES_TOP | HAWK_TAKES_JSON | HAWK_TAKES_QUIET | HAWK_TAKES_OUTPUT |
		  HAWK_TAKES_COLOR,
	.exit_codes = "Exit codes: 0 ok, 1 there is no core, 2 usage, 3 a directory cannot be "
		      "read, 4 the list is incomplete.",
	.run = run,
};
