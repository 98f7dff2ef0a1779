# SPDX-License-Identifier: Apache-2.0
"""A site in an interpreter or object library also names who called that: an extension of CPython, a program with GLib."""

import ctypes.util
import os
import subprocess

from support import hawk

EXTENSION = r"""
#include <Python.h>

static PyObject *__attribute__((noinline)) make_item(void)
{
	return PyByteArray_FromStringAndSize(NULL, 900);
}

static PyObject *parse(PyObject *self, PyObject *none)
{
	PyObject *list = PyList_New(0);

	for (int i = 0; i < 3000; i++)
		PyList_Append(list, make_item()); /* the bug: a reference is missing */
	Py_DECREF(list);
	Py_RETURN_NONE;
}

static PyMethodDef methods[] = {{"parse", parse, METH_NOARGS, ""}, {0}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "pym", NULL, -1, methods};

PyMODINIT_FUNC PyInit_pym(void)
{
	return PyModule_Create(&module);
}
"""
SCRIPT = """
import os, pym
pym.parse()
kept = [bytearray(5000) for i in range(1000)]
os.abort()
"""
PROGRAM = r"""
#include <stdlib.h>

void *g_list_prepend(void *list, void *data);
static void *list;

__attribute__((noinline)) void remember(long number)
{
	list = g_list_prepend(list, (void *)number);
}

int main(void)
{
	for (long i = 1; i < 20000; i++)
		remember(i);
	abort();
}
"""


def titles(core):
    section = hawk.text_of("analyze", core, codes=(0, 4)).partition("\nSuspects: ")[2]
    return [line for line in section.splitlines() if line[:1].isdigit() and line[1:3] == ". "]


def check_extension():
    config, python = hawk.need("/usr/bin/python3-config", "/usr/bin/python3")
    flags = subprocess.run([config, "--includes"], capture_output=True, text=True, check=True).stdout.split()
    hawk.compile_text(folder, "pym.so", EXTENSION, flags=["-O1", "-shared", "-fPIC", *flags])
    extra = {"PYTHONPATH": folder, "PYTHONMALLOC": "malloc"}  # so that objects have stacks, too
    core, _ = hawk.crash([python, "-c", SCRIPT], hawk.tracer_environment(extra=extra), folder)
    found = titles(core)
    hawk.expect(any(" < make_item  pym.so.c:" in title for title in found), f"the extension: {found}")
    hawk.expect(len(found) > 1 and not all("pym" in title for title in found), f"a script's objects: {found}")
    text = hawk.text_of("analyze", "--depth=1", core, codes=(0, 4))
    hawk.expect_columns(text, "the screen")
    hawk.expect("make_item" in text.partition("\nSuspects: ")[0], f"in the stack: {text}")


def check_library():
    library = ctypes.util.find_library("glib-2.0")
    if not library:
        print("without GLib")
        return
    program = hawk.compile_text(folder, "lister", PROGRAM, flags=["-O1", "-Wl,--no-as-needed", f"-l:{library}"])
    core, _ = hawk.crash([program], hawk.tracer_environment(), folder)
    found = titles(core)
    hawk.expect(any("g_list_prepend < remember  lister.c:" in title for title in found), f"GLib: {found}")


folder = hawk.temporary_folder()
hawk.run_checks(globals())
