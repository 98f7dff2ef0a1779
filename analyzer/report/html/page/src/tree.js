// SPDX-License-Identifier: Apache-2.0
// Trees to be drawn, made of a profile: stacks joined by function, file or module, or below types,
// scopes or kinds of leaks; upside down; only those through one frame. And flat sums by the same keys.
//
// Columns are typed arrays by node; a parent's number is below its children's; node 0 is the root.

/** What is smaller than 1/SMALLEST of an inverted tree is joined: its size has no other limit. */
const SMALLEST = 5000;

export const GROUPED = { type: "(no type)", scope: "(no scope)", kind: "(no kind)" };

function keysBy(profile, text) {
  const numbers = new Map();
  const names = [];
  const ofFrame = new Int32Array(profile.frames.count);
  const example = [];
  for (let i = 0; i < profile.frames.count; i++) {
    const name = text(i);
    let key = numbers.get(name);
    if (key === undefined) {
      key = names.length;
      numbers.set(name, key);
      names.push(name);
      example.push(i);
    }
    ofFrame[i] = key;
  }
  return { names, ofFrame, example };
}

/** Keys of frames: `names` by key, `ofFrame`, and `example`, a frame of each. */
export function keysOf(profile, by) {
  const { name, file, module } = profile.frames;
  const texts = {
    file: (i) => file[i] || "(no file)",
    module: (i) => module[i] || "(no module)",
  };
  return (profile.keys[by] ??= keysBy(profile, texts[by] ?? ((i) => name[i])));
}

/** Finds nodes by parent and key. */
class Nodes {
  constructor(size) {
    this.count = 1;
    this.parent = new Int32Array(size);
    this.key = new Int32Array(size).fill(-1, 0, 1);
    this.slots = new Int32Array(2 ** Math.ceil(Math.log2(size * 2 + 2)));
  }

  grow() {
    const old = this;
    const grown = new Nodes(this.parent.length * 2);
    grown.parent.set(old.parent);
    grown.key.set(old.key);
    for (grown.count = 1; grown.count < old.count; grown.count++)
      grown.slots[grown.slot(old.parent[grown.count], old.key[grown.count])] = grown.count;
    Object.assign(this, grown);
  }

  slot(parent, key) {
    const mask = this.slots.length - 1;
    let at = Math.imul(parent ^ Math.imul(key, 0x9e3779b1), 0x85ebca6b);
    for (at = (at ^ (at >>> 15)) & mask; this.slots[at]; at = (at + 1) & mask) {
      const node = this.slots[at];
      if (this.parent[node] === parent && this.key[node] === key) break;
    }
    return at;
  }

  /** The node below `parent` with `key`, made if it is new. */
  at(parent, key) {
    if (this.count === this.parent.length) this.grow();
    const slot = this.slot(parent, key);
    if (!this.slots[slot]) {
      this.parent[this.count] = parent;
      this.key[this.count] = key;
      this.slots[slot] = this.count++;
    }
    return this.slots[slot];
  }
}

export class Tree {
  /** `self` and `net` (of differences, else null) by node; names of keys. */
  constructor(nodes, self, net, keys) {
    this.count = nodes.count;
    this.parent = nodes.parent.subarray(0, nodes.count);
    this.key = nodes.key.subarray(0, nodes.count);
    this.self = self;
    this.net = net;
    this.total = Float64Array.from(self);
    for (let i = this.count - 1; i > 0; i--) {
      this.total[this.parent[i]] += this.total[i];
      if (net) net[this.parent[i]] += net[i];
    }
    this.keys = keys;
    this.sorted = new Uint8Array(this.count);
    this.linkChildren();
  }

  linkChildren() {
    const first = (this.first = new Int32Array(this.count + 1));
    for (let i = 1; i < this.count; i++) if (this.total[i] > 0) first[this.parent[i] + 1]++;
    for (let i = 0; i < this.count; i++) first[i + 1] += first[i];
    const next = first.slice(0, this.count);
    this.list = new Int32Array(first[this.count]);
    for (let i = 1; i < this.count; i++) if (this.total[i] > 0) this.list[next[this.parent[i]]++] = i;
  }

  /** Children, the largest first; sorted when they are first asked for. */
  children(node) {
    const children = this.list.subarray(this.first[node], this.first[node + 1]);
    if (!this.sorted[node]) {
      this.sorted[node] = 1;
      children.sort((a, b) => this.total[b] - this.total[a] || a - b);
    }
    return children;
  }

