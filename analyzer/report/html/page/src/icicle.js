// SPDX-License-Identifier: Apache-2.0
// An icicle on a canvas: the widths are the sizes. Only what is at least half a pixel wide is laid
// out, and only rows in sight are drawn, so that the size of the tree does not matter.

import { fill, h, quantity, share, show } from "./dom.js";
import { short } from "./names.js";
import { baseName, KIND } from "./profile.js";

const ROW = 22;
const NARROWEST = 0.5;
const FONT = "12px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace";
const MEANINGS = { [KIND.SCOPE]: "scopes", [KIND.ROOT]: "roots", [KIND.NOTE]: "notes" };
const HUES = [28, 205, 150, 270, 345, 60, 180, 310];

/** A colour for each frame's module: the one with most bytes first. */
function moduleRanks(profile) {
  const sums = new Map();
  const { frames, samples } = profile;
  const column = samples.values[profile.shown] ?? [];
  for (let i = 0; i < samples.count; i++) {
    const module = frames.module[profile.frame[samples.node[i]]];
    sums.set(module, (sums.get(module) ?? 0) + Math.abs(column[i]));
  }
  const order = [...sums.keys()].sort((a, b) => sums.get(b) - sums.get(a));
  return new Map(order.map((module, rank) => [module, rank]));
}

export class Icicle {
  /** Calls `onzoom(node)` and `onfocus(node)`. */
  constructor({ unit, onzoom, onfocus }) {
    this.unit = unit;
    this.onzoom = onzoom;
    this.onfocus = onfocus;
    this.canvas = h("canvas", {
      class: "icicle",
      tabindex: 0,
      role: "img",
      "aria-describedby": "icicle-keys",
    });
    this.tip = h("div", { class: "tip", "aria-hidden": "true", hidden: true });
    this.spacer = h("div", { class: "icicle-space" });
    this.element = h("div", { class: "icicle-box" }, this.canvas, this.spacer, this.tip);
    this.rects = [];
    this.zoom = 0;
    this.focus = 0;
    this.found = null;
    this.listen();
  }

  listen() {
    const { canvas, element } = this;
    canvas.addEventListener("mousemove", (event) => this.hover(event));
    canvas.addEventListener("mouseleave", () => this.hover(null));
    canvas.addEventListener("click", (event) => {
      const node = this.at(event);
      if (node === null) return;
      this.setFocus(node);
      this.onzoom(node);
    });
    canvas.addEventListener("keydown", (event) => this.press(event));
    canvas.addEventListener("focus", () => this.draw());
    canvas.addEventListener("blur", () => this.draw());
    element.addEventListener("scroll", () => this.draw());
    this.observer = new ResizeObserver(() => this.layout());
    this.observer.observe(element);
  }

  show(profile, tree, zoom, found) {
    if (this.profile !== profile) this.ranks = moduleRanks(profile);
    this.profile = profile;
    this.found = found;
    if (this.tree !== tree) this.rows = 0;
    this.tree = tree;
    this.zoom = zoom;
    this.focus = zoom;
    this.element.scrollTop = 0;
    this.layout();
  }

  /** Rectangles of all that is wide enough, a row at a time: those above the zoomed node, then it
   * and those below. */
  layout() {
    if (!this.tree) return;
    const { tree, zoom } = this;
    this.width = this.element.clientWidth;
    this.rects = [];
    const above = [0, ...tree.path(zoom)].slice(0, zoom ? -1 : 0);
    above.forEach((node, row) => this.rects.push({ node, row, x: 0, width: this.width }));
    const work = [{ node: zoom, row: above.length, x: 0, width: this.width }];
    const scale = this.width / (tree.total[zoom] || 1);
    let rows = 0;
    while (work.length) {
      const rect = work.pop();
      this.rects.push(rect);
      rows = Math.max(rows, rect.row + 1);
      let x = rect.x;
      for (const child of tree.children(rect.node)) {
        const width = tree.total[child] * scale;
        if (width < NARROWEST) break;
        work.push({ node: child, row: rect.row + 1, x, width });
        x += width;
      }
    }
    this.rows = Math.max(this.rows, rows); // zooming does not move what is below
    this.fitHeight();
    this.spacer.style.height = `${Math.max(0, rows * ROW - this.height())}px`;
    this.canvas.setAttribute(
      "aria-label",
      `Icicle of ${tree.name(zoom)}: ${quantity(tree.total[zoom], this.unit())}. The table below has the same frames.`,
    );
    this.draw();
  }

