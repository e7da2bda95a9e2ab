# SPDX-License-Identifier: Apache-2.0
"""A browser, driven by the commands of WebDriver. How they reach it is in chromium.py and firefox.py."""

import base64
import pathlib

KEYS = {"Tab": "\ue004", "Enter": "\ue007", "Escape": "\ue00c", "End": "\ue010", "Home": "\ue011", "Left": "\ue012",
        "Right": "\ue014", "Space": " "}


class BrowserError(Exception):
    """The browser refused a command."""


class Browser:
    """Commands that all browsers know. A subclass has `call(command, parameters)`, `name` and `close()`."""

    name = ""

    def call(self, command, parameters=None):
        """Sends a command and returns its result."""
        raise NotImplementedError

    def open(self, address):
        self.call("Navigate", {"url": address})

    def run(self, script, *arguments):
        """Runs a function body in the page and returns what it returns."""
        return self.call("ExecuteScript", {"script": script, "args": list(arguments)})

    def wait_for(self, script, *arguments):
        """Runs a function body whose last argument is a function; returns what that is called with."""
        return self.call("ExecuteAsyncScript", {"script": script, "args": list(arguments)})

    def press(self, *keys):
        """Presses keys one after another: names of KEYS, or text to type."""
        strokes = []
        for key in keys:
            for value in [KEYS[key]] if key in KEYS else key:
                strokes += [{"type": "keyDown", "value": value}, {"type": "keyUp", "value": value}]
        self.call("PerformActions", {"actions": [{"type": "key", "id": "keyboard", "actions": strokes}]})

    def resize(self, width, height):
        """Gives the page this size in CSS pixels."""
        self.call("SetWindowRect", {"width": width, "height": height})

    def new_tab(self):
        """Opens a tab, switches to it and returns its handle."""
        handle = self.call("NewWindow", {"type": "tab"})["handle"]
        self.switch(handle)
        return handle

    def switch(self, handle):
        self.call("SwitchToWindow", {"handle": handle})

    def tab(self):
        """The handle of this tab."""
        return self.call("GetWindowHandle")

    def close_tab(self):
        self.call("CloseWindow")

    def picture(self, path):
        """Saves a PNG of what is on the screen."""
        png = self.call("TakeScreenshot", {"full": False})
        pathlib.Path(path).write_bytes(base64.b64decode(png))

    def close(self):
        raise NotImplementedError
