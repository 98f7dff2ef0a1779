// SPDX-License-Identifier: Apache-2.0
// Source files that were embedded (--with-source), with live and total bytes beside each line.

import { bytes, fill, h, share, show } from "../dom.js";
import { go } from "../fragment.js";
import { baseName } from "../profile.js";
import { choice } from "./controls.js";

/** By file, then by line: bytes at the line itself, and with what it called. Recursion counts once
 * a stack. */
function lineSums(profile, column) {
  const files = new Map();
  const { frames, samples, parent, frame } = profile;
  const sums = new Map();
  for (let i = 0; i < samples.count; i++) {
    const value = samples.values[column][i];
    if (!value) continue;
    const seen = new Set();
    for (let node = samples.node[i]; node; node = parent[node]) {
      const f = frame[node];
      if (!frames.file[f] || !frames.line[f] || seen.has(f)) continue;
      seen.add(f);
      const sum = sums.get(f) ?? { self: 0, total: 0 };
      sum.total += value;
      if (node === samples.node[i]) sum.self += value;
      sums.set(f, sum);
    }
  }
  for (const [f, sum] of sums) {
    const lines = files.get(frames.file[f]) ?? new Map();
    const line = lines.get(frames.line[f]) ?? { self: 0, total: 0 };
    line.self += sum.self;
    line.total += sum.total;
    lines.set(frames.line[f], line);
    files.set(frames.file[f], lines);
  }
  return files;
}

function columnNamed(profile, name) {
  const at = profile.columns.findIndex((column) => column.name === name);
  return at < 0 ? null : at;
}

class Source {
  constructor(report) {
    this.report = report;
    this.element = h("div", {});
  }

  async load() {
    const profile = await this.report.profile("live");
    const live = columnNamed(profile, "inuse_space");
    const all = columnNamed(profile, "alloc_space");
    this.live = lineSums(profile, live ?? profile.shown);
    this.all = all === null ? new Map() : lineSums(profile, all);
    const weight = (file) => [...(this.live.get(file.path)?.values() ?? [])].reduce((sum, l) => sum + l.self, 0);
    this.files = this.report.sources.files
      .map((file) => ({ ...file, bytes: weight(file) }))
      .sort((a, b) => b.bytes - a.bytes);
  }

  async show(state) {
    if (!this.files) await this.load();
    const file = this.files.find((f) => f.path === state.file) ?? this.files[0];
    const choices = this.files.map((f) => [f.path, `${show(baseName(f.path), 60)}  ${bytes(f.bytes)}`]);
    const whole = this.report.analyze.heap.inuse_bytes;
    fill(
      this.element,
      h("h1", {}, show(baseName(file.path), 80)),
      h("p", { class: "faint path" }, show(file.path)),
      h("p", { class: "note" }, `Bytes live at each line, and with what it called; all bytes since the start. ${bytes(file.bytes)}, ${share(file.bytes, whole)} of the heap, were allocated in this file.`),
      h("div", { class: "controls" }, choice("File", file.path, choices, (path) => go({ file: path, line: "" }))),
      this.listing(file, Number(state.line) || this.firstLine(file)),
    );
    this.element.querySelector(".current")?.scrollIntoView({ block: "center" });
  }

  firstLine(file) {
    const lines = [...(this.live.get(file.path) ?? [])];
    return lines.sort((a, b) => b[1].total - a[1].total)[0]?.[0] ?? 1;
  }

  listing(file, current) {
    const live = this.live.get(file.path) ?? new Map();
    const all = this.all.get(file.path) ?? new Map();
    const most = Math.max(1, ...[...live.values()].map((l) => l.total));
    const rows = file.text.split("\n").map((text, i) => {
      const line = i + (file.first_line ?? 1);
      const sum = live.get(line);
      const total = all.get(line);
      return h(
        "tr",
        { class: [sum ? "hot" : "", line === current ? "current" : ""].join(" ").trim() || null },
        h("td", { class: "number" }, sum?.self ? bytes(sum.self) : ""),
        h("td", { class: "number" }, sum ? bytes(sum.total) : ""),
        h("td", { class: "number faint" }, total ? bytes(total.total) : ""),
        h("td", { class: "bar-cell" }, sum ? h("span", { class: "bar", "width%": (100 * sum.total) / most }) : null),
        h("th", { scope: "row", class: "number faint" }, String(line)),
        h("td", { class: "code" }, h("code", {}, show(text, 2000))),
      );
    });
    return h(
      "div",
      { class: "scroll listing", tabindex: 0, role: "region", "aria-label": "Source" },
      h("table", {}, h("thead", {}, h("tr", {}, ["Live", "Live, called", "Since start", "", "Line", "Text"].map((t) => (t ? h("th", { scope: "col" }, t) : h("td", {}))))), h("tbody", {}, rows)),
    );
  }
}

export function sourceView(report) {
  return new Source(report);
}
