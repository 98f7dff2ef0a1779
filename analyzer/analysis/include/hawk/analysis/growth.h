/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Judges a site from one core: does it leak, cache, churn, or was it filled at start-up or by a
 * burst? Uses the births of live blocks and the share of freed ones. A pure function of numbers;
 * docs/growth.md explains the rules.
 *
 * A core shows survivors only: a leak looks like a container that has not reached its limit, and
 * intent is not in memory. Verdicts carry a confidence; thin data give "unclear".
 */
#ifndef HAWK_ANALYZER_ANALYSIS_GROWTH_H
#define HAWK_ANALYZER_ANALYSIS_GROWTH_H

#include "hawk/graph/reach.h"

enum {
	HAWK_AGE_BINS = 16, /**< equal parts of the process's life, oldest first */
	HAWK_AGE_ONE = 1024 /**< objects are counted in parts of this: births are coarse */
};

struct hawk_growth_facts {
	double life_seconds;
	uint64_t objects;       /**< live blocks whose births are below */
	uint64_t bytes;         /**< their bytes */
	uint64_t inuse_objects; /**< live blocks (estimated, if stacks were sampled) */
	uint64_t inuse_bytes;
	uint64_t alloc_objects; /**< ever; 0 = not known */
	uint64_t alloc_bytes;
	/** Blocks of any site that were never freed but are not in the core; each may belong to
	 * this site. */
	uint64_t missing_objects;
	uint64_t born_objects[HAWK_AGE_BINS]; /**< times HAWK_AGE_ONE */
	uint64_t born_bytes[HAWK_AGE_BINS];   /**< times HAWK_AGE_ONE */
	bool no_ages;                         /**< when blocks were born is not known */
	bool sampled;
	bool reach_known;
	uint64_t reach_bytes[HAWK_REACH_KINDS];
};

enum hawk_growth_verdict {
	HAWK_GROWTH_UNCLEAR = 0,
	HAWK_GROWTH_LEAK,      /**< grows, and goes on growing */
	HAWK_GROWTH_CACHE,     /**< old blocks go: a full cache or a growing queue */
	HAWK_GROWTH_STARTUP,   /**< made when the process began, and kept */
	HAWK_GROWTH_BURST,     /**< made within a short time, and kept */
	HAWK_GROWTH_STEADY,    /**< work in progress: young blocks that are freed soon */
	HAWK_GROWTH_GROWS,     /**< nothing was ever freed, and ages fit none of these patterns */
	HAWK_GROWTH_SATURATES, /**< nothing was freed, but ever fewer are added: a filling cache */
	HAWK_GROWTH_VERDICTS,
};

enum hawk_growth_confidence {
	HAWK_CONFIDENCE_LOW = 0,
	HAWK_CONFIDENCE_MEDIUM,
	HAWK_CONFIDENCE_HIGH,
};

/** Evidence for or against a verdict. */
enum hawk_growth_reason {
	HAWK_REASON_NONE = 0,
	HAWK_REASON_YOUNG_PROCESS, /**< too short a life */
	HAWK_REASON_FEW_BLOCKS,
	HAWK_REASON_NO_PATTERN,  /**< with `freed`, if that is known */
	HAWK_REASON_NONE_FREED,  /**< of all blocks that it ever allocated */
	HAWK_REASON_EVERY_PART,  /**< blocks survive from every part of its life */
	HAWK_REASON_SINCE,       /**< from every part since window_start */
	HAWK_REASON_AT_START,    /**< `share` of the blocks are from before window_end */
	HAWK_REASON_WINDOW,      /**< `share` of them are from window_start to window_end */
	HAWK_REASON_STILL_GOING, /**< the window reaches to now */
	HAWK_REASON_YOUNG,       /**< `share` of them were born after window_start */
	HAWK_REASON_OLD_GONE,    /**< the older, the fewer are left */
	HAWK_REASON_SLOWS,  /**< `share` of them are from the first quarter, `last_share` from the
			       last */
	HAWK_REASON_FREED,  /**< `freed` of all it ever allocated */
	HAWK_REASON_RATE,   /**< bytes_per_hour */
	HAWK_REASON_LOST,   /**< `lost` of the bytes are lost and cannot be freed */
	HAWK_REASON_HELD,   /**< reachable: something holds it */
	HAWK_REASON_BESIDE, /**< besides, `beside_objects` blocks from every later part */
	HAWK_REASON_SAMPLED,
	HAWK_REASON_NO_COUNTERS,
	HAWK_REASON_NO_AGES,
	HAWK_REASON_NO_RATE, /**< too short a life for a rate per hour */
};

enum { HAWK_GROWTH_REASONS_MAX = 8 };

struct hawk_growth {
	enum hawk_growth_verdict verdict;
	enum hawk_growth_confidence confidence;                   /**< of UNCLEAR and GROWS: low */
	enum hawk_growth_reason reasons[HAWK_GROWTH_REASONS_MAX]; /**< strongest first */
	unsigned reason_count;

	double life_seconds;
	bool freed_known;
	double freed; /**< 0 .. 1: of the blocks ever allocated */
	double share; /**< 0 .. 1: of the live blocks, between window_start and window_end */
	double window_start, window_end; /**< 0 .. 1 of the life */
	double last_share;               /**< 0 .. 1: of the live blocks, from the last quarter */
	double lost;                     /**< 0 .. 1 of the bytes */
	uint64_t beside_objects;
	/** Recent live bytes per hour: the growth rate, if it grows. 0 unless the verdict is LEAK,
	 * GROWS or SATURATES, or other blocks grow besides. */
	double bytes_per_hour;
	bool is_rate_known; /**< false: it may grow, but its life is too short for a rate */
};

struct hawk_growth hawk_growth_judge(const struct hawk_growth_facts *facts);

/** "unclear", "leak", "cache or growing queue", "start-up", "burst", "steady", "only grows",
 * "saturating" */
const char *hawk_growth_verdict_name(enum hawk_growth_verdict verdict);
/** Returns false of verdicts that state what is known and judge nothing: UNCLEAR, GROWS. */
bool hawk_growth_is_judged(const struct hawk_growth *growth);
/** Returns true if nearly all live blocks are from the start (the first sixteenth of the life; or
 * the first quarter, up to a minute), and no steady growth followed. */
bool hawk_growth_is_startup(const struct hawk_growth_facts *facts);
/** "low", "medium", "high" */
const char *hawk_growth_confidence_name(enum hawk_growth_confidence confidence);

#endif
