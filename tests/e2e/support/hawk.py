# SPDX-License-Identifier: Apache-2.0
"""Shared by the end-to-end scripts: paths, temporary folders, traced runs, cores, analyses.

A script collects failures with expect() and leaves by finish(). skip() ends it with 77. Nothing is
written outside of the temporary folder, and every process started is waited for.
"""

import atexit
import functools
import gc
import glob
import inspect
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

from support import json_schema

SOURCE = os.environ.get("HAWK_SOURCE") or os.path.abspath(
    os.path.join(os.path.dirname(__file__), "..", "..", ".."))
BUILD = os.environ.get("HAWK_BUILD") or os.path.join(SOURCE, "build")
CORE = os.environ.get("HAWK_CORE") or os.path.join(BUILD, "analyzer", "hawk-core")
TRACER = os.environ.get("HAWK_TRACER") or os.path.join(BUILD, "tracer", "libhawk_tracer.so")
# Few tests need the debug files of Debian's libraries. Unpacking the C library's takes three quarters of the time of a
# small answer.
os.environ["HAWK_DEBUG_DIR"] = "/nonexistent"
SAMPLES = os.environ.get("HAWK_SAMPLES") or os.path.join(BUILD, "samples")
PROGRAMS = os.path.join(SOURCE, "tests", "e2e", "programs")

EXIT_OK, EXIT_CONDITION, EXIT_USAGE, EXIT_UNREADABLE, EXIT_PARTIAL = 0, 1, 2, 3, 4
EXIT_SKIPPED = 77

ALLOCATORS = {
    "glibc": None,
    "jemalloc": "libjemalloc.so.2",
    "tcmalloc": "libtcmalloc_minimal.so.4",
    "mimalloc": "libmimalloc.so.2",
}

# Documents of a hundred megabytes would be looked through for cycles again and again while they are read.
gc.disable()

_failures = []
_temporary = []


if not (os.path.exists(CORE) and os.path.exists(TRACER)):
    sys.exit(f"{CORE} or {TRACER} has not been built")
# Python would take a script for the module of its own that is called so.
_clash = {os.path.splitext(name)[0] for name in os.listdir(os.path.dirname(PROGRAMS))} & sys.stdlib_module_names
if _clash:
    sys.exit(f"tests called like modules of Python: {_clash}")


def skip(reason):
    """Ends the script; what has failed before is a failure all the same."""
    if _failures:
        finish()
    print("skipped:", reason)
    sys.exit(EXIT_SKIPPED)


def expect(condition, message):
    """Records a failure and goes on; returns whether the condition held."""
    if not condition:
        _failures.append(message)
        if len(_failures) <= 40:
            print("FAILED:", message, flush=True)
    return bool(condition)


def expect_equal(found, wanted, what):
    return expect(found == wanted, f"{what}: found {found!r}, wanted {wanted!r}")


def finish():
    if _failures:
        print(f"{len(_failures)} failures")
        sys.exit(1)
    print("ok")
    sys.exit(0)


def run_checks(names):
    """Calls each check_...() of a script that takes no arguments, in the order of the file; then finish()."""
    for name, check in list(names.items()):
        if name.startswith("check_") and not inspect.signature(check).parameters:
            check()
    finish()


def expect_columns(text, what, columns=80):
    for line in text.splitlines():
        expect(len(line) <= columns, f"{what}: wider than {columns} columns: {line!r}")


def need(*programs):
    """Paths of programs, or a skip. Debian's own come first: a version manager's python3 is a shell script."""
    found = []
    for program in programs:
        path = shutil.which(program, path="/usr/bin:/bin:/usr/sbin:/sbin:/usr/games") or shutil.which(program) or next(
            (p for p in glob.glob(f"/usr/lib/postgresql/*/bin/{program}")), None)
        if not path:
            skip(f"{program} is not installed")
        found.append(path)
    return found if len(found) > 1 else found[0]


def find_allocator(name):
    """Path of the allocator's library; None if it is the C library's own, or not installed."""
    for folder in ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/local/lib", "/usr/lib"):
        path = os.path.join(folder, ALLOCATORS[name] or "")
        if os.path.isfile(path):
            return path
    return None


def need_allocator(name):
    """Path of the allocator's library, None for the C library's own, or a skip."""
    if ALLOCATORS[name] and not find_allocator(name):
        skip(f"{ALLOCATORS[name]} is not installed")
    return find_allocator(name)


