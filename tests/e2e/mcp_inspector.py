# SPDX-License-Identifier: Apache-2.0
"""hawk-core mcp and the official inspector from npm, which checks every answer by the protocol's schemas."""

import json
import os

from support import hawk, holder_world, readers
from support.mcp_client import without_missing

TOOLS = ["open", "analyze", "leaks", "path", "merge-paths", "refs", "whatis", "retained", "types", "tasks", "growth",
         "diff", "sql", "source"]


def inspect(method, *arguments):
    done = hawk.run([hawk.need("node"), inspector, "--cli", hawk.CORE, "mcp", core, "--method", method, *arguments],
                    env={**os.environ, "HOME": folder})
    return done.returncode, json.loads(done.stdout) if done.stdout.startswith("{") else done.stdout + done.stderr


def call(tool, *arguments):
    words = [word for argument in arguments for word in ("--tool-arg", argument)]
    return inspect("tools/call", "--tool-name", tool, *words)


def check_tools():
    code, answer = inspect("tools/list")
    if hawk.expect_equal(code, 0, f"tools/list: {answer}"):
        hawk.expect_equal([tool["name"] for tool in answer["tools"]], TOOLS, "tools")


def check_calls():
    for tool, words, arguments in (
            ("leaks", ["leaks", "-n2", core], ["top=2"]),
            ("refs", ["refs", "-n10", core, hex(truth["hub"])], [f'addresses=["{hex(truth["hub"])}"]'])):
        code, answer = call(tool, *arguments)
        wanted = hawk.run([hawk.CORE, *words, "--json"]).stdout
        if hawk.expect_equal(code, 0, f"{tool}: {answer}"):
            hawk.expect(without_missing(answer["content"][0]["text"]) == without_missing(wanted),
                        f"{tool}: {str(answer)[:300]}")
    code, answer = call("sql", "query=nonsense")
    hawk.expect(code != 0 and "syntax error" in str(answer), f"a mistake: {code}, {answer}")


inspector = os.path.join(readers.packages(os.path.join(readers.SCRIPTS, "inspector"), "inspector"),
                         "@modelcontextprotocol/inspector/clients/launcher/build/index.js")
folder = hawk.temporary_folder()
hawk.use_debug_files()  # the inspector hands no such variable on
core, truth = holder_world.crash(folder)
hawk.run_checks(globals())
