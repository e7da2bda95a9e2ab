# SPDX-License-Identifier: Apache-2.0
"""Debian's Firefox, through Marionette: Debian has no geckodriver, which would only translate these commands.

Messages are `LENGTH:JSON`; requests are `[0, ID, COMMAND, PARAMETERS]` and replies `[1, ID, ERROR, RESULT]`.
"""

import json
import pathlib
import socket
import subprocess
import tempfile

from harness.expect import eventually

from .browser import Browser, BrowserError

# Nothing is fetched in the background; the port is chosen by the kernel.
PREFERENCES = {
    "marionette.port": 0,
    "network.captive-portal-service.enabled": False, "network.connectivity-service.enabled": False,
    "app.normandy.enabled": False, "app.update.disabledForTesting": True, "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False, "datareporting.policy.firstRunURL": "",
    "browser.safebrowsing.malware.enabled": False, "browser.safebrowsing.phishing.enabled": False,
    "browser.startup.page": 0, "extensions.update.enabled": False, "services.settings.server": "",
    "toolkit.telemetry.reportingpolicy.firstRun": False, "browser.aboutwelcome.enabled": False,
}


class Firefox(Browser):
    """A Firefox of its own profile, without a window."""

    name = "firefox"

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="statusd-firefox-")
        profile = pathlib.Path(self.folder.name)
        lines = [f"user_pref({json.dumps(key)}, {json.dumps(value)});\n" for key, value in PREFERENCES.items()]
        (profile / "user.js").write_text("".join(lines))
        self.process = subprocess.Popen(
            ["firefox-esr", "--headless", "--marionette", "--remote-allow-system-access", "--no-remote", "--profile",
             str(profile)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        port = eventually(lambda: _port(profile), "Firefox listens", patience=60)
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.stream = self.socket.makefile("rb")
        self.count = 0
        self._read()  # its greeting
        self.call("NewSession", {"pageLoadStrategy": "eager", "timeouts": {"script": 60_000}})

    def call(self, command, parameters=None):
        self.count += 1
        message = json.dumps([0, self.count, f"WebDriver:{command}", parameters or {}]).encode()
        self.socket.sendall(b"%d:%s" % (len(message), message))
        _, _, error, result = self._read()
        if error:
            raise BrowserError(error.get("message", error))
        return result["value"] if isinstance(result, dict) and list(result) == ["value"] else result

    def _read(self):
        length = b""
        while not length.endswith(b":"):
            byte = self.stream.read(1)
            if not byte:
                raise BrowserError("Firefox closed the connection")
            length += byte
        return json.loads(self.stream.read(int(length[:-1])))

    def close(self):
        self.socket.close()
        self.process.terminate()
        self.process.wait()
        self.folder.cleanup()


def _port(profile):
    try:
        return int((profile / "MarionetteActivePort").read_text())
    except (FileNotFoundError, ValueError):
        return None
