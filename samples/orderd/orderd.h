/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * orderd: a small order service as they are found in the wild. It takes orders, prices them from a
 * catalog (C++), renders a receipt, keeps receipts in a cache, and forgets an audit record now and
 * then: that is the leak which the demo looks for.
 *
 * No network: orders are made from a seed, so that two runs print the same totals.
 */
#ifndef ORDERD_H
#define ORDERD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { ORDER_LINES_MAX = 6 };

struct order {
	uint64_t number;
	uint32_t customer;
	uint32_t line_count;
	struct {
		uint32_t product;
		uint32_t quantity;
	} lines[ORDER_LINES_MAX];
};

/** Order `number` of a run; the same seed gives the same order. */
void order_generate(struct order *order, uint64_t number, uint64_t seed);

/* catalog.cpp */
struct catalog;
struct catalog *catalog_open(uint32_t product_count);
void catalog_close(struct catalog *catalog);
/** Price of one piece in cents, 0 if the product is unknown. */
uint64_t catalog_price(const struct catalog *catalog, uint32_t product);
/** Remembers what a customer bought; keeps a history per customer. */
void catalog_note_purchase(struct catalog *catalog, uint32_t customer, uint32_t product);

/* receipt.c */
/** A NUL-terminated text that the caller frees. */
char *receipt_render(const struct catalog *catalog, const struct order *order, uint64_t *total);

/* cache.c */
struct cache;
struct cache *cache_create(size_t capacity);
void cache_destroy(struct cache *cache);
/** Takes over `text`; the oldest entry gives way when the cache is full. */
void cache_put(struct cache *cache, uint64_t key, char *text);
/** A copy that the caller frees, or NULL. */
char *cache_get(struct cache *cache, uint64_t key);

/* audit.c */
/** Books a rejected order. Returns false for orders that need no review. */
bool audit_rejected(const struct order *order, const char *reason);

/* stats.c */
struct stats;
struct stats *stats_start(void);
void stats_add(struct stats *stats, uint64_t cents, bool rejected);
/** Stops the thread and prints the totals. */
void stats_finish(struct stats *stats);

#ifdef __cplusplus
}
#endif

#endif