  name(node) {
    return node === 0 ? "all" : this.keys.names[this.key[node]];
  }

  /** A frame with this node's key; -1 of labels. */
  frame(node) {
    return this.keys.example[this.key[node]] ?? -1;
  }

  path(node) {
    const path = [];
    for (; node; node = this.parent[node]) path.push(node);
    return path.reverse();
  }

  depth(node) {
    let depth = 0;
    for (; node; node = this.parent[node]) depth++;
    return depth;
  }
}

/** By node of the profile: whether it, or one above it, has a key that `keyMatches` (by key). */
function nodesThrough(profile, keys, keyMatches) {
  const through = new Uint8Array(profile.parent.length);
  for (let i = 1; i < through.length; i++)
    through[i] = through[profile.parent[i]] | keyMatches[keys.ofFrame[profile.frame[i]]];
  return through;
}

/** Samples that count, as weights; of differences, how much changed. */
function weigh(profile, column, keys, only) {
  const values = profile.samples.values[column];
  const weights = new Float64Array(values.length);
  const through = only ? nodesThrough(profile, keys, only) : null;
  for (let i = 0; i < weights.length; i++) {
    if (through && !through[profile.samples.node[i]]) continue;
    weights[i] = profile.difference ? Math.abs(values[i]) : Math.max(values[i], 0);
  }
  return weights;
}

function upright(profile, keys, collapse) {
  const nodes = new Nodes(profile.parent.length + 1);
  const place = new Int32Array(profile.parent.length);
  for (let i = 1; i < place.length; i++) {
    const above = place[profile.parent[i]];
    const key = keys.ofFrame[profile.frame[i]];
    place[i] = collapse && above && nodes.key[above] === key ? above : nodes.at(above, key);
  }
  return { nodes, ofSample: (i) => place[profile.samples.node[i]] };
}

/** Labels first, then functions. Samples of a label are placed together. */
function grouped(profile, keys, labels, none) {
  const nodes = new Nodes(profile.parent.length + 1);
  const names = keys.names.slice();
  const places = new Int32Array(profile.samples.count);
  const keyOfLabel = new Map();
  const order = Array.from(labels.keys()).sort((a, b) => labels[a] - labels[b]);
  let place = new Map();
  let last = -1;
  for (const i of order) {
    if (labels[i] !== last) {
      last = labels[i];
      place = new Map();
      keyOfLabel.set(last, names.push(last ? profile.strings[last] : none) - 1);
      place.set(0, nodes.at(0, keyOfLabel.get(last)));
    }
    const path = [];
    let node = profile.samples.node[i];
    for (; !place.has(node); node = profile.parent[node]) path.push(node);
    let at = place.get(node);
    while (path.length) {
      node = path.pop();
      at = nodes.at(at, keys.ofFrame[profile.frame[node]]);
      place.set(node, at);
    }
    places[i] = at;
  }
  return { nodes, names, ofSample: (i) => places[i] };
}

function makeUpright(profile, keys, weights, net, options) {
  const none = GROUPED[options.by];
  const placed = none
    ? grouped(profile, keys, profile.samples[options.by], none)
    : upright(profile, keys, options.by !== "function");
  const self = new Float64Array(placed.nodes.count);
  const change = net ? new Float64Array(placed.nodes.count) : null;
  for (let i = 0; i < weights.length; i++) {
    const node = placed.ofSample(i);
    self[node] += weights[i];
    if (change && weights[i]) change[node] += net[i];
  }
  return new Tree(placed.nodes, self, change, { ...keys, names: placed.names ?? keys.names });
}

/** Sums of weights by node of the profile. */
function leavesOf(profile, weights, net) {
  const leaves = new Map();
  for (let i = 0; i < weights.length; i++) {
    if (!weights[i]) continue;
    const at = profile.samples.node[i];
    const sum = leaves.get(at) ?? [0, 0];
    sum[0] += weights[i];
    sum[1] += net ? net[i] : 0;
    leaves.set(at, sum);
  }
  return leaves;
}

