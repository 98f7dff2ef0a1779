# SPDX-License-Identifier: Apache-2.0
"""A .heapsnapshot taken apart, and what Chromium's own DevTools make of one."""

import json
import os

from support import hawk, readers


class Snapshot:
    """Nodes are (type, name, id, bytes, edges), edges of a node (type, name or index, node)."""

    def __init__(self, path):
        document = json.loads(hawk.read(path))
        meta = document["snapshot"]["meta"]
        strings, nodes, edges = document["strings"], document["nodes"], document["edges"]
        width, edge_width = len(meta["node_fields"]), len(meta["edge_fields"])
        hawk.expect_equal((len(nodes) / width, len(edges) / edge_width),
                          (document["snapshot"]["node_count"], document["snapshot"]["edge_count"]), "counts")
        self.nodes, self.edges, at = [], [], 0
        for i in range(0, len(nodes), width):
            kind, name, number, size, count = nodes[i:i + 5]
            self.nodes.append((meta["node_types"][0][kind], strings[name], number, size, count))
            self.edges.append([self._edge(meta, strings, edges[j:j + edge_width], width)
                               for j in range(at, at + edge_width * count, edge_width)])
            at += edge_width * count
        hawk.expect_equal(at, len(edges), "every edge belongs to a node")
        ids = {node[2] for node in self.nodes}
        hawk.expect(len(ids) == len(self.nodes) and all(number % 2 and number < 1 << 32 for number in ids),
                    "ids are odd, of 32 bits, and each is there once")
        self.blocks = [i for i, node in enumerate(self.nodes) if node[0] == "native"]
        self.total = sum(node[3] for node in self.nodes)

    @staticmethod
    def _edge(meta, strings, fields, width):
        kind = meta["edge_types"][0][fields[0]]
        return kind, strings[fields[1]] if kind == "internal" else fields[1], fields[2] // width

    def named(self, text):
        """Numbers of the nodes whose name begins so."""
        return [i for i, node in enumerate(self.nodes) if node[1].startswith(text)]


def export(core, path, codes=(hawk.EXIT_OK, hawk.EXIT_PARTIAL)):
    hawk.text_of("export", "--format=heapsnapshot", "--force", "-o", path, core, codes=codes)
    return path


def find_package(name):
    """Folder of an npm package, or None."""
    path = os.path.join(readers.packages(), name)
    return path if os.path.isdir(path) else None


def read_with(script, *arguments):
    """Returns the output of a script of tests/readers; None if the reader is another version."""
    done = hawk.run([hawk.need("node"), os.path.join(hawk.SOURCE, "tests", "readers", script), *arguments])
    if done.returncode == 77:
        print(f"{script}: {done.stderr[-300:]}")
        return None
    if not hawk.expect_equal(done.returncode, 0, f"{script}: {done.stderr[-2000:]}"):
        return None
    return json.loads(done.stdout)


def need_chromium():
    """(browser, playwright-core), or a skip."""
    playwright = find_package("playwright-core")
    if not playwright:
        hawk.skip("playwright-core is not there: HAWK_READERS=DIR")
    return hawk.need("chromium"), playwright
