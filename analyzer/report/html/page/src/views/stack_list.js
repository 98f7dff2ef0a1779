// SPDX-License-Identifier: Apache-2.0
// A stack of a document, as a list of functions and places.

import { h, plural, show } from "../dom.js";
import { named } from "../names.js";
import { baseName } from "../profile.js";

function lineText(line) {
  if (line.function) return line.function;
  if (line.kind !== "function" && line.scope) return line.scope;
  if (line.module) return `${baseName(line.module)}+${line.module_address ?? "?"}`;
  return line.text ?? line.address ?? "?";
}

/** Frames by which abort() kills its caller are the same in every abort. */
const ENDINGS = /^(__pthread_kill|__GI___pthread_kill|pthread_kill|__GI_raise|raise|gsignal|__GI_abort|abort)/;

export function firstTelling(lines) {
  const at = lines.findIndex((line) => !ENDINGS.test(line.function ?? ""));
  return at > 0 && at < lines.length - 1 ? at : 0;
}

export function stackList(lines, limit = Infinity) {
  const shown = lines.slice(0, limit);
  const items = shown.map((line) =>
    h(
      "li",
      {},
      h("span", { class: "function" }, named(lineText(line))),
      line.file
        ? h("span", { class: "place", title: show(line.file) }, `${show(baseName(line.file), 60)}:${line.line}`)
        : h("span", { class: "place" }, line.module ? show(baseName(line.module), 60) : ""),
    ),
  );
  if (lines.length > shown.length)
    items.push(h("li", { class: "faint" }, `and ${plural(lines.length - shown.length, "more frame")}`));
  return h("ol", { class: "stack" }, items);
}
