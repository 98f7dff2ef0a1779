// SPDX-License-Identifier: Apache-2.0
// The parts of the file: elements with base64 of gzip, each decoded when it is first asked for.

const PART = "script[data-part]";

function bytesOfBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

async function unpack(element) {
  const packed = bytesOfBase64(element.textContent);
  element.remove(); // the text is not needed twice
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Maps names to functions that return a promise of the part's bytes. */
export function findParts(root = document) {
  const parts = new Map();
  for (const element of root.querySelectorAll(PART)) {
    let bytes = null;
    parts.set(element.dataset.part, () => (bytes ??= unpack(element)));
  }
  return parts;
}

/** The JSON document of a part; null if there is none, or it was left out halfway. */
export async function readDocument(parts, name) {
  if (!parts.has(name)) return null;
  const text = new TextDecoder().decode(await parts.get(name)());
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
