// SPDX-License-Identifier: Apache-2.0
// Decodes a profile with pprof-format: node pprof_format.mjs PACKAGES FILE -> {"sums": {type: sum}, "shown", "samples", "functions"}
import fs from "node:fs";
import zlib from "node:zlib";
import { createRequire } from "node:module";

const [packages, file] = process.argv.slice(2);
const { Profile } = createRequire(`${packages}/`)("pprof-format");
const profile = Profile.decode(zlib.gunzipSync(fs.readFileSync(file)));
const text = (number) => profile.stringTable.strings[Number(number)];
const sums = {};
profile.sampleType.forEach((type, i) => {
	sums[text(type.type)] = Number(profile.sample.reduce((sum, sample) => sum + BigInt(sample.value[i]), 0n));
});
console.log(JSON.stringify({ sums, shown: text(profile.defaultSampleType), samples: profile.sample.length,
	functions: profile.function.map((one) => text(one.name)) }));
