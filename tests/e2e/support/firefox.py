# SPDX-License-Identifier: Apache-2.0
"""A headless Firefox, driven by its own protocol, Marionette: each command is answered when Firefox has done it."""

import json
import os
import socket
import subprocess

from support import hawk

PREFERENCES = ("marionette.port", 0), ("datareporting.policy.dataSubmissionEnabled", False), ("browser.shell.checkDefaultBrowser", False)


class Firefox:
    def __init__(self):
        profile = hawk.temporary_folder()
        hawk.write(os.path.join(profile, "user.js"),
                   "".join(f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in PREFERENCES))
        self._process = hawk.spawn([hawk.need("firefox-esr"), "--headless", "--no-remote", "--marionette", "--remote-allow-system-access",
                                    "--profile", profile], env=dict(os.environ, HOME=profile), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        self._stream = socket.create_connection(("127.0.0.1", self._port(profile))).makefile("rwb")
        self._receive()
        self.command("WebDriver:NewSession", capabilities={"timeouts": {"script": 120000}})

    def _port(self, profile):
        file = os.path.join(profile, "MarionetteActivePort")
        text = hawk.wait_for(lambda: self._process.poll() is not None or os.path.exists(file) and hawk.read(file), 120, "Firefox")
        if text is True:
            hawk.skip(f"Firefox cannot run here: it ended with {self._process.returncode}")
        return int(text)

    def _receive(self):
        length = b""
        while (byte := self._stream.read(1)) != b":":
            length += byte
        return json.loads(self._stream.read(int(length)))

    def command(self, name, **parameters):
        text = json.dumps([0, 1, name, parameters]).encode()
        self._stream.write(b"%d:%s" % (len(text), text))
        self._stream.flush()
        _, _, error, result = self._receive()
        hawk.expect(not error, f"Firefox: {name}: {error}")
        return result.get("value") if result else None

    def open(self, address):
        """Returns when the page has loaded."""
        self.command("WebDriver:Navigate", url=address)

    def evaluate(self, script):
        """Returns what an asynchronous script passes to its argument."""
        return self.command("WebDriver:ExecuteAsyncScript", script=script, args=[])

    def property(self, selector, name):
        return self.evaluate(f"arguments[0](document.querySelector({json.dumps(selector)}).{name});")

    def open_report(self, page, fragment):
        """Opens a page of `html` at one of its views; returns when that is drawn."""
        self.open("about:blank")
        self.open(f"file://{page}{fragment}")
        self.evaluate("""
            const [done] = arguments, look = () => document.documentElement.dataset.ready ? done() : setTimeout(look, 20);
            look();""")

    def picture(self):
        """Returns the window as drawn, a PNG in base64."""
        return self.command("WebDriver:TakeScreenshot", full=False)

    def errors(self):
        """Messages of pages in the browser's console."""
        self.command("Marionette:SetContext", value="chrome")
        found = self.command("WebDriver:ExecuteScript", args=[], script="""
            return Services.console.getMessageArray().filter((m) => m instanceof Ci.nsIScriptError && m.sourceName.startsWith("file:")
                && !(m.flags & Ci.nsIScriptError.warningFlag)).map((m) => m.errorMessage);""")
        self.command("Marionette:SetContext", value="content")
        return found
