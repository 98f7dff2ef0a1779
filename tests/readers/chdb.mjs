// SPDX-License-Identifier: Apache-2.0
// Asks ClickHouse in this process: node chdb.mjs PACKAGES SQL -> the rows, 64-bit integers as strings.
import { createRequire } from "node:module";

const [packages, sql] = process.argv.slice(2);
const { query } = createRequire(`${packages}/`)("chdb");
const rows = query(sql, "JSONEachRow").toString().trim().split("\n").map((line) => JSON.parse(line));
console.log(JSON.stringify(rows));
