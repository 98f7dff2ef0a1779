# SPDX-License-Identifier: Apache-2.0
# ctest: serial
"""redis-server: the same answers with the tracer while redis-benchmark loads it; and with 50,000 keys, what holds them,
and that it is what redis itself says."""

import os
import re

from support import hawk, real, real_holders as holders

KEYS = int(os.environ.get("HAWK_REDIS_KEYS", "50000"))
FIELDS = KEYS // 20
ENTRY_BYTES, OBJECT_BYTES = 24, 16  # struct dictEntry, struct redisObject


def fill(command):
    command("eval", f"for i = 1, {KEYS} do redis.call('set', 'key:' .. i, "
            "string.rep('v', 100)) end", "0")
    command("eval", f"for i = 1, {FIELDS} do redis.call('hset', 'hash', 'f' .. i, "
            "string.rep('w', 80)) end", "0")


def numbers(command):
    """Returns redis's own figures of its memory."""
    lines = command("memory", "stats").split("\n")
    stats = dict(zip(lines, lines[1:]))
    return {"keys": int(command("dbsize")), "stats keys": int(stats["keys.count"]),
            "dataset": int(stats["dataset.bytes"]),
            "main": int(stats["overhead.hashtable.main"]),
            "hash": int(command("memory", "usage", "hash", "samples", "0")),
            "key": int(command("memory", "usage", "key:77"))}


def check_memory_commands(command):
    """Their figures come from malloc_usable_size and mallctl."""
    usage = int(command("memory", "usage", "k150") or 0)
    hawk.expect(150 <= usage <= 500, f"memory usage of 150 bytes: {usage}")
    stats = command("memory", "stats")
    hawk.expect("allocator.allocated" in stats, f"memory stats: {stats[:300]}")
    info = {}

    def agrees():
        """used_memory is current; allocator_allocated may be 0.1 s old."""
        info.update(line.split(":", 1) for line in command("info", "memory").splitlines() if ":" in line)
        return 0 < int(info["used_memory"]) <= int(info["allocator_allocated"])
    hawk.wait_for(agrees, 10, "no more bytes to be in use than are allocated")
    hawk.expect("jemalloc" in info["mem_allocator"], info["mem_allocator"])
    hawk.expect(command("memory", "malloc-stats"), "memory malloc-stats")


def session(environment, traced):
    """Loads a server, asks for what it holds; returns (answers, core)."""
    benchmark = hawk.need("redis-benchmark")
    with real.redis(folder, environment) as (process, command):
        port = command("config", "get", "port").split()[1]
        done = hawk.run([benchmark, "-p", port, "-n", "5000", "-c", "20", "-q",
                         "-t", "set,get,incr,lpush,sadd,hset,zadd,mset"])
        hawk.expect_equal(done.returncode, 0, f"redis-benchmark: {done.stderr[-300:]}")
        command("eval", "for i = 1, 3000 do redis.call('set', 'k' .. i, string.rep('v', i % 200)) end", "0")
        answers = [command(*words) for words in (
            ["dbsize"], ["get", "k150"], ["strlen", "k199"], ["llen", "mylist"],
            ["get", "counter:__rand_int__"], ["debug", "sleep", "0"], ["memory", "purge"],
            ["config", "set", "activedefrag", "yes"])]
        check_memory_commands(command)
        core = hawk.gcore(process.pid, folder) if traced else None
        hawk.expect_equal(command("ping"), "PONG\n", "ping after gcore")
        command("shutdown", "nosave")
        hawk.expect_equal(process.wait(timeout=60), 0, "exit code of redis-server")
        return answers, core


def filled():
    """(core, numbers of redis) of a server with KEYS keys"""
    with real.redis(folder, hawk.tracer_environment()) as (process, command):
        fill(command)
        said = numbers(command)
        return hawk.gcore(process.pid, folder), said


def check_schemas(core):
    """Strings are text, and the entries of the dict point into them."""
    classes = {}
    for site in hawk.analyze(core)["sites"][:8]:
        for group in real.ask(core, "schema", site["site"])["groups"]:
            for word in group["words"]:
                for value in word["values"]:
                    classes[value["class"]] = classes.get(value["class"], 0) + value["count"]
    for wanted in ("text", "block", "interior", "null"):
        hawk.expect(classes.get(wanted, 0) > 1000, f"{wanted} in redis: {classes}")


def one_row(query):
    found = holders.sql(core, query)
    hawk.expect_equal(len(found), 1, f"rows of {query}")
    return found[0] if found else (0, 0, 0)


def check_database():
    """The keys' table, entry by entry."""
    added = holders.with_frames("dbAdd", "dictAddRaw")
    expanded = holders.with_frames("_dictExpand")
    entries, entry_bytes = one_row("SELECT sum(inuse_objects), sum(inuse_bytes) FROM sites WHERE "
                                   f"{added} AND NOT ({expanded})")
    hawk.expect_equal((entries, entry_bytes), (said["keys"], said["keys"] * ENTRY_BYTES),
                      "entries of the keys' table")
    slots, size, retained, address = one_row(
        f"SELECT count(*), size, retained, address FROM blocks WHERE {added} AND {expanded} AND "
        f"size >= {8 * KEYS}")
    hawk.expect_equal(slots, 1, "arrays of slots")
    hawk.expect_equal(size + entry_bytes + said["keys"] * OBJECT_BYTES, said["main"],
                      "overhead.hashtable.main")
    # Redis counts what jemalloc gives, up to a quarter more than was asked for in these sizes, and
    # among its data what has nothing to do with keys.
    data = said["dataset"] + said["main"]
    hawk.expect(0.7 * data <= retained <= data, f"the slots retain {retained} of {data} bytes")
    name = holders.check_path(core, "redis", address, ("module",))
    hawk.expect(name and name.startswith("`server`"), f"the database is held by {name}")
    target, = one_row(f"SELECT target FROM edges WHERE source = {address} LIMIT 1")
    holders.check_path(core, "redis", target, ("module",))


