// SPDX-License-Identifier: Apache-2.0
// Sites by verdict: when their live blocks were born, and why that looks like a leak or a cache.

import { bytes, count, fill, h, plural, seconds, share, show } from "../dom.js";
import { go, linkTo } from "../fragment.js";
import { named } from "../names.js";
import { shortHash } from "../tree.js";
import { choice } from "./controls.js";

const WIDTH = 176;
const HEIGHT = 36;
const SVG = "http://www.w3.org/2000/svg";
const SHOWN = 100;

function svg(tag, attributes, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** Bytes born in each sixteenth of the process's life and still live. */
function births(site) {
  const bins = site.born_bytes;
  if (!bins) return h("span", { class: "faint" }, "ages unknown");
  const most = Math.max(...bins, 1);
  const step = WIDTH / bins.length;
  const label = `Born then to now: ${bins.map((b) => bytes(b)).join(", ")}`;
  const bars = bins.map((value, i) => {
    const height = value ? Math.max(2, (value / most) * HEIGHT) : 0;
    return svg("rect", { x: i * step, y: HEIGHT - height, width: step - 1, height, class: "birth" });
  });
  return svg("svg", { class: "births", width: WIDTH, height: HEIGHT, viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label }, ...bars);
}

function row(site, name) {
  const label = name?.name ?? site.site;
  const rate = site.bytes_per_hour ? `${bytes(site.bytes_per_hour)} per hour` : "";
  return h(
    "tr",
    {},
    h("td", { class: "number" }, h("b", {}, bytes(site.inuse_bytes)), h("br"), h("span", { class: "faint" }, plural(site.inuse_objects, "block"))),
    h("td", {}, births(site)),
    h("td", {}, h("span", { class: `chip chip-${site.verdict === "leak" ? "alert" : "plain"}` }, site.verdict), h("br"), h("span", { class: "faint" }, ["unclear", "only grows"].includes(site.verdict) ? "" : `${site.confidence} confidence`)),
    h("th", { scope: "row" }, h("a", { href: linkTo({ view: "stacks", only: shortHash(label) }) }, named(label, 140)), " ", h("span", { class: "place" }, show(name?.place ?? "", 60)), h("p", { class: "faint" }, [rate, ...(site.reasons ?? []).map((r) => show(r, 200))].filter(Boolean).join("; "))),
  );
}

export function growthView(report) {
  const element = h("div", {});
  async function put(state) {
    const { sites, life_seconds: life } = report.growth;
    const names = await report.siteNames();
    const verdicts = [...new Set(sites.map((site) => site.verdict))].sort();
    const chosen = sites.filter((site) => !state.q || site.verdict === state.q);
    const total = chosen.reduce((sum, site) => sum + site.inuse_bytes, 0);
    fill(
      element,
      h("h1", {}, "Growth"),
      h("p", { class: "note" }, `Live blocks by when they were born, from the start ${life === null ? "" : `to the end after ${seconds(life)}`}. ${plural(chosen.length, "site")}, ${bytes(total)}, ${share(total, report.analyze.heap.inuse_bytes)} of the heap.`),
      h("div", { class: "controls" }, choice("Verdict", state.q, [["", "all"], ...verdicts.map((v) => [v, v])], (q) => go({ q }))),
      h(
        "div",
        { class: "scroll", tabindex: 0, role: "region", "aria-label": "Sites" },
        h("table", { class: "growth" }, h("thead", {}, h("tr", {}, ["Live", "Born: start to end", "Verdict", "Site"].map((t) => h("th", { scope: "col" }, t)))), h("tbody", {}, chosen.slice(0, SHOWN).map((site) => row(site, names.get(site.site.slice(0, 8)))))),
      ),
      chosen.length > SHOWN ? h("p", { class: "faint" }, `and ${count(chosen.length - SHOWN)} smaller ones`) : "",
    );
  }
  return { element, show: put };
}
