# SPDX-License-Identifier: Apache-2.0
"""A program of known content for the tests of the command line, its core, and a small validator
for the subset of JSON Schema that docs/schema uses."""

import os
import re

from support import hawk

SOURCE = r"""
#include <atomic>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <vector>

struct Node { char text[40]; };
static void *kept[4096];
static int used;
static char table[64];
static volatile int three = 3; // or the loop would become three call sites

extern "C" __attribute__((noinline)) void make_small(void) { kept[used++] = malloc(24); }
extern "C" __attribute__((noinline)) void make_large(void) { kept[used++] = calloc(1, 300000); }
extern "C" __attribute__((noinline)) void make_node(void) { kept[used++] = new Node; }
extern "C" __attribute__((noinline)) void make_freed(void)
{
	void *volatile block = malloc(5000);
	free(block);
}
extern "C" __attribute__((noinline)) void fill_vector(void)
{
	auto *vector = new std::vector<Node>;
	for (int i = 0; i < 100; i++)
		vector->push_back(Node());
	kept[used++] = vector;
}

static std::atomic<bool> waits;

static void *wait_forever(void *)
{
	char local[64];
	printf("stack %p\n", (void *)local);
	fflush(stdout);
	waits = true;
	for (;;)
		pause();
	return local;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	for (int i = 0; i < 1000; i++)
		make_small();
	for (int i = 0; i < three; i++)
		make_large();
	for (int i = 0; i < 50; i++)
		make_node();
	for (int i = 0; i < 200; i++)
		make_freed();
	fill_vector();
	printf("table %p\nlarge %p\n", (void *)table, kept[1000]);
	fflush(stdout);
	pthread_create(&thread, nullptr, wait_forever, nullptr);
	while (!waits)
		usleep(1000);
	usleep(100000);
	if (argc > 1 && !strcmp(argv[1], "segv"))
		*(volatile int *)8 = 1;
	if (argc > 1 && !strcmp(argv[1], "abort"))
		abort();
	pause();
	return 0;
}
"""


def build(folder, name="world"):
    source = os.path.join(folder, name + ".cpp")
    with open(source, "w", encoding="ascii") as file:
        file.write(SOURCE)
    return hawk.compile_program(os.path.join(folder, name), [source], "g++", ["-O1"])


def crash(folder, how="segv", program=None, environment=None):
    """(core, addresses that the program printed by name)"""
    import signal
    core, done = hawk.crash([program or build(folder), how],
                            environment or hawk.tracer_environment(), folder,
                            (signal.SIGSEGV, signal.SIGABRT))
    return core, {name: int(value, 16) for name, value in
                  re.findall(r"^(\w+) (0x[0-9a-f]+)", done.stdout, re.M)}


def validate(value, schema, root=None, path="$"):
    """Complaints about `value`, as a list."""
    root = root or schema
    if "$ref" in schema:
        target = root
        for part in schema["$ref"].lstrip("#/").split("/"):
            target = target[part]
        return validate(value, target, root, path)
    if "anyOf" in schema and all(validate(value, choice, root, path) for choice in schema["anyOf"]):
        return [f"{path}: {value!r} fits none of anyOf"]
    types = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None),
             "integer": int, "number": (int, float)}
    wanted = schema.get("type", list(types))
    wanted = [wanted] if isinstance(wanted, str) else wanted
    if not any(isinstance(value, types[name]) and (name == "boolean" or not isinstance(value, bool))
               for name in wanted):
        return [f"{path}: {value!r} is no {wanted}"]
    found = []
    if "const" in schema and value != schema["const"]:
        found.append(f"{path}: {value!r} is not {schema['const']!r}")
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{path}: {value!r} is not in {schema['enum']}")
    if isinstance(value, str) and not re.search(schema.get("pattern", ""), value):
        found.append(f"{path}: {value!r} does not match {schema['pattern']}")
    if isinstance(value, (int, float)) and value < schema.get("minimum", value):
        found.append(f"{path}: {value!r} is too small")
    if isinstance(value, list) and "items" in schema:
        for i, item in enumerate(value):
            found += validate(item, schema["items"], root, f"{path}[{i}]")
    if isinstance(value, dict):
        found += validate_object(value, schema, root, path)
    return found


def validate_object(value, schema, root, path):
    found = [f"{path}: {key} is missing" for key in schema.get("required", ()) if key not in value]
    if len(value) > schema.get("maxProperties", len(value)):
        found.append(f"{path}: too many keys")
    for key, part in schema.get("properties", {}).items():
        if key in value:
            found += validate(value[key], part, root, f"{path}.{key}")
    if "if" in schema:
        branch = "else" if validate(value, schema["if"], root, path) else "then"
        found += validate(value, schema.get(branch, {}), root, path)
    return found
