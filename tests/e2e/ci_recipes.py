# SPDX-License-Identifier: Apache-2.0
"""The recipes of docs/ci.md: their commands are run as they stand there, on a project with a test that leaks and one that
does not."""

import os
import re

from support import hawk

LEAKS = 23
PROJECT = """
cmake_minimum_required(VERSION 3.16)
project(recipes C)
enable_testing()
add_executable(parser_test leaks.c)
add_executable(fine fine.c)
add_test(NAME leaks COMMAND parser_test)
add_test(NAME fine COMMAND fine)
"""
LEAKS_C = """
#include <stdlib.h>
int main(void)
{
	char *volatile block = malloc(100);
	block = NULL;
	return block ? 1 : 0;
}
"""
EXTENSION = """
#include <Python.h>
static PyObject *numbers(PyObject *self, PyObject *count)
{
	PyObject *list = PyList_New(0);

	for (long i = 0; list && i < PyLong_AsLong(count); i++)
		PyList_Append(list, PyLong_FromLong(100000 + i)); // the list has taken a reference of its own
	return list;
}
static PyMethodDef methods[] = {{"numbers", numbers, METH_O, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "extension", NULL, -1, methods, NULL, NULL, NULL, NULL};
PyMODINIT_FUNC PyInit_extension(void)
{
	return PyModule_Create(&module);
}
"""


def section(title):
    """The commands of a section: its fenced block, or those of a YAML file."""
    text = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", page, re.M | re.S)[1]
    block = re.search(r"```(yaml)?\n(.*?)```", text, re.S)
    if not block[1]:
        return block[2].splitlines()
    return re.findall(r"^ +- (?:run: )?((?:cmake|hawk-core) .*|if \[ .*)$", block[2], re.M)


def shell(command):
    return hawk.run(["sh", "-c", command], cwd=folder, env=environment)


def make_project():
    for name, text in (("CMakeLists.txt", PROJECT), ("leaks.c", LEAKS_C), ("fine.c", "int main(void) { return 0; }\n")):
        hawk.write(os.path.join(folder, name), text)


def check_ctest():
    hawk.need("cmake", "ctest")
    done = None
    for command in section("CTest"):
        if hawk.run(["cmake", "--version"]).stdout < "cmake version 3.29":
            command = command.replace("CMAKE_TEST_LAUNCHER", "CMAKE_CROSSCOMPILING_EMULATOR")
        done = shell(command)
    hawk.expect(re.search(r"#1: leaks \.+\*\*\*Failed", done.stdout), f"the leak: {done.stdout}")
    hawk.expect(re.search(r"#2: fine \.+ +Passed", done.stdout), f"no leak: {done.stdout}")
    hawk.expect("Leaks: 1 block, 100 B lost" in done.stdout, f"the report: {done.stdout}")


def check_yaml(title, wanted):
    codes = [shell(command).returncode for command in section(title)]
    hawk.expect_equal(codes, wanted, title)
    hawk.expect("100 B lost" in hawk.read(os.path.join(folder, "leaks.txt")).decode(), f"{title}: leaks.txt")
    hawk.expect_equal(hawk.document("leaks", os.path.join(folder, "parser.hawk"), codes=(1,))["lost"]["objects"], 1, title)
    for name in "leaks.txt", "parser.hawk":
        os.remove(os.path.join(folder, name))


def check_github_and_gitlab():
    check_yaml("GitHub Actions", [0, LEAKS])
    check_yaml("GitLab", [0, LEAKS, 0])


def check_pytest():
    python = "/usr/bin/python3"
    if hawk.run([python, "-c", "import pytest"]).returncode:
        hawk.skip("pytest is not installed; all else was checked")
    flags = hawk.run([python, "-c", "import sysconfig; print(sysconfig.get_path('include'))"]).stdout.strip()
    tests = os.path.join(folder, "tests")
    os.makedirs(tests)
    hawk.compile_program(os.path.join(tests, "extension.so"),
                         [hawk.write(os.path.join(folder, "extension.c"), EXTENSION)],
                         flags=("-shared", "-fPIC", "-O1", f"-I{flags}"))
    hawk.write(os.path.join(tests, "test_extension.py"),
               "import extension\n\n\ndef test_numbers():\n    assert len(extension.numbers(50)) == 50\n")
    command, = section("pytest")
    done = shell(command.replace("python3", python))
    hawk.expect_equal(done.returncode, LEAKS, f"pytest: {done.stderr}")
    hawk.expect("Leaks: 50 blocks" in done.stderr and "extension.c:8" in done.stderr, f"pytest: {done.stderr}")
    hawk.write(os.path.join(tests, "test_extension.py"), "def test_nothing():\n    assert True\n")
    hawk.expect_equal(shell(command.replace("python3", python)).returncode, 0, "pytest without a leak")


folder = hawk.temporary_folder()
page = hawk.read(os.path.join(hawk.SOURCE, "docs", "ci.md")).decode()
commands = os.path.join(folder, "bin")
os.mkdir(commands)
os.symlink(hawk.CORE, os.path.join(commands, "hawk-core"))
environment = hawk.plain_environment(extra={"PATH": commands + ":" + os.environ["PATH"]})
make_project()
hawk.run_checks(globals())
