# SPDX-License-Identifier: Apache-2.0
"""hawk-core mcp: the handshake, the tools' schemas, the same documents as the verbs print, pages, wrong and
hostile messages, what may be opened, what leaves."""

import json
import os
import shutil

from support import hawk, holder_world
from support.mcp_client import Client, without_missing

TOOLS = {"open", "analyze", "leaks", "path", "merge-paths", "refs", "whatis", "retained", "types", "tasks", "growth", "diff", "sql",
         "source"}


def same(found, wanted, what):
    if found.startswith("{"):
        found, wanted = without_missing(found), without_missing(wanted)
    hawk.expect(found == wanted, f"{what}: found {str(found)[:200]}, wanted {str(wanted)[:200]}")


def verb(*arguments):
    return hawk.run([hawk.CORE, arguments[0], "--json", core, *arguments[1:]], cwd=os.path.dirname(core)).stdout


def check_handshake():
    for wanted, given in (("2025-11-25", "2025-11-25"), ("2025-06-18", "2025-06-18"), ("2024-11-05", "2024-11-05"),
                          ("2025-03-26", "2024-11-05"), ("2999-01-01", "2025-11-25"), ("1", "2025-11-25")):
        client = Client(handshake=False)
        hawk.expect_equal(client.request("ping")["result"], {}, "ping before initialize")
        hawk.expect_equal(client.request("tools/list")["error"]["code"], -32600, "tools/list before initialize")
        result = client.request("initialize", {"protocolVersion": wanted})["result"]
        hawk.expect_equal(result["protocolVersion"], given, f"version for {wanted}")
        hawk.expect_equal((result["capabilities"], result["serverInfo"]["name"]), ({"tools": {}}, "hawk-core"), "server")
        hawk.expect_equal(client.end(), (0, ""), "the end of the input")
    client = Client(handshake=False)
    client.process.stdin.write(b'\r\n\n{"jsonrpc":"2.0","id":"last","method":"ping"}')
    client.process.stdin.close()
    hawk.expect_equal(client.receive(), {"jsonrpc": "2.0", "id": "last", "result": {}}, "a last line without newline")
    hawk.expect_equal(client.process.wait(timeout=60), 0, "exit code")
    client.process.stdout.close(), client.process.stderr.close()


def check_progress():
    """With a token, a call tells its stages; a call that the client takes back gets no answer."""
    client = Client()

    def line(**message):
        return json.dumps({"jsonrpc": "2.0", **message})

    opening = {"name": "open", "arguments": {"core": core}, "_meta": {"progressToken": "t"}}
    client.send(line(id="a", method="tools/call", params=opening))
    told = []
    while "id" not in (message := client.receive()):
        told.append(message)
    hawk.expect_equal(message["id"], "a", "the answer comes last")
    hawk.expect(told and all(entry["method"] == "notifications/progress" and entry["params"]["progressToken"] == "t"
                             and entry["params"]["message"] for entry in told), f"progress: {told}")
    numbers = [entry["params"]["progress"] for entry in told]
    hawk.expect(all(a < b for a, b in zip(numbers, numbers[1:])), f"rises: {numbers}")
    client.send("\n".join((line(id="b", method="tools/call", params={"name": "leaks"}),
                           line(method="notifications/cancelled", params={"requestId": "x"}),
                           line(method="notifications/cancelled", params={"requestId": "b", "reason": "enough"}),
                           line(id="c", method="ping"))))
    hawk.expect_equal(client.receive(), {"jsonrpc": "2.0", "id": "c", "result": {}}, "no answer to what was cancelled")
    client.end()


