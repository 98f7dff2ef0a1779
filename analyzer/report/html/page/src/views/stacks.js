// SPDX-License-Identifier: Apache-2.0
// Stacks as an icicle, with what is chosen below it: its figures, and a table of what it is made of,
// which is also the icicle for those who cannot see it.

import { announce, count, fill, h, plural, quantity, share, show } from "../dom.js";
import { downloadFolded, downloadPprof } from "../download.js";
import { go, linkTo } from "../fragment.js";
import { Icicle } from "../icicle.js";
import { named } from "../names.js";
import { GROUPED, search, shortHash } from "../tree.js";
import { choice, columnChoice, columnOf, legend, matcher, patternNote, profileChoice, searchField, toggle } from "./controls.js";

const BY = ["function", "file", "module", "type", "scope", "kind"];
const SITE_PROFILES = new Set(["retained", "paths"]);
const ROWS = 40;

/** Names on the way to a node, short enough for an address. */
function pathText(tree, node) {
  return tree.path(node).map((n) => shortHash(tree.name(n))).join(".");
}

function nodeOfPath(tree, text) {
  let node = 0;
  for (const hash of text ? text.split(".") : []) {
    const child = tree.children(node).find((c) => shortHash(tree.name(c)) === hash);
    if (child === undefined) return node;
    node = child;
  }
  return node;
}

class Stacks {
  constructor(report) {
    this.report = report;
    this.controls = h("div", { class: "controls" });
    this.input = searchField("Search functions ( / )");
    this.found = h("span", { class: "found", role: "status" });
    this.crumbs = h("nav", { class: "crumbs", "aria-label": "Zoom" });
    this.details = h("section", { class: "details", "aria-label": "Chosen frame" });
    this.icicle = new Icicle({
      unit: () => this.profile.columns[this.column].unit,
      onzoom: (node) => this.zoomTo(node),
      onfocus: (node) => this.describe(node, true),
    });
    this.note = h("p", { class: "note" });
    this.key = h("div", {});
    this.element = h(
      "div",
      {},
      h("h1", { class: "unseen" }, "Stacks"),
      this.controls,
      h("div", { class: "controls" }, this.input, this.found),
      this.crumbs,
      this.note,
      this.icicle.element,
      this.key,
      h("p", { id: "icicle-keys", class: "keys" }, "Click or Enter zooms, arrow keys move, Backspace zooms out, / searches, Esc resets."),
      this.details,
    );
    this.retheme = () => {
      this.icicle.draw();
      this.putKey();
    };
    addEventListener("theme", this.retheme);
    this.media = matchMedia("(prefers-color-scheme: dark)");
    this.media.addEventListener("change", this.retheme);
  }

  leave() {
    removeEventListener("theme", this.retheme);
    this.media.removeEventListener("change", this.retheme);
    this.icicle.observer.disconnect();
  }

  async show(state) {
    const name = state.profile || this.report.profileNames()[0];
    const profile = await this.report.profile(name);
    if (!profile) return;
    this.profile = profile;
    this.column = columnOf(profile, state);
    this.by = BY.includes(state.by) ? state.by : "function";
    this.inverted = state.inverted === "1" && !GROUPED[this.by];
    this.state = state;
    const before = this.tree;
    const only = state.only ? (text) => shortHash(text) === state.only : null;
    this.tree = this.report.tree(profile, {
      by: this.by,
      column: this.column,
      inverted: this.inverted,
      onlyName: state.only,
      only,
    });
    this.zoom = nodeOfPath(this.tree, state.zoom);
    this.search(state.q);
    this.putControls();
    this.putCrumbs();
    if (this.input.value !== state.q) this.input.value = state.q;
    if (before === this.tree && this.icicle.zoom === this.zoom && this.icicle.tree === before) {
      this.icicle.found = this.hits;
      this.icicle.draw();
    } else {
      this.icicle.show(profile, this.tree, this.zoom, this.hits);
    }
    this.putKey();
    this.describe(this.zoom, false);
  }

  putKey() {
    fill(this.key, legend(this.icicle.meanings()));
  }

  search(text) {
    const matches = matcher(text);
    const unit = this.profile.columns[this.column].unit;
    this.hits = matches ? search(this.tree, matches) : null;
    this.found.textContent = this.hits
      ? `${patternNote(matches)}${plural(this.hits.count, "frame matches", "frames match")}; with all below them ${quantity(this.hits.sum, unit)}, ${share(this.hits.sum, this.tree.total[0])}`
      : "";
  }

  zoomTo(node) {
    go({ zoom: pathText(this.tree, node) });
    announce(`Zoomed to ${show(this.tree.name(node), 200)}, ${this.icicle.describe(node)}`);
  }

