// SPDX-License-Identifier: Apache-2.0
// Threads with their stacks; those whose stacks are equal are told together.

import { h, plural, show } from "../dom.js";
import { stackList } from "./stack_list.js";

function groupThreads(threads) {
  const groups = new Map();
  for (const thread of threads) {
    const key = `${thread.crashed} ${thread.stack.join(",")}`;
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(thread);
  }
  return [...groups.values()].sort((a, b) => b[0].crashed - a[0].crashed || b.length - a.length);
}

function threadText(thread) {
  return `${thread.tid}${thread.name ? ` ${show(thread.name, 40)}` : ""}`;
}

export function threadsView(report) {
  const { analyze } = report;
  const { threads, signal_name: signal } = analyze.process;
  const cards = groupThreads(threads).map((group) => {
    const [first] = group;
    const lines = report.lines(analyze, first.stack);
    const more = group.length > 12 ? ` and ${group.length - 12} more` : "";
    return h(
      "section",
      { class: `card ${first.crashed && signal ? "crashed" : ""}` },
      h("h2", {}, group.length > 1 ? `${plural(group.length, "thread")} with the same stack` : `Thread ${threadText(first)}`, first.crashed && signal ? h("span", { class: "chip chip-alert" }, `crashed by ${signal}`) : null),
      group.length > 1 ? h("p", { class: "faint" }, group.slice(0, 12).map(threadText).join(", ") + more) : null,
      lines.length ? stackList(lines) : h("p", { class: "faint" }, "Its stack is missing."),
      first.complete ? null : h("p", { class: "faint" }, "The stack could not be unwound to its end."),
    );
  });
  return { element: h("div", {}, h("h1", {}, plural(threads.length, "thread")), h("div", { class: "threads" }, cards)), show() {} };
}
