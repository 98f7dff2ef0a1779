# SPDX-License-Identifier: Apache-2.0
"""The subset of JSON Schema that docs/schema uses."""

import functools
import json
import os
import re

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "docs", "schema")


@functools.cache
def load(name):
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        return json.load(file)


def resolve(reference, root):
    """Resolves "#/$defs/frame" or "common-3.json#/$defs/frame"; returns the value and its document."""
    name, _, path = reference.partition("#")
    root = target = load(name) if name else root
    for part in path.strip("/").split("/"):
        target = target[part]
    return target, root


def validate(value, schema, root=None, path="$"):
    """Complaints about `value`, as a list."""
    root = root or schema
    if "$ref" in schema:
        return validate(value, *resolve(schema["$ref"], root), path)
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


def check_list(value, name, path):
    """A list that may be cut says how much of it is shown."""
    entries, shown, total = (value[name + end] for end in ("", "_shown", "_total"))
    if None in (entries, shown, total):
        return [f"{path}.{name}: {shown} of {total}"] if {entries is None, shown, total} != {True, None} else []
    return [] if len(entries) == shown <= total else [f"{path}.{name}: {len(entries)}, {shown} of {total}"]


STACKS = {"stack": 8, "functions": 8, "steps": 32}  # cut by --depth


def cut_wrongly(value, top):
    """The lists that are longer than with --top=`top`, though there is more, or shorter. A tree has its own rule."""
    found = []
    for key, entry in value.items() if isinstance(value, dict) else ():
        if key.endswith("_shown") and entry is not None and key != "tree_shown":
            name = key[:-len("_shown")]
            most = [STACKS.get(name, top)] + [top] * (name == "functions")  # of `source`: functions, not a stack
            if entry not in [min(one, value[name + "_total"]) for one in most]:
                found.append(f"{entry} of {value[name + '_total']} {name}")
    for entry in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        found += cut_wrongly(entry, top)
    return found


def validate_object(value, schema, root, path):
    found = [f"{path}: {key} is missing" for key in schema.get("required", ()) if key not in value]
    for key in value:
        if key.endswith("_shown") and not found:
            found += check_list(value, key[:-len("_shown")], path)
    if len(value) > schema.get("maxProperties", len(value)):
        found.append(f"{path}: too many keys")
    for key, part in schema.get("properties", {}).items():
        if key in value:
            found += validate(value[key], part, root, f"{path}.{key}")
    if "if" in schema:
        branch = "else" if validate(value, schema["if"], root, path) else "then"
        found += validate(value, schema.get(branch, {}), root, path)
    return found
