// SPDX-License-Identifier: Apache-2.0
// Loads a .heapsnapshot with memlab; prints the same as heap_snapshot.mjs:
//
//     node heap_snapshot_memlab.mjs FOLDER-OF-@memlab/heap-analysis FILE
import { createRequire } from "node:module";

const NODES = 40;
const [memlab, file] = process.argv.slice(2);
const { getFullHeapFromFile } = createRequire(import.meta.url)(memlab);

const log = console.log;
console.log = () => {};
const heap = await getFullHeapFromFile(file);
const nodes = [];
heap.nodes.forEach((node) => {
	nodes.push({ id: node.id, name: node.name, self: node.self_size, retained: node.retainedSize });
});
nodes.sort((a, b) => b.retained - a.retained);
log(JSON.stringify({ total: nodes.reduce((sum, node) => sum + node.self, 0), nodes: nodes.slice(0, NODES) }));
process.exit(0);