  putControls() {
    const { profile, by, inverted } = this;
    const sites = SITE_PROFILES.has(profile.name);
    const has = { type: profile.samples.type, scope: profile.samples.scope, kind: profile.samples.kind };
    const choices = BY.filter((b) => !has[b] || has[b].some((v) => v)).map((b) => [b, b]);
    const controls = [
      profileChoice(this.report, this.state),
      columnChoice(profile, this.column),
      sites ? null : choice("By", by, choices, (value) => go({ by: value, zoom: "", only: "" })),
      GROUPED[by] ? null : toggle("Inverted", inverted, () => go({ inverted: inverted ? "" : "1", zoom: "" })),
      this.state.only || this.state.zoom || this.state.q
        ? h("button", { type: "button", class: "toggle", onclick: () => go({ zoom: "", only: "", q: "" }) }, "Reset")
        : null,
      h("span", { class: "spring" }),
      h("button", { type: "button", class: "toggle", onclick: () => downloadFolded(profile, this.column) }, "Folded"),
      h("button", { type: "button", class: "toggle", onclick: () => downloadPprof(profile) }, "pprof"),
    ];
    const focused = [...this.controls.querySelectorAll("select, button")].indexOf(document.activeElement);
    fill(this.controls, controls);
    this.controls.querySelectorAll("select, button")[focused]?.focus();
    fill(this.note, ...this.notes());
  }

  notes() {
    const { profile } = this;
    const notes = [];
    if (profile.difference)
      notes.push("Width: how much changed below. Red grew, blue shrank, pale: one made up for the other. ");
    if (profile.estimated) notes.push("Stacks were sampled: values are estimates. ");
    if (this.inverted) notes.push("What allocated is on top, its callers below. ");
    if (this.state.only) notes.push("Only stacks through the chosen frame. ");
    return notes;
  }

  putCrumbs() {
    const { tree } = this;
    const path = [0, ...tree.path(this.zoom)];
    const shown = path.length > 7 ? [...path.slice(0, 2), -1, ...path.slice(-4)] : path;
    this.crumbs.hidden = path.length < 2;
    fill(
      this.crumbs,
      ...shown.map((node) =>
        node < 0
          ? h("span", {}, "\u2026")
          : h("button", { type: "button", onclick: () => this.zoomTo(node), "aria-current": node === this.zoom ? "true" : null }, named(tree.name(node), 60)),
      ),
    );
  }

  describe(node, aloud) {
    const { tree, profile } = this;
    if (aloud) announce(`${show(tree.name(node), 200)}, ${this.icicle.describe(node)}`);
    const frame = node ? tree.frame(node) : -1;
    const { file, line, module } = profile.frames;
    const facts = frame > 0 && this.by === "function"
      ? [file[frame] ? `${file[frame]}:${line[frame]}` : "", module[frame]].filter(Boolean)
      : [];
    fill(
      this.details,
      h("h2", {}, node ? show(tree.name(node)) : "All stacks"),
      ...facts.map((fact) => h("p", { class: "faint path" }, show(fact))),
      h("p", {}, h("b", {}, this.icicle.describe(node)), tree.self[node] ? `; of that, ${quantity(tree.self[node], this.unit())} at this frame itself` : ""),
      this.actions(node, frame),
      this.partsTable(node),
    );
  }

  unit() {
    return this.profile.columns[this.column].unit;
  }

  actions(node, frame) {
    const { tree, profile } = this;
    const file = frame > 0 ? profile.frames.file[frame] : "";
    const known = file && this.report.sources?.files?.some((f) => f.path === file);
    if (!node) return null;
    return h(
      "p",
      { class: "actions" },
      node === this.zoom ? null : h("button", { type: "button", onclick: () => this.zoomTo(node) }, "Zoom"),
      GROUPED[this.by] ? null : h("button", { type: "button", onclick: () => go({ only: shortHash(tree.name(node)), zoom: "" }) }, "Only this"),
      h("button", { type: "button", onclick: () => go({ q: escapeText(tree.name(node).slice(0, 200)) }) }, "Find all"),
      known ? h("a", { href: linkTo({ view: "source", file, line: String(profile.frames.line[frame]) }) }, "Source") : null,
    );
  }

  partsTable(node) {
    const { tree } = this;
    const children = tree.children(node);
    if (!children.length) return null;
    const whole = tree.total[node];
    const rows = [...children.subarray(0, ROWS)].map((child) =>
      h(
        "tr",
        {},
        h("td", { class: "number" }, tree.net ? this.icicle.netText(child) : quantity(tree.total[child], this.unit())),
        h("td", { class: "number faint" }, share(tree.total[child], whole)),
        h("td", { class: "bar-cell" }, h("span", { class: "bar", "width%": (100 * tree.total[child]) / whole })),
        h("td", {}, h("button", { type: "button", class: "name", onclick: () => this.zoomTo(child) }, named(tree.name(child)))),
      ),
    );
    const what = this.inverted ? "Called by" : "Made of";
    return h(
      "table",
      { class: "parts" },
      h("caption", {}, children.length > ROWS ? `${what} (${ROWS} of ${count(children.length)})` : what),
      h("thead", { class: "unseen" }, h("tr", {}, ["Size", "Share", "Bar", "Frame"].map((t) => h("th", { scope: "col" }, t)))),
      h("tbody", {}, rows),
    );
  }
}

function escapeText(text) {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

export function stacksView(report) {
  return new Stacks(report);
}
