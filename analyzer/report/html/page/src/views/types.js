// SPDX-License-Identifier: Apache-2.0
// Types of live blocks, with what they take and retain.

import { bytes, count, fill, h, plural, seconds, share } from "../dom.js";
import { go } from "../fragment.js";
import { named } from "../names.js";
import { choice } from "./controls.js";

const ORDERS = {
  "": (type) => type.shallow_bytes,
  blocks: (type) => type.objects,
  retained: (type) => type.retained_bytes?.all_pointers ?? 0,
};

function row(type, aged) {
  return h(
    "tr",
    {},
    h("td", { class: "number" }, h("b", {}, bytes(type.shallow_bytes))),
    h("td", { class: "number" }, count(type.objects)),
    h("td", { class: "number" }, type.retained_bytes ? bytes(type.retained_bytes.all_pointers) : ""),
    aged ? h("td", { class: "number" }, type.oldest_seconds === null ? "" : seconds(type.oldest_seconds)) : null,
    h("th", { scope: "row" }, type.type === null ? "not known" : named(type.type, 140), type.guess ? "?" : "", " ", h("span", { class: "place" }, type.type === null ? "" : type.known_by)),
  );
}

export function typesView(report) {
  const { types, types_total: total, known, guessed } = report.types;
  const aged = types.some((type) => type.oldest_seconds !== null);
  const heads = ["Size", "Blocks", "Retained", ...(aged ? ["Oldest"] : []), "Type"];
  const element = h("div", { class: "sections" });
  function put(state) {
    const order = ORDERS[state.sort] ?? ORDERS[""];
    fill(
      element,
      h("h1", {}, "Types"),
      h("p", { class: "note" }, `${plural(known.objects, "block")} (${bytes(known.bytes)}, ${share(known.bytes, report.analyze.heap.inuse_bytes)}) of known types${guessed.objects ? `; types with ? are guesses: ${plural(guessed.objects, "block")}` : ""}. Retained bytes are lower bounds.`),
      h("div", { class: "controls" }, choice("Order", state.sort in ORDERS ? state.sort : "", [["", "size"], ["blocks", "blocks"], ["retained", "retained"]], (sort) => go({ sort }))),
      h(
        "div",
        { class: "scroll", tabindex: 0, role: "region", "aria-label": "Types" },
        h("table", { class: "growth" }, h("thead", {}, h("tr", {}, heads.map((t) => h("th", { scope: "col" }, t)))), h("tbody", {}, types.slice().sort((a, b) => order(b) - order(a)).map((type) => row(type, aged)))),
      ),
      total > types.length ? h("p", { class: "faint" }, `and ${plural(total - types.length, "smaller one")}`) : null,
    );
  }
  return { element, show: put };
}
