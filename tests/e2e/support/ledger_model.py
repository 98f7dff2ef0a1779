# SPDX-License-Identifier: Apache-2.0
"""The ledger of rows, as docs/ledger.md defines it, computed plainly."""

import random
from collections import namedtuple

Row = namedtuple("Row", "snapshots median_bytes maximum_bytes bytes_per_hour first_build last_build")


def slope(points):
    points = [(uptime / 3600, size) for uptime, size in points if uptime]
    if len(points) < 3 or len({hours for hours, _ in points}) == 1:
        return None
    mean_x, mean_y = (sum(values) / len(points) for values in zip(*points))
    return (sum((x - mean_x) * (y - mean_y) for x, y in points) / sum((x - mean_x) ** 2 for x, _ in points))


def model(rows):
    """The ledger by the definitions in docs/ledger.md, of the rows of all snapshots."""
    sums, uptimes, builds = {}, {}, {}
    for row in rows:
        if row["inuse_bytes"]:
            key = row["signature"], row["snapshot_id"]
            sums[key] = sums.get(key, 0) + row["inuse_bytes"]
            uptimes[row["snapshot_id"]] = row["uptime_seconds"]
            builds[row["snapshot_id"]] = row["time"], row["build_id"]
    answer = {}
    for signature in {signature for signature, _ in sums}:
        points = [(uptimes[snapshot], size) for (other, snapshot), size in sums.items() if other == signature]
        sizes = sorted(size for _, size in points)
        order = sorted(builds[snapshot] for other, snapshot in sums if other == signature)
        answer[signature] = Row(len(sizes), sizes[len(sizes) // 2], sizes[-1], slope(points), order[0][1], order[-1][1])
    return answer


def made_rows(snapshots):
    """Rows as export writes them, of 20 sites: one in all snapshots, one that grows, others here and there; two sites with
    the same signature."""
    chance = random.Random(20)
    for number in range(snapshots):
        uptime = None if number % 10 == 0 else round(chance.uniform(1, 500000), 3)
        common = {
            "snapshot_id": f"{chance.getrandbits(64):016x}",
            "time": f"2026-{1 + number % 12:02d}-{1 + number % 28:02d}T10:{number % 60:02d}:00.{number:09d}Z",
            "host": None, "service": "shop", "build_id": f"{1 + number % 7:040x}", "uptime_seconds": uptime, "what": "live",
        }
        for site in range(20):
            if site and chance.random() < 0.5:
                continue
            size = int((uptime or 0) * 3) + 1 if site == 1 else chance.randrange(1, 10 ** chance.randrange(1, 12))
            for part in range(1 + (site == 2)):
                yield {**common, "site": f"{site * 16 + part:016x}", "signature": f"{0xabc0 + site:016x}",
                       "stack": ["main", 'a "b\\', f"make_{site}"], "inuse_objects": 1, "inuse_bytes": size + part,
                       "alloc_objects": None, "alloc_bytes": None, "verdict": None}
        yield {**common, "what": "lost", "site": f"{1:016x}", "signature": f"{0xabc0:016x}", "stack": ["main"],
               "inuse_objects": 1, "inuse_bytes": 10 ** 15, "alloc_objects": None, "alloc_bytes": None,
               "verdict": "definitely_lost"}
