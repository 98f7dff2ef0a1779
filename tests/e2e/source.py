# SPDX-License-Identifier: Apache-2.0
"""source: sums by line equal those of analyze's sites; sources are found below --sysroot and --source-dir; missing,
newer, cut and hostile ones are said, and nothing but text is read."""

import os
import shutil

from support import hawk

SOURCE = r"""
#include <cstdio>
#include <cstdlib>
#include <vector>

void *kept[100000];
static int used;

__attribute__((always_inline)) static inline void *make_node(int size)
{
	return kept[used++] = malloc(size);
}

template <typename T> __attribute__((noinline)) void fill(int count)
{
	for (int i = 0; i < count; i++)
		/* \x1b[31m */ make_node(sizeof(T));
	auto *vector = new std::vector<T>(50);
	kept[used++] = vector;
}

__attribute__((noinline)) static void nest(int depth)
{
	if (depth)
		nest(depth - 1);
	make_node(1000);
}

int main()
{
	fill<char>(100);
	fill<long>(50);
	nest(3);
	fflush(stdout);
	abort();
}
""".replace(r"\x1b", "\x1b")


def document(core, function, *arguments, codes=(hawk.EXIT_OK,)):
    return hawk.document("source", *arguments, core, function, codes=codes)


def finding(answer, key):
    return [item["text"] for item in answer["missing"] if item["key"] == key]


def expected(analysis):
    """Live bytes by (function, line) of the first frame of the program's own, and of any; bytes allocated by any."""
    flat, cum, allocated = {}, {}, {}
    for site in analysis["sites"]:
        stack = [frame for frame in site["frames"] if frame["kind"] == "function"]
        lines = [(frame["function"], frame["line"]) for frame in stack]
        own = [i for i, frame in enumerate(stack) if frame["file"] and frame["file"].endswith(suffixes)]
        if not own:
            continue
        lines = lines[own[0]:]
        flat[lines[0]] = flat.get(lines[0], 0) + site["inuse_bytes"]
        for line in set(lines):
            cum[line] = cum.get(line, 0) + site["inuse_bytes"]
            allocated[line] = allocated.get(line, 0) + site["alloc_bytes"]
    return flat, cum, allocated


def check_sums(core, text):
    """Every line of every function of the program's own, against the stacks of analyze, and functions against groups.
    What the C library allocates on behalf of the program is flat there: only with `text` there is none."""
    flat, cum, allocated = expected(hawk.analyze(core))
    groups = {group["name"]: group for group in hawk.analyze(core, "--by=function")["groups"]}
    seen = 0
    for function in document(core, ".")["functions"]:
        if not (function["file"] or "").endswith(suffixes):
            continue
        name = function["function"]
        hawk.expect_equal(sum(line["flat"]["inuse_bytes"] for line in function["lines"]),
                          function["flat"]["inuse_bytes"], f"{name}: sum of lines")
        for sums in ("flat", "cum"):
            for key, value in function[sums].items():
                hawk.expect_equal(value, groups[name][sums][key], f"{sums} {key} of {name}")
        for line in function["lines"]:
            key = (name, line["line"])
            seen += 1
            hawk.expect_equal(line["cum"]["inuse_bytes"], cum.get(key, 0), f"cum of {key}")
            hawk.expect_equal(line["cum"]["alloc_bytes"], allocated.get(key, 0), f"allocated by {key}")
            if text:
                hawk.expect_equal(line["flat"]["inuse_bytes"], flat.get(key, 0), f"flat of {key}")
                hawk.expect_equal(line["text"], text[line["line"] - 1], f"text of {key}")
    hawk.expect(seen > 5, f"lines of {core}: {seen}")


def check_text():
    done = hawk.run([hawk.CORE, "source", core, "make_node", "--context=1"])
    hawk.expect_equal(done.returncode, hawk.EXIT_OK, "exit code")
    hawk.expect("  return kept[used++] = " in done.stdout, f"no line in {done.stdout}")
    hawk.expect_columns(done.stdout, "source")
    done = hawk.run([hawk.CORE, "source", core, "^(void )?fill<char"])
    hawk.expect("\x1b" not in done.stdout and "\\x1b[" in done.stdout, f"escapes in {done.stdout}")
    hawk.expect_columns(done.stdout, "source")
    full = hawk.run([hawk.CORE, "source", "--full", core, "make_node"]).stdout
    hawk.expect("  return kept[used++] = malloc(size);" in full and "4,500" in full, f"no exact figures: {full}")


def check_no_match():
    done = hawk.run([hawk.CORE, "source", core, "no_such_function"])
    hawk.expect_equal(done.returncode, hawk.EXIT_CONDITION, "exit code without a match")
    done = hawk.run([hawk.CORE, "source", core, "("])
    hawk.expect_equal(done.returncode, hawk.EXIT_USAGE, "exit code of a bad expression")


