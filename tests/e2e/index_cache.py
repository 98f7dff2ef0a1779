# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=600
"""The index cache: the same answers with and without it, used when it fits and only then, private, and
harmless when it is damaged."""

import fcntl
import os
import resource
import shutil
import signal
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "support"))
import hawk  # noqa: E402
import holder_world  # noqa: E402

VERBS = (["leaks"], ["retained", "--by=root"], ["retained", "--by=block", "-n", "5"], ["sites"],
         ["sql", "SELECT reach, count(*), sum(retained) FROM blocks GROUP BY 1"],
         ["path", "--size=1-", "-n", "3"], ["merge-paths", "--size=24-"], ["growth"],
         ["retained", "-n", "3"], ["retained", "--folded"],
         ["retained", "--by=tree", "--function=hold", "--json"], ["retained", "--by=root", "--age=0-1h"],
         ["merge-paths"], ["merge-paths", "--function=main", "--folded"], ["merge-paths", "--module=no such"],
         ["analyze"], ["analyze", "--full"],
         ["blocks", "--json", "--top=100"], ["leaks", "--age=0-", "--json"],
         ["retained", "--by=tree", "--size=24-48", "--json"], ["retained", "--by=tree", "--size=100-", "--age=0-"],
         ["retained", "--size=24-48", "--json"], ["retained", "--type=Session", "--json"],
         ["retained", "--folded", "--size=0-4095"], ["merge-paths", "--function=main", "--json"],
         ["merge-paths", "--size=-40", "--json"], ["merge-paths", "--size=41-", "--function=make_", "--threads=1"],
         ["sites", "--size=8-48", "--json"], ["sites", "--age=0-1h"], ["sites", "--size=24-", "--dot"],
         ["leaks", "--json"], ["leaks", "--kinds=reachable,indirect", "--top=2"],
         ["leaks", "--heuristics=none", "--json"], ["leaks", "--function=hold", "--json"],
         ["leaks", "--suppressions=SUPPRESSIONS", "--json"],
         ["leaks", "--size=8-48", "--json"], ["leaks", "--size=-40", "--function=hold", "--full", "--threads=1"],
         ["sql", "SELECT reach, count(*), sum(size) FROM blocks GROUP BY 1"],
         ["leaks", "--type=^Session$"], ["leaks", "--type=Session", "--json"], ["sites", "--type=Session", "--size=-200"],
         ["sql", "SELECT * FROM leaks"])
SUPPRESSIONS = """leak:operator new
{
   reachable
   Memcheck:Leak
   match-leak-kinds: reachable,indirect
   fun:malloc
   ...
}
"""

# As in the header of the file.
INDEX, EDGES, ROOTS, REACH, RETAINED, SITES, PATHS, FOLDS = 1, 2, 4, 8, 16, 32, 64, 128
PATHS_FOLD, START_FOLD, START_BLOCKS = 1024, 2048, 4096
LEAKS, SCHEMAS, PLACES, TYPES, ORDER, START_ORDER, PATH_STEPS, EVIDENCE, ASKED = (1 << bit for bit in range(15, 24))
ALL_PARTS = (INDEX | EDGES | ROOTS | REACH | RETAINED | SITES | PATHS | FOLDS | PATHS_FOLD | START_FOLD | LEAKS |
             SCHEMAS | PLACES | TYPES | ORDER | START_ORDER | PATH_STEPS | EVIDENCE | ASKED)
HEADER_BYTES, HEADERS = 4096, 2
SECTIONS, EDGE_WORDS, KINDS, SITE_EDGES, FOLD_AGES, KEPT_WORDS, LEAK_RECORDS = 67, 15, 19, 27, 34, 43, 49
ORDER_HEAD, START_STEPS, PATH_STEPS_NODES, EVIDENCE_CODES = 51, 58, 60, 63


def ask(*arguments, code=None):
    words = [word.replace("=SUPPRESSIONS", f"={suppressions}") for word in arguments]
    done = hawk.run([hawk.CORE, words[0], core, *words[1:]],
                    env=dict(os.environ, XDG_CACHE_HOME=caches))
    if code is not None:
        hawk.expect_equal(done.returncode, code, f"{arguments}: {done.stderr[-300:]}")
    return done.returncode, done.stdout, done.stderr


