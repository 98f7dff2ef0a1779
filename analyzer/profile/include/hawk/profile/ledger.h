/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A ledger: the sites of many processes, or of one at many times, side by side. Sites are joined by
 * signature, so that they stay the same through rebuilds. Inputs are added one by one and not kept:
 * a ledger holds one number for each site of each input.
 */
#ifndef HAWK_ANALYZER_PROFILE_LEDGER_H
#define HAWK_ANALYZER_PROFILE_LEDGER_H

#include "hawk/profile/profile.h"

/** A process at one time, as given to a ledger, which copies it. */
struct hawk_ledger_input {
	const struct hawk_profile *profile; /**< of live memory, with bytes as the shown column */
	uint64_t snapshot;    /**< identifies that process at that time: repeats count once */
	const char *source;   /**< path */
	const char *build_id; /**< of the program; "" = not known */
	uint64_t end_ns;      /**< CLOCK_REALTIME; 0 = not known */
	uint64_t life_ns;     /**< uptime; 0 = not known */
	int signal;           /**< that it died of; 0 = none, or not known */
	uint32_t suspect;     /**< step of the stack that owns most; 0 = not known */
	const char *holder;   /**< root that keeps it alive, without addresses and thread numbers */
};

struct hawk_ledger_snapshot {
	uint64_t id;
	char *source;
	char *build_id;
	uint64_t end_ns, life_ns;
	int signal;
	uint64_t suspect; /**< signature; valid with `holder` */
	char *holder;     /**< NULL = no suspect is known */
};

/** Values of one signature in the snapshots that contain it. */
struct hawk_ledger_row {
	uint64_t signature;
	uint32_t step; /**< of hawk_ledger.stacks: as it was first met */
	char site[17]; /**< in the latest of them; "" = no site, such as (not sampled) */
	bool estimated;
	uint32_t latest, first; /**< snapshots, by time, or as given where times are unknown */
	/* After hawk_ledger_finish(): */
	uint32_t count;
	int64_t median; /**< bytes; the upper one of an even count */
	int64_t maximum;
	bool has_slope; /**< of at least three snapshots with different uptimes */
	double slope;   /**< bytes an hour of uptime, by least squares */
};

/** Snapshots whose main suspect has the same signature and holder: one bug, likely. */
struct hawk_ledger_bug {
	uint64_t signature;
	const char *holder;
	uint32_t step;
	uint32_t count;
	uint32_t example; /**< the latest of them */
	uint32_t first;   /**< the earliest */
};

enum hawk_ledger_sort {
	HAWK_LEDGER_MEDIAN,
	HAWK_LEDGER_MAXIMUM,
	HAWK_LEDGER_SLOPE,
	HAWK_LEDGER_COUNT,
};

struct hawk_ledger {
	struct hawk_ledger_snapshot *snapshots;
	uint32_t snapshot_count;
	uint32_t repeated; /**< repeated inputs */
	bool has_stacks;   /**< at least one snapshot's sites have stacks; else they are classes */
	struct hawk_ledger_row *rows;
	size_t row_count;
	struct hawk_ledger_bug *bugs; /**< after hawk_ledger_finish(): most snapshots first */
	size_t bug_count;
	struct hawk_profile *stacks; /**< without values */

	struct hawk_ledger_value *values; /**< a number for each row of each snapshot */
	size_t value_count;
	size_t snapshot_capacity, row_capacity, value_capacity;
};

struct hawk_error *hawk_ledger_create(struct hawk_ledger **ret);
/** Accepts NULL. */
void hawk_ledger_destroy(struct hawk_ledger *ledger);

struct hawk_error *hawk_ledger_add(struct hawk_ledger *ledger,
				   const struct hawk_ledger_input *input);

/** Computes rows and bugs and sorts them, largest first; once, after the last input. */
struct hawk_error *hawk_ledger_finish(struct hawk_ledger *ledger, enum hawk_ledger_sort sort);

/** Returns true if snapshot `a` is later than `b`. */
bool hawk_ledger_is_later(const struct hawk_ledger *ledger, uint32_t a, uint32_t b);

#endif
