/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Calls libdebuginfod, and stops it from its progress function. Its declarations are repeated here,
 * because its header is not part of libdw's package; they have not changed since elfutils 0.180.
 */
#include "debuginfod.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "find.h"
#include "hawk/base/numbers.h"

enum { BYTES_IN_PATIENCE_MIN = 64 << 10 };

typedef int progress_function(void *client, long done, long total);
typedef int find_function(void *client, const unsigned char *id, int bytes, char **path);

struct library {
	void *(*begin)(void);
	void (*end)(void *client);
	find_function *find_debuginfo, *find_executable;
	void (*set_progress)(void *client, progress_function *progress);
};

struct hawk_debuginfod {
	struct hawk_debuginfod_settings settings;
	struct library library;
	void *client; /* NULL = not loaded yet */
	bool closed;  /* the servers are not asked again */
	/* The transfer: */
	uint64_t bytes;                   /* so far */
	uint64_t window_ns, window_bytes; /* when the time of patience began, and bytes then */
	const char *stopped;              /* why it was stopped */
};

struct hawk_debuginfod *hawk_debuginfod_create(const struct hawk_debuginfod_settings *settings)
{
	struct hawk_debuginfod *debuginfod = calloc(1, sizeof(*debuginfod));

	if (debuginfod)
		debuginfod->settings = *settings;
	return debuginfod;
}

void hawk_debuginfod_destroy(struct hawk_debuginfod *debuginfod)
{
	if (!debuginfod)
		return;
	if (debuginfod->client)
		debuginfod->library.end(debuginfod->client);
	free(debuginfod);
}

/** The transfer that libdebuginfod's progress function is called for, on the thread that asks. */
static _Thread_local struct hawk_debuginfod *fetching;

/** Called about once a second, also while nothing arrives. `total` is 0 if the server does not say
 * it. Before the first byte `done` is no number of bytes, but small. Returns nonzero to stop. */
static int watch(void *client, long done, long total)
{
	struct hawk_debuginfod *debuginfod = fetching;
	uint64_t now = hawk_now_ns(CLOCK_MONOTONIC), left = debuginfod->settings.bytes_max;

	(void)client;
	if (done > 0)
		debuginfod->bytes = (uint64_t)done;
	if (debuginfod->bytes > left || (total > 0 && (uint64_t)total > left))
		debuginfod->stopped = "it is larger than --max-download allows";
	if (now - debuginfod->window_ns >= debuginfod->settings.patience_ns) {
		if (debuginfod->bytes < debuginfod->window_bytes + BYTES_IN_PATIENCE_MIN)
			debuginfod->stopped = "the server is too slow";
		debuginfod->window_ns = now;
		debuginfod->window_bytes = debuginfod->bytes;
	}
	return debuginfod->stopped != NULL;
}

static bool load_functions(struct library *library)
{
	/* Never closed: libcurl and GnuTLS below it have state for the life of the process. */
	void *handle = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
	const struct {
		const char *name;
		void *to;
	} functions[] = {
		{"debuginfod_begin", &library->begin},
		{"debuginfod_end", &library->end},
		{"debuginfod_find_debuginfo", &library->find_debuginfo},
		{"debuginfod_find_executable", &library->find_executable},
		{"debuginfod_set_progressfn", &library->set_progress},
	};

	if (!handle)
		return false;
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		void *function = dlsym(handle, functions[i].name);

		if (!function)
			return false;
		memcpy(functions[i].to, &function, sizeof(function));
	}
	return true;
}

/** Makes the client; returns false, and says why, if files cannot be fetched. */
static bool is_ready(struct hawk_debuginfod *debuginfod, struct hawk_findings *findings)
{
	if (debuginfod->client || debuginfod->closed)
		return !debuginfod->closed;
	debuginfod->closed = true;
	if (!load_functions(&debuginfod->library)) {
		hawk_findings_add(findings, HAWK_FINDING_MISSING, false, "debuginfod",
				  "libdebuginfod.so.1 is not installed: nothing was fetched");
		return false;
	}
	debuginfod->client = debuginfod->library.begin();
	debuginfod->closed = !debuginfod->client;
	if (debuginfod->client)
		debuginfod->library.set_progress(debuginfod->client, watch);
	return debuginfod->client;
}

/** Says why a file was not fetched, unless the servers just do not have it. */
static void note_failure(struct hawk_debuginfod *debuginfod, const uint8_t *id, size_t bytes,
			 int errnum, struct hawk_findings *findings)
{
	const char *why = debuginfod->stopped ? debuginfod->stopped : strerror(errnum);
	char hex[HAWK_BUILD_ID_TEXT_MAX];

	if (!debuginfod->stopped && errnum == ENOENT)
		return;
	debuginfod->closed = true;
	hawk_findings_add(
		findings, HAWK_FINDING_MISSING, false, "debuginfod",
		"debuginfod: no file for build-id %s, because %s; nothing more is fetched",
		hawk_symbols_build_id_text(id, bytes, hex), why);
}

char *hawk_debuginfod_fetch(struct hawk_debuginfod *debuginfod, const uint8_t *id, size_t bytes,
			    bool debug, struct hawk_findings *findings)
{
	find_function *find;
	char *path = NULL;
	int fd;

	if (!is_ready(debuginfod, findings))
		return NULL;
	find = debug ? debuginfod->library.find_debuginfo : debuginfod->library.find_executable;
	debuginfod->bytes = debuginfod->window_bytes = 0;
	debuginfod->window_ns = hawk_now_ns(CLOCK_MONOTONIC);
	debuginfod->stopped = NULL;
	fetching = debuginfod;
	fd = find(debuginfod->client, id, (int)bytes, &path);
	fetching = NULL;
	if (fd < 0) {
		note_failure(debuginfod, id, bytes, -fd, findings);
		return NULL;
	}
	close(fd);
	debuginfod->settings.bytes_max -= debuginfod->bytes < debuginfod->settings.bytes_max
						  ? debuginfod->bytes
						  : debuginfod->settings.bytes_max;
	return path;
}
