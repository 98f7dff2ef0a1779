// SPDX-License-Identifier: Apache-2.0
// Who holds whom: one site in the middle, those whose blocks point to its blocks on the left, those
// that its blocks point to on the right. A click moves on to a neighbour.

import { bytes, count, fill, h, plural, show } from "../dom.js";
import { go, linkTo } from "../fragment.js";
import { named, short } from "../names.js";
import { shortHash } from "../tree.js";
import { exampleLink } from "./blocks.js";
import { choice } from "./controls.js";

const NEIGHBOURS = 12;

export function graphView(report) {
  const element = h("div", {});
  const sites = new Map(report.sites.sites.map((site) => [site.site, site]));
  const holders = new Map();
  const held = new Map();
  for (const edge of report.sites.edges) {
    if (!holders.has(edge.target)) holders.set(edge.target, []);
    if (!held.has(edge.source)) held.set(edge.source, []);
    holders.get(edge.target).push(edge);
    held.get(edge.source).push(edge);
  }

  /** Blocks without a stack have no site. */
  function nameOf(names, id) {
    if (!id) return { name: "(no stack)", place: "" };
    return names.get(id.slice(0, 8)) ?? { name: id, place: "" };
  }

  function neighbour(names, edge, other, most) {
    const site = sites.get(other);
    const name = nameOf(names, other);
    const offsets = (edge.places ?? []).map((p) => (p.offset === null ? "many offsets" : `+${p.offset}`)).slice(0, 4).join(", ");
    return h(
      "li",
      {},
      site ? h("button", { type: "button", class: "name", onclick: () => go({ site: other }) }, named(name.name, 90)) : h("span", {}, named(name.name, 90)),
      h("span", { class: "place" }, show(name.place, 50)),
      h("span", { class: "track", "aria-hidden": "true" }, h("span", { class: "bar", "width%": (100 * edge.target_bytes) / most })),
      h("span", { class: "faint" }, `${plural(edge.pointers, "pointer")} to ${bytes(edge.target_bytes)}${offsets ? `, at ${offsets}` : ""}`),
      site ? h("span", { class: "faint" }, `${bytes(site.inuse_bytes)} live`) : null,
    );
  }

  function column(names, title, edges, end, none) {
    const sorted = (edges ?? []).slice().sort((a, b) => b.target_bytes - a.target_bytes);
    const most = Math.max(1, ...sorted.map((edge) => edge.target_bytes));
    return h(
      "section",
      { class: "card" },
      h("h2", {}, title),
      sorted.length ? h("ol", { class: "neighbours" }, sorted.slice(0, NEIGHBOURS).map((edge) => neighbour(names, edge, edge[end], most))) : h("p", { class: "faint" }, none),
      sorted.length > NEIGHBOURS ? h("p", { class: "faint" }, `and ${count(sorted.length - NEIGHBOURS)} more`) : null,
    );
  }

  async function put(state) {
    const names = await report.siteNames();
    const id = sites.has(state.site) ? state.site : report.sites.sites.find((s) => s.site)?.site;
    if (!id) return;
    const site = sites.get(id);
    const name = nameOf(names, id);
    const choices = report.sites.sites.filter((s) => s.site).slice(0, 100).map((s) => [s.site, `${bytes(s.inuse_bytes)}  ${show(short(nameOf(names, s.site).name), 70)}`]);
    fill(
      element,
      h("h1", {}, "Who holds whom"),
      h("p", { class: "note" }, "Sites, and the pointers between their blocks. Choose a neighbour to move on."),
      h("div", { class: "controls" }, choice("Site", id, choices, (value) => go({ site: value }))),
      h(
        "div",
        { class: "ego" },
        column(names, "Held by", holders.get(id), "source", "No block of another site points to it: a root does, or nothing."),
        h(
          "section",
          { class: "card center" },
          h("h2", {}, named(name.name, 120)),
          h("p", { class: "place" }, show(name.place, 80)),
          h("p", { class: "figure" }, h("b", {}, bytes(site.inuse_bytes)), ` in ${plural(site.inuse_objects, "block")}`),
          h("p", { class: "faint path" }, `site ${id}`),
          h("p", {}, h("a", { href: linkTo({ view: "stacks", only: shortHash(name.name) }) }, "Its stacks")),
          h("p", {}, exampleLink(report, id)),
        ),
        column(names, "Holds", held.get(id), "target", "Its blocks point to no other site's."),
      ),
    );
  }
  return { element, show: put };
}
