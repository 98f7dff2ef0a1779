# SPDX-License-Identifier: Apache-2.0
"""Help, manual pages and completion say the same as the option tables; wrong command lines are
answered by exit code 2 and one line that helps."""

import os
import re
import shutil

from support import hawk


def tool(*arguments, **options):
    return hawk.run([hawk.CORE, *arguments], **options)


def all_verbs():
    """As the help lists them."""
    return [verb for verb in re.findall(r"^  ([a-z][a-z-]*)  +\S", tool("help").stdout, re.M)
            if verb != "help"]


def options_of(help_text):
    return re.findall(r"^  (?:-\w, )?(--[a-z-]+)", help_text, re.M)


def check_help():
    done = tool("help")
    hawk.expect_equal(done.returncode, 0, "help")
    for verb in verbs:
        hawk.expect(re.search(rf"^  {verb} ", done.stdout, re.M), f"help does not list {verb}")
        by_verb, by_option = tool("help", verb), tool(verb, "--help")
        hawk.expect_equal((by_verb.returncode, by_option.returncode), (0, 0), f"help {verb}")
        hawk.expect_equal(by_option.stdout, by_verb.stdout, f"{verb} --help")
        hawk.expect(len(options_of(by_verb.stdout)) >= 4, f"options of {verb}")
        hawk.expect_columns(by_verb.stdout, f"help {verb}")
    hawk.expect_equal(tool("--help").stdout, done.stdout, "--help")
    hawk.expect(re.fullmatch(r"hawk-core \d+\.\d+\.\d+\n", tool("--version").stdout), "--version")


def check_manual_pages():
    """Every option of --help stands in the page, and the page knows no other."""
    for verb in verbs:
        path = os.path.join(hawk.SOURCE, "docs", "man", f"hawk-core-{verb}.1.scd")
        with open(path, encoding="utf-8") as file:
            page = file.read()
        section = page.split("# OPTIONS")[1].split("\n# ")[0]
        listed = set(re.findall(r"\*(--[a-z-]+)\*=?", section))
        wanted = set(options_of(tool("help", verb).stdout))
        hawk.expect(wanted <= listed, f"{verb}(1) lacks {sorted(wanted - listed)}")
        described = set(re.findall(r"^(?:\*-\w\*, )?\*(--[a-z-]+)\*", section, re.M))
        hawk.expect(described <= wanted, f"{verb}(1) invents {sorted(described - wanted)}")
        for letter, option in re.findall(r"^  -(\w), (--[a-z-]+)", tool("help", verb).stdout, re.M):
            hawk.expect(f"*-{letter}*, *{option}*" in section, f"{verb}(1): -{letter}, {option}")
    with open(os.path.join(hawk.SOURCE, "docs", "man", "hawk-core.1.scd"),
              encoding="utf-8") as file:
        page = file.read()
    for verb in verbs:
        hawk.expect(f"*hawk-core-{verb}*(1)" in page, f"hawk-core(1) does not name {verb}")


def complete(script, *words):
    """Returns bash's completions of the last word."""
    line = " ".join(f"'{word}'" for word in words)
    program = f"source {script}; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _hawk_core; " \
              "printf '%s\\n' \"${COMPREPLY[@]}\""
    done = hawk.run(["bash", "--norc", "-c", program], cwd=folder)
    hawk.expect_equal(done.stderr, "", f"completion of {words}")
    return done.stdout.split()


def check_completion():
    script = os.path.join(folder, "completion")
    hawk.write(script, tool("help", "completion").stdout)
    hawk.expect_equal(complete(script, "hawk-core", "an"), ["analyze"], "completed verb")
    hawk.expect_equal(complete(script, "hawk-core", "analyze", "--mi"), ["--min-bytes"],
                      "completed option")
    hawk.expect_equal(complete(script, "hawk-core", "analyze", "--sort", "="),
                      ["size", "count", "total", "cum"], "completed choice")
    hawk.expect_equal(complete(script, "hawk-core", "analyze", "--color", "=", "n"), ["never"],
                      "completed choice behind =")
    for verb in verbs:
        hawk.expect_equal(sorted(complete(script, "hawk-core", verb, "--")),
                          sorted(options_of(tool("help", verb).stdout)), f"options of {verb}")
    with open(os.path.join(folder, "core.77"), "w", encoding="ascii"):
        pass
    hawk.expect("core.77" in complete(script, "hawk-core", "analyze", "core."), "completed file")


