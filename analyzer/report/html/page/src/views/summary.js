// SPDX-License-Identifier: Apache-2.0
// The first screen: how it died, who owns the memory, suspects, what is missing.

import { bytes, count, fill, h, plural, prose, share, show } from "../dom.js";
import { linkTo } from "../fragment.js";
import { cycleText, exampleLink } from "./blocks.js";
import { command } from "./command.js";
import { named } from "../names.js";
import { shortHash } from "../tree.js";
import { firstTelling, stackList } from "./stack_list.js";

const SIGNALS = {
  SIGABRT: "Aborted",
  SIGBUS: "Bus error",
  SIGFPE: "Arithmetic error",
  SIGHUP: "Hangup",
  SIGILL: "Illegal instruction",
  SIGINT: "Interrupted",
  SIGKILL: "Killed",
  SIGPIPE: "Broken pipe",
  SIGQUIT: "Quit",
  SIGSEGV: "Segmentation fault",
  SIGSYS: "Bad system call",
  SIGTERM: "Terminated",
  SIGTRAP: "Trap",
};
const REASONS = { "SIGSEGV 1": "address not mapped", "SIGSEGV 2": "access not permitted" };
const KINDS = ["definitely_lost", "indirectly_lost"];
const CRASH_LINES = 6;
const OWNERS = 6;

function title(process) {
  if (process.live) return "is alive";
  if (process.signal_name) return `was killed by ${process.signal_name}`;
  if (process.signal) return `was killed by signal ${process.signal}`;
  return process.threads.length ? "was alive: a snapshot" : "";
}

function cause(process) {
  const reason = REASONS[`${process.signal_name} ${process.signal_code}`];
  if (process.fault_address)
    return `${SIGNALS[process.signal_name] ?? "Fault"} at address ${process.fault_address}${reason ? `: ${reason}` : ""}`;
  if (process.sender_pid)
    return process.sender_pid === process.pid
      ? `${SIGNALS[process.signal_name] ?? "Signal"}, raised by the process itself`
      : `${SIGNALS[process.signal_name] ?? "Signal"}, sent by process ${process.sender_pid}`;
  return SIGNALS[process.signal_name] ?? "";
}

function headline(report) {
  const { process, source } = report.analyze;
  const facts = [cause(process), process.pid ? `pid ${process.pid}` : "", show(process.arguments ?? "", 140)];
  return h(
    "section",
    { class: "headline" },
    h("h1", {}, h("b", {}, show(process.name ?? "unnamed process", 60)), " ", title(process)),
    h("p", {}, facts.filter(Boolean).flatMap((fact, i) => [i ? " \u00b7 " : "", fact])),
    h("p", { class: "faint path" }, source ? show(source, 200) : "a running process"),
  );
}

function crash(report) {
  const { analyze } = report;
  const { threads, signal } = analyze.process;
  const thread = threads.find((t) => t.crashed) ?? threads[0];
  if (!thread) return null;
  const lines = report.lines(analyze, thread.stack);
  const first = firstTelling(lines);
  return h(
    "section",
    { class: "card" },
    h("h2", {}, signal ? "How it died" : "Where it was"),
    h("p", { class: "faint" }, `Thread ${thread.tid}${thread.name ? ` ${show(thread.name, 40)}` : ""}, ${threads.length > 1 ? `one of ${threads.length} threads` : "the only one"}`),
    stackList(lines.slice(first), CRASH_LINES),
    h("p", { class: "more" }, h("a", { href: linkTo({ view: "threads" }) }, "All threads")),
  );
}

/** What the touched memory is made of; the parts add up to it. Older snapshots know writable memory only. */
function ledger(heap) {
  const measured = heap.touched_bytes !== null;
  const whole = (measured ? heap.touched_bytes : heap.writable_bytes) ?? 0;
  const parts = [
    ["requested", heap.traced ? "by the program, live" : "live blocks, usable sizes", heap.inuse_bytes - (heap.untouched_bytes ?? 0)],
    ["headers", "the tracer's, before each block", heap.header_bytes],
    ["allocator", "free and cached chunks", heap.overhead_bytes],
    ["tracer", "its stacks and counters", measured ? heap.tracer_touched_bytes : heap.tracer_bytes],
  ].filter(([, , size]) => size);
  const rest = whole - parts.reduce((sum, [, , size]) => sum + size, 0);
  if (rest > 0) parts.push(["other", "thread stacks, data segments, mmap", rest]);
  return parts;
}

