// SPDX-License-Identifier: Apache-2.0
// A headless page that opens local files and remembers what went wrong in it.
import { createRequire } from "node:module";

export async function openPage(chromiumPath, packages) {
	const { chromium } = createRequire(`${packages}/`)("playwright-core");
	const browser = await chromium.launch({ executablePath: chromiumPath,
		args: ["--no-sandbox", "--allow-file-access-from-files"] });
	const page = await browser.newPage({ acceptDownloads: true });
	const problems = [];
	page.on("pageerror", (error) => problems.push(String(error)));
	page.on("console", (message) => { if (message.type() === "error") problems.push(message.text()); });
	return { browser, page, problems };
}
