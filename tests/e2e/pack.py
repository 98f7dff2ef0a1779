# SPDX-License-Identifier: Apache-2.0
"""pack writes what zstd and hawk-core unpack to the same core, holes and all; a damaged frame costs only itself."""

import os
import signal
import subprocess

from support import hawk


def pack(source, name, **options):
    path = os.path.join(folder, name)
    return path, hawk.run([hawk.CORE, "pack", "--force", "-o", path, source], **options)


def answer(path):
    done = hawk.run([hawk.CORE, "analyze", "--no-suspects", path])
    return done.returncode, done.stdout.replace(path, "CORE")


def check_unpacked():
    """The core with a hole of 300 MiB behind it, which packing and unpacking pass over."""
    large = os.path.join(folder, "large")
    hawk.write(large, data)
    os.truncate(large, len(data) + (300 << 20))
    path, done = pack(large, "large.zst")
    hawk.expect_equal((done.returncode, done.stderr), (0, ""), "pack")
    hawk.expect(os.path.getsize(path) < os.path.getsize(packed) + 16384, "holes take room")
    zstd = subprocess.Popen([hawk.need("zstd"), "-dqc", path], stdout=subprocess.PIPE)
    hawk.expect_equal(zstd.stdout.read(len(data)) == data, True, "zstd -d")
    zstd.stdout.close()
    zstd.wait()
    hawk.expect_equal(answer(path), answer(large), "hawk-core")
    hawk.expect_equal(answer(packed), answer(core), "the core alone")


def check_inputs():
    """A pipe and a compressed core pack to the same bytes."""
    with open(core, "rb") as file, subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE) as pipe:
        piped, done = pack("-", "piped.zst", stdin=pipe.stdout)
    hawk.expect_equal(done.returncode, 0, done.stderr)
    again, _ = pack(packed, "again.zst")
    done = hawk.run([hawk.CORE, "pack", "--last=no-such-program", "-o", "none.zst"], cwd=folder)
    hawk.expect("no core of no-such-program" in done.stderr, done.stderr)
    hawk.expect(hawk.read(piped) == hawk.read(packed) == hawk.read(again), "other bytes")
    for source, words in ((__file__, "is a text file"), (os.path.join(folder, "nowhere"), "No such file")):
        path, done = pack(source, "none.zst")
        hawk.expect(done.returncode == hawk.EXIT_UNREADABLE and words in done.stderr, f"{source}: {done.stderr!r}")
        hawk.expect(not os.path.exists(path), "a file was left")
    with open(packed, "rb") as file:
        done = pack("-", "none.zst", stdin=file)[1]
    hawk.expect("is no ELF core" in done.stderr, done.stderr)
    hawk.expect_equal(pack(core, "core.gz")[1].returncode, hawk.EXIT_USAGE, "another format")


def check_damage():
    """Ones over 64 bytes in the middle: the answer is partial, but there is one. Without the table: as any zstd file."""
    broken = bytearray(hawk.read(packed))
    middle = len(broken) // 2
    broken[middle:middle + 64] = b"\xff" * 64
    done = hawk.run([hawk.CORE, "analyze", "--json", hawk.write(os.path.join(folder, "broken.zst"), broken)])
    hawk.expect_equal(done.returncode, hawk.EXIT_PARTIAL, done.stderr)
    texts = [item["text"] for item in hawk.parse(done.stdout)["missing"] if item["key"] == "core-unpack"]
    hawk.expect_equal(texts, ["parts of the compressed core are damaged: 262144 bytes of memory are taken as zeros"],
                      "damage")
    done = pack(os.path.join(folder, "broken.zst"), "mended.zst")[1]
    hawk.expect(done.returncode == hawk.EXIT_PARTIAL and "262144 bytes" in done.stderr, f"packed again: {done.stderr!r}")
    for size in range(8, 80, 8):
        code, text = answer(hawk.cut(packed, os.path.getsize(packed) - size, "cut.zst"))
        hawk.expect(code in (0, hawk.EXIT_PARTIAL) and "orderd" in text, f"{size} bytes less: exit code {code}")


folder = hawk.temporary_folder()
core, _ = hawk.crash([os.path.join(hawk.SAMPLES, "orderd"), "--requests", "2000", "--crash", "segv"],
                     hawk.tracer_environment(), folder, signals=(signal.SIGSEGV,))
data = hawk.read(core)
packed, first = pack(core, "core.zst")
if "without zstd" in first.stderr:
    hawk.skip("built without zstd")
hawk.run_checks(globals())
