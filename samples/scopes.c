/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A program that says what it does: scopes around its phases, types of its blocks. "abort" leaves a
 * core; then `hawk-core analyze --by scope`. Runs the same without the tracer.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hawk_annotate.h"

enum { REQUESTS = 200 };

struct session {
	char name[100];
};

struct answer {
	char text[3000];
};

static struct session *sessions[REQUESTS];
static struct answer *cached[REQUESTS];

static void open_session(int number)
{
	HAWK_SCOPE("open session");

	sessions[number] = malloc(sizeof(struct session));
	if (!sessions[number])
		abort();
	hawk_annotate_type(sessions[number], "session");
	snprintf(sessions[number]->name, sizeof(sessions[number]->name), "session %d", number);
}

/** Keeps every fourth answer. */
static void answer_request(int number)
{
	HAWK_SCOPE("answer");
	struct answer *answer = malloc(sizeof(*answer));

	if (!answer)
		abort();
	hawk_annotate_type(answer, "answer");
	snprintf(answer->text, sizeof(answer->text), "hello, %s", sessions[number]->name);
	if (number % 4)
		free(answer);
	else
		cached[number] = answer;
}

static void serve(int number)
{
	HAWK_SCOPE("request");

	open_session(number);
	answer_request(number);
}

int main(int count, char **arguments)
{
	for (int i = 0; i < REQUESTS; i++)
		serve(i);
	printf("%d requests\n", REQUESTS);
	fflush(stdout);
	if (count > 1 && !strcmp(arguments[1], "abort"))
		abort();
	return 0;
}
