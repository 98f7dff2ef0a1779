# SPDX-License-Identifier: Apache-2.0
# ctest: serial
"""redis-server, loaded by redis-benchmark over the loopback."""

import signal
import subprocess

from support import hawk, real


def command(cli, port, *words):
    return hawk.run([cli, "-p", str(port), *words]).stdout


def check_memory_commands(cli, port):
    """Their figures come from malloc_usable_size and mallctl."""
    usage = int(command(cli, port, "memory", "usage", "k150") or 0)
    hawk.expect(150 <= usage <= 500, f"memory usage of 150 bytes: {usage}")
    stats = command(cli, port, "memory", "stats")
    hawk.expect("allocator.allocated" in stats, f"memory stats: {stats[:300]}")
    info = {}

    def agrees():
        """What is used is of now, what is allocated of up to 0.1 s ago."""
        info.update(line.split(":", 1) for line in command(cli, port, "info", "memory").splitlines() if ":" in line)
        return 0 < int(info["used_memory"]) <= int(info["allocator_allocated"])
    hawk.wait_for(agrees, 10, "no more bytes to be in use than are allocated")
    hawk.expect("jemalloc" in info["mem_allocator"], info["mem_allocator"])
    hawk.expect(command(cli, port, "memory", "malloc-stats"), "memory malloc-stats")


def session(server, cli, benchmark, folder, traced):
    """Loads a server, asks for what it holds; returns (answers, core)."""
    port = hawk.free_port()
    environment = hawk.tracer_environment() if traced else hawk.plain_environment()
    process = subprocess.Popen([server, "--port", str(port), "--save", "", "--bind", "127.0.0.1",
                                "--dir", folder, "--appendonly", "no"], env=environment,
                               cwd=folder, stdout=subprocess.DEVNULL, preexec_fn=hawk.allow_cores)
    try:
        if not hawk.wait_for(lambda: command(cli, port, "ping") == "PONG\n", 30, "redis"):
            return None, None
        done = hawk.run([benchmark, "-p", str(port), "-n", "5000", "-c", "20", "-q",
                         "-t", "set,get,incr,lpush,sadd,hset,zadd,mset"])
        hawk.expect_equal(done.returncode, 0, f"redis-benchmark: {done.stderr[-300:]}")
        command(cli, port, "eval", "for i = 1, 3000 do redis.call('set', 'k' .. i, "
                "string.rep('v', i % 200)) end", "0")
        answers = [command(cli, port, *words) for words in (
            ["dbsize"], ["get", "k150"], ["strlen", "k199"], ["llen", "mylist"],
            ["get", "counter:__rand_int__"], ["debug", "sleep", "0"], ["memory", "purge"],
            ["config", "set", "activedefrag", "yes"])]
        check_memory_commands(cli, port)
        core = hawk.gcore(process.pid, folder) if traced else None
        hawk.expect_equal(command(cli, port, "ping"), "PONG\n", "ping after gcore")
        command(cli, port, "shutdown", "nosave")
        hawk.expect_equal(process.wait(timeout=60), 0, "exit code of redis-server")
        return answers, core
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            process.wait()


def check_schemas(core):
    """Strings are text, and the entries of the dict point into them."""
    classes = {}
    for site in hawk.analyze(core)["sites"][:8]:
        for group in real.ask(core, "schema", site["site"])["groups"]:
            for word in group["words"]:
                for value in word["values"]:
                    classes[value["class"]] = classes.get(value["class"], 0) + value["count"]
    for wanted in ("text", "block", "interior", "null"):
        hawk.expect(classes.get(wanted, 0) > 1000, f"{wanted} in redis: {classes}")


folder = real.support()
programs = hawk.need("redis-server", "redis-cli", "redis-benchmark")
alone, _ = session(*programs, folder, False)
traced, core = session(*programs, folder, True)
hawk.expect_equal(traced, alone, "answers of redis")
if core:
    check_schemas(core)
real.check_core(core, "redis", least_blocks=5000, in_flight=4)
hawk.finish()
