// SPDX-License-Identifier: Apache-2.0
// Short forms of the names of C++ and Rust, as the terminal shows them. Names are grouped, searched
// and downloaded whole; only what is shown is short, with the whole name in a tooltip.

import { h, show } from "./dom.js";

const forms = new Map();

/** `pairs`: [name, short form]. */
export function learnNames(pairs) {
  for (const [name, form] of pairs) forms.set(name, form);
}

export function short(name) {
  return forms.get(name) ?? name;
}

/** The short form as text, or as an element that has the whole name as its tooltip. */
export function named(name, longest = 160) {
  const form = short(name);
  return form === name ? show(name, longest) : h("span", { title: show(name, 1000) }, show(form, longest));
}
