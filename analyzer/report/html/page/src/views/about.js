// SPDX-License-Identifier: Apache-2.0
// Downloads, keys, and what the file is.

import { h, plural } from "../dom.js";
import { downloadFolded, downloadPart, downloadPprof } from "../download.js";
import { profileTitle } from "../report.js";

const KEYS = [
  ["/", "search"],
  ["Escape", "reset zoom and search"],
  ["?", "this page"],
  ["Arrow keys", "move in the icicle"],
  ["Enter", "zoom to the chosen frame"],
  ["Backspace", "zoom out"],
  ["Home", "back to the zoomed frame"],
];

const DOCUMENTS = ["analyze", "leaks", "types", "growth", "sites"];

export function aboutView(report) {
  const button = (text, onclick) => h("button", { type: "button", class: "toggle", onclick }, text);
  const profiles = report.profileNames().map((name) =>
    h(
      "li",
      {},
      `${profileTitle(name)}: `,
      button("folded stacks", async () => {
        const profile = await report.profile(name);
        downloadFolded(profile, profile.shown);
      }),
      " ",
      button("pprof", async () => downloadPprof(await report.profile(name))),
    ),
  );
  const documents = DOCUMENTS.filter((name) => report[name]).map((name) => button(`${name}.json`, () => downloadPart(report, name)));
  const element = h(
    "div",
    {},
    h("h1", {}, "Files and help"),
    h(
      "div",
      { class: "grid" },
      h("section", { class: "card" }, h("h2", {}, "Profiles"), h("p", { class: "faint" }, "For go tool pprof, speedscope, flamegraph.pl and others."), h("ul", { class: "plain" }, profiles)),
      h("section", { class: "card" }, h("h2", {}, "Documents"), h("p", { class: "faint" }, `Answers of hawk-core as JSON; lists have at most 1,000 entries. ${plural(documents.length, "document")}:`), h("p", { class: "actions" }, documents)),
      h("section", { class: "card" }, h("h2", {}, "Keys"), h("dl", {}, KEYS.map(([key, what]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, what)]))),
      h("section", { class: "card" }, h("h2", {}, "This file"), h("p", {}, `Written by hawk-core ${report.page.version ?? ""}. It makes no network request and contains no memory contents but names, sizes and counts. Each view has an address of its own: copy it from the address bar.`)),
    ),
  );
  return { element, show() {} };
}
