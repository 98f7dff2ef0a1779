# SPDX-License-Identifier: Apache-2.0
"""A program in a root of its own that has no /proc, no /tmp, no /dev, and is read-only but for the
working directory: traced as elsewhere, and analyzed from outside with --sysroot."""

import os
import re
import shutil

from support import hawk


def copy_into(root, path):
    target = root + path
    os.makedirs(os.path.dirname(target), exist_ok=True)
    shutil.copy(path, target)


def make_root():
    root = os.path.join(folder, "root")
    libraries = set()
    for binary in (program, hawk.TRACER):
        listing = hawk.run(["ldd", binary]).stdout
        libraries.update(re.findall(r"(/\S+) \(0x", listing))
    for library in libraries:
        copy_into(root, library)
    os.makedirs(os.path.join(root, "opt"))
    os.makedirs(os.path.join(root, "work"))
    for binary in (program, hawk.TRACER):
        shutil.copy(binary, os.path.join(root, "opt"))
    return root


def run_inside(options, *arguments):
    """/opt/stacks in the root, the rest of which is read-only."""
    environment = ["LD_PRELOAD=/opt/" + os.path.basename(hawk.TRACER), f"HAWK_OPTS={options}"]
    script = (f"mount --bind {root} {root} && mount -o remount,bind,ro {root} && "
              f"mount -t tmpfs none {root}/work && cd {root}/work && "
              'shift && "$@"; code=$?; cp --sparse=always core* *.hawk "$OUT" 2>/dev/null; '
              "exit $code")
    for name in os.listdir(out):
        os.unlink(os.path.join(out, name))
    return hawk.run([*unshare, "sh", "-c", script, "sh", "x", launcher, root, *environment, "--",
                     "/opt/stacks", *arguments], env=hawk.plain_environment(extra={"OUT": out}),
                    preexec_fn=hawk.allow_cores, cwd=folder)


def found(pattern):
    names = [name for name in os.listdir(out) if re.match(pattern, name)]
    return os.path.join(out, names[0]) if names else None


def check_answer(path, what):
    analysis = hawk.analyze(path, "--sysroot", root)
    if not analysis:
        return
    hawk.expect_equal(analysis["process"]["program"], "/opt/stacks", f"{what}: program")
    frames = [frame for site in analysis["sites"] for frame in site["frames"]]
    keep = [frame for frame in frames if hawk.plain_name(frame.get("function")) == "keep_one"]
    hawk.expect(keep, f"{what}: keep_one is in no stack")
    hawk.expect_equal({frame["module"] for frame in keep}, {"/opt/stacks"}, f"{what}: its module")
    alone = hawk.analyze(path)
    hawk.expect(any(item["key"] == "module-not-found" and "/opt/stacks" in item["text"]
                    for item in alone["missing"]), f"{what}, without --sysroot: {alone['missing']}")


def check_modes():
    plain = run_inside("progname=nobody", "exit")
    if plain.returncode:
        hawk.skip(f"no mounts and roots of one's own here: {plain.stderr.strip()[-200:]}")
    for options in ("", "live=1", "stacks=0", "sample=4k", "unwind=fp", "unwind=libunwind",
                    "progname=stacks"):
        done = run_inside("stats=1:" + options, "exit")
        hawk.expect_equal((done.returncode, done.stdout), (0, plain.stdout), options)
        hawk.expect("libhawk_tracer: dropped 0\n" in done.stderr, f"{options}: {done.stderr!r}")
    done = run_inside("table=/opt/here.hawk", "exit")
    hawk.expect_equal((done.returncode, done.stdout), (0, plain.stdout), "a read-only folder")
    hawk.expect(done.stderr.count("\n") == 1 and "cannot be created" in done.stderr,
                f"a table file in a read-only folder: {done.stderr!r}")


folder = hawk.temporary_folder()
program = hawk.compile_program(os.path.join(folder, "stacks"), ["sandboxed.c"], flags=["-O1"])
launcher = hawk.compile_program(os.path.join(folder, "enter_root"), ["enter_root.c"])
unshare = [hawk.need("unshare"), "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]
root = make_root()
out = os.path.join(folder, "out")
os.mkdir(out)
check_modes()
run_inside("table=/work/%p.hawk", "exit")
hawk.expect(found(r".*\.hawk"), "no table file")
if found(r".*\.hawk"):
    check_answer(found(r".*\.hawk"), "table file")
run_inside("", "abort")
if found("core"):
    check_answer(found("core"), "core")
else:
    hawk.expect(not hawk.cores_are_files(), "no core")
hawk.finish()
