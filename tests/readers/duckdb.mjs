// SPDX-License-Identifier: Apache-2.0
// Asks DuckDB: node duckdb.mjs PACKAGES SQL ... -> the rows of the last statement, 64-bit integers as strings.
import { createRequire } from "node:module";

const [packages, ...statements] = process.argv.slice(2);
const { DuckDBInstance } = createRequire(`${packages}/`)("@duckdb/node-api");
const connection = await (await DuckDBInstance.create(":memory:")).connect();
let rows;
for (const statement of statements)
	rows = (await connection.runAndReadAll(statement)).getRowObjectsJson();
console.log(JSON.stringify(rows));