def check_usage_errors():
    core = os.path.join(folder, "no-such-core")
    for arguments, word in (
            ([], "command"),
            (["analyse"], "unknown command 'analyse' (did you mean analyze?)"),
            (["anlyze"], "analyze"),
            (["bocks"], "blocks"),
            (["frobnicate"], "help"),
            (["lekas"], "(did you mean leaks?)"),
            (["--json"], "analyze needs one core file"),
            (["--json", "leaks", core], "leaks: the command comes first"),
            (["-n", "1", "leaks", core], "leaks: the command comes first"),
            (["analyze"], "core"),
            (["analyze", core, core], "core"),
            (["analyze", "--pid", "1", core], "core"),
            (["analyze", "--nonsense", core], "--nonsense"),
            (["analyze", "-Z", core], "unknown option -Z"),
            (["analyze", "--tpo=5", core], "unknown option --tpo (did you mean --top?)"),
            (["analyze", "--s", core], "option --s is short for several"),
            (["analyze", "--json=yes", core], "option --json takes no argument"),
            (["analyze", core, "-p"], "option -p needs an argument"),
            (["analyze", core, "--pid"], "option --pid needs an argument"),
            (["analyze", "--top", core], "--top"),
            (["analyze", core, "--top"], "--top"),
            (["analyze", "--top", "0", core], "--top"),
            (["analyze", "--top", "-3", core], "--top"),
            (["analyze", "--sort", "colour", core], "size|count|total"),
            (["analyze", "--by", "", core], "--by"),
            (["analyze", "--min-bytes", "many", core], "--min-bytes"),
            (["analyze", "--focus", "(", core], "regular expression"),
            (["analyze", "--ignore", "[", core], "regular expression"),
            (["analyze", "--focus", "(a{1,99}){20}", core], "multiply"),
            (["analyze", "--focus", "(a)\\1", core], "back-references"),
            (["analyze", "--pid", "99999999999"], "process"),
            (["analyze", "--pid", "self"], "--pid"),
            (["blocks"], "core"),
            (["blocks", "--site", "xyz", core], "--site"),
            (["blocks", "--size", "5-1", core], "--size"),
            (["blocks", "--age", "soon", core], "--age"),
            (["blocks", "--function", "*(", core], "regular expression"),
            (["whatis", core], "address"),
            (["whatis", core, "here"], "here"),
            (["run"], "program"),
            (["run", "--option", "depth", "true"], "--option"),
            (["run", "-o", "unknown=1", "true"], "unknown option unknown of the tracer; it knows help, progname, stacks,"),
            (["run", "-o", "dept=9", "true"], "(did you mean depth?)"),
            (["run", "--opts", "progname=a\\:b:stack=0", "true"], "(did you mean stacks?)"),
            (["schema", core], "--type"),
            (["run", "--depth", "deep", "true"], "--depth"),
            (["help", "completion", "tcsh"], "bash, zsh and fish"),
            (["help", "frobnicate"], "frobnicate")):
        done = tool(*arguments)
        what = " ".join(arguments)
        hawk.expect_equal(done.returncode, hawk.EXIT_USAGE, f"exit code of: {what}")
        hawk.expect_equal(done.stdout, "", f"output of: {what}")
        hawk.expect(done.stderr.startswith("hawk-core: ") and done.stderr.count("\n") == 1,
                    f"message of: {what}: {done.stderr!r}")
        hawk.expect(word in done.stderr, f"{what}: no {word!r} in {done.stderr!r}")


def check_missing_files():
    """A file that is not there is no mistyped command; suggestions are near."""
    for word in ("core", "top", "image", "core.78", "/no/core"):
        done = tool(word, cwd=folder)
        hawk.expect_equal((done.returncode, done.stderr),
                          (hawk.EXIT_USAGE, f"hawk-core: there is no file '{word}', and no command of that name; "
                           "hawk-core help lists the commands\n"), word)
    for option in ("--bogus", "--zzz"):
        done = tool("analyze", option, "core")
        hawk.expect_equal(done.stderr, f"hawk-core: unknown option {option}; see hawk-core help analyze\n", option)


def check_plain_words():
    """Messages are plain sentences."""
    done = tool("merge-paths", "no-core", "xyz")
    hawk.expect_equal(done.stderr, "hawk-core: 'xyz' is not the id of a site\n", "a site")


def check_abbreviations_and_bundles():
    """getopt's habits: --js for --json, -jn2, options behind operands."""
    missing = os.path.join(folder, "no-such-core")
    for arguments in (["--js"], ["-jn2"], ["-j", "-n", "2"], ["--top=2"]):
        done = tool("analyze", missing, *arguments)
        hawk.expect_equal(done.returncode, hawk.EXIT_UNREADABLE, f"analyze CORE {arguments}")


folder = hawk.temporary_folder()
verbs = all_verbs()
hawk.expect(len(verbs) >= 4, f"verbs {verbs}")
check_help()
check_manual_pages()
if shutil.which("bash"):
    check_completion()
check_usage_errors()
check_missing_files()
check_plain_words()
check_abbreviations_and_bundles()
hawk.finish()
