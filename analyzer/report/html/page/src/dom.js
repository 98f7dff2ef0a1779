// SPDX-License-Identifier: Apache-2.0
// Elements and words. Foreign text reaches the document through `textContent` alone.

const STEERING = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
const LONGEST = 400;

/** Foreign text made visible: characters that steer or hide are escaped, the middle of what is long
 * is left out. */
export function show(text, longest = LONGEST) {
  let shown = String(text);
  if (shown.length > longest)
    shown = `${shown.slice(0, longest / 2)} ... ${shown.slice(-longest / 4)}`;
  return shown.replace(STEERING, (c) => `\\u{${c.charCodeAt(0).toString(16)}}`);
}

/** h("a", {class: "x", href: "#", onclick: f}, "text", child, [children]) */
export function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "width%") element.style.width = `${Math.min(100, Math.max(0, value))}%`;
    else if (name === "color") element.style.background = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...there(children));
  return element;
}

function there(children) {
  return children.flat(3).filter((child) => child !== null && child !== undefined && child !== false);
}

/** Text of hawk-core: what it quotes in backticks becomes code. */
export function prose(text, longest) {
  return show(text, longest).split("`").map((part, i) => (i % 2 ? h("code", {}, part) : part));
}

/** Puts children in the place of those there are. */
export function fill(element, ...children) {
  element.replaceChildren(...there(children));
}

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

export function bytes(value) {
  let unit = 0;
  let size = Math.abs(value);
  for (; size >= (unit ? 999.95 : 1024) && unit < UNITS.length - 1; unit++) size /= 1024;
  const sign = value < 0 ? "\u2212" : "";
  return `${sign}${unit ? size.toFixed(1) : count(size)} ${UNITS[unit]}`;
}

export function count(value) {
  return Math.round(value).toLocaleString("en-US").replace("-", "\u2212");
}

export function plural(value, one, many = `${one}s`) {
  return `${count(value)} ${value === 1 ? one : many}`;
}

export function quantity(value, unit) {
  return unit === "bytes" ? bytes(value) : count(value);
}

export function share(part, whole) {
  if (!whole) return "0 %";
  const percent = (100 * part) / whole;
  return percent > 0 && percent < 0.1 ? "<0.1 %" : `${percent.toFixed(1)} %`;
}

export function seconds(value) {
  if (value < 60) return `${value.toFixed(1)} s`;
  if (value < 3600) return `${(value / 60).toFixed(1)} min`;
  if (value < 86400) return `${(value / 3600).toFixed(1)} h`;
  return `${(value / 86400).toFixed(1)} days`;
}

/** Tells screen readers what changed. */
export function announce(text) {
  const region = document.getElementById("announcer");
  if (region) region.textContent = text;
}
