// SPDX-License-Identifier: Apache-2.0
// Reads the parts, builds the frame around the views, and shows the view that the address names.

import { announce, fill, h, show } from "./dom.js";
import { go, linkTo, readFragment } from "./fragment.js";
import { Report } from "./report.js";
import { aboutView } from "./views/about.js";
import { freeView } from "./views/free.js";
import { graphView } from "./views/graph.js";
import { growthView } from "./views/growth.js";
import { leaksView } from "./views/leaks.js";
import { mapView } from "./views/map.js";
import { objectsView } from "./views/objects.js";
import { sourceView } from "./views/source.js";
import { stacksView } from "./views/stacks.js";
import { summaryView } from "./views/summary.js";
import { tableView } from "./views/table.js";
import { threadsView } from "./views/threads.js";
import { typesView } from "./views/types.js";

/** `has`: whether the report has something to show there. */
const VIEWS = {
  summary: { title: "Summary", make: summaryView, has: () => true },
  stacks: { title: "Stacks", make: stacksView, has: (r) => r.profileNames().length },
  table: { title: "Table", make: tableView, has: (r) => r.profileNames().length },
  types: { title: "Types", make: typesView, has: (r) => r.types?.types?.length },
  leaks: { title: "Leaks", make: leaksView, has: (r) => r.leaks?.records },
  growth: { title: "Growth", make: growthView, has: (r) => r.growth?.sites?.length },
  graph: { title: "Who holds whom", make: graphView, has: (r) => r.sites?.edges?.length },
  objects: { title: "Objects", make: objectsView, has: (r) => r.objects?.objects.length },
  free: { title: "Free memory", make: freeView, has: (r) => r.page.fragmentation },
  map: { title: "Memory map", make: mapView, has: (r) => r.page.mappings?.length },
  threads: { title: "Threads", make: threadsView, has: (r) => r.analyze?.process.threads.length },
  source: { title: "Source", make: sourceView, has: (r) => r.sources?.files?.length },
  about: { title: "Files & help", make: aboutView, has: () => true },
};

const THEMES = { "": "light", light: "dark", dark: "" };

function themeButton() {
  const root = document.documentElement;
  const button = h("button", { class: "theme", type: "button" });
  const name = () => (button.textContent = `Theme: ${root.dataset.theme || "auto"}`);
  button.addEventListener("click", () => {
    root.dataset.theme = THEMES[root.dataset.theme ?? ""];
    if (!root.dataset.theme) delete root.dataset.theme;
    name();
    dispatchEvent(new Event("resize"));
    dispatchEvent(new CustomEvent("theme"));
  });
  name();
  return button;
}

function navigation(report) {
  const links = Object.entries(VIEWS)
    .filter(([, view]) => view.has(report))
    .map(([name, view]) => h("a", { href: linkTo({ view: name }), "data-view": name }, view.title));
  return h("nav", { "aria-label": "Views" }, links);
}

function frame(report) {
  const main = h("main", { id: "main", tabindex: -1 });
  const name = show(report.analyze?.process.name ?? "", 60);
  document.title = `${name || "report"} - hawk-core`;
  fill(
      document.getElementById("app"),
    h("a", { class: "skip", href: "#main", onclick: (e) => (e.preventDefault(), main.focus()) }, "Skip to content"),
    h("header", {}, h("a", { class: "brand", href: linkTo({ view: "summary" }) }, "hawk-core"), navigation(report), themeButton()),
    main,
    h("div", { id: "announcer", class: "unseen", role: "status", "aria-live": "polite" }),
  );
  return main;
}

function markCurrent(name) {
  for (const link of document.querySelectorAll("nav a")) {
    if (link.dataset.view === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

class Page {
  constructor(report, main) {
    this.report = report;
    this.main = main;
    this.shown = "";
    this.view = null;
  }

  /** A view of the same name is told the new state; another one takes its place. */
  async show() {
    const state = readFragment();
    const name = VIEWS[state.view]?.has(this.report) ? state.view : "summary";
    if (name !== this.shown) {
      this.view?.leave?.();
      this.view = VIEWS[name].make(this.report);
      this.shown = name;
      this.main.className = `view-${name}`;
      fill(this.main, this.view.element);
      markCurrent(name);
      scrollTo(0, 0);
      announce(VIEWS[name].title);
    }
    await this.view.show(state);
  }
}

function pressKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
  if (event.key === "/" && !typing) {
    document.querySelector("input[type=search]")?.focus();
    event.preventDefault();
  } else if (event.key === "Escape") {
    event.target.blur?.();
    go({ zoom: "", q: "", only: "" });
  } else if (event.key === "?" && !typing) {
    go({ view: "about" });
  }
}

async function start() {
  const report = await Report.read();
  const page = new Page(report, frame(report));
  const update = () => page.show();
  addEventListener("hashchange", update);
  addEventListener("keydown", pressKey);
  await page.show();
  document.documentElement.dataset.ready = "1";
}

start().catch((error) => {
  fill(
      document.getElementById("app"),
    h("p", { class: "loading", role: "alert" }, `This report cannot be shown: ${show(error?.message ?? error)}.`),
  );
  throw error;
});
