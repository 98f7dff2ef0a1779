// SPDX-License-Identifier: Apache-2.0
// Opens a DHAT file in dh_view.html and prints what that makes of it:
//
//     node dhat.mjs CHROMIUM PACKAGES DH_VIEW FILE  ->  {"total", "atEnd", "blocks", "leaves": [[bytes, [frame ...]]], "problems"}
//
// Leaves are whole stacks with what is there at the end, the innermost frame first.
import { openPage } from "./browser.mjs";

const [chromium, packages, view, file] = process.argv.slice(2);
const { browser, page, problems } = await openPage(chromium, packages);
await page.goto(`file://${view}`);
await page.locator("input[type=file]").setInputFiles(file);
await page.waitForFunction(() => typeof gRoot !== "undefined" && gRoot || /Error|missing|invalid/.test(document.body.innerText));
const found = await page.evaluate(() => {
	const leaves = [];
	const visit = (node, above) => {
		const frames = above.concat(node._frames.filter((frame) => frame).map((frame) => gData.ftbl[frame]));
		for (const kid of node._kids || [])
			visit(kid, frames);
		if (!node._kids)
			leaves.push([node._atTEndBytes, frames]);
	};
	visit(gRoot, []);
	return { total: gRoot._totalBytes, atEnd: gRoot._atTEndBytes, blocks: gRoot._atTEndBlocks, leaves,
		shown: document.body.innerText };
});
await browser.close();
console.log(JSON.stringify({ ...found, problems }));
