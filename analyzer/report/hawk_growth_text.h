/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Growth verdicts in words: short reasons, one phrase each, and a bar of when blocks were born.
 */
#ifndef HAWK_GROWTH_TEXT_H
#define HAWK_GROWTH_TEXT_H

#include "hawk_growth.h"
#include "hawk_text.h"

/** Appends one reason: "blocks survive from every part of its life". */
void hawk_growth_append_reason(struct hawk_text *text, const struct hawk_growth *growth,
			       const struct hawk_growth_facts *facts,
			       enum hawk_growth_reason reason);

/** Appends all of them, with "; " between. */
void hawk_growth_append_reasons(struct hawk_text *text, const struct hawk_growth *growth,
				const struct hawk_growth_facts *facts);

/** "leak (high confidence)", "unclear" */
void hawk_growth_append_verdict(struct hawk_text *text, const struct hawk_growth *growth);

/** HAWK_AGE_BINS characters, the oldest births first, and a NUL; the higher the more. Of a life
 * below a second, whose parts are shorter than births are known, it says so. */
void hawk_growth_bar(const struct hawk_growth_facts *facts, char bar[HAWK_AGE_BINS + 1]);

#endif
