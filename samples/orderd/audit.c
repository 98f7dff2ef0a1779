/* SPDX-License-Identifier: Apache-2.0 */
/** @file The audit trail of rejected orders, and the bug: small rejections are never freed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orderd.h"

struct audit_record {
	struct order order;
	char *reason;
	char evidence[400];
};

static struct audit_record *audit_record_create(const struct order *order, const char *reason)
{
	struct audit_record *record = malloc(sizeof(*record));

	if (!record)
		abort();
	record->order = *order;
	record->reason = strdup(reason);
	memset(record->evidence, 0, sizeof(record->evidence));
	snprintf(record->evidence, sizeof(record->evidence), "order %lu: %s", order->number,
		 reason);
	return record;
}

bool audit_rejected(const struct order *order, const char *reason)
{
	struct audit_record *record = audit_record_create(order, reason);

	if (order->line_count < 4)
		return false; /* the leak: `record` is forgotten on this way out */
	free(record->reason);
	free(record);
	return true;
}
