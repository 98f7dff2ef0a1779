# SPDX-License-Identifier: Apache-2.0
"""A client of `hawk-core mcp` that speaks the protocol line by line."""

import json
import subprocess

from support import hawk


def without_missing(document):
    """Its fields but for findings, which a session keeps from one question to the next."""
    return {key: value for key, value in json.loads(document).items() if not key.startswith("missing")}


class Client:
    """A server, started; with the handshake done unless `handshake` is False."""

    def __init__(self, *arguments, handshake=True, **options):
        self.process = subprocess.Popen([hawk.CORE, "mcp", *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, **options)
        self.count = 0
        if handshake:
            self.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {},
                                        "clientInfo": {"name": "test", "version": "1"}})
            self.send(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}))

    def send(self, line):
        self.process.stdin.write((line if isinstance(line, bytes) else line.encode()) + b"\n")
        self.process.stdin.flush()

    def receive(self):
        return json.loads(self.process.stdout.readline())

    def request(self, method, parameters=None):
        """The response to a request."""
        self.count += 1
        message = {"jsonrpc": "2.0", "id": self.count, "method": method}
        self.send(json.dumps(message if parameters is None else {**message, "params": parameters}))
        answer = self.receive()
        hawk.expect_equal((answer["jsonrpc"], answer["id"]), ("2.0", self.count), f"{method}: {answer}"[:200])
        return answer

    def call(self, tool, **arguments):
        """(is an error, texts) of a call; hyphens in names of arguments are written as _."""
        arguments = {name.replace("_", "-"): value for name, value in arguments.items()}
        result = self.request("tools/call", {"name": tool, "arguments": arguments})["result"]
        return result["isError"], [item["text"] for item in result["content"]]

    def whole(self, tool, **arguments):
        """The document of an answer, from all its pages."""
        document = ""
        while True:
            is_error, texts = self.call(tool, offset=len(document.encode()), **arguments)
            if not hawk.expect(texts and not is_error, f"{tool} {arguments}: {texts}"[:300]):
                return document
            hawk.expect(len(texts[0].encode()) <= 20000, f"a page of {tool} has {len(texts[0].encode())} bytes")
            document += texts[0]
            if not any(text.startswith("Cut: ") for text in texts[1:]):
                return document

    def end(self):
        """Ends the input; returns the exit code and what was written to standard error."""
        output, errors = self.process.communicate(timeout=60)
        hawk.expect_equal(output, b"", "output that nobody asked for")
        return self.process.returncode, errors.decode()