def temporary_folder():
    """A folder that goes away with the script (kept with HAWK_KEEP=1)."""
    path = tempfile.mkdtemp(prefix="hawk-test-")
    if not _temporary:
        atexit.register(_remove_temporary)
    _temporary.append(path)
    return path


def _remove_temporary():
    if os.environ.get("HAWK_KEEP"):
        print("kept:", *_temporary)
        return
    for path in _temporary:
        shutil.rmtree(path, ignore_errors=True)


def compile_program(output, sources, compiler="gcc", flags=()):
    """Builds a test program. `sources` are names in programs/ or absolute paths."""
    command = [need(compiler), "-D_GNU_SOURCE", "-g", *flags, "-o", output]
    command += [os.path.join(PROGRAMS, source) for source in sources]
    done = subprocess.run(command + ["-pthread", "-ldl"], capture_output=True, text=True)
    if done.returncode:
        print(" ".join(command), done.stderr, sep="\n")
        sys.exit(1)
    return output


def compile_text(folder, name, text, compiler="gcc", flags=()):
    """Builds `folder`/`name` from the text of a C or C++ program."""
    source = write(os.path.join(folder, name + (".cpp" if compiler.endswith("++") else ".c")), text)
    return compile_program(os.path.join(folder, name), [source], compiler, flags)


def compile_mixed(output, c_sources, cxx_sources, compiler="gcc", flags=()):
    """As compile_program(), with C and C++ parts."""
    cxx = {"gcc": "g++", "clang": "clang++"}[compiler]
    objects = []
    for source in c_sources:
        target = f"{output}.{os.path.basename(source)}.o"
        compile_program(target, [source], compiler, [*flags, "-c"])
        objects.append(target)
    extra = ["-std=c++17"] + (["-fsized-deallocation"] if compiler == "clang" else [])
    return compile_program(output, [*cxx_sources, *objects], cxx, [*flags, *extra])