def files():
    folder_of_caches = os.path.join(caches, "hawk-core")
    return sorted(os.listdir(folder_of_caches)) if os.path.isdir(folder_of_caches) else []


def settled():
    """The name, size and inode of the cache's file, once no child writes any more."""
    hawk.settle(core)
    names = [name for name in files() if name.endswith(".index")]
    hawk.expect(names, "a cache was written")
    status = os.stat(path_of(names[0])) if names else None
    return (names[0], status.st_size, status.st_ino) if names else (None, 0, 0)


def path_of(name):
    return os.path.join(caches, "hawk-core", name)


def check_same_answers():
    without = {tuple(verb): ask(*verb, "--no-cache") for verb in VERBS}
    hawk.expect_equal(files(), [], "--no-cache writes nothing")
    for verb in VERBS:
        hawk.expect_equal(ask(*verb), without[tuple(verb)], f"{verb} while there is little cached")
        settled()
    for verb in VERBS:
        hawk.expect_equal(ask(*verb), without[tuple(verb)], f"{verb} from the cache")
    return without


def check_privacy():
    name, size, _ = settled()
    status = os.stat(path_of(name))
    hawk.expect_equal(status.st_mode & 0o777, 0o600, "mode of the file")
    hawk.expect_equal(os.stat(os.path.join(caches, "hawk-core")).st_mode & 0o777, 0o700,
                      "mode of the folder")
    hawk.expect_equal(len(files()), 1, "one file for one core")
    hawk.expect(size > 1 << 20, "it holds something")


def uses_cache():
    """The time of use moves when the file was opened and believed to be ours."""
    name, _, inode = settled()
    os.utime(path_of(name), (1, 1))
    ask("sites", code=0)
    settled()
    status = os.stat(path_of(name)) if name in files() else None
    return status is not None and status.st_ino == inode and status.st_mtime > 1


