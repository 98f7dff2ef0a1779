// SPDX-License-Identifier: Apache-2.0
// One block: why it is alive, what it holds, who holds it, and what would be freed with it. The page
// describes some hundred blocks; for others it has the commands that ask the core.

import { bytes, count, fill, h, plural, prose, seconds, share, show } from "../dom.js";
import { go, linkTo } from "../fragment.js";
import { named } from "../names.js";
import { addressLink, blockName, stepText } from "./blocks.js";
import { command } from "./command.js";

const SHOWN = 200;

function parseAddress(text) {
  try {
    return BigInt(text.startsWith("0x") ? text : `0x${text}`);
  } catch {
    return null;
  }
}

/** The described block that contains the address. */
function find(objects, text) {
  const address = parseAddress(text);
  return address === null ? null : objects.find(({ address: start, size }) => address >= BigInt(start) && address < BigInt(start) + BigInt(Math.max(size, 1)));
}

function row(names, block) {
  return h(
    "tr",
    {},
    h("td", { class: "number" }, bytes(block.retained_bytes)),
    h("td", { class: "number" }, bytes(block.size)),
    h("td", {}, addressLink(block.address)),
    h("th", { scope: "row" }, named(blockName(names, block), 120)),
    h("td", {}, block.reach.replace("_", " ")),
  );
}

function list(names, objects, whole) {
  const sorted = objects.slice().sort((a, b) => b.retained_bytes - a.retained_bytes).slice(0, SHOWN);
  return [
    h("p", { class: "note" }, `${plural(objects.length, "block")} that other views name, or that retain most of the ${bytes(whole)} in the heap.`),
    h(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": "Blocks" },
      h("table", { class: "sums" }, h("thead", {}, h("tr", {}, ["Retains", "Size", "Address", "What", "Reach"].map((t) => h("th", { scope: "col" }, t)))), h("tbody", {}, sorted.map((block) => row(names, block)))),
    ),
  ];
}

function path(names, object) {
  if (!object.root) return h("p", {}, "No root leads to it.");
  const left = object.path_left_out;
  return h(
    "ol",
    { class: "path-steps" },
    h("li", {}, prose(object.root.name, 200)),
    left ? h("li", { class: "faint" }, `${plural(left, "step")} left out`) : null,
    object.path.map((step) => h("li", {}, addressLink(step.address), " ", stepText(names, step))),
    h("li", {}, h("b", {}, named(blockName(names, object), 120))),
  );
}

function links(names, title, { total, blocks }, none, figure) {
  return h(
    "section",
    { class: "card" },
    h("h2", {}, title),
    blocks.length ? h("ol", { class: "neighbours" }, blocks.map((block) => h("li", {}, addressLink(block.address), " ", named(blockName(names, block), 100), h("span", { class: "faint" }, figure(block))))) : h("p", { class: "faint" }, none),
    total > blocks.length ? h("p", { class: "faint" }, `and ${count(total - blocks.length)} more`) : null,
  );
}

function pointer(block) {
  return `${block.offset === null ? "" : `at +${block.offset}, `}${bytes(block.size)}`;
}

function commands(report, address) {
  const source = report.analyze.source ?? `--pid ${report.analyze.process.pid}`;
  const word = /^[\w@%+=:,./-]+$/.test(source) || !report.analyze.source ? source : `'${source.replaceAll("'", "'\\''")}'`;
  return ["path", "refs", "whatis"].map((verb) => command(`hawk-core ${verb} ${word} ${address}`));
}

function card(report, names, object) {
  const whole = report.analyze.heap.inuse_bytes;
  const site = names.get((object.site ?? "").slice(0, 8));
  const age = object.age_seconds === null ? "" : `, ${seconds(object.age_seconds)} old`;
  return [
    h("h2", {}, named(blockName(names, object), 200)),
    h("p", {}, h("code", {}, object.address), `, ${bytes(object.size)}${age}, ${object.reach.replace("_", " ")}. Retains `, h("b", {}, bytes(object.retained_bytes)), ` in ${plural(object.retained_objects, "block")}, ${share(object.retained_bytes, whole)} of the heap.`),
    site ? h("p", { class: "faint" }, "Allocated by ", h("a", { href: linkTo({ view: "graph", site: object.site }) }, named(site.name, 120)), ` ${show(site.place, 60)}`) : null,
    h("section", { class: "card" }, h("h2", {}, "Path from a root"), path(names, object)),
    h(
      "div",
      { class: "thirds" },
      links(names, "Held by", object.holders, "No block points to it.", pointer),
      links(names, "Holds", object.holds, "It points to no block.", pointer),
      links(names, "Dominates", object.dominates, "Nothing else would be freed with it.", (block) => `retains ${bytes(block.retained_bytes)}`),
    ),
    h("section", { class: "card" }, h("h2", {}, "Ask the core"), commands(report, object.address)),
  ];
}

export function objectsView(report) {
  const { objects } = report.objects;
  const input = h("input", { type: "search", placeholder: "Address, 0x...", "aria-label": "Address of a block", onchange: () => go({ address: input.value.trim() }) });
  const body = h("div", { class: "sections" });
  const element = h("div", {}, h("h1", {}, "Objects"), h("div", { class: "controls" }, input), body);
  async function put(state) {
    const names = await report.siteNames();
    const object = state.address ? find(objects, state.address) : null;
    if (input.value !== state.address) input.value = state.address;
    if (object) fill(body, card(report, names, object));
    else if (parseAddress(state.address || "0") === null) fill(body, h("p", { role: "alert" }, `${show(state.address, 60)} is no hexadecimal address.`));
    else if (state.address) fill(body, h("p", {}, "The page does not describe the block at this address. The core does:"), commands(report, show(state.address, 40)));
    else fill(body, list(names, objects, report.analyze.heap.inuse_bytes));
  }
  return { element, show: put };
}