/** What allocated on top, who called that below. Small parts are joined. */
function makeInverted(profile, keys, weights, net) {
  const names = keys.names.concat(["(smaller ones)"]);
  const nodes = new Nodes(1024);
  const self = [0];
  const change = [0];
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const work = [[0, leavesOf(profile, weights, net)]];
  const put = (parent, key, sum) => {
    const node = nodes.at(parent, key);
    self[node] = (self[node] ?? 0) + sum[0];
    change[node] = (change[node] ?? 0) + sum[1];
    return node;
  };
  while (work.length) {
    const [parent, leaves] = work.pop();
    const groups = new Map();
    for (const [at, sum] of leaves) {
      const key = at ? keys.ofFrame[profile.frame[at]] : -1;
      let group = groups.get(key);
      if (!group) groups.set(key, (group = { sum: [0, 0], above: new Map() }));
      group.sum[0] += sum[0];
      group.sum[1] += sum[1];
      const above = group.above.get(profile.parent[at]) ?? [0, 0];
      above[0] += sum[0];
      above[1] += sum[1];
      group.above.set(profile.parent[at], above);
    }
    for (const [key, group] of groups) {
      if (key < 0) put(parent, key, group.sum);
      else if (group.sum[0] * SMALLEST < total) put(parent, names.length - 1, group.sum);
      else {
        const node = nodes.at(parent, key);
        self[node] ??= 0;
        change[node] ??= 0;
        work.push([node, group.above]);
      }
    }
  }
  return foldEnds(nodes, self, net ? change : null, { ...keys, names });
}

/** Nodes of key -1 stand for stacks that end at their parents. */
function foldEnds(nodes, self, change, keys) {
  const ownSelf = Float64Array.from(self);
  const ownChange = change ? Float64Array.from(change) : null;
  for (let i = 1; i < nodes.count; i++) {
    if (nodes.key[i] >= 0) continue;
    ownSelf[nodes.parent[i]] += ownSelf[i];
    ownSelf[i] = 0;
    if (ownChange) {
      ownChange[nodes.parent[i]] += ownChange[i];
      ownChange[i] = 0;
    }
  }
  return new Tree(nodes, ownSelf, ownChange, keys);
}

/**
 * options: by (function, file, module, type, scope, kind), column, inverted, only (a function of names;
 * null = all stacks).
 */
export function makeTree(profile, options) {
  const keys = keysOf(profile, options.by);
  const only = options.only ? Uint8Array.from(keys.names, (name) => +options.only(name)) : null;
  const weights = weigh(profile, options.column, keys, only);
  const net = profile.difference ? profile.samples.values[options.column] : null;
  if (options.inverted && !GROUPED[options.by]) return makeInverted(profile, keys, weights, net);
  return makeUpright(profile, keys, weights, net, options);
}

/** Nodes whose names match, and the sum of the outermost of them: each byte counts once. */
export function search(tree, matches) {
  const hit = Uint8Array.from(tree.keys.names, (name) => +matches(name));
  const found = new Uint8Array(tree.count);
  const inside = new Uint8Array(tree.count);
  let count = 0;
  let sum = 0;
  for (let i = 1; i < tree.count; i++) {
    const above = inside[tree.parent[i]];
    const is = hit[tree.key[i]] ?? 0;
    inside[i] = above | is;
    if (!is || !tree.total[i]) continue;
    found[i] = 1;
    count++;
    if (!above) sum += tree.total[i];
  }
  return { found, inside, count, sum };
}

/** Adds up `total` without counting recursion twice. */
function sumKeys(tree, self, total) {
  const on = new Int32Array(tree.keys.names.length);
  const stack = [0];
  while (stack.length) {
    const node = stack.pop();
    if (node < 0) {
      on[tree.key[~node]]--;
      continue;
    }
    if (node) {
      const key = tree.key[node];
      self[key] += tree.self[node];
      if (!on[key]++) total[key] += tree.total[node];
      stack.push(~node);
    }
    for (let i = tree.first[node]; i < tree.first[node + 1]; i++) stack.push(tree.list[i]);
  }
}

/** Sums of all columns by key: {names, example, self: [by column], total: [by column]}. */
export function flatSums(profile, by) {
  const self = [];
  const total = [];
  let keys = null;
  for (let column = 0; column < profile.columns.length; column++) {
    const tree = makeTree(profile, { by, column });
    keys = tree.keys;
    self.push(new Float64Array(keys.names.length));
    total.push(new Float64Array(keys.names.length));
    sumKeys(tree, self[column], total[column]);
  }
  return { names: keys.names, example: keys.example, self, total };
}

/** FNV-1a of a name, short enough for an address bar. */
export function shortHash(name) {
  let hash = 0x811c9dc5;
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193);
  return (hash >>> 0).toString(36);
}
