// SPDX-License-Identifier: Apache-2.0
// What is lost: sums, cycles, and the records of sites, or types.

import { bytes, count, fill, h, plural, seconds, show } from "../dom.js";
import { go, linkTo } from "../fragment.js";
import { named } from "../names.js";
import { addressLink, cycleText } from "./blocks.js";
import { choice } from "./controls.js";
import { stackList } from "./stack_list.js";

const SHOWN = 200;
const KINDS = ["definitely_lost", "indirectly_lost", "possibly_lost", "still_reachable"];
const UNLISTED = "still_reachable";

function kindText(kind) {
  return kind.replace("_", " ");
}

function figure(bytesCount, objects) {
  return [h("b", {}, bytes(bytesCount)), h("br"), h("span", { class: "faint" }, plural(objects, "block"))];
}

function record(report, names, item) {
  const lines = report.lines(report.leaks, item.stack);
  const name = names.get((item.site ?? "").slice(0, 8));
  const type = item.example_type;
  const cycle = item.cycle === null ? null : report.leaks.cycles[item.cycle]; // undefined if it was cut off
  return h(
    "tr",
    {},
    h("td", { class: "number" }, figure(item.bytes, item.objects)),
    h("td", { class: "number" }, item.indirect_objects ? figure(item.indirect_bytes, item.indirect_objects) : ""),
    h(
      "th",
      { scope: "row" },
      type ? [named(type, 100), h("br")] : null,
      h("details", {}, h("summary", {}, named(name?.name ?? item.site ?? "(no stack)", 120), " ", h("span", { class: "place" }, show(name?.place ?? "", 60))), lines.length ? stackList(lines) : null),
      h("p", { class: "faint" }, "oldest block ", addressLink(item.example), `, ${bytes(item.example_bytes)}`, item.oldest_seconds === null ? "" : `, ${seconds(item.oldest_seconds)} old`, cycle ? `; leads ${plural(cycle.cycles, "cycle")}` : ""),
    ),
    h("td", {}, kindText(item.kind)),
  );
}

/** Sums of records by the type of their oldest blocks. */
function byType(items) {
  const sums = new Map();
  for (const item of items) {
    const type = item.example_type ?? "";
    const sum = sums.get(type) ?? { type, bytes: 0, objects: 0, records: 0 };
    sum.bytes += item.bytes;
    sum.objects += item.objects;
    sum.records++;
    sums.set(type, sum);
  }
  return [...sums.values()].sort((a, b) => b.bytes - a.bytes);
}

function typeRow(sum) {
  return h("tr", {}, h("td", { class: "number" }, figure(sum.bytes, sum.objects)), h("td", { class: "number" }, count(sum.records)), h("th", { scope: "row" }, sum.type ? named(sum.type, 120) : h("span", { class: "faint" }, "type not known")));
}

function table(heads, rows) {
  return h(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": "Records" },
    h("table", { class: "growth" }, h("thead", {}, h("tr", {}, heads.map((head) => h("th", { scope: "col" }, head)))), h("tbody", {}, rows)),
  );
}

function cycles(report, names) {
  const found = report.leaks.cycles ?? [];
  if (!found.length) return null;
  return h("section", { class: "card" }, h("h2", {}, "Cycles"), found.slice(0, 20).map((cycle) => cycleText(names, cycle)), found.length > 20 ? h("p", { class: "faint" }, `and ${count(found.length - 20)} more shapes`) : null);
}

export function leaksView(report) {
  const element = h("div", { class: "leaks sections" });
  async function put(state) {
    const { leaks } = report;
    const names = await report.siteNames();
    const kinds = KINDS.filter((kind) => leaks[kind]?.objects);
    const kind = kinds.includes(state.q) ? state.q : "";
    const items = leaks.records.filter((item) => (kind ? item.kind === kind : item.kind !== UNLISTED));
    const types = state.by === "type";
    const sums = ["lost", ...KINDS].filter((name) => leaks[name]?.objects).map((name) => `${bytes(leaks[name].bytes)} ${kindText(name)}`);
    const rows = types ? byType(items).map(typeRow) : items.map((item) => record(report, names, item));
    fill(
      element,
      h("h1", {}, "Leaks"),
      h("p", { class: "note" }, `${sums.join(", ") || "No blocks"}. Pointers were followed from registers, stacks and variables. `, h("a", { href: linkTo({ view: "stacks", profile: "lost" }) }, "Stacks of what is lost")),
      cycles(report, names),
      h("div", { class: "controls" }, choice("Kind", kind, [["", "lost and possibly lost"], ...kinds.map((k) => [k, kindText(k)])], (q) => go({ q })), choice("By", types ? "type" : "record", [["record", "record"], ["type", "type of the oldest block"]], (by) => go({ by }))),
      rows.length ? table(types ? ["Size", "Records", "Type"] : ["Size", "Lost with it", "What", "Kind"], rows.slice(0, SHOWN)) : h("p", {}, "No record is of this kind."),
      rows.length > SHOWN ? h("p", { class: "faint" }, `and ${count(rows.length - SHOWN)} smaller ones`) : null,
    );
  }
  return { element, show: put };
}