def write(path, content):
    """Writes text or bytes; returns the path. A core that is written again and again keeps its pages."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o666), "wb") as file:
        file.write(content if isinstance(content, (bytes, bytearray)) else content.encode())
        file.truncate()
    return path


def read(path):
    with open(path, "rb") as file:
        return file.read()


def cut(core, size, name="cut"):
    """The first `size` bytes of a core, in a file beside it."""
    path = os.path.join(os.path.dirname(core), name)
    shutil.copyfile(core, path)
    os.truncate(path, size)
    return path


def strip_to_debug_file(program):
    """Moves the debug information of `program` into PROGRAM.debug, linked by .gnu_debuglink."""
    objcopy = need("objcopy")
    debug = program + ".debug"
    folder, name = os.path.split(program)
    for arguments in (["--only-keep-debug", name, os.path.basename(debug)], ["--strip-all", name],
                      [f"--add-gnu-debuglink={os.path.basename(debug)}", name]):
        subprocess.run([objcopy, *arguments], cwd=folder, check=True)
    return debug


def tracer_environment(allocator=None, options=None, extra=None):
    """An environment in which a program is traced, with `allocator` (a path) underneath."""
    environment = dict(os.environ)
    environment["LD_PRELOAD"] = TRACER + (":" + allocator if allocator else "")
    environment.pop("HAWK_OPTS", None)
    if options:
        environment["HAWK_OPTS"] = options
    environment.update(extra or {})
    return environment


def use_debug_files():
    """Lets all that follows find the debug files that packages installed."""
    del os.environ["HAWK_DEBUG_DIR"]


def plain_environment(allocator=None, extra=None):
    environment = dict(os.environ)
    environment.pop("LD_PRELOAD", None)
    environment.pop("HAWK_OPTS", None)
    if allocator:
        environment["LD_PRELOAD"] = allocator
    environment.update(extra or {})
    return environment


def run(arguments, **options):
    """subprocess.run() with captured text and a time limit."""
    options.setdefault("timeout", 240)
    if "input" not in options:
        options.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.run(arguments, capture_output=True, text=True, errors="replace", **options)


def spawn(arguments, **options):
    """subprocess.Popen() of something that is killed at the latest when the script ends."""
    process = subprocess.Popen(arguments, **options)
    atexit.register(lambda: process.poll() is None and (process.kill(), process.wait()))
    return process


def small_stacks():
    """Threads of the programs started from now on get stacks of 1 MiB: their cores are small."""
    resource.setrlimit(resource.RLIMIT_STACK, (1 << 20, resource.getrlimit(resource.RLIMIT_STACK)[1]))


def cores_are_files():
    """Returns true if the kernel puts a core into the working directory of the process."""
    with open("/proc/sys/kernel/core_pattern", encoding="ascii") as pattern:
        text = pattern.read().strip()
    allowed = resource.getrlimit(resource.RLIMIT_CORE)[1] != 0
    return allowed and bool(text) and not text.startswith("|") and "/" not in text


def allow_cores():
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
    # private anonymous, shared anonymous, ELF headers, private huge pages: the kernel's default
    try:
        with open("/proc/self/coredump_filter", "w", encoding="ascii") as filter_file:
            filter_file.write("0x33")
    except OSError:
        pass


def crash(arguments, environment, folder, signals=(signal.SIGABRT,), timeout=240):
    """Runs a program that dies; returns (core path, completed process).

    Where the kernel hands cores to somebody else, gdb stands in and writes the core itself.
    """
    before = set(os.listdir(folder))
    if cores_are_files():
        done = run(arguments, env=environment, cwd=folder, preexec_fn=allow_cores,
                   timeout=timeout)
        if -done.returncode not in signals:
            print(done.stdout[-2000:], done.stderr[-2000:])
            expect(False, f"{arguments[0]} ended with {done.returncode}, not with {signals}")
            return None, done
        cores = [name for name in os.listdir(folder)
                 if name not in before and re.match(r"^(.*\.)?core(\.|$)", name)]
        if not expect(len(cores) == 1, f"{arguments[0]}: {len(cores)} cores"):
            return None, done
        return put_aside(os.path.join(folder, cores[0])), done

    core = os.path.join(folder, f"core.gdb.{len(before)}")
    variables = [item for name, value in environment.items()
                 if value != os.environ.get(name)
                 for item in ("-ex", f"set environment {name} {value}")]
    done = run([need("gdb"), "-batch", "-nx", "-ex", "set startup-with-shell off", *variables,
                "-ex", "handle SIGUSR1 SIGUSR2 SIGALRM nostop noprint pass",
                "-ex", "run", "-ex", f"generate-core-file {core}", "--args", *arguments],
               env=plain_environment(), cwd=folder, timeout=timeout)
    if not os.path.exists(core):
        print(done.stdout[-2000:], done.stderr[-2000:])
        skip("the kernel writes no core files here, and gdb could not")
    return core, done


def put_aside(core):
    """Another name, so that the next core in the same folder is a new file."""
    put_aside.count += 1
    path = f"{core}-{put_aside.count}"
    os.rename(core, path)
    return path


put_aside.count = 0


def gcore(pid, folder, dump_all=False):
    """A core of a running process, written by gdb's gcore. It goes on afterwards."""
    prefix = os.path.join(folder, "gcore")
    command = [need("gcore"), *(["-a"] if dump_all else []), "-o", prefix, str(pid)]
    done = run(command)
    core = f"{prefix}.{pid}"
    if not os.path.exists(core):
        print(done.stdout[-2000:], done.stderr[-2000:])
        skip("gcore may not attach to processes here")
    return core


def parse(text):
    """A JSON document; beside each `stack`, numbers of frames in the document's table, `frames` has those."""
    document = json.loads(text)
    table = document.pop("frames", [])

    def resolve(value):
        for inner in value.values() if isinstance(value, dict) else value:
            if isinstance(inner, (dict, list)):
                resolve(inner)
        if isinstance(value, dict) and isinstance(value.get("stack"), list):
            value["frames"] = [table[number] for number in value["stack"]]

    resolve(document)
    return document


def analyze(core, *arguments, codes=(EXIT_OK, EXIT_PARTIAL)):
    """`hawk-core analyze --json`, parsed."""
    done = run([CORE, "analyze", "--json", *arguments, core])
    if done.returncode not in codes:
        print(done.stdout[-2000:], done.stderr[-4000:])
        expect(False, f"analyze {core} exited with {done.returncode}")
        return None
    try:
        return parse(done.stdout)
    except json.JSONDecodeError as error:
        print(done.stdout[:2000], done.stderr[-2000:])
        expect(False, f"analyze --json printed no JSON: {error}")
        return None


def blocks(core, *arguments):
    """`hawk-core blocks --json`, as a list of dictionaries."""
    done = run([CORE, "blocks", "--json", *arguments, core])
    if done.returncode not in (EXIT_OK, EXIT_PARTIAL):
        print(done.stdout[-2000:], done.stderr[-4000:])
        expect(False, f"blocks {core} exited with {done.returncode}")
        return []
    return [json.loads(line) for line in done.stdout.splitlines()]


