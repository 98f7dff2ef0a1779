# SPDX-License-Identifier: Apache-2.0
"""Objects of Lua: as many of each type as the program made, with sizes that add up to Lua's own count."""

from support import hawk

# Dies with what it prints still alive, and with garbage that the collector has not met.
PROGRAM = """
local kept = {}
for i = 1, 3000 do kept[i] = {id = i, name = "item " .. i, tags = {i}} end
local points = {}
for i = 1, 2000 do points[i] = {x = i, y = -i} end
local threads = {}
for i = 1, 50 do
  threads[i] = coroutine.create(function(a) local b = a; coroutine.yield(b) end)
  coroutine.resume(threads[i], i)
end
local functions = {}
for i = 1, 70 do functions[i] = function() return i end end
io.stdout:setvbuf("no")
collectgarbage() collectgarbage("stop")
for i = 1, 100 do local garbage = {dead = i} end
os.execute("kill -ABRT $PPID")
"""

MADE = {"Lua table {id,name,tags}": 3000, "Lua table {x,y}": 2000, "Lua table {dead}": 100, "Lua thread": 50,
        "Lua function made.lua:11": 70, "Lua state": 1}


def counts(core):
    rows = hawk.sql(core, "SELECT type, count(*) AS n FROM blocks WHERE type IS NOT NULL GROUP BY 1")
    return {row["type"]: row["n"] for row in rows}


def check_core(core, what, name):
    found = counts(core)
    for kind, count in MADE.items():
        hawk.expect_equal(found.get(kind), count, f"{what}: blocks of {kind}")
    guest, = hawk.document("heap", core)["guests"]
    hawk.expect_equal((guest["name"], guest["states"], guest["checksum"]), (name, 1, "agrees"), f"{what}: the guest")
    hawk.expect("Leaks: none" in hawk.text_of("leaks", core), f"{what}: objects are called lost")


def check_others(core):
    """Another list of guests, an object's path, and the option."""
    guests = hawk.document("heap", core)["guests"]
    hawk.expect_equal(hawk.analyze(core)["heap"]["guests"], guests, "guests in analyze")
    path = hawk.text_of("path", "--type", "^Lua table .x,y.$", "--top=1", core)
    hawk.expect("Lua array" in path, f"a point's path: {path}")
    hawk.expect_equal(hawk.document("heap", "--guest=none", core)["guests"], [], "--guest=none")


folder = hawk.temporary_folder()
hawk.write(f"{folder}/made.lua", PROGRAM.lstrip())
for program, version in (("lua5.1", "Lua 5.1"), ("lua5.3", "Lua 5.3"), ("lua5.4", "Lua 5.4")):
    interpreter = hawk.need(program)
    core, _ = hawk.crash([interpreter, "made.lua"], hawk.plain_environment(), folder)
    check_core(core, program, version)
check_others(core)
core, _ = hawk.crash([interpreter, "made.lua"], hawk.tracer_environment(), folder)
check_core(core, "traced", version)
hawk.finish()
