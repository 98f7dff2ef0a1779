# SPDX-License-Identifier: Apache-2.0
"""python3 with every object in malloc, JSON back and forth."""

import os
import sys

from support import hawk, real

SCRIPT = """
import json, random, re, sys, threading
random.seed(4)
def make(depth):
    if depth == 0:
        return [random.random(), "text %d" % random.randrange(1000), None, True]
    return {"key %d" % i: make(depth - 1) for i in range(5)}
data = make(5)
kept = []
def work(n):
    kept.append(sorted(re.findall(r"[a-z]+ [0-9]+", json.dumps(data)))[n])
threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
for t in threads: t.start()
for t in threads: t.join()
print(sorted(kept), len(json.dumps(json.loads(json.dumps(data)))))
if len(sys.argv) > 1:
    sys.stdout.flush()
    import os
    os.abort()
"""

MALLOC = {"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"}

folder = real.support()
python = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable
real.same_output([python, "-c", SCRIPT], "python3", folder, extra=MALLOC)
core, _ = hawk.crash([python, "-c", SCRIPT, "abort"], hawk.tracer_environment(extra=MALLOC), folder)
real.check_core(core, "python3", ["_PyEval_EvalFrameDefault"], least_blocks=30000)
hawk.finish()
