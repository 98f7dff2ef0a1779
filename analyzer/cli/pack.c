/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core pack: a core compressed in frames of their own.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bar.h"
#include "cli.h"
#include "core_copy.h"
#include "hawk/base/cleanup.h"
#include "hawk/target/target.h"

/** Returns an error if `path` is no core. `*packed`: it is compressed already. */
static struct hawk_error *check_core(const char *path, bool *packed)
{
	struct hawk_findings findings;
	struct hawk_target *target = NULL;
	struct hawk_error *err;

	hawk_findings_init(&findings);
	err = hawk_target_peek_core(path, &findings, packed, &target);
	hawk_target_close(target);
	hawk_findings_deinit(&findings);
	return err;
}

/** Complains about what a compressed core has lost; returns true if anything. */
static bool complain_lost(const struct hawk_findings *findings)
{
	bool lost = false;

	for (size_t i = 0; i < findings->count; i++) {
		if (strcmp(findings->items[i].key, "core-unpack") != 0)
			continue;
		hawk_complain("incomplete: %s", findings->items[i].text);
		lost = true;
	}
	return lost;
}

/** Packs what a compressed core unpacks to. `*lost`: not all of it. */
static struct hawk_error *pack_again(struct hawk_core_copy *copy, const char *path, bool *lost)
{
	const char *folder = getenv("TMPDIR");
	struct hawk_unpack_settings settings = {.folder = folder && *folder ? folder : NULL};
	struct hawk_findings findings;
	struct hawk_target *target = NULL;
	struct hawk_error *err;
	size_t size = 0;

	hawk_findings_init(&findings);
	err = hawk_target_unpack_core(path, &settings, &findings, &target);
	if (!err) {
		const uint8_t *bytes = hawk_target_core_bytes(target, &size);

		err = hawk_file_sink_write(copy->sink, bytes, size);
		copy->bytes = size;
		*lost = complain_lost(&findings);
	}
	hawk_target_close(target);
	hawk_findings_deinit(&findings);
	return err;
}

static struct hawk_error *pack_from(struct hawk_core_copy *copy, const char *path, bool *lost)
{
	bool is_piped = !strcmp(path, "-"), packed = false;
	CLEANUP(close_fd)
	int fd = is_piped ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct hawk_error *err = NULL;

	if (fd < 0)
		return hawk_error_os(errno, "cannot open", path);
	if (!is_piped)
		err = check_core(path, &packed);
	if (err)
		return err;
	return packed ? pack_again(copy, path, lost) : hawk_core_copy(copy, fd, path);
}

static struct hawk_error *pack(const struct hawk_settings *settings, const char *path, bool *lost)
{
	struct hawk_file_sink_settings place = {.path = settings->copy, .force = settings->replace};
	struct hawk_core_copy copy = {.written_max = UINT64_MAX, .end_ns = UINT64_MAX};
	uint64_t bytes = 0;
	struct hawk_error *err = hawk_file_sink_create(&place, &copy.sink);

	if (!err)
		err = pack_from(&copy, path, lost);
	if (!err && !copy.bytes)
		err = hawk_error_create(HAWK_ERROR_FORMAT, "standard input: is empty (0 bytes)");
	if (!err)
		err = hawk_file_sink_finish(copy.sink, &bytes);
	if (!err)
		err = hawk_file_sink_commit(copy.sink);
	hawk_file_sink_destroy(copy.sink);
	if (!err)
		printf("%s: %s, a core of %s\n", settings->copy, hawk_quantity_bytes(bytes).text,
		       hawk_quantity_bytes(copy.bytes).text);
	return err;
}

static int run(struct hawk_settings *settings)
{
	CLEANUP(free_ptr) char *last = NULL;
	struct hawk_error *err = NULL;
	struct hawk_bar bar = {0};
	bool lost = false;
	int code;

	if (settings->count != !settings->last || !settings->copy ||
	    !hawk_file_sink_packs(settings->copy)) {
		hawk_complain("pack needs one core and --output FILE.zst; see hawk-core help pack");
		return HAWK_EXIT_USAGE;
	}
	/* Report a full disk as an error instead of dying by a signal. */
	signal(SIGXFSZ, SIG_IGN);
	hawk_bar_begin(&bar, settings->quiet);
	if (settings->last)
		err = hawk_last_core(settings, &last);
	if (!err)
		err = pack(settings, last ? last : settings->operands[0], &lost);
	hawk_bar_deinit(&bar);
	if (err)
		return hawk_fail(err);
	code = hawk_help_finish();
	return code == HAWK_EXIT_OK && lost ? HAWK_EXIT_PARTIAL : code;
}

static const struct hawk_option options[] = {
	{"output", 'o', HAWK_OPTION_STRING, HAWK_AT(copy), "FILE",
	 "write the core to FILE (mode 0600), whose name ends in .zst"},
	{"force", '\0', HAWK_OPTION_FLAG, HAWK_AT(replace), NULL, "replace FILE if it exists"},
	{0},
};

const struct hawk_verb hawk_verb_pack = {
	.name = "pack",
	.arguments = "-o FILE.zst [options] CORE",
	.summary = "compress a core, so that it unpacks with all processors",
	.details = "Compresses a core, a compressed one too, or one in a pipe (-), with zstd: in "
		   "frames of 256 KiB that do not need each other, and a table of them at the end. "
		   "Every command reads it with as many threads as there are processors; holes "
		   "stay holes. \"zstd -d\" unpacks it, too. \"hawk-core redact -o FILE.zst\" "
		   "writes such files.",
	.options = options,
	.shared = HAWK_TAKES_LAST | HAWK_TAKES_QUIET,
	.exit_codes = "Exit codes: 0 ok, 2 usage, 3 not readable or not writable, 4 a part of a "
		      "compressed core is lost.",
	.run = run,
};
