// SPDX-License-Identifier: Apache-2.0
// Controls that views share: choices that are in the address, and a search field.

import { h } from "../dom.js";
import { go, readFragment } from "../fragment.js";
import { columnTitle, profileTitle } from "../report.js";

/** A select with a label; `choices` are [value, text]. */
export function choice(label, value, choices, onchange) {
  const select = h("select", { onchange: () => onchange(select.value) });
  select.append(...choices.map(([v, text]) => h("option", { value: v, selected: v === value }, text)));
  return h("label", { class: "field" }, h("span", {}, label), select);
}

/** What colours mean; `items` are [class, colour, text], either of the first two may be null. */
export function legend(items) {
  return h("ul", { class: "legend plain" }, items.map(([name, color, text]) => h("li", {}, h("i", { class: `dot ${name ?? ""}`, color, "aria-hidden": "true" }), text)));
}

export function toggle(label, pressed, onclick) {
  return h("button", { type: "button", class: "toggle", "aria-pressed": String(pressed), onclick }, label);
}

/** Changes the address while typing; keeps the keyboard's focus because it is made once. */
export function searchField(placeholder) {
  const input = h("input", { type: "search", placeholder, "aria-label": "Search (regular expression)" });
  input.addEventListener("input", () => go({ q: input.value }, { replace: true }));
  input.value = readFragment().q;
  return input;
}

/** A function of names; text that is no regular expression is looked for as it is, and said to be. */
export function matcher(text) {
  if (!text) return null;
  try {
    const pattern = new RegExp(text, "i");
    return (name) => pattern.test(name);
  } catch {
    const lower = text.toLowerCase();
    const matches = (name) => name.toLowerCase().includes(lower);
    matches.plain = true;
    return matches;
  }
}

export function patternNote(matches) {
  return matches?.plain ? "No regular expression: searched as plain text. " : "";
}

export function profileChoice(report, state) {
  const names = report.profileNames();
  if (names.length < 2) return null;
  const choices = names.map((name) => [name, profileTitle(name)]);
  return choice("Profile", state.profile || names[0], choices, (profile) =>
    go({ profile, column: "", zoom: "", only: "" }),
  );
}

export function columnChoice(profile, column) {
  const choices = profile.columns.map((c) => [c.name, columnTitle(c)]);
  return choice("Measure", profile.columns[column].name, choices, (name) => go({ column: name }));
}

/** The number of the column that the state names, or of the one shown first. */
export function columnOf(profile, state) {
  const at = profile.columns.findIndex((column) => column.name === state.column);
  return at < 0 ? profile.shown : at;
}

/** The table's head: buttons that sort. `columns`: [key, title, numeric]. */
export function sortableHead(columns, sort, onsort) {
  return h(
    "thead",
    {},
    h(
      "tr",
      {},
      columns.map(([key, title, numeric]) =>
        h(
          "th",
          { scope: "col", class: numeric ? "number" : "", "aria-sort": sort === key ? (numeric ? "descending" : "ascending") : null },
          h("button", { type: "button", onclick: () => onsort(key) }, title, sort === key ? h("span", { "aria-hidden": "true" }, numeric ? " \u25be" : " \u25b4") : null),
        ),
      ),
    ),
  );
}
