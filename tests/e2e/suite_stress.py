# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=600
"""stress-ng's memory stressors, scripts of small interpreters, and the C library's tunables."""

import os

import stress
from support import hawk, suites

LUA = """
local all, seed = {}, 42
local function random(n) seed = (seed * 1103515245 + 12345) % 2147483648; return seed % n end
for i = 1, 60000 do
  local key = "k" .. random(5000)
  if random(3) == 0 then all[key] = nil
  else all[key] = {string.rep("x", random(300)), i, function() return i end} end
end
collectgarbage()
local count, bytes = 0, 0
for _, entry in pairs(all) do count, bytes = count + 1, bytes + #entry[1] + entry[3]() % 7 end
local threads = {}
for i = 1, 500 do
  threads[i] = coroutine.wrap(function() for j = 1, 20 do coroutine.yield(i * j) end end)
end
local sum = 0
for j = 1, 20 do for i = 1, 500 do sum = sum + threads[i]() end end
print(count, bytes, sum)
"""
SQL = """
create table t(id integer primary key, text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)
  insert into t select i, hex(zeroblob(i % 50)) from n;
create index t_text on t(text);
delete from t where id % 3 = 0; update t set text = text || id; vacuum;
pragma integrity_check; select count(*), sum(length(text)), max(text) from t;
"""
STRESSORS = [["--malloc", "2", "--malloc-ops", "4000", "--malloc-bytes", "64M"],
             ["--malloc", "2", "--malloc-ops", "1000", "--malloc-pthreads", "4",
              "--malloc-bytes", "32M"],
             ["--heapsort", "1", "--heapsort-ops", "1"],
             ["--mmap", "1", "--mmap-ops", "5", "--mmap-bytes", "16M"],
             ["--bigheap", "1", "--bigheap-ops", "100", "--bigheap-growth", "256K"],
             ["--skiplist", "1", "--skiplist-ops", "1"], ["--tree", "1", "--tree-ops", "1"]]
TUNABLES = ["glibc.malloc.tcache_count=0:glibc.malloc.arena_max=1",
            "glibc.malloc.perturb=165:glibc.malloc.mmap_threshold=4096:glibc.malloc.mxfast=0",
            "glibc.malloc.hugetlb=1"]
DEBUG_LIBRARY = "/lib/x86_64-linux-gnu/libc_malloc_debug.so.0"


def stress_ng(folder):
    program = hawk.need("stress-ng")
    for stressor in STRESSORS:
        suites.same([program, "--quiet", "--verify", "--temp-path", folder, *stressor],
                    f"stress-ng {stressor[0]}", folder, code=0)


def interpreters(folder):
    lua, sqlite = hawk.need("lua5.4", "sqlite3")
    suites.same([lua, "-e", LUA], "lua", folder, code=0)
    suites.same([sqlite, ":memory:", SQL], "sqlite3", folder, code=0)


def tunables(folder):
    program = stress.build(folder)
    settings = [({"GLIBC_TUNABLES": setting}, None, 1) for setting in TUNABLES]
    if os.path.exists(DEBUG_LIBRARY):  # it holds no lock across fork()
        settings.append(({"GLIBC_TUNABLES": "glibc.malloc.check=3"}, DEBUG_LIBRARY, 0))
        settings.append(({"MALLOC_CHECK_": "3", "MALLOC_PERTURB_": "90"}, DEBUG_LIBRARY, 0))
    for environment, library, forks in settings:
        suites.same([program, os.path.join(folder, "shadow"), "2", "1", "7", str(forks), folder,
                     "end"], str(environment), folder, library, environment, code=0)


folder = hawk.temporary_folder()
stress_ng(folder)
interpreters(folder)
tunables(folder)
hawk.finish()
