// SPDX-License-Identifier: Apache-2.0
// Opens reports in Chromium: node html_views.mjs PACKAGES CHROMIUM PLAIN COMPARED SERVER TOTAL-BYTES FOLDER
// Prints { views, profiles, problems }: addresses that were opened, and what was wrong.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { openPage } from "./browser.mjs";

const [packages, chromium, plain, compared, server, total, folder] = process.argv.slice(2);
const axe = readFileSync(createRequire(`${packages}/`).resolve("axe-core/axe.min.js"), "utf8");
const views = [], problems = [];
const { browser, page, problems: said } = await openPage(chromium, packages);
const requests = [];
page.on("request", (request) => requests.push(request.url()));

function expect(condition, what) {
	if (!condition) problems.push(what);
}

async function ready() {
	try {
		await page.waitForSelector("html[data-ready='1']", { state: "attached", timeout: 8000 });
	} catch {
		problems.push(`${page.url()}: not ready: ${said} ${(await page.locator("body").innerText()).slice(0, 300)}`);
	}
}

async function open(file, fragment) {
	await page.goto("about:blank");
	requests.length = 0;
	await page.goto(`file://${file}${fragment}`);
	await ready();
	await page.waitForTimeout(100);
	views.push(fragment);
	expect(requests.length === 1, `${fragment}: requests ${requests}`);
}

async function text() {
	return page.locator("main").innerText({ timeout: 5000 }).catch(() => "");
}

/** The same view after a reload, nothing serious in light; the dark page differs in its colors alone. */
async function check(file, fragment) {
	await open(file, fragment);
	const before = await text();
	await page.reload();
	await ready();
	await page.waitForTimeout(100);
	expect((await text()) === before, `${fragment}: another view after a reload`);
	await page.evaluate(axe);
	for (const [colorScheme, rules] of [["light", {}], ["dark", { runOnly: ["color-contrast"] }]]) {
		await page.emulateMedia({ colorScheme });
		const found = await page.evaluate((rules) => window.axe.run(document, { resultTypes: ["violations"], ...rules }), rules);
		for (const { id, impact, nodes } of found.violations)
			if (impact === "serious" || impact === "critical")
				problems.push(`${fragment} ${colorScheme}: axe ${id}: ${nodes[0].html.slice(0, 200)}`);
	}
	return before;
}

async function download(button) {
	const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: button }).click()]);
	const path = `${folder}/${file.suggestedFilename()}`;
	await file.saveAs(path);
	return readFileSync(path);
}

await page.setViewportSize({ width: 1280, height: 900 });
const names = ["summary", "stacks", "table", "types", "leaks", "growth", "graph", "objects", "free", "map", "threads", "source", "about"];
for (const name of names) await check(plain, `#${name}`);
const offered = await page.locator("nav[aria-label=Views] a").evaluateAll((links) => links.map((l) => l.dataset.view));
for (const name of ["summary", "stacks", "table", "types", "leaks", "objects", "map", "threads", "source", "about"])
	expect(offered.includes(name), `no view ${name} among ${offered}`);

// The icicle.
await open(plain, "#stacks");
const profiles = await page.locator("label.field:has-text('Profile') option").evaluateAll((all) => all.map((o) => o.value));
for (const profile of profiles) await check(plain, `#stacks&profile=${profile}`);
for (const by of ["function", "file", "module", "type", "scope"]) await check(plain, `#stacks&by=${by}`);
await check(plain, "#stacks&inverted=1");
await check(plain, "#table&by=module");
await open(plain, "#stacks&q=keep_one");
const found = await page.locator(".found").innerText();
expect(/^1 frame matches|^\d+ frames match/.test(found), `search says "${found}"`);
await open(plain, "#stacks&q=keep_one(");
expect(/^No regular expression/.test(await page.locator(".found").innerText()), "a bad expression is said to be one");
expect((await page.locator(".legend li").allInnerTexts()).includes("views"), "the legend has the program");

