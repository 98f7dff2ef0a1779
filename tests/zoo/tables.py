# SPDX-License-Identifier: Apache-2.0
"""tables.py HAWK-CORE FOLDER: prints how many blocks the processes allocated whose tables (HAWK_OPTS=table=)
lie in the folder. Nothing if there are none: no process was traced."""

import glob
import json
import os
import subprocess
import sys


def main():
    tables = glob.glob(os.path.join(sys.argv[2], "*.hawk"))
    total = 0
    for table in tables:
        done = subprocess.run([sys.argv[1], "analyze", "--json", "--top", "1", table], capture_output=True, check=False)
        if done.returncode in (0, 4):
            total += json.loads(done.stdout)["heap"]["alloc_objects"] or 0
    if tables:
        print(f"{total:,}")


main()
