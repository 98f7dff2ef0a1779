// SPDX-License-Identifier: Apache-2.0
// A command to be run in a terminal, with a button that copies it.

import { announce, h, show } from "../dom.js";

/** Without the clipboard the text is selected, to be copied by hand. */
async function copy(text, code, button) {
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
    announce("Copied");
  } catch {
    getSelection().selectAllChildren(code);
  }
}

export function command(text) {
  const code = h("code", { tabindex: 0 }, show(text, 1000));
  const button = h("button", { type: "button", class: "toggle", "aria-label": `Copy: ${show(text, 200)}`, onclick: () => copy(text, code, button) }, "Copy");
  return h("div", { class: "command" }, code, button);
}