// The table begins with what allocates most, the map with the heap.
await open(plain, "#table");
const first = await page.locator("tbody tr").first().innerText();
expect(/^keep_one/.test(first) && first.includes(" %"), `the table begins with "${first}"`);
await open(plain, "#map");
expect((await text()).includes("glibc main arena") && (await text()).includes("tracer"), "arena and tracer");

// Types, by what they retain.
await open(plain, "#types&sort=retained");
expect(/\bCell\b/.test(await text()), "an annotated type");

// A long name is short, the whole one is its tooltip.
await open(server, "#table");
const shortened = page.locator("tbody span[title*=AnswerCache]").first();
expect((await shortened.innerText()).startsWith("AnswerCache::put(std::string"), `short name "${await shortened.innerText()}"`);
expect((await shortened.getAttribute("title")).includes("std::__cxx11::basic_string<char, "), "whole name");

// A cycle, and from its first block to one that this holds.
await check(server, "#leaks");
expect(/Session \+\d+ . Deadline \+\d+ . /.test(await page.locator(".chain").first().innerText()), "the way round the cycle");
await open(server, "#leaks&by=type");
expect(/^Session$/m.test((await text()).replaceAll("\t", "\n")), "sums by type");
await open(server, "#leaks");
await page.locator(".chain a").first().click();
expect((await text()).includes("No root leads to it."), "a lost block");
const held = page.locator(".thirds .card", { hasText: "Holds" }).locator("a").last();
const address = await held.innerText();
await held.click();
expect((await page.evaluate(() => location.hash)).includes(address), "the block held");
await page.locator("input[type=search]").fill("0x10");
await page.keyboard.press("Enter");
expect((await text()).includes(`hawk-core path`) && (await text()).includes("0x10"), "the command for another block");
await open(plain, "#objects");
await page.locator("tbody a").first().click();
expect(/Path from a root\s*\n?\s*.*kept/.test(await text()), "the root of a list");

// A command can be copied.
await open(server, "#summary");
await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
const command = page.locator(".command").first();
await command.getByRole("button").click();
expect((await page.evaluate(() => navigator.clipboard.readText())) === (await command.locator("code").innerText()), "copied");
await open(plain, "#stacks");
await page.locator(".details table button", { hasText: "" }).first().click();
expect((await page.evaluate(() => location.hash)).includes("zoom="), "a click zooms");
await page.keyboard.press("Escape");
expect(!(await page.evaluate(() => location.hash)).includes("zoom="), "Escape resets");
await page.keyboard.press("/");
await page.keyboard.type("keep_list");
expect((await page.evaluate(() => location.hash)).includes("q=keep_list"), "/ and typing search");
await open(plain, "#stacks&q=keep_list");

// Downloads have all of it.
await open(plain, "#stacks");
const folded = (await download("Folded")).toString();
const sum = folded.trim().split("\n").reduce((all, line) => all + Number(line.slice(line.lastIndexOf(" ") + 1)), 0);
expect(String(sum) === total, `folded stacks sum to ${sum}, not ${total}`);
const pprof = await download("pprof");
expect(pprof.length > 100, "a pprof file");

// What a name says is shown, and nothing more.
await open(plain, "#stacks&by=scope");
expect((await page.title()).startsWith("views"), `title "${await page.title()}"`);
expect((await text()).includes("</script>"), "the scope's name is there as text");
expect(!(await text()).includes("\u202e"), "what turns the line is not");

await check(compared, "#stacks");
await check(compared, "#table");
await check(compared, "#stacks&profile=difference");
await page.setViewportSize({ width: 400, height: 800 });
for (const name of ["summary", "stacks", "table", "types", "leaks", "objects", "map"]) {
	await open(server, `#${name}`);
	const wide = await page.evaluate(() => document.documentElement.scrollWidth);
	expect(wide <= 400, `${name}: ${wide} pixels wide on a screen of 400`);
}
problems.push(...said);
await browser.close();
console.log(JSON.stringify({ views, profiles, problems }));
