// SPDX-License-Identifier: Apache-2.0
// The state of the page in its address: "#stacks&profile=live&by=module". Whoever has the file and
// the address sees the same view.

const DEFAULTS = {
  view: "summary",
  profile: "",
  column: "",
  by: "function",
  inverted: "",
  zoom: "",
  only: "",
  q: "",
  sort: "",
  site: "",
  address: "",
  file: "",
  line: "",
};

export function readFragment() {
  const [view, ...rest] = location.hash.slice(1).split("&");
  const state = { ...DEFAULTS };
  if (view) state.view = view;
  for (const pair of rest) {
    const at = pair.indexOf("=");
    const name = pair.slice(0, at);
    if (!(name in DEFAULTS)) continue;
    try {
      state[name] = decodeURIComponent(pair.slice(at + 1));
    } catch {
      // an address that was cut or mistyped: the default stays
    }
  }
  return state;
}

export function fragmentOf(state) {
  const rest = Object.entries(state).filter(
    ([name, value]) => name !== "view" && name in DEFAULTS && value !== DEFAULTS[name],
  );
  return `#${[state.view, ...rest.map(([name, value]) => `${name}=${encodeURIComponent(value)}`)].join("&")}`;
}

/** Goes to a state; by default as a new entry of the browser's history. */
export function go(change, { replace = false, base = readFragment() } = {}) {
  const address = fragmentOf({ ...base, ...change });
  if (address === location.hash) return;
  if (replace) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
  dispatchEvent(new HashChangeEvent("hashchange"));
}

/** The address of a view with nothing else chosen. */
export function linkTo(change) {
  return fragmentOf({ ...DEFAULTS, ...change });
}
