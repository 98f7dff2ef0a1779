// SPDX-License-Identifier: Apache-2.0
// What the file says, and what is made of it once: documents, profiles, trees.

import { learnNames } from "./names.js";
import { baseName, decodeProfile, siteDigits } from "./profile.js";
import { findParts, readDocument } from "./parts.js";
import { flatSums, makeTree } from "./tree.js";

const DOCUMENTS = ["page", "analyze", "leaks", "growth", "sites", "types", "objects", "sources"];
const TREES_KEPT = 6;

const TITLES = {
  live: "live",
  lost: "lost",
  retained: "retained",
  paths: "paths from roots",
  difference: "difference",
};

const COLUMN_TITLES = {
  inuse_space: "live bytes",
  inuse_objects: "live blocks",
  alloc_space: "all bytes since start",
  alloc_objects: "all blocks since start",
  lost_space: "lost bytes",
  lost_objects: "lost blocks",
  possibly_lost_space: "possibly lost bytes",
  possibly_lost_objects: "possibly lost blocks",
  retained_space: "retained bytes",
  retained_objects: "retained blocks",
};

export class Report {
  constructor(parts) {
    this.parts = parts;
    this.profiles = new Map();
    this.trees = new Map();
    this.sums = new Map();
  }

  static async read() {
    const report = new Report(findParts());
    const documents = await Promise.all(DOCUMENTS.map((name) => readDocument(report.parts, name)));
    DOCUMENTS.forEach((name, i) => (report[name] = documents[i]));
    report.page ??= {};
    learnNames(report.page.names ?? []);
    report.stacks = report.analyze?.frames ?? [];
    return report;
  }

  profileNames() {
    return [...this.parts.keys()].filter((n) => n.startsWith("profile-")).map((n) => n.slice(8));
  }

  /** A promise of the profile; null if there is none of that name. */
  async profile(name) {
    const part = this.parts.get(`profile-${name}`);
    if (!part) return null;
    if (!this.profiles.has(name)) {
      const profile = decodeProfile(await part());
      profile.name = name;
      this.profiles.set(name, profile);
    }
    return this.profiles.get(name);
  }

  /** Trees of a profile are kept, the last few of them. */
  tree(profile, { by, column, inverted, onlyName = "", only = null }) {
    const key = [profile.name, by, column, inverted ? 1 : 0, onlyName].join("\n");
    let tree = this.trees.get(key);
    this.trees.delete(key);
    tree ??= makeTree(profile, { by, column, inverted, only });
    this.trees.set(key, tree);
    if (this.trees.size > TREES_KEPT) this.trees.delete(this.trees.keys().next().value);
    return tree;
  }

  flatSums(profile, by) {
    const key = `${profile.name}\n${by}`;
    if (!this.sums.has(key)) this.sums.set(key, flatSums(profile, by));
    return this.sums.get(key);
  }

  /** The document's frame of each line of a stack. */
  lines(document, stack) {
    return (stack ?? []).map((i) => document.frames[i]);
  }

  /** By first digits of a site: the line that tells most, as the profile has it. */
  async siteNames() {
    if (this.names) return this.names;
    const profile = await this.profile("live");
    this.names = new Map();
    for (let i = 0; profile && i < profile.samples.count; i++)
      this.names.set(siteDigits(profile.samples.site[i]), frameText(profile, profile.samples.node[i]));
    return this.names;
  }

  findings() {
    const { missing = [], damage = [] } = this.page;
    return [...missing, ...damage.map((finding) => ({ ...finding, damage: true }))];
  }
}

function frameText(profile, node) {
  const frame = profile.frame[node];
  const { name, file, line } = profile.frames;
  return {
    name: name[frame],
    place: file[frame] ? `${baseName(file[frame])}:${line[frame]}` : "",
    file: file[frame],
    line: line[frame],
    node,
  };
}

export function profileTitle(name) {
  return TITLES[name] ?? name;
}

export function columnTitle(column) {
  return COLUMN_TITLES[column.name] ?? column.name.replaceAll("_", " ");
}
