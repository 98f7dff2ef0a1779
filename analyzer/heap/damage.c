/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A bounded list of damages, and the findings about them.
 */
#include "hawk/heap/damage.h"

#include "hawk/base/array.h"
#include "hawk/base/findings.h"
#include "hawk/base/quantity.h"

void hawk_damages_add(struct hawk_damages *damages, const struct hawk_damage *damage)
{
	damages->counts[damage->kind]++;
	if (damages->count < HAWK_DAMAGES_MAX &&
	    hawk_array_reserve(&damages->items, damages->count, &damages->capacity,
			       sizeof(*damages->items)))
		damages->items[damages->count++] = *damage;
}

void hawk_damages_report(const struct hawk_damages *damages, struct hawk_findings *findings)
{
	static const struct {
		const char *code, *text;
		bool partial;
	} kinds[HAWK_DAMAGE_KINDS] = {
		{"block-overlap", "sealed headers overlap a younger block and were set aside",
		 false},
		{"block-implausible",
		 "sealed headers have an impossible size, trace, birth or alignment and were left "
		 "out",
		 true},
		{"heap-size",
		 "of the allocator's sizes were overwritten: blocks up to the next "
		 "sound one are not known",
		 true},
		{"heap-link",
		 "links in the allocator's lists of free memory lead nowhere: blocks "
		 "behind them look alive",
		 true},
		{"heap-loop", "of the allocator's lists of free memory lead back into themselves",
		 true},
		{"freed-twice", "blocks are free twice", false},
		{"guard", "guard words behind blocks were overwritten", false},
		{"block-conflict",
		 "blocks overlap others, or begin where none can, and were left out", true},
		{"freed-inside", "pointers into the middle of blocks were freed", false},
		{"free-written", "free blocks were written to", false},
	};

	for (unsigned kind = 0; kind < HAWK_DAMAGE_KINDS; kind++)
		if (damages->counts[kind])
			hawk_findings_add(findings, HAWK_FINDING_DAMAGE, kinds[kind].partial,
					  kinds[kind].code, "%llu %s",
					  (unsigned long long)damages->counts[kind],
					  kinds[kind].text);
}

void hawk_damages_deinit(struct hawk_damages *damages)
{
	free(damages->items);
	*damages = (struct hawk_damages){0};
}
