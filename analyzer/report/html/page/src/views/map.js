// SPDX-License-Identifier: Apache-2.0
// The memory map as a treemap: files and anonymous memory, by size.

import { hierarchy, treemap, treemapSquarify } from "d3-hierarchy";
import { bytes, fill, h, share, show } from "../dom.js";
import { go } from "../fragment.js";
import { baseName } from "../profile.js";
import { choice } from "./controls.js";

const HEIGHT = 460;
const SIZES = [["present", "in the core"], ["all", "address space"]];

function groupOf(mapping) {
  if (mapping.stack_of !== null) return "Thread stacks";
  if (!mapping.path) return "Anonymous memory";
  return "Files";
}

function nameOf(mapping) {
  if (mapping.stack_of !== null) return `stack of thread ${mapping.stack_of}`;
  if (mapping.path) return baseName(mapping.path) || mapping.path;
  return mapping.start;
}

function treeOf(mappings, size) {
  const groups = new Map();
  for (const mapping of mappings) {
    if (!size(mapping)) continue;
    const group = groupOf(mapping);
    if (!groups.has(group)) groups.set(group, []);
    groups.get(group).push({ mapping, name: nameOf(mapping) });
  }
  return { name: "", children: [...groups].map(([name, children]) => ({ name, children })) };
}

function tile(node, whole, size) {
  const { mapping, name } = node.data;
  const element = h("div", { class: `tile tile-${groupOf(mapping).split(" ")[0].toLowerCase()}`, title: `${show(mapping.path ?? name, 200)}\n${bytes(size(mapping))}\n${mapping.start}-${mapping.end} ${mapping.rights ?? ""}` });
  Object.assign(element.style, { left: `${node.x0}px`, top: `${node.y0}px`, width: `${node.x1 - node.x0}px`, height: `${node.y1 - node.y0}px` });
  if (node.x1 - node.x0 > 46 && node.y1 - node.y0 > 18)
    element.append(h("span", {}, show(name, 60)), h("span", {}, bytes(size(mapping))));
  return element;
}

function table(mappings, whole, size) {
  const sorted = mappings.filter(size).sort((a, b) => size(b) - size(a));
  const heads = ["Size", "Share", "Address space", "Rights", "Addresses", "What"];
  return h(
    "table",
    { class: "sums" },
    h("thead", {}, h("tr", {}, heads.map((t) => h("th", { scope: "col" }, t)))),
    h("tbody", {}, sorted.slice(0, 200).map((m) => h("tr", {}, h("td", { class: "number" }, bytes(size(m))), h("td", { class: "number faint" }, share(size(m), whole)), h("td", { class: "number" }, bytes(m.bytes)), h("td", {}, h("code", {}, m.rights ?? "mixed")), h("td", {}, h("code", {}, `${m.start}-${m.end}`)), h("th", { scope: "row" }, show(m.path ?? (m.stack_of !== null ? nameOf(m) : "anonymous"), 160))))),
  );
}

export function mapView(report) {
  const box = h("div", { class: "treemap", "aria-hidden": "true" });
  const note = h("p", { class: "note" });
  const rows = h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Mappings" });
  const controls = h("div", { class: "controls" });
  const element = h("div", {}, h("h1", {}, "Memory map"), note, controls, box, rows);
  let state = null;
  const draw = () => {
    const by = state.by === "all" ? "all" : "present";
    const size = by === "all" ? (m) => m.bytes : (m) => m.present_bytes;
    const { mappings, mappings_left_out_bytes: rest } = report.page;
    const root = hierarchy(treeOf(mappings, size)).sum((d) => (d.mapping ? size(d.mapping) : 0)).sort((a, b) => b.value - a.value);
    treemap().tile(treemapSquarify).size([box.clientWidth, HEIGHT]).paddingInner(1).paddingTop((node) => (node.depth === 1 ? 20 : 0)).round(true)(root);
    const heads = (root.children ?? []).filter((g) => g.x1 - g.x0 > 40 && g.y1 - g.y0 > 24).map((group) => {
      const head = h("div", { class: "tile-head" }, `${group.data.name} ${bytes(group.value)}`);
      Object.assign(head.style, { left: `${group.x0}px`, top: `${group.y0}px`, width: `${group.x1 - group.x0}px` });
      return head;
    });
    fill(box, ...heads, ...root.leaves().filter((n) => n.data.mapping && n.x1 - n.x0 >= 1 && n.y1 - n.y0 >= 1).map((n) => tile(n, root.value, size)));
    note.textContent = `${mappings.length} mappings, ${bytes(root.value)}${rest ? `; smaller ones of ${bytes(rest)} are left out` : ""}`;
    fill(controls, choice("Size", by, SIZES, (value) => go({ by: value })));
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
