// SPDX-License-Identifier: Apache-2.0
// The memory map as a treemap: arenas, stacks, the tracer, files and the rest, by resident size.

import { hierarchy, treemap, treemapSquarify } from "d3-hierarchy";
import { bytes, fill, h, plural, share, show } from "../dom.js";
import { go } from "../fragment.js";
import { baseName } from "../profile.js";
import { choice, legend } from "./controls.js";

const HEIGHT = 460;
const HEAD = 20;
const LETTER = 7.2; // pixels, rather too many than too few
const USES = {
  heap: "Heap",
  stack: "Thread stacks",
  tracer: "Tracer",
  file: "Programs, libraries and files",
  other: "Other anonymous memory",
};

function nameOf(mapping) {
  if (mapping.use === "heap") return mapping.arena;
  if (mapping.use === "stack") return `stack of thread ${mapping.stack_of}`;
  if (mapping.use === "tracer") return "tracer";
  return mapping.path ? baseName(mapping.path) || mapping.path : "anonymous";
}

function treeOf(mappings, size) {
  const groups = Object.keys(USES).map((use) => ({ use, name: USES[use], children: [] }));
  for (const mapping of mappings)
    if (size(mapping)) groups.find((group) => group.use === mapping.use).children.push({ mapping, name: nameOf(mapping) });
  return { name: "", children: groups.filter((group) => group.children.length) };
}

/** The first of the texts that fits; labels are whole or not there. */
function fitting(texts, width) {
  return texts.find((text) => text.length * LETTER + 10 <= width) ?? "";
}

function headOf(group) {
  return group.y1 - group.y0 > 2 * HEAD ? fitting([`${group.data.name} ${bytes(group.value)}`, group.data.name], group.x1 - group.x0) : "";
}

function place(element, node, height) {
  Object.assign(element.style, { left: `${node.x0}px`, top: `${node.y0}px`, width: `${node.x1 - node.x0}px`, height: `${height}px` });
  return element;
}

function tile(node, size) {
  const { mapping, name } = node.data;
  const width = node.x1 - node.x0;
  const height = node.y1 - node.y0;
  const label = height > 18 ? fitting([show(name, 60)], width) : "";
  const figure = height > 36 && label ? fitting([bytes(size(mapping))], width) : "";
  return place(
    h(
      "div",
      { class: `tile use-${mapping.use}`, title: `${show(mapping.path ?? name, 200)}\n${bytes(size(mapping))}\n${mapping.start}-${mapping.end} ${mapping.rights ?? ""}` },
      label ? h("span", {}, label) : null,
      figure ? h("span", {}, figure) : null,
    ),
    node,
    height,
  );
}

function table(mappings, whole, size) {
  const sorted = mappings.filter(size).sort((a, b) => size(b) - size(a));
  const heads = ["Size", "Share", "What", "Address space", "Rights", "Addresses"];
  const what = (m) => (m.path && m.use !== "heap" ? m.path : nameOf(m));
  return h(
    "table",
    { class: "sums" },
    h("thead", {}, h("tr", {}, heads.map((t) => h("th", { scope: "col" }, t)))),
    h("tbody", {}, sorted.slice(0, 200).map((m) => h("tr", {}, h("td", { class: "number" }, bytes(size(m))), h("td", { class: "number faint" }, share(size(m), whole)), h("th", { scope: "row" }, show(what(m), 160)), h("td", { class: "number" }, bytes(m.bytes)), h("td", {}, h("code", {}, m.rights ?? "mixed")), h("td", {}, h("code", {}, `${m.start}-${m.end}`))))),
  );
}

export function mapView(report) {
  const box = h("div", { class: "treemap", "aria-hidden": "true" });
  const note = h("p", { class: "note" });
  const key = h("div", {});
  const rows = h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Mappings" });
  const controls = h("div", { class: "controls" });
  const element = h("div", {}, h("h1", {}, "Memory map"), note, controls, box, key, rows);
  let state = null;
  const draw = () => {
    const by = state.by === "all" ? "all" : "resident";
    const { mappings, mappings_left_out_bytes: rest } = report.page;
    const known = mappings.some((m) => m.resident_bytes !== null); // not of a snapshot
    const size = by === "all" ? (m) => m.bytes : (m) => (known ? m.resident_bytes : m.present_bytes);
    const sizes = [["resident", known ? "resident memory" : "in the core"], ["all", "address space"]];
    const root = hierarchy(treeOf(mappings, size)).sum((d) => (d.mapping ? size(d.mapping) : 0)).sort((a, b) => b.value - a.value);
    treemap().tile(treemapSquarify).size([box.clientWidth, HEIGHT]).paddingInner(1).paddingTop((node) => (node.depth === 1 && headOf(node) ? HEAD : 0)).round(true)(root);
    const groups = root.children ?? [];
    const heads = groups.filter(headOf).map((group) => place(h("div", { class: "tile-head" }, headOf(group)), group, HEAD));
    fill(box, ...heads, ...root.leaves().filter((n) => n.data.mapping && n.x1 - n.x0 >= 1 && n.y1 - n.y0 >= 1).map((n) => tile(n, size)));
    const shown = mappings.filter(size).length;
    note.textContent = `${plural(shown, "mapping")}, ${bytes(root.value)}${by === "all" || !known ? "" : ": pages that are not all zeros"}${rest ? `; smaller ones with ${bytes(rest)} of address space are left out` : ""}`;
    fill(key, legend(groups.map((g) => [`use-${g.data.use}`, null, `${g.data.name} ${bytes(g.value)}`])));
    fill(controls, choice("Size", by, sizes, (value) => go({ by: value })));
    fill(rows, table(mappings, root.value, size));
  };
  const observer = new ResizeObserver(() => state && draw());
  observer.observe(box);
  return {
    element,
    leave: () => observer.disconnect(),
    show(next) {
      state = next;
      draw();
    },
  };
}