def check_tools():
    client = Client()
    tools = {tool["name"]: tool for tool in client.request("tools/list")["result"]["tools"]}
    hawk.expect_equal(set(tools), TOOLS, "tools")
    for name, tool in tools.items():
        schema = tool["inputSchema"]
        hawk.expect(tool["annotations"]["readOnlyHint"] is True and tool["title"] and tool["description"], name)
        hawk.expect(schema["type"] == "object" and schema["additionalProperties"] is False, f"schema of {name}")
        hawk.expect(all("type" in entry and entry["description"] for entry in schema["properties"].values()), name)
        files = set(schema["properties"]) & {"core", "after", "exe", "debug-dir", "sysroot", "table", "suppressions",
                                             "source-dir", "output", "pid", "color", "force", "timeout"}
        hawk.expect_equal(files, {"open": {"core", "exe", "debug-dir", "sysroot"}, "diff": {"after"}}.get(name, set()),
                          f"{name}: arguments that name files")
    hawk.expect_equal(tools["growth"]["inputSchema"]["properties"]["verdict"]["enum"][0], "leak", "words of a choice")
    hawk.expect_equal(client.request("tools/list", {"cursor": "x"})["error"]["code"], -32602, "a cursor")
    client.end()


def check_answers():
    client = Client()
    hawk.expect_equal(client.call("leaks"), (True, ["no core is open: call open first\n"]), "nothing open")
    same(client.whole("open", core=core), verb("analyze", "--brief"), "open")
    hub, name = hex(truth["hub"]), hex(truth["name"])
    for tool, arguments, words in (
            ("analyze", {"by": "function", "top": "3"}, ["--by=function", "-n3"]), ("leaks", {}, ["-n10"]),
            ("path", {"addresses": [name]}, ["-n10", name]), ("path", {"type": "Session"}, ["-n10", "--type=Session"]),
            ("refs", {"addresses": [hub, name]}, ["-n10", hub, name]), ("whatis", {"addresses": [hub]}, [hub]),
            ("retained", {"by": "block", "top": 3}, ["--by=block", "-n3"]), ("types", {"top": 2}, ["-n2"]),
            ("growth", {"top": 2}, ["-n2"]),
            ("diff", {"after": core}, ["-n10", core]), ("source", {"function": "make_h"}, ["-n10", "make_h"]),
            ("sql", {"query": "SELECT address FROM blocks"}, ["SELECT address FROM blocks"]),
            ("analyze", {"full": True, "top": 100}, ["--full", "-n100"])):
        wanted = verb(tool, *words)
        hawk.expect(len(wanted) > 20, f"{tool} prints")
        same(client.whole(tool, **arguments), wanted, f"{tool} {arguments}")
    is_error, texts = client.call("sql", query=".schema")
    hawk.expect(not is_error and "CREATE TABLE blocks" in texts[0], ".schema")
    hawk.expect_equal(client.end(), (0, ""), "end")
    client = Client(core)
    same(client.whole("leaks"), verb("leaks", "-n10"), "a core of the command line")
    client.end()
    done = hawk.run([hawk.CORE, "mcp", os.path.join(folder, "missing")])
    hawk.expect_equal((done.returncode, done.stdout), (3, ""), "a core that is not there")
    hawk.expect_equal(hawk.run([hawk.CORE, "mcp", core, core]).returncode, 2, "two cores")


def check_pages():
    client = Client(core)
    _, texts = client.call("sql", query="SELECT address FROM blocks")
    size = len(client.whole("sql", query="SELECT address FROM blocks"))
    hawk.expect_equal(texts[1].split(" The ")[0], f"Cut: bytes 0 to {len(texts[0])} of {size}.", "what was cut")
    hawk.expect(texts[0].endswith("\n"), "cut behind a line")
    # One long line of three-byte characters.
    query = "SELECT printf('%.*c', 30000, char(8364)) AS x"
    hawk.expect_equal(json.loads(client.whole("sql", query=query)), [{"x": "\u20ac" * 30000}], "characters stay whole")
    for offset in (1 << 40, 10, -1, "9", 1.5):
        is_error, texts = client.call("sql", query=query, offset=offset)
        hawk.expect(is_error and "offset" in texts[0], f"offset {offset}: {texts}"[:200])
    is_error, texts = client.call("sql", query="WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM t) "
                                  "SELECT printf('%.*c', 1000000, 'x') FROM t LIMIT 100")
    hawk.expect_equal((is_error, texts), (True, ["the answer has more than 16 MiB: ask for less\n"]), "too much")
    client.end()