function memory(report) {
  const { heap } = report.analyze;
  if (heap.unknown)
    return h("section", { class: "card" }, h("h2", {}, "Where its memory is"), h("p", {}, `Unknown: ${heap.unknown}. ${heap.traced === false ? "Next time start it with: hawk-core run -- PROGRAM ARGUMENTS" : ""}`));
  const parts = ledger(heap);
  const whole = parts.reduce((sum, [, , size]) => sum + size, 0);
  const untouched = heap.writable_bytes - heap.touched_bytes;
  return h(
    "section",
    { class: "card" },
    h("h2", {}, "Where its memory is"),
    h("p", { class: "figure" }, h("b", {}, bytes(heap.inuse_bytes)), ` live in ${plural(heap.inuse_objects, "block")}`, heap.writable_bytes ? h("span", { class: "faint" }, `; ${bytes(whole)} of memory ${heap.touched_bytes === null ? "writable" : "touched"}`) : null),
    h("div", { class: "stacked", "aria-hidden": "true" }, parts.map(([name, , size]) => h("span", { class: `part-${name}`, "width%": (100 * size) / whole }))),
    h(
      "table",
      { class: "ledger" },
      h("thead", { class: "unseen" }, h("tr", {}, ["What", "Bytes", "Share"].map((t) => h("th", { scope: "col" }, t)))),
      h("tbody", {}, parts.map(([name, what, size]) => h("tr", {}, h("th", { scope: "row" }, h("i", { class: `dot part-${name}`, "aria-hidden": "true" }), name, " ", h("small", {}, what)), h("td", { class: "number" }, bytes(size)), h("td", { class: "number faint" }, share(size, whole))))),
    ),
    heap.touched_bytes !== null && untouched > 0 ? h("p", { class: "faint" }, `${bytes(untouched)} more reserved, in zero pages${heap.untouched_bytes ? `; ${bytes(heap.untouched_bytes)} of them in live blocks` : ""}`) : null,
    heap.alloc_objects ? h("p", { class: "faint" }, `${plural(heap.alloc_objects, "block")} (${bytes(heap.alloc_bytes)}) allocated in ${Number(heap.uptime_seconds).toFixed(1)} s by ${plural(heap.threads, "thread")}`) : null,
    free(report),
    leaks(report),
  );
}

/** Why free memory is not given back, if it is more than a quarter of the heap. */
function free({ page: { fragmentation: found } }) {
  if (!found || found.verdict === "none") return null;
  return h("p", {}, h("a", { href: linkTo({ view: "free" }) }, `${bytes(found.free_bytes)} free`), ": ", prose(found.advice, 400), ".");
}

/** What is lost as a headline, its kinds below it; each leads to its stacks. */
function leaks(report) {
  const { leaks: found } = report;
  if (!found?.lost) return null;
  const possible = found.possibly_lost;
  if (!found.lost.objects && !possible.objects) return h("p", { class: "good" }, "No block is lost.");
  const figure = (sum, name, state, alert) =>
    h("span", {}, h("a", { href: linkTo({ view: "stacks", profile: "lost", ...state }), class: alert ? "alert" : "" }, `${bytes(sum.bytes)} ${name}`), ` in ${plural(sum.objects, "block")}`);
  const kinds = KINDS.filter((kind) => found[kind].objects).map((kind) => figure(found[kind], kind.replace("_", " "), { by: "kind" }));
  if (possible.objects) kinds.push(figure(possible, "possibly lost", { column: "possibly_lost_space" }));
  return h(
    "div",
    { class: "lost" },
    found.lost.objects ? h("p", {}, figure(found.lost, "lost", {}, true)) : null,
    h("ul", { class: "plain faint" }, kinds.map((kind) => h("li", {}, kind))),
    h("p", { class: "more" }, h("a", { href: linkTo({ view: "leaks" }) }, "All leaks")),
  );
}

function owner(names, heap, site, most) {
  const name = names.get(site.site.slice(0, 8));
  const label = name ? name.name : site.type ?? site.site;
  const link = linkTo({ view: "stacks", only: shortHash(label) });
  return h(
    "li",
    {},
    h("a", { href: link }, named(label, 120)),
    h("span", { class: "place" }, name?.place ? show(name.place, 60) : ""),
    h("span", { class: "number", title: plural(site.inuse_objects, "block") }, bytes(site.inuse_bytes)),
    h("span", { class: "number faint" }, share(site.inuse_bytes, heap.inuse_bytes)),
    h("span", { class: "track", "aria-hidden": "true" }, h("span", { class: "bar", "width%": (100 * site.inuse_bytes) / most })),
  );
}

async function owners(report) {
  const { sites, heap } = report.analyze;
  if (!sites?.length) return null;
  const names = await report.siteNames();
  const first = sites.slice(0, OWNERS);
  const most = Math.max(...first.map((site) => site.inuse_bytes), 1);
  return h(
    "section",
    { class: "card" },
    h("h2", {}, "Who owns the memory"),
    h("ol", { class: "owners" }, first.map((site) => owner(names, heap, site, most))),
    h("p", { class: "more" }, h("a", { href: linkTo({ view: "stacks" }) }, "All stacks"), " ", h("a", { href: linkTo({ view: "table" }) }, "As a table")),
  );
}

