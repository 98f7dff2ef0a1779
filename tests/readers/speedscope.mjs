// SPDX-License-Identifier: Apache-2.0
// Opens a file in speedscope by its file input and prints what that makes of it:
//
//     node speedscope.mjs CHROMIUM PACKAGES FILE  ->  {"first", "shown", "document", "problems"}
//
// `first` is the function with the largest share of its own, `document` what "Export" gives back.
import fs from "node:fs";
import { openPage } from "./browser.mjs";

const [chromium, packages, file] = process.argv.slice(2);
const { browser, page, problems } = await openPage(chromium, packages);
await page.goto(`file://${packages}/speedscope/dist/release/index.html`);
await page.locator("input[type=file]").first().setInputFiles(file);
await page.getByText("Sandwich").click();
await page.getByText("Symbol Name").waitFor();
const shown = await page.evaluate(() => document.body.innerText);
const rows = await page.locator("table tr").allInnerTexts();
const downloading = page.waitForEvent("download");
await page.getByText("Export").click();
const document = JSON.parse(fs.readFileSync(await (await downloading).path(), "utf8"));
await browser.close();
console.log(JSON.stringify({ first: rows.find((row) => /%/.test(row)).trim().split("\t").pop().trim(), shown, document, problems }));
