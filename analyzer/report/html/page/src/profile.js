// SPDX-License-Identifier: Apache-2.0
// Decodes a profile (docs/html.md) into columns, and its steps into nodes of one frame each.

export const KIND = { FUNCTION: 0, SCOPE: 1, ROOT: 2, SITE: 3, NOTE: 4 };

class Reader {
  constructor(bytes, at) {
    this.bytes = bytes;
    this.at = at;
  }

  number() {
    const bytes = this.bytes;
    let byte = bytes[this.at++];
    if (byte < 0x80) return byte;
    let value = byte & 0x7f;
    let scale = 0x80;
    do {
      byte = bytes[this.at++];
      value += (byte & 0x7f) * scale;
      scale *= 0x80;
    } while (byte >= 0x80);
    return value;
  }

  signed() {
    const value = this.number();
    return value % 2 ? -(value + 1) / 2 : value / 2;
  }

  numbers(array, first = 0) {
    for (let i = first; i < array.length; i++) array[i] = this.number();
    return array;
  }
}

function readStrings(reader, count) {
  const lengths = reader.numbers(new Uint32Array(count), 1);
  const decoder = new TextDecoder();
  const strings = new Array(count).fill("");
  for (let i = 1; i < count; i++) {
    strings[i] = decoder.decode(reader.bytes.subarray(reader.at, reader.at + lengths[i]));
    reader.at += lengths[i];
  }
  return strings;
}

export function baseName(path) {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** A relative path below its directory; the same as hawk_source_append_path() makes. */
function joined(directory, file) {
  return file && directory && !file.startsWith("/") ? `${directory}/${file}` : file;
}

function readFrames(reader, header, strings) {
  const modules = reader.numbers(new Uint32Array(header.modules), 1);
  const column = () => reader.numbers(new Uint32Array(header.frames), 1);
  const frames = { count: header.frames, kind: column(), name: [], file: [], line: null, module: [] };
  const functions = column();
  const files = column();
  const directories = column();
  frames.line = column();
  const module = column();
  const offsets = reader.numbers(new Float64Array(header.frames), 1);
  for (let i = 0; i < header.frames; i++) {
    frames.module[i] = strings[modules[module[i]] ?? 0];
    frames.file[i] = joined(strings[directories[i]], strings[files[i]]);
    frames.name[i] =
      strings[functions[i]] || `${baseName(frames.module[i]) || "?"}+0x${offsets[i].toString(16)}`;
  }
  return frames;
}

/** A node for each frame of each step; `ofStep` is the innermost of a step. Node 0 is the root. */
function expand(reader, header) {
  const counts = reader.numbers(new Uint32Array(header.locations), 1);
  const first = new Uint32Array(header.locations + 1);
  for (let i = 0; i < header.locations; i++) first[i + 1] = first[i] + counts[i];
  const numbers = reader.numbers(new Uint32Array(first[header.locations]));
  const distance = reader.numbers(new Uint32Array(header.steps), 1);
  const location = new Int32Array(header.steps);
  let size = 1;
  for (let i = 1; i < header.steps; i++) {
    location[i] = location[i - 1] + reader.signed();
    size += counts[location[i]];
  }
  const parent = new Int32Array(size);
  const frame = new Int32Array(size);
  const ofStep = new Int32Array(header.steps);
  let node = 1;
  for (let i = 1; i < header.steps; i++) {
    let above = ofStep[i - distance[i]];
    for (let j = counts[location[i]] - 1; j >= 0; j--) {
      parent[node] = above;
      frame[node] = numbers[first[location[i]] + j];
      above = node++;
    }
    ofStep[i] = above;
  }
  return { parent, frame, ofStep };
}

function readSamples(reader, header, ofStep) {
  const count = header.samples;
  const samples = { count, node: new Int32Array(count), site: new Uint32Array(count), values: [] };
  let step = 0;
  for (let i = 0; i < count; i++) samples.node[i] = ofStep[(step += reader.signed())];
  samples.type = reader.numbers(new Uint32Array(count));
  samples.scope = reader.numbers(new Uint32Array(count));
  samples.kind = reader.numbers(new Uint32Array(count));
  for (let i = 0; i < count; i++, reader.at += 4) {
    const b = reader.bytes;
    const at = reader.at;
    samples.site[i] = (b[at] | (b[at + 1] << 8) | (b[at + 2] << 16) | (b[at + 3] << 24)) >>> 0;
  }
  for (let column = 0; column < header.columns.length; column++) {
    const values = new Float64Array(count);
    for (let i = 0; i < count; i++) values[i] = reader.signed();
    samples.values.push(values);
  }
  return samples;
}

export function decodeProfile(bytes) {
  const end = bytes.indexOf(10);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(0, end)));
  const reader = new Reader(bytes, end + 1);
  const strings = readStrings(reader, header.strings);
  const frames = readFrames(reader, header, strings);
  const { parent, frame, ofStep } = expand(reader, header);
  const samples = readSamples(reader, header, ofStep);
  return { ...header, strings, frames, parent, frame, samples, steps: header.steps, keys: {} };
}

export function siteDigits(number) {
  return number.toString(16).padStart(8, "0");
}