def check_keys():
    """A key is its entry, its name and its value; the hash is what it holds."""
    entry, = one_row("SELECT site FROM sites WHERE " +
                     holders.with_frames("dictAddRaw", "dbAdd", "setGenericCommand") +
                     " ORDER BY inuse_objects DESC LIMIT 1")
    # An entry retains those that come behind it in the same slot, too: the middle one is alone.
    middle, = one_row(f"SELECT retained FROM blocks WHERE site = '{entry}' ORDER BY retained "
                      f"LIMIT 1 OFFSET {KEYS // 4}")
    hawk.expect(0.8 * said["key"] <= middle <= said["key"],
                f"an entry retains {middle} bytes, redis says {said['key']}")
    entry = (holders.with_frames("dictAddRaw", "dbAdd", "hsetCommand") +
             " AND NOT (" + holders.with_frames("_dictExpand") + ")")
    retained, = one_row("SELECT retained FROM blocks WHERE site = (SELECT site FROM sites WHERE "
                        f"{entry})")
    hawk.expect(0.75 * said["hash"] <= retained <= 1.1 * said["hash"],
                f"the hash retains {retained} bytes, redis says {said['hash']}")


def check_folds():
    objects, whole = holders.check_sums(core, "redis")
    hawk.expect(objects >= 4 * KEYS, f"only {objects} blocks")
    tops = holders.tops(core, "--by=root")
    # The client of its Lua interpreter, another variable's, points to the databases as well.
    hawk.expect(tops[0][0] in ("root", "several") and tops[0][1].startswith("`server` in ") and
                tops[0][2] >= 0.7 * whole, f"what holds most: {tops[:3]}")
    tree = holders.ask("retained", "--by=tree", "--full", core).splitlines()
    names = [re.search(r" % +[\d,]+ +(\S+)", line).group(1) for line in tree[4:9]]
    hawk.expect_equal(names, ["initServer", "dictCreate", "_dictExpand", "dictAddRaw",
                              "createObject"], "the way down to the values")
    sites = holders.document("sites", core)
    largest = sites["sites"][0]
    hawk.expect(any(frame["function"] == "createStringObject" for frame in largest["frames"]),
                "the values are the largest site")
    best = next(edge for edge in sites["edges"] if edge["target"] == largest["site"])
    hawk.expect_equal([place["offset"] for place in best["places"]], [8], "held at robj.ptr")
    hawk.expect(best["targets"] >= KEYS, f"held values: {best['targets']}")


def is_string(record):
    return any((frame["function"] or "").lstrip("_").startswith("sds")
               for frame in record["frames"])


def check_leaks():
    """Strings are held behind their header: a heuristic knows it. Without, they are possibly lost."""
    found = holders.check_lost(core, "redis", 0)
    hawk.expect(found["heuristics"]["lengthprefix"] >= 2 * KEYS, f"{found['heuristics']}")
    strings = [record for record in found["records"] if is_string(record)]
    unexplained = [record for record in strings if record["kind"] != "still_reachable"]
    hawk.expect_equal(sum(record["objects"] for record in unexplained), 0,
                      "strings that are not reachable")
    hawk.expect(found["possibly_lost"]["objects"] < KEYS / 1000,
                f"{found['possibly_lost']} possibly lost")
    largest = max(strings, key=lambda record: record["objects"])
    hawk.expect(largest["explained_pointers"] >= largest["objects"], "evidence of strings")
    text = " ".join(holders.ask("leaks", "--kinds=all", core).split())
    hawk.expect("; heuristics explain" in text, "evidence of strings in text")
    hawk.expect("interior pointers are explained by lengthprefix." in text, "lengthprefix in text")
    plain = holders.document("leaks", core,
                             "--heuristics=valgrind")
    strings = [record["objects"] for record in plain["records"]
               if record["kind"] == "possibly_lost" and is_string(record)]
    hawk.expect(sum(strings) >= 2 * KEYS, f"possibly lost without lengthprefix: {sum(strings)}")
    hawk.expect(sum(strings) > 0.95 * plain["possibly_lost"]["objects"], "others than strings")


folder = hawk.temporary_folder()
alone, _ = session(hawk.plain_environment(), False)
traced, loaded = session(hawk.tracer_environment(), True)
hawk.expect_equal(traced, alone, "answers of redis")
check_schemas(loaded)
real.check_core(loaded, "redis", least_blocks=5000, in_flight=4)
core, said = filled()
print(said, flush=True)
hawk.expect_equal(said["keys"], said["stats keys"], "keys")
holders.check_roots(core, "redis", 0.9)
holders.check_screens(core, "redis")
check_database()
check_keys()
check_folds()
check_leaks()
hawk.finish()
