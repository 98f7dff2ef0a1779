/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Servers that are silent or gone. What servers send is tested by tests/e2e/debuginfod.py.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "test.h"
#include "symbols/debuginfod.h"
#include "hawk/base/numbers.h"

static const uint64_t SECOND_NS = 1000000000;

/** Asks for a file at `address`; returns the finding, or NULL. Twice: the second time at once. */
static void expect_failure(const struct sockaddr_in *address, const char *why)
{
	const struct hawk_debuginfod_settings settings = {.bytes_max = 1 << 20,
							  .patience_ns = SECOND_NS};
	struct hawk_debuginfod *debuginfod = hawk_debuginfod_create(&settings);
	uint64_t start = hawk_now_ns(CLOCK_MONOTONIC);
	struct hawk_findings findings;
	uint8_t id[20] = {1};
	char url[64];

	hawk_findings_init(&findings);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u/", ntohs(address->sin_port));
	setenv("DEBUGINFOD_URLS", url, 1);
	setenv("DEBUGINFOD_CACHE_PATH", "cache", 1);
	setenv("no_proxy", "127.0.0.1", 1);
	for (uint8_t i = 0; i < 10; i++) {
		id[1] = i;
		assert_null(hawk_debuginfod_fetch(debuginfod, id, sizeof(id), i % 2, &findings));
	}
	assert_int_equal(findings.count, 1);
	if (!strstr(findings.items[0].text, why))
		fail_msg("\"%s\" does not say \"%s\"", findings.items[0].text, why);
	assert_true(hawk_now_ns(CLOCK_MONOTONIC) - start < 20 * SECOND_NS);
	hawk_findings_deinit(&findings);
	hawk_debuginfod_destroy(debuginfod);
}

TEST(a_silent_server_is_given_up_and_not_asked_again)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	void *library = dlopen("libdebuginfod.so.1", RTLD_NOW);
	socklen_t size = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (!library) {
		print_message("libdebuginfod is not installed\n");
		skip();
	}
	assert_int_equal(bind(listener, (struct sockaddr *)&address, size), 0);
	assert_int_equal(listen(listener, 16), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
	expect_failure(&address, "the server is too slow");
	close(listener);
	expect_failure(&address, "nothing more is fetched");
	dlclose(library);
}
