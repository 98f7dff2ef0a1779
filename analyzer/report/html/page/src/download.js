// SPDX-License-Identifier: Apache-2.0
// Files for other tools, made in the page: folded stacks, pprof, and the JSON documents as they are.

import { h } from "./dom.js";

function save(name, blob) {
  const link = h("a", { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

function framesOf(profile, node) {
  const frames = [];
  for (; node; node = profile.parent[node]) frames.push(profile.frame[node]);
  return frames; // the innermost first
}

/** "main;serve;make_cell 4711": root first. Values that are not above 0 are left out. */
export function foldedText(profile, column) {
  const lines = [];
  const { samples, frames } = profile;
  const clean = frames.name.map((name) => name.replace(/[;\u0000-\u001f\u007f]/g, "_"));
  for (let i = 0; i < samples.count; i++) {
    const value = samples.values[column][i];
    if (value <= 0) continue;
    const stack = framesOf(profile, samples.node[i]).reverse().map((frame) => clean[frame]);
    lines.push(`${stack.join(";")} ${value}\n`);
  }
  return lines.join("");
}

export function downloadFolded(profile, column) {
  const name = `${profile.name}-${profile.columns[column].name}.folded`;
  save(name, new Blob([foldedText(profile, column)], { type: "text/plain" }));
}

/** Messages of protocol buffers, as far as pprof needs them. */
class Message {
  constructor() {
    this.bytes = [];
  }

  number(value) {
    let rest = BigInt.asUintN(64, BigInt(Math.trunc(value)));
    for (; rest >= 128n; rest >>= 7n) this.bytes.push(Number(rest & 127n) | 128);
    this.bytes.push(Number(rest));
    return this;
  }

  varint(field, value) {
    if (value) this.small(field * 8).number(value);
    return this;
  }

  small(value) {
    for (; value >= 128; value = Math.floor(value / 128)) this.bytes.push((value & 127) | 128);
    this.bytes.push(value);
    return this;
  }

  block(field, bytes) {
    this.small(field * 8 + 2).small(bytes.length);
    for (const byte of bytes) this.bytes.push(byte);
    return this;
  }

  packed(field, values) {
    const message = new Message();
    for (const value of values) message.number(value);
    return this.block(field, message.bytes);
  }
}

class PprofWriter {
  constructor() {
    this.chunks = [];
    this.numbers = new Map([["", 0]]);
    this.texts = [""];
  }

  string(text) {
    if (!this.numbers.has(text)) this.numbers.set(text, this.texts.push(text) - 1);
    return this.numbers.get(text);
  }

  put(field, message) {
    this.chunks.push(Uint8Array.from(new Message().block(field, message.bytes).bytes));
  }

  columns(profile) {
    for (const { name, unit } of profile.columns)
      this.put(1, new Message().varint(1, this.string(name)).varint(2, this.string(unit)));
  }

  samples(profile) {
    const { samples } = profile;
    for (let i = 0; i < samples.count; i++) {
      const message = new Message();
      message.packed(1, framesOf(profile, samples.node[i]));
      message.packed(2, profile.columns.map((_, c) => samples.values[c][i]));
      this.put(2, message);
    }
  }

  /** A location and a function for each frame; names are known, so one mapping says so. */
  frames(profile) {
    const { frames } = profile;
    this.put(3, new Message().varint(1, 1).varint(7, 1).varint(8, 1).varint(9, 1).varint(10, 1));
    for (let i = 1; i < frames.count; i++) {
      const line = new Message().varint(1, i).varint(2, frames.line[i]);
      this.put(4, new Message().varint(1, i).varint(2, 1).block(4, line.bytes));
      const name = this.string(frames.name[i]);
      this.put(5, new Message().varint(1, i).varint(2, name).varint(3, name).varint(4, this.string(frames.file[i])));
    }
  }

  finish(profile) {
    const shown = this.string(profile.columns[profile.shown].name);
    const encoder = new TextEncoder();
    for (const text of this.texts)
      this.chunks.push(Uint8Array.from(new Message().block(6, encoder.encode(text)).bytes));
    this.chunks.push(Uint8Array.from(new Message().varint(14, shown).bytes));
    return new Blob(this.chunks);
  }
}

export function pprofBlob(profile) {
  const writer = new PprofWriter();
  writer.columns(profile);
  writer.samples(profile);
  writer.frames(profile);
  return writer.finish(profile);
}

export async function downloadPprof(profile) {
  const packed = pprofBlob(profile).stream().pipeThrough(new CompressionStream("gzip"));
  save(`${profile.name}.pprof.pb.gz`, await new Response(packed).blob());
}

export async function downloadPart(report, name) {
  save(`${name}.json`, new Blob([await report.parts.get(name)()], { type: "application/json" }));
}
