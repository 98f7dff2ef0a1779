// SPDX-License-Identifier: Apache-2.0
// Builds dist/page.html (or the file named on the command line): page.html with the style and the
// bundled script in it, and a policy that allows these two and nothing else.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const target = process.argv[2] ?? `${here}/dist/page.html`;

function bundle(entry) {
  const built = buildSync({
    absWorkingDir: here,
    entryPoints: [entry],
    bundle: true,
    minify: true,
    format: "iife",
    target: ["chrome103", "firefox115"],
    charset: "ascii",
    legalComments: "none",
    write: false,
  });
  return built.outputFiles[0].text.trim();
}

function policy_hash(text) {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}

const style = bundle("src/style.css");
const script = bundle("src/main.js").replaceAll("</script", "<\\/script");
const page = readFileSync(`${here}/page.html`, "utf8")
  .replace("@policy@", () =>
    `default-src 'none'; script-src ${policy_hash(script)}; style-src ${policy_hash(style)}; ` +
      "base-uri 'none'; form-action 'none'")
  .replace("@style@", () => style)
  .replace("@script@", () => script);
mkdirSync(dirname(target), { recursive: true });
writeFileSync(target, page);
console.log(`${target}: ${page.length} bytes`);