def text_of(*arguments, codes=(EXIT_OK,), **options):
    """Returns the output of `hawk-core ARGUMENTS`; its exit code must be one of `codes`."""
    done = run([CORE, *arguments], **options)
    expect(done.returncode in codes, f"{' '.join(arguments)}: exit code {done.returncode}: {done.stderr[-300:]}")
    return done.stdout


def document(verb, *arguments, codes=(EXIT_OK,), **options):
    """`hawk-core VERB --json ARGUMENTS`, parsed; it must keep to its schema."""
    text = text_of(verb, "--json", *arguments, codes=codes, **options) or "{}"
    schema = json_schema.load(f"{verb}-3.json")
    complaints = json_schema.validate(json.loads(text), schema)
    expect(not complaints, f"{verb} {arguments}: {complaints[:3]}")
    return parse(text)


def sql(core, query, *options):
    """Rows of `hawk-core sql`, as dictionaries."""
    return json.loads(text_of("sql", "--json", *options, core, query, codes=(EXIT_OK, EXIT_PARTIAL)) or "[]")


def sites_by_id(analysis):
    return {site["site"]: site for site in analysis["sites"]}


def functions_of(site):
    """Function names of a site, leaf first, without parameters and clone suffixes."""
    return [plain_name(frame.get("function")) for frame in site["frames"]]


@functools.cache
def plain_name(function):
    """`void* ns::f<int>(char) [clone .isra.0]` -> `ns::f<int>`."""
    if not function:
        return ""
    name = re.sub(r" \[clone [^]]*\]", "", function)
    name = re.sub(r"\.(constprop|isra|part|cold|lto_priv|llvm)\.?[\d.]*", "", name)
    depth = 0
    for i, character in enumerate(name):
        if character in "<":
            depth += 1
        elif character == ">" and name[i - 1:i] != "-":
            depth -= 1
        elif character == "(" and depth <= 0 and not name.startswith("(anonymous", i) and \
                not name[:i].endswith("operator"):
            return name[:i].split(" ")[-1] if "<" not in name[:i] else name[:i]
    return name


def wait_for(condition, seconds, what):
    """Polls until `condition()` is true; returns its value or records a failure."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.05)
    expect(False, f"waited {seconds} s in vain for {what}")
    return None


def listens(path):
    """Returns true if a process listens at the Unix socket: its file is there a moment before."""
    with open("/proc/net/unix", encoding="utf-8") as file:
        return any(line.split()[3] == "00010000" and line.endswith(f" {path}\n") for line in file)


def state_of(pid):
    """The letter of /proc/PID/stat: S sleeps, R runs, T was stopped, t is traced and stands."""
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
        return stat.read().rpartition(")")[2].split()[0]


def wait_for_state(pid, letters, what, seconds=60):
    wait_for(lambda: state_of(pid) in letters, seconds, f"{what}: state {letters}")


def side_by_side(*checks):
    """Each check in a child; what any of them finds is a failure here."""
    sys.stdout.flush()
    children = {}
    for check in checks:
        child = os.fork()
        if not child:
            code = 1
            try:
                before = len(_failures)
                check()
                code = int(len(_failures) > before)
            except Exception:  # pylint: disable=broad-except
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        children[child] = check
    for child, check in children.items():
        _, status = os.waitpid(child, 0)
        expect(status == 0, f"{check.__name__} {list(children).index(child)}: status {status}")


def free_port():
    import socket
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def check_counters(analysis, what, in_flight=0):
    """The sweep's totals must be the table's: allocations - frees, give or take calls in flight."""
    heap = analysis["heap"]
    if not expect(heap["traced"], f"{what}: not traced"):
        return
    objects = heap["alloc_objects"] - heap["free_objects"]
    size = heap["alloc_bytes"] - heap["free_bytes"]
    expect(abs(heap["inuse_objects"] - objects) <= in_flight,
           f"{what}: swept {heap['inuse_objects']} blocks, counted {objects}")
    if in_flight == 0:
        expect_equal(heap["inuse_bytes"], size, f"{what}: bytes")
    expect_equal(heap["dropped"], 0, f"{what}: dropped")
    totals = [sum(site[key] for site in analysis["sites"])
              for key in ("inuse_objects", "inuse_bytes")]
    expect_equal(totals, [heap["inuse_objects"], heap["inuse_bytes"]], f"{what}: sum of sites")