function verdict(suspect) {
  const word = suspect.verdict === "unclear" ? "growth unclear" : suspect.verdict === "only grows" ? suspect.verdict : `${suspect.verdict}, ${suspect.confidence} confidence`;
  return h("span", { class: `chip chip-${suspect.verdict === "leak" ? "alert" : "plain"}` }, word);
}

function held(suspect) {
  const reach = suspect.reach_bytes;
  const lost = reach ? reach.definitely_lost + reach.indirectly_lost : 0;
  if (lost > suspect.inuse_bytes / 2) return `Nothing leads to ${share(lost, suspect.inuse_bytes)} of it: it is lost.`;
  const { holder } = suspect;
  if (!holder?.root) return "";
  return [`${share(holder.bytes, suspect.inuse_bytes)} of it is held by `, prose(holder.root, 120), "."];
}

/** What a suspect's structure consists of, by site. */
function structure(names, { parts }) {
  return h(
    "table",
    { class: "parts" },
    h("thead", { class: "unseen" }, h("tr", {}, ["Size", "Blocks", "Site"].map((t) => h("th", { scope: "col" }, t)))),
    h("tbody", {}, parts.map((part) => {
      const name = names.get((part.site ?? "").slice(0, 8));
      return h("tr", {}, h("td", { class: "number" }, bytes(part.bytes)), h("td", { class: "number faint" }, count(part.objects)), h("td", {}, named(name?.name ?? part.site ?? "(no stack)", 100), " ", h("span", { class: "place" }, show(name?.place ?? "", 60))));
    })),
  );
}

async function suspects(report) {
  const { analyze } = report;
  const found = analyze.suspects;
  if (!found?.length && !analyze.suspects_skipped) return null;
  const names = await report.siteNames();
  const whole = analyze.heap.inuse_bytes;
  const cards = (found ?? []).map((suspect) => {
    const name = names.get((suspect.site ?? "").slice(0, 8));
    const blocks = suspect.structure ?? { bytes: suspect.inuse_bytes, objects: suspect.inuse_objects };
    return h(
      "li",
      {},
      h("h3", {}, h("span", {}, named(name?.name ?? suspect.site ?? "(no stack)", 120)), " ", h("span", { class: "place" }, show(name?.place ?? "", 60))),
      suspect.type ? h("p", {}, "of type ", named(suspect.type, 120)) : null,
      h("p", {}, h("b", {}, bytes(blocks.bytes)), ` in ${plural(blocks.objects, "block")}, ${share(blocks.bytes, whole)} of the heap${suspect.structure ? ", in one structure" : ""}. `, held(suspect), " ", suspect.retained_bytes ? `Retains ${bytes(suspect.retained_bytes.all_pointers)}. ` : "", verdict(suspect)),
      suspect.structure ? structure(names, suspect.structure) : null,
      suspect.cycle ? cycleText(names, suspect.cycle) : null,
      h("p", { class: "faint" }, prose((suspect.reasons ?? []).join("; "), 600)),
      h("p", {}, exampleLink(report, suspect.site)),
      suspect.next ? command(suspect.next) : null,
    );
  });
  return h(
    "section",
    { class: "card" },
    h("h2", {}, found?.length ? `Suspects: ${plural(found.length, "site")}, and what to ask next` : "Suspects"),
    analyze.startup_bytes ? h("p", { class: "faint" }, `Left out: ${bytes(analyze.startup_bytes)}, filled at start and not grown since.`) : null,
    cards.length ? h("ol", { class: "suspects" }, cards) : h("p", {}, show(analyze.suspects_skipped ?? "None stands out.")),
  );
}

const PARTS = { graph: "Who holds whom", leaks: "Leaks", growth: "Growth", sites: "Who holds whom", lost: "Lost stacks" };

function missing(report) {
  const findings = report.findings();
  const left = report.page.left_out ?? [];
  const items = [
    ...findings.map((f) => h("li", { class: f.damage || f.partial ? "alert" : "" }, prose(f.text, 300), f.count > 1 ? ` (${count(f.count)} times)` : "")),
    ...left.map((l) => h("li", { class: "alert" }, `${PARTS[l.part] ?? l.part}: ${show(l.reason, 300)}`)),
  ];
  return h(
    "section",
    { class: "card" },
    h("h2", {}, "What is missing"),
    items.length ? h("ul", { class: "missing" }, items) : h("p", { class: "good" }, "Nothing was missing."),
  );
}

async function putSummary(report, element) {
  if (!report.analyze) {
    fill(element, h("h1", {}, "Report"), h("p", { role: "alert" }, "This file is cut off, or damaged: its first part is missing."));
    return;
  }
  fill(
    element,
    headline(report),
    h(
      "div",
      { class: "grid" },
      h("div", { class: "column" }, crash(report), await owners(report), missing(report)),
      h("div", { class: "column" }, memory(report), await suspects(report)),
    ),
  );
}

export function summaryView(report) {
  const element = h("div", { class: "summary" });
  return { element, show: () => putSummary(report, element) };
}
