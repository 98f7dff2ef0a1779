/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * orderd's command line, its workers and its way to die on demand.
 *
 *     orderd [--requests N] [--workers N] [--seed N] [--crash segv|abort] [--linger]
 *
 * --crash takes effect when all requests are done, inside a worker thread; --linger waits for
 * SIGTERM instead of ending, so that a running process can be looked at.
 */
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "orderd.h"

enum {
	PRODUCTS = 1000,
	CACHE_ENTRIES = 2000,
	WORKERS_MAX = 64,
};

static struct {
	uint64_t requests, seed;
	long workers;
	const char *crash;
	bool linger;
} options = {.requests = 20000, .seed = 1, .workers = 4};

struct service {
	struct catalog *catalog;
	struct cache *cache;
	struct stats *stats;
};

struct worker {
	struct service *service;
	uint64_t first;
	pthread_t thread;
};

static void handle_order(struct service *service, const struct order *order)
{
	uint64_t total;
	char *text = receipt_render(service->catalog, order, &total);
	bool rejected = total == 0 || total % 13 == 0;

	if (rejected) {
		audit_rejected(order, total ? "price looks unlucky" : "no such product");
		free(text);
	} else {
		for (uint32_t i = 0; i < order->line_count; i++)
			catalog_note_purchase(service->catalog, order->customer,
					      order->lines[i].product);
		cache_put(service->cache, order->number, text);
		free(cache_get(service->cache, order->number / 2));
	}
	stats_add(service->stats, rejected ? 0 : total, rejected);
}

static void *serve(void *argument)
{
	struct worker *worker = argument;

	for (uint64_t i = worker->first; i < options.requests; i += (uint64_t)options.workers) {
		struct order order;

		order_generate(&order, i, options.seed);
		handle_order(worker->service, &order);
	}
	return NULL;
}

__attribute__((noinline)) static uint64_t bill_last_order(const struct order *volatile *last)
{
	if (!strcmp(options.crash, "abort"))
		abort();
	return (*last)->number; /* nobody has set it: SIGSEGV at a small address */
}

static void *settle_accounts(void *argument)
{
	const struct order *volatile last = NULL;

	printf("last order: %lu\n", bill_last_order(&last));
	return argument;
}

static void crash_in_a_thread(void)
{
	pthread_t thread;

	fflush(stdout);
	if (!pthread_create(&thread, NULL, settle_accounts, NULL))
		pthread_join(thread, NULL);
}

static void wait_for_sigterm(void)
{
	sigset_t set;
	int signal_number;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	puts("ready");
	fflush(stdout);
	sigwait(&set, &signal_number);
}

static void run_workers(struct service *service)
{
	struct worker *workers = calloc((size_t)options.workers, sizeof(*workers));

	if (!workers)
		abort();
	for (long i = 0; i < options.workers; i++) {
		workers[i].service = service;
		workers[i].first = (uint64_t)i;
		if (pthread_create(&workers[i].thread, NULL, serve, &workers[i]))
			abort();
	}
	for (long i = 0; i < options.workers; i++)
		pthread_join(workers[i].thread, NULL);
	free(workers);
}

static bool parse_options(int argc, char **argv)
{
	static const struct option known[] = {
		{"requests", required_argument, NULL, 'r'},
		{"workers", required_argument, NULL, 'w'},
		{"seed", required_argument, NULL, 's'},
		{"crash", required_argument, NULL, 'c'},
		{"linger", no_argument, NULL, 'l'},
		{NULL, 0, NULL, 0},
	};

	for (int option; (option = getopt_long(argc, argv, "", known, NULL)) != -1;) {
		switch (option) {
		case 'r':
			options.requests = strtoull(optarg, NULL, 10);
			break;
		case 'w':
			options.workers = strtol(optarg, NULL, 10);
			break;
		case 's':
			options.seed = strtoull(optarg, NULL, 10);
			break;
		case 'c':
			options.crash = optarg;
			break;
		case 'l':
			options.linger = true;
			break;
		default:
			return false;
		}
	}
	if (options.crash && strcmp(options.crash, "segv") && strcmp(options.crash, "abort"))
		return false;
	return optind == argc && options.workers > 0 && options.workers <= WORKERS_MAX;
}

int main(int argc, char **argv)
{
	struct service service;
	sigset_t terminate;

	if (!parse_options(argc, argv)) {
		fprintf(stderr,
			"usage: %s [--requests N] [--workers N] [--seed N] "
			"[--crash segv|abort] [--linger]\n",
			argv[0]);
		return 2;
	}
	sigemptyset(&terminate);
	sigaddset(&terminate, SIGTERM);
	if (options.linger)
		pthread_sigmask(SIG_BLOCK, &terminate, NULL);

	service.catalog = catalog_open(PRODUCTS);
	service.cache = cache_create(CACHE_ENTRIES);
	service.stats = stats_start();
	run_workers(&service);
	if (options.crash)
		crash_in_a_thread();
	if (options.linger)
		wait_for_sigterm();
	stats_finish(service.stats);
	cache_destroy(service.cache);
	catalog_close(service.catalog);
	return 0;
}