def check_damage(without):
    """Every section cut or changed is noticed; the answer stays the same."""
    verb = ("sql", "SELECT reach, count(*), sum(size) FROM blocks GROUP BY 1")
    os.unlink(path_of(settled()[0]))
    ask(*verb)
    name, size, _ = settled()
    good = read(name)
    end = sum(sections_of(good)[KINDS])  # what the verb asks for was written first
    for place in (0, 9, 20, 64, 200, 460):
        bad = bytearray(good)
        for header in range(HEADERS):
            bad[header * HEADER_BYTES + place] ^= 0x55
        write(name, bad)
        hawk.expect_equal(ask(*verb), without[tuple(verb)], f"byte {place} of headers changed")
        check_replaced(place, good)
    for place in (HEADERS * HEADER_BYTES, HEADERS * HEADER_BYTES + 4, end // 3, end // 2, end - 5000):
        bad = bytearray(good)
        bad[place] ^= 0x55
        write(name, bad)
        hawk.expect_equal(ask(*verb), without[tuple(verb)], f"byte {place} changed")
        check_replaced(place, good)
    for length in (0, 100, 4096, 5000, 8192, end // 2, end - 1):
        write(name, good[:length])
        hawk.expect_equal(ask(*verb), without[tuple(verb)], f"cut to {length}")
        check_replaced(length, good)
    write(name, good[:-1])
    hawk.expect_equal(ask(*verb), without[tuple(verb)], "without the last byte")
    write(name, good, 0o644)
    hawk.expect_equal(ask(*verb), without[tuple(verb)], "readable by others: not believed")
    check_damaged_sites(without)


def header_of(file):
    """Where the header is that counts: the later one."""
    found = []
    for at in range(0, HEADERS * HEADER_BYTES, HEADER_BYTES):
        magic, version, _, generation = struct.unpack_from("<QIIQ", file, at)
        if magic == 0x3158444948574148:
            hawk.expect_equal(version, 11, "version")
            found.append((generation, at))
    return max(found)[1]


def sections_of(file):
    """Offset and bytes of each section; they begin behind the identity and the key."""
    header = header_of(file)
    table = next(at for at in range(header + 64, header + HEADER_BYTES, 8)
                 if struct.unpack_from("<Q", file, at)[0] == HEADERS * HEADER_BYTES and
                 struct.unpack_from("<Q", file, at - 8)[0] == len(file))
    return [struct.unpack_from("<QQ", file, table + 24 * i) for i in range(SECTIONS)]


def read(name):
    with open(path_of(name), "rb") as file:
        return file.read()


def parts_of(name):
    with open(path_of(name), "rb") as file:
        headers = file.read(HEADERS * HEADER_BYTES)
    return struct.unpack_from("<I", headers, header_of(headers) + 12)[0]


def check_damaged_sites(without):
    """Damage in the part that only this verb asks for."""
    verb = ("sites",)
    os.unlink(path_of(settled()[0]))  # who reads all pointers makes the graph of sites
    ask(*VERBS[1], code=0)
    name, _, _ = settled()
    good = read(name)
    bad = bytearray(good)
    bad[sections_of(good)[SITE_EDGES][0] + 4] ^= 0x55
    write(name, bad)
    hawk.expect_equal(ask(*verb), without[verb], "sites from a damaged graph of sites")
    hawk.expect_equal(parts_of(settled()[0]) & ~START_BLOCKS, ALL_PARTS, "parts of another file")
    hawk.expect(read(settled()[0]) != bytes(bad), "the damaged file is gone")
    write(name, bad)
    done = hawk.run([hawk.CORE, "shell", core], input="retained -n 1\nsites\n",
                    env=dict(os.environ, XDG_CACHE_HOME=caches))
    hawk.expect(done.stdout.endswith(without[verb][1]), "sites, when the file is in use already")
    hawk.expect(read(settled()[0]) != bytes(bad), "the damaged file is gone then, too")


def check_damaged_folds(without):
    """Damage in what the dominators are spared for: they are made, after all."""
    ask("analyze")
    name, _, _ = settled()
    good = read(name)
    bad = bytearray(good)
    bad[sections_of(good)[FOLD_AGES][0] + 4] ^= 0x55
    growth, retained = ("growth",), ("retained", "-n", "3")
    for verb in (growth, retained):
        write(name, bad)
        done = hawk.run([hawk.CORE, "shell", core], input=f"sites\n{' '.join(verb)}\n",
                        env=dict(os.environ, XDG_CACHE_HOME=caches))
        hawk.expect_equal(done.returncode, 0, f"{verb} when the file is in use already: {done.stderr[-300:]}")
        hawk.expect(done.stdout.endswith(without[verb][1]), f"{verb} from damaged folds")
        settled()


def check_damaged_schemas(without):
    """Damage in what a schema is taken from: blocks are looked at, after all, and the file does not stay."""
    ask("analyze")
    name, _, _ = settled()
    good = read(name)
    bad = bytearray(good)
    bad[sections_of(good)[KEPT_WORDS][0] + 4] ^= 0x55
    for verb in [verb for verb in VERBS if verb[0] == "schema"][:2]:
        write(name, bad)
        hawk.expect_equal(ask(*verb), without[tuple(verb)], f"{verb} from damaged schemas")
        hawk.expect(read(settled()[0]) != bytes(bad), "the damaged file is gone")


def schema_verbs():
    """Of the largest sites: with options that kept schemas are for, and with others."""
    first, second = [site["site"] for site in hawk.analyze(core, "--no-cache")["sites"] if site["inuse_objects"]][:2]
    options = ["--full", "--threads=1"], ["--json"], ["--size=1-4k", "--json"], ["--top=3"]
    return (*(["schema", first, *words] for words in options), ["schema", second])


def check_kept_leaks(without):
    """Loss records are taken from the file, or what chosen blocks add to theirs: nobody looks at pointers."""
    ask("analyze")
    name, _, _ = settled()
    good = read(name)
    kept = (("leaks", "--json"), ("leaks", "--function=hold", "--json"), ("sql", "SELECT * FROM leaks"),
            ("leaks", "--heuristics=none", "--json"))  # here no heuristic explains anything
    chosen = ("leaks", "--age=0-", "--json"), ("leaks", "--type=Session", "--json")
    others = (("sites", "--size=8-48", "--json"),)
    for section, users in (EDGE_WORDS, others), (LEAK_RECORDS, kept + chosen), (EVIDENCE_CODES, chosen):
        bad = bytearray(good)
        bad[sections_of(good)[section][0] + 4] ^= 0x55
        for verb in {*users, kept[0], chosen[0]}:
            write(name, bad)
            hawk.expect_equal(ask(*verb), without[verb], f"{verb}, section {section} damaged")
            settled()
            hawk.expect_equal(read(name) == bad, verb not in users, f"{verb} takes section {section} for good")
    write(name, good)


def check_damaged_orders(without):
    """Damage in what filters spare a look at all blocks by; and where that is of another tree."""
    ask("analyze")
    name, _, _ = settled()
    good = read(name)
    sections = sections_of(good)
    tree, sites, paths = (["retained", "--by=tree", "--size=24-48", "--json"], ["retained", "--size=24-48", "--json"],
                          ["merge-paths", "--size=-40", "--json"])
    for section, verb in ((ORDER_HEAD, tree), (ORDER_HEAD + 1, tree), (ORDER_HEAD + 2, sites), (ORDER_HEAD + 3, sites),
                          (START_STEPS, tree), (PATH_STEPS_NODES, paths)):
        bad = bytearray(good)
        bad[sections[section][0] + sections[section][1] // 2] ^= 0x55
        write(name, bad)
        hawk.expect_equal(ask(*verb), without[tuple(verb)], f"{verb} with damage in section {section}")
        settled()
        hawk.expect_equal(parts_of(name) & ~START_BLOCKS, ALL_PARTS, f"parts of another file, section {section}")


def check_begun_again(without):
    """What a verb finds out in the memory of the dominators: the writer has these from the file, then."""
    for verb in (("retained", "--by=root"), ("retained", "--by=block", "-n", "5")):
        for name in files():
            os.unlink(path_of(name))
        hawk.expect_equal(ask(*verb), without[verb], f"{verb} without a file")
        name, size, inode = settled()
        hawk.expect_equal(parts_of(name) & ~START_BLOCKS, ALL_PARTS, f"parts after {verb}")
        hawk.expect_equal(ask(*verb), without[verb], f"{verb} with all that")
        hawk.expect_equal(settled(), (name, size, inode), f"nothing is new after {verb}")


def check_parts(without):
    """Whatever was asked first, nothing has to be found out twice."""
    for first in ("sites",), ("leaks",), ("growth",), ("analyze",):
        for name in files():
            os.unlink(path_of(name))
        ask(*first)
        name, _, _ = settled()
        hawk.expect_equal(parts_of(name) & ~START_BLOCKS, ALL_PARTS, f"parts after {first}")
    _, size, inode = settled()
    for verb in VERBS:
        hawk.expect_equal(ask(*verb), without[tuple(verb)], f"{verb} from a complete file")
    hawk.expect_equal(settled(), (name, size, inode), "nothing was new")


def check_additions(without):
    """Whoever reads finds the file as it was before an addition, or as it is after it."""
    name, size, inode = settled()
    good = read(name)
    newest = header_of(good)
    older = HEADER_BYTES - newest
    hawk.expect(good[newest:newest + 8] == good[older:older + 8], "a header before that")
    for what, bad in (("torn while it was written", good[:newest] + bytes(100) + good[newest + 100:]),
                      ("the one before is torn", good[:older] + bytes(100) + good[older + 100:]),
                      ("interrupted before the header", good + bytes(3 * 4096))):
        write(name, bad)
        before = os.stat(path_of(name)).st_ino
        for verb in VERBS[:4]:
            hawk.expect_equal(ask(*verb), without[tuple(verb)], f"{verb}: {what}")
        hawk.expect_equal((settled()[0], settled()[2]), (name, before), f"{what}: the file stays")


def check_replaced(place, good):
    """A file that was refused does not stay."""
    name, size, _ = settled()
    hawk.expect_equal((size, read(name)[place:place + 1]), (len(good), good[place:place + 1]),
                      f"damage at {place} is gone")


def write(name, data, mode=0o600):
    os.unlink(path_of(name))
    with open(os.open(path_of(name), os.O_CREAT | os.O_WRONLY, mode), "wb") as file:
        file.write(data)


def locked():
    """The core as a writer holds it."""
    file = open(core, "rb")
    fcntl.flock(file, fcntl.LOCK_EX)
    return file


def check_waiting(without):
    """A command waits for a writer, but not for ever; a writer waits for another one, and its file does not
    replace one that has more."""
    leaks, retained = VERBS[0], VERBS[1]
    ask(*retained, code=0)
    name, _, _ = settled()
    full = read(name)

    os.unlink(path_of(name))
    writer = locked()
    start = time.monotonic()
    hawk.expect_equal(ask(*leaks), without[tuple(leaks)], "leaks while somebody writes without end")
    hawk.expect(1 <= time.monotonic() - start, "it waited")
    time.sleep(0.3)
    hawk.expect_equal(files(), [], "a writer waits for another one")
    with open(os.open(path_of(name), os.O_CREAT | os.O_WRONLY, 0o600), "wb") as file:
        file.write(full)
    inode = os.stat(path_of(name)).st_ino
    os.utime(path_of(name), (1, 1))
    hawk.expect_equal(ask(*retained), without[tuple(retained)], "what is there is not waited for")
    hawk.expect(os.stat(path_of(name)).st_mtime > 1, "it was used")
    writer.close()
    settled()
    hawk.expect_equal((files(), os.stat(path_of(name)).st_ino), ([name], inode),
                      "a file that has more stays")

    os.rename(path_of(name), path_of("ready"))
    os.utime(path_of("ready"), (1, 1))
    writer = locked()
    late = subprocess.Popen(hawk.question([hawk.CORE, retained[0], core, *retained[1:]]),
                            stdout=subprocess.PIPE, text=True, env=dict(os.environ, XDG_CACHE_HOME=caches))
    time.sleep(0.3)
    os.rename(path_of("ready"), path_of(name))
    writer.close()
    hawk.expect_equal(late.communicate()[0], without[tuple(retained)][1], "what was written meanwhile")
    hawk.expect(os.stat(path_of(name)).st_mtime > 1, "it was waited for and used")


def check_inherited():
    """The child keeps nothing of the user's open: neither its output nor what a shell has opened beside."""
    os.unlink(path_of(settled()[0]))
    writer = locked()  # the child waits for it
    ends, others = os.pipe(), os.pipe()
    with subprocess.Popen(hawk.question([hawk.CORE, "growth", core]), stdout=ends[1], stderr=ends[1],
                          pass_fds=(others[1],), env=dict(os.environ, XDG_CACHE_HOME=caches)) as command:
        for end in (ends[1], others[1]):
            os.close(end)
        with open(ends[0], "rb") as output, open(others[0], "rb") as other:
            output.read()
            other.read()
        hawk.expect(hawk.is_read(core), "a child is there still")
        writer.close()
        hawk.expect_equal(command.wait(), 0, "growth")
    settled()


def bytes_of(file, header):
    """How far what this header says goes."""
    table = next(at for at in range(header + 64, header + HEADER_BYTES, 8)
                 if struct.unpack_from("<Q", file, at)[0] == HEADERS * HEADER_BYTES)
    return struct.unpack_from("<Q", file, table - 8)[0]


def check_own_size(without):
    """What is there is no reason to remove it when something is added; what cannot be added leaves no trace."""
    verb = ("retained", "--by=root")
    ask(*verb)
    name, _, _ = settled()
    good = bytearray(read(name))
    newest = header_of(good)
    good[newest:newest + 8] = bytes(8)  # the last addition has not come to its end
    before = bytes_of(good, header_of(good))

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (before, before))

    write(name, good)
    subprocess.run(hawk.question([hawk.CORE, verb[0], core, *verb[1:]]),
                   env=dict(os.environ, XDG_CACHE_HOME=caches), preexec_fn=limit, stdout=subprocess.DEVNULL, check=True)
    hawk.expect_equal(settled()[1], before, "size of what could not be added to")
    write(name, good)
    inode = os.stat(path_of(name)).st_ino
    os.truncate(path_of(name), 17 << 30)
    hawk.expect_equal(ask(*verb), without[verb], f"{verb} from a large file")
    hawk.expect_equal((settled()[2], settled()[1] < 1 << 30), (inode, True), "the same file, with more")


def check_identity():
    """A core that was written again is another core."""
    ask("sites", code=0)
    name, _, _ = settled()
    with open(core, "r+b") as file:
        file.seek(0)
        first = file.read(1)
        time.sleep(0.02)
        file.seek(0)
        file.write(first)
    ask("sites", code=0)
    settled()
    hawk.expect(len(files()) == 2 and name in files(), f"another file: {files()}")


def check_old_ones():
    stale = "1-2-3-4.index"
    with open(path_of(stale), "wb") as file:
        file.write(b"x")
    os.utime(path_of(stale), (time.time() - 15 * 86400,) * 2)
    other = "keep.txt"
    with open(path_of(other), "wb") as file:
        file.write(b"x")
    os.utime(path_of(other), (1, 1))
    for name in files():
        if name.endswith(".index") and name != stale:
            os.unlink(path_of(name))
    for i in range(1500):
        os.link(path_of(stale), path_of(f"{i:x}-5-3-4.index"))
    ask("sites", code=0)
    settled()
    hawk.expect(stale not in files() and other in files(), "old caches go, other files stay")
    hawk.expect_equal([name for name in files() if name.endswith("-5-3-4.index")], [], "however many")


def check_small_core():
    small, _ = hawk.crash([os.path.join(folder, "holders"), "abort", "10", "10"],
                          hawk.tracer_environment(), folder)
    before = files()
    if os.path.getsize(small) < 64 << 20:
        hawk.run([hawk.CORE, "sites", small], env=dict(os.environ, XDG_CACHE_HOME=caches))
        time.sleep(0.5)
        hawk.expect_equal(files(), before, "small cores are read again")
    hawk.expect_equal(hawk.run([hawk.CORE, "sites", core],
                               env=dict(os.environ, XDG_CACHE_HOME="/proc/no")).returncode, 0,
                      "a folder that cannot be made")


def check_compressed(tool, library):
    """What counts is how much there is to read once it is unpacked."""
    if not shutil.which(tool) or library not in hawk.run(["ldd", hawk.CORE]).stdout:
        print(f"no {tool}, or built without it")
        return
    packed = f"{core}.{tool}"
    with open(packed, "wb") as file:
        subprocess.run([tool, "-qc", core], stdout=file, check=True)
    hawk.expect(os.path.getsize(packed) < 64 << 20, "the compressed file is small")
    shutil.rmtree(caches)
    environment = dict(os.environ, XDG_CACHE_HOME=caches)
    answers = []
    for _ in range(2):
        answers.append(hawk.run([hawk.CORE, "sites", packed], env=environment).stdout)
        name, _, _ = settled()
        os.utime(path_of(name), (1, 1))
    hawk.expect_equal(answers[1], answers[0], "of a compressed core, from the cache")
    hawk.run([hawk.CORE, "sites", packed], env=environment)
    hawk.expect(os.stat(path_of(name)).st_mtime > 1, "the cache of a compressed core is used")


hawk.need_build()
folder = hawk.temporary_folder()
caches = os.path.join(folder, "caches")
core, _done = hawk.crash([holder_world.build(folder), "abort", "20000", "390000"],
                         hawk.tracer_environment(), folder, (signal.SIGABRT,))
hawk.expect(os.path.getsize(core) >= 64 << 20, "the core is large enough to be cached")
VERBS += schema_verbs()
suppressions = os.path.join(folder, "suppressions")
with open(suppressions, "w", encoding="utf-8") as suppressions_file:
    suppressions_file.write(SUPPRESSIONS)
answers = check_same_answers()
check_privacy()
hawk.expect(uses_cache(), "the cache is used")
check_damage(answers)
check_damaged_folds(answers)
check_damaged_schemas(answers)
check_kept_leaks(answers)
check_damaged_orders(answers)
check_begun_again(answers)
check_parts(answers)
check_additions(answers)
check_waiting(answers)
check_inherited()
check_own_size(answers)
check_identity()
check_old_ones()
check_small_core()
check_compressed("zstd", "libzstd")
check_compressed("gzip", "libz.")
hawk.finish()