def check_wrong_arguments():
    client = Client(core)
    for tool, arguments, said in (
            ("leaks", {"topp": 1}, 'leaks takes no argument "topp"'), ("leaks", {"json": True}, "no argument"),
            ("leaks", {"output": "x"}, "no argument"), ("leaks", {"suppressions": core}, "no argument"),
            ("sql", {"query": "x", "timeout": 0}, "no argument"), ("leaks", {"top": []}, "a string or an integer"),
            ("leaks", {"top": -1}, "bad value '-1' for --top"), ("leaks", {"top": 0}, "bad value"),
            ("leaks", {"site": "zz"}, "bad value"), ("leaks", {"kinds": "all --help"}, "all --help"),
            ("leaks", {"full": "yes"}, "true or false"), ("growth", {"verdict": "x"}, "bad value"),
            ("leaks", {"top": None}, "a string or an integer"), ("refs", {}, '"addresses", an array of strings'),
            ("refs", {"addresses": "0x1"}, "an array"), ("refs", {"addresses": [1]}, "an array"),
            ("refs", {"addresses": []}, 'refs needs "addresses"'), ("refs", {"addresses": ["--help"]}, "not a hexadecimal"),
            ("path", {}, "path needs addresses, or filters"), ("sql", {"query": "nonsense"}, "syntax error"),
            ("sql", {"query": "ATTACH 'x' AS y"}, "no other database"), ("sql", {}, '"query", a string'),
            ("sql", {"query": f"VACUUM INTO '{folder}/made'"}, "SQL"), ("source", {"function": "("}, "'('")):
        is_error, texts = client.call(tool, **arguments)
        hawk.expect(is_error and said in texts[-1], f"{tool} {arguments}: {texts}"[:300])
    hawk.expect(not client.call("leaks", full=False)[0], "a flag that is not set")
    hawk.expect_equal(client.end(), (0, ""), "end")


