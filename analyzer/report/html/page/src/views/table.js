// SPDX-License-Identifier: Apache-2.0
// Flat sums in a table that can be sorted by each column: of what allocated itself, which comes first,
// and with all that it called.

import { count, fill, h, plural, quantity, share, show } from "../dom.js";
import { go, linkTo } from "../fragment.js";
import { columnTitle } from "../report.js";
import { named } from "../names.js";
import { GROUPED, shortHash } from "../tree.js";
import { choice, columnOf, matcher, patternNote, profileChoice, searchField, sortableHead } from "./controls.js";

const BY = ["function", "file", "module", "type", "scope", "kind"];
const STEP = 200;

/** Columns with shares: the shown measure, self and with callees. */
const SHARED = 2;

class Table {
  constructor(report) {
    this.report = report;
    this.limit = STEP;
    this.input = searchField("Filter ( / )");
    this.controls = h("div", { class: "controls" });
    this.table = h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Sums" });
    this.note = h("p", { class: "note", role: "status" });
    this.element = h("div", {}, h("h1", { class: "unseen" }, "Table"), this.controls, h("div", { class: "controls" }, this.input), this.note, this.table);
  }

  async show(state) {
    const name = state.profile || this.report.profileNames()[0];
    const profile = await this.report.profile(name);
    if (!profile) return;
    const by = BY.includes(state.by) ? state.by : "function";
    const sums = this.report.flatSums(profile, by);
    const columns = this.columns(profile, state, by);
    const sort = columns.some(([key]) => key === state.sort) ? state.sort : columns[1][0];
    this.putControls(profile, state, by);
    this.put(profile, state, by, sums, columns, sort);
  }

  putControls(profile, state, by) {
    const has = { type: profile.samples.type, scope: profile.samples.scope, kind: profile.samples.kind };
    const choices = BY.filter((b) => !has[b] || has[b].some((v) => v)).map((b) => [b, b]);
    const focused = [...this.controls.querySelectorAll("select")].indexOf(document.activeElement);
    fill(
      this.controls,
      ...[profileChoice(this.report, state), choice("By", by, choices, (value) => go({ by: value }))].filter(Boolean),
    );
    this.controls.querySelectorAll("select")[focused]?.focus();
  }

  /** [key, title, numeric, values, unit]: the name; what it allocated itself, and with all that it called, in
   * the shown measure, both with shares; the other measures. */
  columns(profile, state, by) {
    const sums = this.report.flatSums(profile, by);
    const shown = columnOf(profile, state);
    const order = [shown, ...profile.columns.keys()].filter((c, i, all) => all.indexOf(c) === i);
    const columns = [["name", by[0].toUpperCase() + by.slice(1), false, null]];
    for (const c of order) {
      const { unit, name } = profile.columns[c];
      const title = columnTitle(profile.columns[c]);
      columns.push([`self-${name}`, title, true, sums.self[c], unit]);
      if (c === shown) columns.push([`total-${name}`, `${title}, with callees`, true, sums.total[c], unit]);
    }
    return columns;
  }

  put(profile, state, by, sums, columns, sort) {
    const matches = matcher(state.q);
    const values = columns.find(([key]) => key === sort)[3];
    const rows = [];
    for (let key = 0; key < sums.names.length; key++)
      if (columns.some((c) => c[3]?.[key]) && (!matches || matches(sums.names[key]))) rows.push(key);
    rows.sort(values ? (a, b) => values[b] - values[a] || a - b : (a, b) => (sums.names[a] < sums.names[b] ? -1 : 1));
    const shown = rows.slice(0, this.limit);
    const whole = columns[1][3].reduce((sum, value) => sum + value, 0);
    this.note.textContent = `${patternNote(matches)}${shown.length < rows.length ? `${count(shown.length)} of ` : ""}${plural(rows.length, "row")}`;
    fill(
      this.table,
      h("table", { class: "sums" }, sortableHead(columns, sort, (key) => go({ sort: key }, { replace: true })), h("tbody", {}, shown.map((key) => this.row(profile, by, sums, columns, whole, key)))),
      rows.length > shown.length
        ? h("button", { type: "button", onclick: () => ((this.limit *= 5), this.show(state)) }, "Show more")
        : "",
    );
  }

  row(profile, by, sums, columns, whole, key) {
    const name = sums.names[key];
    const link = linkTo({ view: "stacks", profile: profile.name, by, q: `^${name.slice(0, 200).replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}${name.length > 200 ? "" : "$"}` });
    const only = linkTo({ view: "stacks", profile: profile.name, by, only: shortHash(name) });
    return h(
      "tr",
      {},
      h("th", { scope: "row" }, h("a", { href: GROUPED[by] ? link : only }, named(name))),
      columns.slice(1).map(([, , , values, unit], i) => h("td", { class: "number" }, values[key] ? quantity(values[key], unit) : "", i < SHARED && values[key] ? h("span", { class: "share" }, share(values[key], whole)) : "")),
    );
  }
}

export function tableView(report) {
  return new Table(report);
}
