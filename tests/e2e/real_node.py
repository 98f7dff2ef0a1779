# SPDX-License-Identifier: Apache-2.0
"""node: JSON, regular expressions and timers, with its threads and its JIT."""

from support import hawk, real

SCRIPT = """
const crypto = require('crypto'), zlib = require('zlib');
let seed = 1;
const next = () => seed = (seed * 1103515245 + 12345) % 2147483648;
const data = Array.from({length: 20000}, (_, i) => ({id: i, name: 'name ' + next() % 1000}));
const text = JSON.stringify(data);
const hash = crypto.createHash('sha256').update(text).digest('hex');
let left = 8, sum = 0;
for (let i = 0; i < 8; i++)
    zlib.gzip(text.slice(i), (error, packed) => {
        sum += zlib.gunzipSync(packed).length;
        if (--left) return;
        console.log(hash, (text.match(/name 1[0-9]+/g) || []).length, sum);
        if (process.argv.includes('abort')) setTimeout(() => process.abort(), 300);
    });
"""

folder = real.support()
node = hawk.need("node")
real.same_output([node, "-e", SCRIPT], "node", folder)
core, _ = hawk.crash([node, "-e", SCRIPT, "abort"], hawk.tracer_environment(), folder)
# the compiler and garbage collector threads may be in the middle of a call
real.check_core(core, "node", least_blocks=1000, in_flight=16)
hawk.finish()
