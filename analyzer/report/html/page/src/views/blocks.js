// SPDX-License-Identifier: Apache-2.0
// Single blocks: their names, and links to the view of objects.

import { bytes, h, show } from "../dom.js";
import { linkTo } from "../fragment.js";
import { named } from "../names.js";

/** The type, or what allocated the block. */
export function blockName(names, block) {
  const site = names.get((block.site ?? "").slice(0, 8));
  return block.type ?? site?.name ?? "block";
}

export function addressLink(address) {
  return h("a", { href: linkTo({ view: "objects", address }) }, h("code", {}, show(address, 20)));
}

/** A link to the largest block of a site, if the page describes one. */
export function exampleLink(report, site) {
  const blocks = (report.objects?.objects ?? []).filter((object) => object.site === site);
  if (!site || !blocks.length) return null;
  return ["One of its blocks: ", addressLink(blocks.reduce((a, b) => (b.size > a.size ? b : a)).address)];
}

/** "Session +88 (2,000 of them)": a block on a path or a cycle, and where its pointer lies. */
export function stepText(names, step) {
  return [
    named(blockName(names, step), 80),
    step.offset === null || step.offset === undefined ? "" : ` +${step.offset}`,
    step.objects > 1 ? ` (${step.objects} in a row)` : "",
  ];
}

/** A cycle of a document: the shortest way round, and the pointer that is best cut. */
export function cycleText(names, cycle) {
  const { steps, cut_step: cut, freed_by_cut: freed } = cycle;
  const chain = steps.map((step, i) => [i ? " \u2192 " : "", h("a", { href: linkTo({ view: "objects", address: step.address }) }, stepText(names, step))]);
  return h(
    "div",
    { class: "cycle" },
    h("p", {}, h("b", {}, bytes(cycle.lost.bytes)), ` in ${cycle.lost.objects.toLocaleString("en-US")} blocks, lost by ${cycle.cycles.toLocaleString("en-US")} ${cycle.cycles === 1 ? "cycle" : "cycles like this one"} of ${cycle.length}:`),
    h("p", { class: "chain" }, chain, " \u2192 ", named(blockName(names, steps[0]), 80), steps.length < cycle.length ? " (a part of it)" : ""),
    cut === null ? null : h("p", { class: "faint" }, "Without the pointer in ", stepText(names, { ...steps[cut], objects: 1 }), `, ${bytes(freed.bytes)} of the first cycle would be freed.`),
  );
}
