// SPDX-License-Identifier: Apache-2.0
// Free memory: why it is not given back, and whose blocks pin it.

import { bytes, count, fill, h, plural, prose, seconds, share, show } from "../dom.js";
import { go, linkTo } from "../fragment.js";
import { named } from "../names.js";
import { addressLink } from "./blocks.js";
import { choice } from "./controls.js";

const PARTS = [
  ["pinned", "pinned_bytes", "in pages or slabs at least half free"],
  ["scattered", "scattered_bytes", "in pages or slabs more than half used"],
  ["whole", "whole_bytes", "pages or slabs without blocks, resident"],
  ["cached", "cached_bytes", "by threads"],
  ["untouched", "given_back_bytes", "given back, or never used"],
];

function parts(found) {
  const rows = PARTS.filter(([, key]) => found[key]).map(([name, key, what]) =>
    h("tr", {}, h("th", { scope: "row" }, name, " ", h("small", {}, what)), h("td", { class: "number" }, bytes(found[key])), h("td", { class: "number faint" }, share(found[key], found.free_bytes))),
  );
  return h("table", { class: "ledger" }, h("thead", { class: "unseen" }, h("tr", {}, ["What", "Bytes", "Share"].map((t) => h("th", { scope: "col" }, t)))), h("tbody", {}, rows));
}

function owner(names, pin) {
  const site = names.get((pin.site ?? "").slice(0, 8));
  if (!site) return pin.cached ? "caches of threads" : "not known";
  return [h("a", { href: linkTo({ view: "graph", site: pin.site }) }, named(site.name, 120)), " ", h("span", { class: "place" }, show(site.place, 60))];
}

/** The root that leads to the block, if the page describes it. */
function holder(report, address) {
  const object = report.objects?.objects.find((found) => found.address === address);
  if (!object) return null;
  return h("p", { class: "faint" }, object.root ? ["held by ", prose(object.root.name, 120)] : "no root leads to it");
}

function row(report, names, pin) {
  return h(
    "tr",
    {},
    h("td", { class: "number" }, pin.returns_bytes ? bytes(pin.returns_bytes) : ""),
    h("td", { class: "number" }, pin.shared_bytes ? bytes(pin.shared_bytes) : ""),
    h("td", { class: "number" }, count(pin.objects), h("br"), h("span", { class: "faint" }, bytes(pin.bytes))),
    h("th", { scope: "row" }, owner(names, pin), pin.site ? holder(report, pin.example) : null),
    h("td", {}, pin.site ? addressLink(pin.example) : "", pin.example_seconds === null ? "" : h("span", { class: "faint" }, h("br"), `${seconds(pin.example_seconds)} old`)),
  );
}

export function freeView(report) {
  const found = report.page.fragmentation;
  const element = h("div", { class: "sections" });
  async function put(state) {
    const names = await report.siteNames();
    const oldest = state.sort === "oldest";
    const age = (pin) => pin.example_seconds ?? -1;
    const pins = oldest ? found.pins.slice().sort((a, b) => age(b) - age(a)) : found.pins;
    const aged = found.pins.some((pin) => pin.example_seconds !== null);
    fill(
      element,
      h("h1", {}, "Free memory"),
      h("p", {}, h("b", {}, bytes(found.free_bytes)), " free in allocators. ", prose(found.advice, 400), "."),
      h("section", { class: "card" }, h("h2", {}, "Where it is"), parts(found)),
      h("p", { class: "note" }, "Whose blocks pin it: pages and slabs that are at least half free return only without these blocks."),
      aged ? h("div", { class: "controls" }, choice("Order", oldest ? "oldest" : "", [["", "what would return"], ["oldest", "oldest block"]], (sort) => go({ sort }))) : null,
      pins.length
        ? h(
            "div",
            { class: "scroll", tabindex: 0, role: "region", "aria-label": "Pins" },
            h("table", { class: "growth" }, h("thead", {}, h("tr", {}, ["Would return", "Shared", "Blocks", "Site", aged ? "An old block" : "A block"].map((t) => h("th", { scope: "col" }, t)))), h("tbody", {}, pins.map((pin) => row(report, names, pin)))),
          )
        : h("p", {}, "Nothing is pinned."),
      found.pins_total > pins.length ? h("p", { class: "faint" }, `and ${plural(found.pins_total - pins.length, "smaller one")}`) : null,
    );
  }
  return { element, show: put };
}
