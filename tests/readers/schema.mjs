// SPDX-License-Identifier: Apache-2.0
// Validates documents, one a line, by a JSON schema: node schema.mjs PACKAGES SCHEMA FILE -> {"documents", "complaints"}
// With --whole behind them the file is one document.
import fs from "node:fs";
import { createRequire } from "node:module";

const [packages, schemaPath, file, whole] = process.argv.slice(2);
const require = createRequire(`${packages}/`);
const schema = JSON.parse(fs.readFileSync(schemaPath, "utf8"));
const Ajv = require(/2020-12/.test(schema.$schema) ? "ajv/dist/2020.js" : "ajv").default;
const validate = new Ajv({ strict: false, allErrors: true }).compile(schema);
const text = fs.readFileSync(file, "utf8");
const documents = (whole ? [text] : text.split("\n").filter((line) => line)).map((line) => JSON.parse(line));
const complaints = documents.flatMap((document) => validate(document) ? [] : validate.errors).slice(0, 10);
console.log(JSON.stringify({ documents: documents.length, complaints }));
