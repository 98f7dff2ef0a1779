# SPDX-License-Identifier: Apache-2.0
# ctest: for=made Serial Parallel G1
# ctest: long=Serial Parallel G1
"""Java: as many objects of each class as the program made, and as jhsdb counts in the same core."""

import os
import re
import sys

from support import hawk

# Memory that no thread has touched yet is not in the core, where pointers might lie.
ANSWERED = (hawk.EXIT_OK, hawk.EXIT_CONDITION, hawk.EXIT_PARTIAL)
PROGRAM = """
import java.util.*;

public class Made {
    static class Order {
        final long id;
        final Order next;
        final int[] items = new int[3];
        Order(long id, Order next) { this.id = id; this.next = next; }
    }
    static class Empty {}
    static Order last;
    static Empty[] empty = new Empty[50];
    static List<short[]> shorts = new ArrayList<>();
    static byte[] large = new byte[5 << 20];

    public static void main(String[] arguments) throws Exception {
        for (int i = 0; i < 3000; i++) last = new Order(i, last);
        for (int i = 0; i < empty.length; i++) empty[i] = new Empty();
        for (int i = 0; i < 70; i++) shorts.add(new short[i]);
        Runnable unused = () -> System.out.println(last);
        new ProcessBuilder("kill", "-ABRT", "" + ProcessHandle.current().pid()).start();
        Thread.sleep(100000);
    }
}
"""
# Objects and bytes.
MADE = {"Made$Order": (3000, 3000 * 32), "Made$Empty": (50, 50 * 16), "Made$Empty[]": (1, 16 + 50 * 4)}


def crash(collector):
    folder = hawk.temporary_folder()
    hawk.write(f"{folder}/Made.java", PROGRAM)
    hawk.run([hawk.need("javac"), "-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC", "Made.java"], cwd=folder)
    core, _ = hawk.crash([hawk.need("java"), f"-XX:+Use{collector}GC", "-Xmx64m", "-XX:TieredStopAtLevel=1", "Made"],
                         hawk.plain_environment(), folder)
    return core


def types_of(core, *options):
    """Objects and bytes by class."""
    types = hawk.document("types", "--no-graph", "--top=1000000", core, *options, codes=ANSWERED)["types"]
    return {row["type"]: (row["objects"], row["shallow_bytes"]) for row in types if row["known_by"] == "guest"}


def counts_of_jhsdb(core):
    """A class that lambdas are made of has its address in its name; a filler counts as the array that it looks like."""
    rows = hawk.run([hawk.need("jhsdb"), "jmap", "--histo", "--exe", os.path.realpath(hawk.need("java")), "--core", core]).stdout
    counts = {}
    for objects, size, name in re.findall(r"^ *\d+:\s+(\d+)\s+(\d+)\s+(\S.*?)\s*$", rows, re.M):
        name = re.sub(r"[+/]0x[0-9a-f]+", "", name)
        before = counts.get(name, (0, 0))
        counts[name] = (before[0] + int(objects), before[1] + int(size))
    return counts


def check_made(core):
    found = types_of(core)
    for name, sizes in MADE.items():
        hawk.expect_equal(found.get(name), sizes, name)
    hawk.expect(found["short[]"][0] >= 70 and found["byte[]"][1] > 5 << 20, "arrays")
    hawk.expect("Made$$Lambda$1" in found, f"the lambda's class: {sorted(name for name in found if 'Made' in name)}")
    guest, = hawk.document("heap", core, codes=ANSWERED)["guests"]
    hawk.expect_equal(guest["name"], "HotSpot 17 (Serial)", "the guest")
    hawk.expect_equal((guest["objects"], guest["bytes"]), tuple(map(sum, zip(*found.values()))), "the guest's sums")


def check_paths(core):
    """References have 32 bits; a static field lies in the object of its class."""
    path = hawk.text_of("path", "--type", r"^Made\$Empty$", "--top=1", core, codes=ANSWERED)
    hawk.expect(re.search(r"java\.lang\.Class\n.* Made\$Empty\[\]\n.* Made\$Empty\n", path), f"an element's path: {path}")
    links, = hawk.sql(core, "SELECT count(*) AS n FROM edges JOIN blocks AS source ON source.address = edges.source"
                      " JOIN blocks AS target ON target.address = edges.target"
                      " WHERE source.type = 'Made$Order' AND target.type = 'Made$Order'")
    hawk.expect_equal(links["n"], MADE["Made$Order"][0] - 1, "references to the next order")


def check_screens(core):
    text = hawk.text_of("analyze", core, codes=ANSWERED)
    hawk.expect("HotSpot 17 (Serial) has" in text and "byte[]" in text, f"the first screen: {text}")
    hawk.expect_equal(hawk.document("heap", "--guest=none", core, codes=ANSWERED)["guests"], [], "--guest=none")
    records = hawk.document("leaks", "--top=1000000", core, codes=ANSWERED)["records"]
    made = [row["kind"] for row in records if (row["example_type"] or "").startswith("Made$")]
    hawk.expect(made and set(made) == {"still_reachable"}, f"kinds of objects: {made}")


word = sys.argv[1]
core = crash("Serial" if word == "made" else word)
if word == "made":
    check_made(core)
    check_paths(core)
    check_screens(core)
else:
    hawk.expect_equal(types_of(core), counts_of_jhsdb(core), "counts of jhsdb")
hawk.finish()
