// SPDX-License-Identifier: Apache-2.0
// How soon a large page can be used, beside speedscope's import of the same stacks:
//
//     hawk-core html -o page.html CORE; hawk-core export --format=speedscope -o stacks.json CORE
//     node tests/bench/html_page.mjs CHROMIUM PACKAGES page.html stacks.json
//
// PACKAGES: node_modules of tests/readers. Prints medians of alternating runs; speedscope is given up after two minutes.
import { statSync } from "node:fs";
import { openPage } from "../readers/browser.mjs";

const [chromium, packages, file, stacks] = process.argv.slice(2);
const ROUNDS = 3, LIMIT = 120000;

function median(values) {
	return values.sort((a, b) => a - b)[values.length >> 1];
}

/** Milliseconds from `change` to the frame that is drawn after it. */
function drawn(page, hash) {
	return page.evaluate((hash) => new Promise((done) => {
		const start = performance.now();
		location.hash = hash;
		addEventListener("hashchange", () => requestAnimationFrame(() => setTimeout(() => done(performance.now() - start))), { once: true });
	}), hash);
}

async function ours() {
	const { browser, page } = await openPage(chromium, packages);
	await page.setViewportSize({ width: 1280, height: 900 });
	const start = performance.now();
	await page.goto(`file://${file}#stacks`);
	await page.waitForSelector("html[data-ready='1']", { state: "attached", timeout: LIMIT });
	const ready = performance.now() - start;
	const search = await drawn(page, "#stacks&q=a");
	await page.goto(`file://${file}#stacks`);
	await page.waitForTimeout(500);
	await page.locator(".details table button").first().click();
	const hash = await page.evaluate(() => location.hash);
	await drawn(page, "#stacks");
	const zoom = await drawn(page, hash);
	await browser.close();
	return { ready, search, zoom };
}

async function theirs() {
	const { browser, page } = await openPage(chromium, packages);
	await page.goto(`file://${packages}/speedscope/dist/release/index.html`);
	const start = performance.now();
	await page.locator("input[type=file]").first().setInputFiles(stacks);
	let ready;
	try {
		await page.getByText("Sandwich").waitFor({ timeout: LIMIT });
		ready = performance.now() - start;
	} catch {
		ready = Infinity;
	}
	await browser.close();
	return ready;
}

const mine = [], other = [];
for (let i = 0; i < ROUNDS; i++) {
	mine.push(await ours());
	if (!other.includes(Infinity)) other.push(await theirs());
}
const ready = median(mine.map((run) => run.ready));
console.log(`page of ${(statSync(file).size / 1e6).toFixed(1)} MB: ready after ${ready.toFixed(0)} ms, ` +
	`search ${median(mine.map((run) => run.search)).toFixed(0)} ms, zoom ${median(mine.map((run) => run.zoom)).toFixed(0)} ms`);
console.log(`speedscope: ${Number.isFinite(median(other)) ? `${median(other).toFixed(0)} ms, ratio ${(ready / median(other)).toFixed(3)}` : `not after ${LIMIT / 1000} s`}`);
