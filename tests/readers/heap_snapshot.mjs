// SPDX-License-Identifier: Apache-2.0
// Loads a .heapsnapshot in the heap snapshot worker of Chromium's own DevTools and prints what it makes of it:
//
//     node heap_snapshot.mjs CHROMIUM PLAYWRIGHT-CORE FILE  ->  {"total", "nodes": [{id, name, self, retained, distance}]}
//
// The nodes are those that retain most. The worker is internal to Chromium: a version that has moved it exits with 77.
import fs from "node:fs";
import { createRequire } from "node:module";

const NODES = 40;
const WORKER = "devtools://devtools/bundled/entrypoints/heap_snapshot_worker/heap_snapshot_worker.js";
const [chromiumPath, playwrightPath, file] = process.argv.slice(2);
const { chromium } = createRequire(import.meta.url)(playwrightPath);

async function load({ worker, base64, most }) {
	let module;
	try {
		module = await import(worker);
		if (!module.HeapSnapshotLoader.HeapSnapshotLoader || !module.HeapSnapshot.SecondaryInitManager)
			throw new Error("other names");
	} catch (error) {
		return { moved: String(error) };
	}
	const problems = [];
	console.warn = (...words) => problems.push(words.join(" "));
	const dispatcher = { sendEvent: (name, data) => { if (/problem|broken/i.test(name)) problems.push(String(data)); } };
	const loader = new module.HeapSnapshotLoader.HeapSnapshotLoader(dispatcher);
	const text = new TextDecoder().decode(Uint8Array.from(atob(base64), (c) => c.charCodeAt(0)));
	for (let at = 0; at < text.length; at += 1 << 16)
		loader.write(text.slice(at, at + (1 << 16)));
	loader.close();
	await loader.parsingComplete;
	const channel = new MessageChannel();
	new module.HeapSnapshot.SecondaryInitManager(channel.port2);
	const snapshot = await loader.buildSnapshot(channel.port1);
	const order = [...snapshot.retainedSizes.keys()].sort((a, b) => snapshot.retainedSizes[b] - snapshot.retainedSizes[a]);
	const nodes = order.slice(0, most).map((ordinal) => {
		const node = snapshot.createNode(ordinal * snapshot.nodeFieldCount);
		return { id: node.id(), name: node.name(), self: node.selfSize(), retained: node.retainedSize(),
			distance: node.distance() };
	});
	return { total: snapshot.getStatistics().total, nodes, problems };
}

const browser = await chromium.launch({ executablePath: chromiumPath, args: ["--no-sandbox"] });
const page = await browser.newPage();
await page.goto("devtools://devtools/bundled/inspector.html");
const found = await page.evaluate(load, { worker: WORKER, base64: fs.readFileSync(file).toString("base64"), most: NODES });
await browser.close();
if (found.moved) {
	console.error(found.moved);
	process.exit(77);
}
console.log(JSON.stringify(found));
