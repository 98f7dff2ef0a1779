# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=600
"""The configuration with packages missing: it stops and names each one that nothing works without, and
lists the features that it leaves out for want of the others. What is left builds, also without cmocka.

Packages are hidden, not removed: pkg-config sees a folder of links without their modules, and PATH one
without their commands."""
# ctest: processors=2

import glob
import os
import re
import shutil
import subprocess

from support import hawk

NEEDED = {"libdw-dev", "libelf-dev", "libxxhash-dev", "liblzma-dev", "zlib1g-dev", "libsqlite3-dev",
          "libedit-dev", "libjansson-dev", "libseccomp-dev", "libprotobuf-c-dev", "protobuf-c-compiler"}
LEFT_OUT = {"libzstd-dev": "cores compressed with zstd", "liblz4-dev": "cores compressed with lz4",
            "libcmocka-dev": "unit tests", "scdoc": "manual pages"}
COMMANDS = ["as", "ar", "c++", "cc", "g++", "gcc", "ld", "ninja", "nm", "objcopy", "objdump", "pkg-config", "protoc-c",
            "ranlib", "readelf", "scdoc", "strip", "uname"]


def packages(name):
    """{package: what proves that it is there} of a list in tests/packages.sh."""
    script = f'. "$0/tests/packages.sh"; echo "${name}"'
    done = hawk.run(["bash", "-c", script, hawk.SOURCE])
    return dict(line.split() for line in done.stdout.splitlines() if line)


def links(folder, paths, without):
    os.makedirs(folder)
    for path in paths:
        target = os.path.join(folder, os.path.basename(path))
        if os.path.basename(path) not in without and not os.path.lexists(target):
            os.symlink(path, target)
    return folder


def configure(build, *arguments, hidden=()):
    """Configures in `build` as if the packages `hidden` were not installed."""
    proofs = [proof.split(":", 1) for package, proof in known.items() if package in hidden]
    scratch = hawk.temporary_folder()
    modules = links(os.path.join(scratch, "modules"), module_files,
                    {what + ".pc" for kind, what in proofs if kind == "pc"})
    # c++ and cc are the same compilers under the names that CMake tries first.
    commands = {what for kind, what in proofs if kind == "command"}
    commands |= {{"gcc": "cc", "g++": "c++"}.get(what, what) for what in commands}
    tools = links(os.path.join(scratch, "tools"),
                  [path for path in map(shutil.which, COMMANDS) if path], commands)
    ignored = [os.path.join(prefix, name) for prefix in ("/", "/usr", "/usr/local") for name in ("bin", "sbin")]
    ignored += [re.sub(r"/libiberty/.*", "", what) for kind, what in proofs if kind == "file"]
    environment = dict(os.environ, PATH=tools, PKG_CONFIG_LIBDIR=modules)
    for name in ("CC", "CXX", "CMAKE_GENERATOR", "CMAKE_C_COMPILER_LAUNCHER", "CMAKE_CXX_COMPILER_LAUNCHER"):
        environment.pop(name, None)
    return subprocess.run(
        [cmake, "-S", hawk.SOURCE, "-B", build, "-G", "Ninja", "-U", "__pkg_config_checked*", "-U", "HAWK_IBERTY*",
         "-U", "HAWK_PROTOC_C",
         "-D", "CMAKE_IGNORE_PATH=" + ";".join(ignored), *arguments],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def expect_stop(build, hidden, *named):
    done = configure(build, "-D", "BUILD_TESTING=OFF", hidden=hidden)
    advice = re.search(r"^ *apt install (.*)", done.stdout, re.M)
    found = set(advice[1].split()) if advice else set()
    hawk.expect(done.returncode != 0, f"configured without {hidden}")
    hawk.expect(found >= set(named) and found <= NEEDED | {"gcc", "g++", "pkg-config", "libiberty-dev"},
                f"without {hidden}: {done.stdout[-600:]}")


def check_stops():
    build = hawk.temporary_folder()
    # All required libraries are missing, then one of each kind. Only the first run tests the compilers.
    libraries = sorted(NEEDED | {"libiberty-dev"})
    expect_stop(build, libraries, *libraries)
    for package in ("libdw-dev", "libiberty-dev", "protobuf-c-compiler"):
        expect_stop(build, [package], package)
    for package in ("gcc", "g++", "pkg-config"):
        expect_stop(hawk.temporary_folder(), [package], package)


def check_left_out():
    build = hawk.temporary_folder()
    # Folders of their own: the way from the command to the tracer must lead through them.
    done = configure(build, "-D", "CMAKE_BUILD_TYPE=None", "-D", "CMAKE_C_FLAGS=-O0",
                     "-D", "CMAKE_DISABLE_FIND_PACKAGE_Python3=ON", "-D", "CMAKE_INSTALL_LIBDIR=lib64",
                     "-D", "CMAKE_INSTALL_BINDIR=libexec/hawk/bin", hidden=LEFT_OUT)
    hawk.expect_equal(done.returncode, 0, f"configured without {sorted(LEFT_OUT)}: {done.stdout[-2000:]}")
    listed = dict(reversed(line) for line in
                  re.findall(r"^-- Left out, package missing: (.*) \((.*)\)$", done.stdout, re.M))
    for package, feature in LEFT_OUT.items():
        hawk.expect_equal(listed.get(package), feature, package)
    hawk.expect("python3" in listed, f"left out: {listed}")
    with open(os.path.join(build, "build.ninja"), encoding="utf-8") as file:
        hawk.expect(r'HAWK_TRACER_INSTALL_DIR=\"../../../lib64/hawk-core\"' in file.read().replace("\\\\", "\\"),
                    "the way from the command to the tracer")
    # The rest of the sources does not ask for them.
    asking = hawk.run(["grep", "-rlE", "--include=*.c", "HAWK_HAVE_(ZSTD|LZ4)", "analyzer"], cwd=hawk.SOURCE)
    listed = hawk.run(["ninja", "-C", build, "-t", "targets", "all"]).stdout
    objects = [re.search(rf"^(\S*\.dir/{re.escape(os.path.relpath(source, 'analyzer'))}\.o):", listed, re.M)[1]
               for source in asking.stdout.split()]
    hawk.expect(len(objects) >= 4, f"sources with a way without them: {objects}")
    done = hawk.run(["ninja", "-C", build, *objects])
    hawk.expect_equal(done.returncode, 0, f"built without zstd and lz4: {done.stdout[-2000:]}")
    hawk.expect("corpus_table:" in listed and "unit.test" not in listed, "fuzz targets need no cmocka")


cmake = shutil.which("cmake")
if not cmake or not shutil.which("ninja"):
    hawk.skip("cmake or ninja is not installed")
known = packages("hawk_packages_build") | packages("hawk_packages_real")
hawk.expect_equal(NEEDED | set(LEFT_OUT) | {"gcc", "g++", "cmake", "ninja-build", "pkg-config", "libiberty-dev"},
                  set(packages("hawk_packages_build")) | {"scdoc"}, "the packages this test knows of")
module_files = [path for folder in subprocess.run(["pkg-config", "--variable=pc_path", "pkg-config"], check=True,
                                                  stdout=subprocess.PIPE, text=True).stdout.strip().split(":")
                for path in glob.glob(os.path.join(folder, "*.pc"))]
hawk.run_checks(globals())
