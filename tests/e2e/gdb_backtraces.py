# SPDX-License-Identifier: Apache-2.0
"""Stacks are what gdb's backtrace shows at the same malloc: functions, files, lines, inlined frames,
for plain C, C++ templates, callbacks through the C library, signal handlers and threads."""

import json
import os
import re

from support import hawk


def base_name(function):
    """`ns::C<int>::f(char)` -> `f`: gdb and the demangler spell templates and lambdas differently."""
    name = re.sub(r" ?\[(clone|abi)[^]]*\]", "", function or "").replace("(anonymous namespace)", "")
    if "operator" in name:
        return "operator" + re.match(r"\(\)|[^(<]*", name.rsplit("operator", 1)[1]).group().strip()
    previous = None
    while name != previous:
        previous = name
        name = re.sub(r"<[^<>]*>", "", name)
        name = re.sub(r"\([^()]*\)( const)?", "", name)
    name = re.sub(r"\.(constprop|isra|part|cold|llvm).*", "", name)
    return name.split("::")[-1].split(" ")[-1]


def gdb_stacks(program, folder):
    output = os.path.join(folder, "frames.json")
    if os.path.exists(output):
        os.unlink(output)
    done = hawk.run([hawk.need("gdb"), "-batch", "-nx", "-x",
                     os.path.join(os.path.dirname(hawk.__file__), "gdb_frames.py"), program],
                    env=hawk.plain_environment(extra={"HAWK_FRAMES": output}), cwd=folder)
    if "ptrace" in done.stderr and not os.path.exists(output):
        hawk.skip("gdb may not run programs here")
    if not hawk.expect(os.path.exists(output), f"gdb: {done.stdout[-500:]}{done.stderr[-1500:]}"):
        return {}
    with open(output, encoding="utf-8") as file:
        stops = json.load(file)
    return {stop["size"]: [
        (base_name(function), os.path.basename(path or ""), line, inlined)
        for function, path, line, inlined, own in stop["frames"] if own and function
        and function != "_start"] for stop in stops}


def own_stacks(core, program):
    analysis = hawk.analyze(core)
    stacks = {}
    for site in analysis["sites"] if analysis else []:
        size = site["inuse_bytes"]
        if site["inuse_objects"] == 1 and 70000 <= size < 70100:
            hawk.expect(size not in stacks, f"{program}: two blocks of {size}")
            stacks[size] = [
                (base_name(frame.get("function")), os.path.basename(frame.get("file") or ""),
                 frame.get("line") or 0, bool(frame.get("inlined"))) for frame in site["frames"]
                if frame.get("module") and os.path.basename(frame["module"]) ==
                os.path.basename(program) and frame.get("function") != "_start"]
    return stacks


def compare(source, compiler, flags, count):
    program = os.path.join(folder, f"{source}-{compiler}{''.join(flags)}".replace(".", "_"))
    if source.endswith(".c"):
        hawk.compile_program(program, [source], compiler, flags)
    else:
        hawk.compile_mixed(program, [], [source], compiler, flags)
    wanted = gdb_stacks(program, folder)
    core, _ = hawk.crash([program], hawk.tracer_environment(), folder)
    found = own_stacks(core, program) if core else {}
    hawk.expect_equal(sorted(wanted), [70000 + i for i in range(count)], f"{program}: gdb stops")
    for size, stack in wanted.items():
        hawk.expect(found.get(size) == stack, f"{os.path.basename(program)} {size}:\n  gdb  {stack}\n"
                    f"  ours {found.get(size)}")
    print(f"{os.path.basename(program)}: {len(wanted)} stacks", flush=True)


hawk.need("gdb")
folder = hawk.temporary_folder()
for compiler in ("gcc", "clang"):
    for flags in (["-O0"], ["-O2", "-fomit-frame-pointer"]):
        compare("backtrace_c.c", compiler, flags, 7)
        compare("backtrace_cxx.cpp", compiler, flags, 7)
hawk.finish()