  fitHeight() {
    const most = Math.max(320, innerHeight - 330);
    this.element.style.height = `${Math.min(most, Math.max(160, this.rows * ROW + 4))}px`;
  }

  height() {
    return Math.max(this.element.clientHeight, ROW);
  }

  draw() {
    if (!this.tree) return;
    const scale = devicePixelRatio || 1;
    const { canvas, width } = this;
    const height = this.height();
    if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
      canvas.width = Math.round(width * scale);
      canvas.height = Math.round(height * scale);
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
    }
    const context = canvas.getContext("2d");
    this.colors = this.readColors();
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    context.font = FONT;
    context.textBaseline = "middle";
    this.letter = context.measureText("m").width;
    const top = this.element.scrollTop;
    for (const rect of this.rects) {
      const y = rect.row * ROW - top;
      if (y > -ROW && y < height) this.drawRect(context, rect, y);
    }
  }

  readColors() {
    const style = getComputedStyle(this.element);
    const read = (name) => style.getPropertyValue(name).trim();
    return {
      dark: read("--dark") === "1",
      text: read("--ink"),
      faint: read("--faint"),
      paper: read("--paper"),
      accent: read("--accent"),
    };
  }

  drawRect(context, rect, y) {
    const { tree } = this;
    const gap = rect.width > 3 ? 1 : 0;
    const dim = this.found && !this.found.inside[rect.node];
    context.globalAlpha = dim ? 0.28 : 1;
    context.fillStyle = this.color(rect.node);
    context.fillRect(rect.x, y, rect.width - gap, ROW - 1);
    if (this.found?.found[rect.node]) {
      context.fillStyle = this.colors.accent;
      context.fillRect(rect.x, y + ROW - 4, rect.width - gap, 3);
    }
    const letters = Math.floor((rect.width - 8) / this.letter);
    if (letters >= 3) {
      context.globalAlpha = dim ? 0.6 : 1;
      context.fillStyle = this.colors.text;
      context.fillText(this.label(rect.node, letters), rect.x + 4, y + ROW / 2);
    }
    context.globalAlpha = 1;
    if (rect.node === this.focus && document.activeElement === this.canvas) {
      context.strokeStyle = this.colors.text;
      context.lineWidth = 2;
      context.strokeRect(rect.x + 1, y + 1, Math.max(rect.width - 2 - gap, 1), ROW - 3);
    }
    if (tree.net && rect.width > 160) this.drawNet(context, rect, y, letters);
  }

  drawNet(context, rect, y, letters) {
    const text = this.netText(rect.node);
    if (letters < text.length + this.label(rect.node, letters).length + 2) return;
    context.fillStyle = this.colors.text;
    context.textAlign = "right";
    context.fillText(text, rect.x + rect.width - 6, y + ROW / 2);
    context.textAlign = "left";
  }

  netText(node) {
    const net = this.tree.net[node];
    return `${net > 0 ? "+" : ""}${quantity(net, this.unit())}`;
  }

  label(node, letters) {
    const name = show(this.name(node), 4 * letters + 8);
    return name.length <= letters ? name : `${name.slice(0, letters - 1)}\u2026`;
  }

  name(node) {
    return short(this.tree.name(node));
  }

  color(node) {
    const { tree, profile } = this;
    const { dark } = this.colors;
    if (node === 0) return dark ? "#39414d" : "#dfe4ea";
    if (tree.net) return this.differenceColor(node);
    const frame = tree.frame(node);
    const kind = frame < 0 ? KIND.NOTE : profile.frames.kind[frame];
    if (kind === KIND.NOTE) return dark ? "#454b54" : "#d5dae0";
    if (kind === KIND.SCOPE) return dark ? "hsl(270 30% 42%)" : "hsl(270 60% 86%)";
    if (kind === KIND.ROOT) return dark ? "hsl(205 40% 38%)" : "hsl(205 65% 82%)";
    const rank = this.ranks.get(profile.frames.module[frame]) ?? HUES.length;
    const hue = HUES[rank];
    const shade = (tree.key[node] * 7) % 9;
    if (rank >= HUES.length) return dark ? `hsl(215 6% ${34 + shade}%)` : `hsl(215 12% ${80 + shade}%)`;
    const own = hue === HUES[0];
    return dark
      ? `hsl(${hue} ${own ? 46 : 24}% ${31 + shade}%)`
      : `hsl(${hue} ${own ? 80 : 42}% ${76 + shade}%)`;
  }

  /** What the colours of frames mean: [colour, text]; modules by size. */
  meanings() {
    const { tree, profile } = this;
    if (tree.net) return [];
    const meanings = new Map();
    for (const { node } of this.rects) {
      const frame = node ? tree.frame(node) : -1;
      if (frame < 0) continue;
      const kind = profile.frames.kind[frame];
      const rank = this.ranks.get(profile.frames.module[frame]) ?? HUES.length;
      const text = MEANINGS[kind] ?? (rank < HUES.length ? baseName(profile.frames.module[frame]) || "no module" : "other modules");
      const order = MEANINGS[kind] ? HUES.length + kind : rank;
      if (!meanings.has(text)) meanings.set(text, [order, this.color(node), text]);
    }
    return [...meanings.values()].sort((a, b) => a[0] - b[0]).map(([, color, text]) => [null, color, text]);
  }

  differenceColor(node) {
    const ratio = this.tree.net[node] / (this.tree.total[node] || 1);
    const strength = Math.abs(ratio);
    const hue = ratio > 0 ? 8 : 212;
    return this.colors.dark
      ? `hsl(${hue} ${Math.round(60 * strength)}% ${Math.round(30 + 10 * strength)}%)`
      : `hsl(${hue} ${Math.round(85 * strength)}% ${Math.round(92 - 22 * strength)}%)`;
  }

  at(event) {
    const box = this.canvas.getBoundingClientRect();
    const x = event.clientX - box.left;
    const row = Math.floor((event.clientY - box.top + this.element.scrollTop) / ROW);
    const hit = this.rects.find((r) => r.row === row && x >= r.x && x < r.x + r.width);
    return hit ? hit.node : null;
  }

  describe(node) {
    const { tree } = this;
    const total = quantity(tree.total[node], this.unit());
    if (tree.net) return `${this.netText(node)} (${total} changed)`;
    return `${total}, ${share(tree.total[node], tree.total[0])} of all`;
  }

  hover(event) {
    const node = event ? this.at(event) : null;
    this.tip.hidden = node === null;
    if (node === null) return;
    const frame = this.tree.frame(node);
    const file = frame > 0 ? this.profile.frames.file[frame] : "";
    fill(
      this.tip,
      h("b", {}, show(this.tree.name(node), 300)),
      h("span", {}, this.describe(node)),
      file ? h("span", { class: "faint" }, show(`${file}:${this.profile.frames.line[frame]}`, 200)) : null,
    );
    const box = this.element.getBoundingClientRect();
    const x = Math.min(event.clientX - box.left + 14, box.width - this.tip.offsetWidth - 8);
    this.tip.style.left = `${Math.max(4, x)}px`;
    this.tip.style.top = `${event.clientY - box.top + this.element.scrollTop + 18}px`;
  }

  setFocus(node) {
    this.focus = node;
    this.onfocus(node);
    this.scrollTo(node);
    this.draw();
  }

  scrollTo(node) {
    const rect = this.rects.find((r) => r.node === node);
    if (!rect) return;
    const { element } = this;
    if (rect.row * ROW < element.scrollTop) element.scrollTop = rect.row * ROW;
    else if ((rect.row + 1) * ROW > element.scrollTop + this.height())
      element.scrollTop = (rect.row + 1) * ROW - this.height();
  }

  /** The drawn neighbour of the focused node to the left (-1) or right. */
  sibling(way) {
    const here = this.rects.find((r) => r.node === this.focus);
    if (!here) return this.zoom;
    const row = this.rects.filter((r) => r.row === here.row).sort((a, b) => a.x - b.x);
    return (row[row.indexOf(here) + way] ?? here).node;
  }

  press(event) {
    const { tree } = this;
    const child = tree.children(this.focus)[0];
    const moves = {
      ArrowUp: () => tree.parent[this.focus],
      ArrowDown: () => (this.rects.some((r) => r.node === child) ? child : this.focus),
      ArrowLeft: () => this.sibling(-1),
      ArrowRight: () => this.sibling(1),
      Home: () => this.zoom,
    };
    if (moves[event.key]) this.setFocus(moves[event.key]());
    else if (event.key === "Enter" || event.key === " ") this.onzoom(this.focus);
    else if (event.key === "Backspace") this.onzoom(tree.parent[this.zoom]);
    else return;
    event.preventDefault();
  }
}