def check_hostile_messages():
    client = Client()
    deep = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":' + b'{"a":' * 100000 + b"1" + b"}" * 100001
    for line, code in ((b"{", -32700), (b"\xff\xfe", -32700), (b'{"a":"\x00"}', -32700), (b'{"a":"\\u0000"}', -32700),
                       (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', -32700), (deep, -32700),
                       (b"[" * 500000, -32700), (b"x" * (1 << 20), -32700), (b"x" * ((1 << 20) + 1), -32600),
                       (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"' + b"x" * (8 << 20) + b'"}}', -32600),
                       (b"[]", -32600), (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600), (b"7", -32600),
                       (b"null", -32600), (b"{}", -32600), (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
                       (b'{"jsonrpc":"2.0","id":1}', -32600), (b'{"jsonrpc":"2.0","id":1,"method":{}}', -32600),
                       (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
                       (b'{"jsonrpc":"2.0","id":[1],"method":"ping"}', -32600),
                       (b'{"jsonrpc":"2.0","id":1,"method":"resources/list"}', -32601),
                       (b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[1]}', -32602),
                       (b'{"jsonrpc":"2.0","id":1,"method":"tools/call"}', -32602),
                       (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5}}', -32602),
                       (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run"}}', -32602),
                       (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"leaks","arguments":[]}}', -32602),
                       (b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}', -32602)):
        # Neither an answer nor a notification is answered.
        client.send(b'{"jsonrpc":"2.0","id":1,"result":{}}\n{"jsonrpc":"2.0","method":"tools/call"}')
        client.send(line)
        error = client.receive().get("error", {})
        hawk.expect_equal(error.get("code"), code, f"{line[:80]!r}: {error}")
        hawk.expect_equal(client.request("ping").get("result"), {}, f"goes on after {line[:80]!r}")
    hawk.expect_equal(client.end(), (0, ""), "end")


def check_files():
    """Only regular files are opened; a pipe could be the protocol's own."""
    fifo = os.path.join(folder, "fifo")
    os.mkfifo(fifo)
    client = Client()
    for path in ("-", "/dev/stdin", "/proc/self/fd/0", "/dev/zero", fifo, folder, "", "missing"):
        is_error, texts = client.call("open", core=path)
        hawk.expect(is_error and texts == ["there is no such file\n"], f"{path}: {texts}")
    is_error, texts = client.call("open", core=hawk.write(os.path.join(folder, "text"), "secret\n"))
    hawk.expect(is_error and "secret" not in str(texts), f"a text: {texts}")
    is_error, texts = client.call("open", core=core, exe=os.path.join(folder, "gone"))
    hawk.expect(is_error and "cannot open" in texts[0], f"no executable: {texts}")
    hawk.expect(client.call("leaks")[0], "nothing is open then")
    client.call("open", core=core)
    hawk.expect(client.call("diff", after=fifo)[0], "diff")
    client.end()


def check_paths():
    place = os.path.join(folder, "a drawer", "hidden")
    os.makedirs(place)
    moved = shutil.copy(core, os.path.join(place, "core.7"))
    client = Client("--paths=base", cwd=folder)
    answers = [client.call("open", core=moved), client.call("open", core=f"{place}/none"),
               client.call("open", core="a drawer/hidden/core.7")]
    answers += [client.call(tool, **arguments) for tool, arguments in (
        ("analyze", {"full": True}), ("leaks", {}), ("retained", {}), ("growth", {}), ("diff", {"after": core}),
        ("source", {"function": "make_"}), ("analyze", {"by": "module"}), ("analyze", {"by": "file"}), ("whatis", {"addresses": [hex(truth["hub"])]}),
        ("sql", {"query": "SELECT DISTINCT path FROM mappings"}), ("sql", {"query": "SELECT path AS p FROM modules"}))]
    text = str(answers)
    for part in (folder, "drawer", "hidden", "/usr/", "/lib", "./", "/elf"):
        hawk.expect(part not in text, f"{part} left: {text[max(0, text.find(part) - 100):][:200]}")
    hawk.expect('"file":"holders.cpp"' in text.replace("\\", "") and "core.7" in text, "base names")
    hawk.expect('"arguments":"holders abort' in text.replace("\\", ""), "a command line")
    client.end()


def check_filter():
    plain = verb("leaks", "-n10")
    client = Client("--filter=tr a-z A-Z", core)
    hawk.expect(client.whole("leaks") == plain.upper(), "a filter")
    hawk.expect_equal(client.call("leaks", site="zz"), (True, ["BAD VALUE 'ZZ' FOR --SITE HEX\n"]), "of errors, too")
    client.end()
    for command, said in (("false", "exit code 1"), ("kill -9 $$", "signal 9"), ("printf '\\377'", "UTF-8"),
                          ("/no/such", "exit code 127"), ("cat; exit 3", "exit code 3"),
                          ("head -c 17m /dev/zero", "16 MiB")):
        client = Client(f"--filter={command}")
        is_error, texts = client.call("leaks")
        hawk.expect(is_error and len(texts) == 1 and said in texts[0] and "no core" not in texts[0],
                    f"{command}: {texts}"[:200])
        client.end()
    log = os.path.join(folder, "log")
    client = Client(f"--filter=cat >> {log}", core)
    hawk.expect_equal(client.call("leaks"), (False, []), "an empty answer")
    client.end()
    hawk.expect(hawk.read(log).decode().endswith(plain), "what the filter got")


folder = os.path.realpath(hawk.temporary_folder())
core, truth = holder_world.crash(folder)
hawk.run_checks(globals())