def check_places():
    """The file is away; then below a sysroot, below a source directory, and by its tail there."""
    os.rename(path, moved)
    answer = document(core, "make_node")
    hawk.expect_equal(answer["functions"][0]["found"], None, "missing file")
    hawk.expect(answer["functions"][0]["lines"][0]["line"], "the line of a missing file")
    hawk.expect(path in (finding(answer, "source-not-found") or [""])[0], f"finding: {answer['missing']}")
    text = hawk.run([hawk.CORE, "source", core, "make_node"]).stdout
    hawk.expect("Source not found" in text, f"no remark in {text}")
    sysroot, tree = os.path.join(folder, "root"), os.path.join(folder, "tree")
    for place in (sysroot + path, os.path.join(tree, "lines.cpp")):
        os.makedirs(os.path.dirname(place), exist_ok=True)
        shutil.copy2(moved, place)
    for argument, place in ((f"--sysroot={sysroot}", sysroot + path),
                            (f"--source-dir={tree}", os.path.join(tree, "lines.cpp"))):
        function = document(core, "make_node", argument)["functions"][0]
        hawk.expect_equal(function["found"], place, argument)
        hawk.expect("malloc(size)" in function["lines"][0]["text"], f"{argument}: {function}")
    os.rename(moved, path)


def check_refused():
    """Only text is read: not a folder, a fifo, or a binary, empty or huge file."""
    os.rename(path, moved)
    for name, make in (("is not a regular file", os.mkfifo),
                       ("is not a regular file", os.mkdir),
                       ("is not text", lambda at: hawk.write(at, b"a\0b\n")),
                       ("is empty", lambda at: hawk.write(at, b"")),
                       ("is larger than 64 MiB", lambda at: (hawk.write(at, b"x"), os.truncate(at, (64 << 20) + 1)))):
        make(path)
        answer = document(core, "make_node")
        hawk.expect_equal(answer["functions"][0]["found"], None, name)
        hawk.expect(name in (finding(answer, "source-not-found") or [""])[0], f"{name}: {answer['missing']}")
        os.rmdir(path) if os.path.isdir(path) else os.unlink(path)
    os.rename(moved, path)


def check_changed():
    before = os.stat(path)
    program = os.stat(os.path.join(folder, "lines")).st_mtime
    os.utime(path, (program + 100, program + 100))
    answer = document(core, "make_node")
    hawk.expect(answer["functions"][0]["newer"] and finding(answer, "source-newer"), "newer source")
    text = hawk.run([hawk.CORE, "source", core, "make_node"]).stdout
    hawk.expect("newer than the program" in text, f"no remark in {text}")
    content = hawk.read(path)
    hawk.write(path, b"one line\n")
    answer = document(core, "make_node")
    hawk.expect(finding(answer, "source-differs"), "a file that is too short")
    hawk.expect_equal(answer["functions"][0]["lines"][0]["text"], None, "a line behind the end")
    hawk.write(path, content)
    os.utime(path, (before.st_atime, before.st_mtime))
    hawk.expect(not document(core, "make_node")["functions"][0]["newer"], "an older source is newer")


def check_hostile_names():
    """Paths of another's making: they steer no terminal and do not lead out of a folder."""
    hostile = os.path.join(folder, "hostile")
    os.makedirs(hostile)
    source = hawk.write(os.path.join(hostile, "made.c"), "\n".join((
        "#include <stdlib.h>", "void *kept;",
        '# 3 "/x/../../../../../../secret\\033[31m/../../file.c"',
        "__attribute__((noinline)) void taken(void) { kept = malloc(77); }",
        "int main(void) { taken(); abort(); }")))
    program = hawk.compile_program(os.path.join(hostile, "made"), [source])
    made = hawk.crash([program], hawk.tracer_environment(), hostile)[0]
    hawk.write(os.path.join(folder, "file.c"), "secret\n" * 9)
    below = os.path.join(folder, "below", "deep")
    os.makedirs(below)
    answer = document(made, "taken", f"--sysroot={below}", f"--source-dir={below}")
    hawk.expect_equal(answer["functions"][0]["found"], None, "a path that leads out of a folder")
    text = hawk.run([hawk.CORE, "source", made, "taken"]).stdout
    hawk.expect("\x1b" not in text and "77 B" in text, f"hostile path in {text!r}")


folder = os.path.realpath(hawk.temporary_folder())
hawk.compile_text(folder, "lines", SOURCE, "g++", ["-O2", "-std=c++17"])
path, moved = os.path.join(folder, "lines.cpp"), os.path.join(folder, "moved")
core = hawk.crash([os.path.join(folder, "lines")], hawk.tracer_environment(), folder)[0]
suffixes = ("lines.cpp",)
check_sums(core, SOURCE.splitlines())
orderd = hawk.crash([os.path.join(hawk.SAMPLES, "orderd"), "--requests", "3000", "--crash", "segv"], hawk.tracer_environment(), folder,
                    signals=(6, 11))[0]
suffixes = tuple(os.listdir(os.path.join(hawk.SOURCE, "samples", "orderd")))
if orderd:
    check_sums(orderd, None)
    found = document(orderd, "cache_put")["functions"][0]
    hawk.expect_equal(os.path.basename(found["found"] or ""), "cache.c", "the source of orderd")
suffixes = ("lines.cpp",)
hawk.run_checks({name: check for name, check in globals().items() if name != "check_sums"})
